"""What is wrong with a line that could not be read, and what to do about it, in words.

The kernels only say which line stopped them. Here that one line is read again, slowly, up to its first fault.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from linrank.reading.byte_parser import LONGEST_QID
from linrank.reading.line_chunk import GREATEST_ID, LineRules

_DECIMAL = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_MISSING = re.compile(rb"[+-]?(nan|null)", re.IGNORECASE)
_INFINITE = re.compile(rb"[+-]?inf(inity)?", re.IGNORECASE)
_HEXADECIMAL = re.compile(rb"[+-]?0[xX].*")
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_LONGEST_SHOWN = 40


def explain_line(line: bytes, rules: LineRules, expects_qid: bool | None) -> str:
    """Say what is wrong with a line, given whether the lines before it have a qid; None where there were none."""
    fields, _, comment = line.partition(b"#")
    words = re.findall(rb"[^ \t]+", fields)
    fault = next(_faults(words, rules, expects_qid), None) if words else None
    if fault is None and b"\0" in comment:
        fault = "the comment holds a NUL byte; the file is no plain text. Write it as UTF-8 text."
    return fault or f"the line {shown(line)} cannot be read."


def shown(text: bytes) -> str:
    """A piece of the file in quotes, shortened where it is long."""
    cut = text[:_LONGEST_SHOWN].decode(errors="replace")
    return f"{cut!r}" if len(text) <= _LONGEST_SHOWN else f"{cut!r}…"


def _faults(words: list[bytes], rules: LineRules, expects_qid: bool | None) -> Iterator[str]:
    yield from _label_faults(words)
    has_qid = False
    previous: int | None = None
    for word in words[1:]:
        key, colon, text = word.partition(b":")
        if not colon:
            yield _fault_without_colon(word)
        elif key == b"qid":
            if previous is not None:
                yield f"{shown(word)} comes after features; the qid stands right after the label. Move it there."
            if has_qid:
                yield f"{shown(word)} is a second qid; a document belongs to one query. Remove one of them."
            has_qid = True
            yield from qid_faults(text)
        else:
            yield from _id_faults(key, word, rules)
            number = int(key)
            yield from _order_faults(number, previous)
            yield from _value_faults(number, text, rules)
            previous = number
    if expects_qid is not None and has_qid != expects_qid:
        yield mixed_qid_fault(expects_qid)


def mixed_qid_fault(expects_qid: bool) -> str:
    if expects_qid:
        return "this line has no qid, but lines before it have one; either all have one or none. Add it."
    return "this line has a qid, but lines before it have none; either all have one or none. Add it to those."


def _label_faults(words: list[bytes]) -> Iterator[str]:
    label = words[0]
    if b":" in label and not _CONTROL.search(label):
        yield f"the line starts with {shown(label)}; a label comes first. Put a number before it."
    if b"," in label and len(words) == 1:
        yield (
            f"{shown(label)} looks like a table with commas; svmlight lines are `label qid:id feature:value …`. "
            'Pass format="csv" for a CSV table with a line of names.'
        )
    if _MISSING.fullmatch(label):
        yield f"the label is {shown(label)}; every document needs a label that is a number. Drop unjudged documents."
    yield from _number_faults(f"the label {shown(label)}", label)


def _fault_without_colon(word: bytes) -> str:
    if _CONTROL.search(word):
        return _control_fault(word)
    if b"," in word:
        return f"{shown(word)} holds a comma; blanks part the features and a point the decimals. Replace it."
    return f"{shown(word)} has no colon; after the label come qid:id and feature:value. Write it so or remove it."


def qid_faults(text: bytes) -> Iterator[str]:
    """What is wrong with a query id, if anything."""
    if not text:
        yield "the qid is empty; every document belongs to a query. Write its id right after qid:, without a blank."
    if _CONTROL.search(text):
        yield _control_fault(text)
    if len(text) > LONGEST_QID:
        yield f"the qid {shown(text)} is {len(text)} bytes long; {LONGEST_QID} are allowed. Use shorter ids."


def _id_faults(key: bytes, word: bytes, rules: LineRules) -> Iterator[str]:
    if _CONTROL.search(key):
        yield _control_fault(key)
    if not key:
        yield f"{shown(word)} has no feature id before the colon. Write the feature's number there, such as 1:0.5."
    if not re.fullmatch(rb"[0-9]+", key):
        yield from _non_numeric_id_faults(key, word)
    number = int(key) if len(key) <= 18 else math.inf
    if number == 0 and not rules.zero_based:
        yield f"{shown(word)} has feature id 0; ids start at 1 unless you say otherwise. Pass zero_based=True."
    if rules.n_features is not None and number > rules.last_id:
        yield (
            f"{shown(word)} has a feature id beyond {rules.last_id}, the last of n_features={rules.n_features}. "
            "Pass a larger n_features, or leave it out to take the largest id in the file."
        )
    if number > rules.last_id:
        yield f"{shown(word)} has a feature id beyond {GREATEST_ID}, the largest allowed. Number the features anew."


def _non_numeric_id_faults(key: bytes, word: bytes) -> Iterator[str]:
    if re.fullmatch(rb"-[0-9]+", key):
        yield f"{shown(word)} has a negative feature id; ids are whole numbers from 1, or from 0. Number them anew."
    if _DECIMAL.fullmatch(key):
        yield f"{shown(word)} has the feature id {shown(key)}; ids are whole numbers such as 12. Number them anew."
    if key.lower() == b"qid":
        yield f"{shown(word)} has the key {shown(key)}; the key of a query is qid. Write it in small letters."
    if re.fullmatch(rb"[A-Za-z_]+", key):
        yield f"{shown(word)} has the key {shown(key)}; only qid and feature ids are known. Remove it, or number it."
    yield f"{shown(word)} has the feature id {shown(key)}, which is no whole number. Number the features from 1."


def _order_faults(number: int, previous: int | None) -> Iterator[str]:
    if previous is not None and number == previous:
        yield f"feature {number} is given twice; a feature has one value. Remove one of them."
    if previous is not None and number < previous:
        yield f"feature {number} comes after feature {previous}; ids must ascend. Sort the features of each line."


def _value_faults(number: int, text: bytes, rules: LineRules) -> Iterator[str]:
    name = f"the value {shown(text)} of feature {number}"
    if not text:
        yield f"feature {number} has no value after the colon. Write one, or leave the feature out where it is 0."
    if _MISSING.fullmatch(text) and rules.missing_value is None:
        yield (
            f"{name} is missing; every feature needs a number. Say how to fill it: missing=0 or another number, "
            'or missing="query_min"; missing="keep" leaves it, for data that is only looked at.'
        )
    if not _MISSING.fullmatch(text):
        yield from _number_faults(name, text)
        if abs(float(text)) >= rules.value_limit:
            yield f'{name} is too large for float32. Scale the feature, or use dtype="float64".'


def _number_faults(name: str, text: bytes) -> Iterator[str]:
    if _CONTROL.search(text):
        yield _control_fault(text)
    if _INFINITE.fullmatch(text):
        yield f"{name} is infinite; numbers must be finite. Replace it by a finite number."
    if _DECIMAL.fullmatch(text):
        if math.isinf(float(text)):
            yield f"{name} is too large for a double, whose limit is 1.8e308. Scale the numbers."
        return
    if _HEXADECIMAL.fullmatch(text):
        yield f"{name} is hexadecimal; numbers are decimal. Write it in decimal."
    if b":" in text:
        yield f"{name} holds a second colon; features are parted by blanks. Put a blank between them."
    if b"," in text:
        yield f"{name} holds a comma; decimals stand after a point. Write 0.5, not 0,5."
    if b"_" in text:
        yield f"{name} holds an underscore; digits stand without any mark between them. Remove it."
    if re.fullmatch(rb"[+-]?[0-9.]+[eE][+-]?", text):
        yield f"{name} ends before the digits of its exponent. Complete or remove the exponent."
    yield f"{name} is not a number. Write a decimal number such as 12, -0.5 or 1e-3."


def _control_fault(text: bytes) -> str:
    control = _CONTROL.findall(text)[0]
    if control == b"\0":
        return (
            f"{shown(text)} holds a NUL byte, as binary files and UTF-16 text do; svmlight is ASCII or UTF-8 text. "
            "Check that this is the right file, and save it as UTF-8."
        )
    return (
        f"{shown(text)} holds the control character {control[0]:#04x}; only blanks and tabs may part words. Remove it."
    )
