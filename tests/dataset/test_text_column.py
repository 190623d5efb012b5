from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linrank.dataset.text_column import TextColumn

TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=6), max_size=8)


@given(TEXTS)
def test_it_is_the_sequence_of_its_texts(texts):
    column = TextColumn.from_texts(texts)
    assert list(column) == texts
    assert [column[row] for row in range(-len(texts), len(texts))] == texts + texts
    assert column.nbytes == len("".join(texts).encode()) + 8 * (len(texts) + 1)


@given(TEXTS, st.data())
def test_take_is_the_texts_of_the_rows(texts, data):
    column = TextColumn.from_texts(texts)
    rows = data.draw(st.lists(st.integers(-len(texts), len(texts) - 1), max_size=10) if texts else st.just([]))
    assert list(column.take(np.array(rows, dtype=np.int64))) == [texts[row] for row in rows]
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(texts), max_size=len(texts))), dtype=bool)
    assert list(column.take(mask)) == [text for text, chosen in zip(texts, mask, strict=True) if chosen]


@given(TEXTS, st.slices(8))
def test_a_slice_is_a_column(texts, rows):
    part = TextColumn.from_texts(texts)[rows]
    assert isinstance(part, TextColumn)
    assert list(part) == texts[rows]


@given(st.lists(TEXTS, max_size=4))
def test_joined_columns_follow_one_another(parts):
    joined = TextColumn.joined([TextColumn.from_texts(texts) for texts in parts])
    assert joined == TextColumn.from_texts(chain(*parts))


def test_joining_a_part_of_a_larger_memory_takes_that_part_only():
    whole = TextColumn.from_texts(["a", "bc", "def", "g"])
    part = TextColumn(whole.letters, whole.starts[1:4])
    assert list(TextColumn.joined([part, part])) == ["bc", "def"] * 2


def test_equal_letters_cut_elsewhere_are_not_equal():
    assert TextColumn.from_texts(["ab", "c"]) == TextColumn.from_texts(["ab", "c"])
    assert TextColumn.from_texts(["ab", "c"]) != TextColumn.from_texts(["a", "bc"])
    assert TextColumn.from_texts(["ab"]) != ["ab"]


def test_bytes_that_are_no_text_are_shown_as_such_and_kept():
    column = TextColumn(np.frombuffer(b"ok\xff", dtype=np.uint8), np.array([0, 2, 3]))
    assert list(column) == [column[0], column[1]] == ["ok", "\N{REPLACEMENT CHARACTER}"]
    assert column.take(np.array([1])).letters.tobytes() == b"\xff"


def test_a_row_that_is_not_there_is_an_index_error():
    with pytest.raises(IndexError):
        TextColumn.from_texts(["a"])[1]


def test_it_shows_its_first_texts():
    assert repr(TextColumn.from_texts("abcd")) == "TextColumn(['a', 'b', 'c', …], n=4)"
    assert repr(TextColumn.from_texts("ab")) == "TextColumn(['a', 'b'], n=2)"
