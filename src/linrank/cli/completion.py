"""linrank completion: the script by which a shell completes verbs, options, their choices and file names."""

from __future__ import annotations

import sys
from argparse import Action, ArgumentParser, Namespace
from collections.abc import Iterator
from importlib import import_module

from linrank.cli.console import verb_parser


def parser() -> ArgumentParser:
    made = verb_parser(
        "completion",
        "Print a script by which the shell completes verbs, options, the choices of an option, and file names. It is\n"
        "whole in itself: completing starts nothing else, so it takes no time.",
        "  linrank completion bash > ~/.local/share/bash-completion/completions/linrank\n"
        '  linrank completion zsh > "${fpath[1]}/_linrank"\n'
        "  linrank completion fish > ~/.config/fish/completions/linrank.fish\n"
        '  eval "$(linrank completion bash)"                         # for this shell alone',
    )
    made.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell it is for")
    return made


def run(arguments: Namespace) -> None:
    sys.stdout.write({"bash": _bash, "zsh": _zsh, "fish": _fish}[arguments.shell]())


def _verbs() -> dict[str, tuple[str, list[Action]]]:
    """Each verb with what it does and what it takes, as its own parser has it."""
    from linrank.cli import VERBS

    parsers = {verb: import_module(f"linrank.cli.{verb}").parser() for verb in VERBS}
    return {verb: (VERBS[verb], parsers[verb]._actions) for verb in VERBS}  # noqa: SLF001 - argparse has no other list


def _with_choices() -> Iterator[tuple[str, str]]:
    """What the verb and the word before match where there is a choice, and the choices, separated by blanks."""
    for verb, (_, actions) in _verbs().items():
        for action in actions:
            places = [f'"{verb} {name}"' for name in action.option_strings] or [f'"{verb} "*']
            for place in places if action.choices else ():
                yield place, " ".join(map(str, action.choices or ()))


def _options(actions: list[Action]) -> str:
    return " ".join(name for action in actions for name in action.option_strings)


_BASH = """\
_linrank() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} verb=${{COMP_WORDS[1]}} words=
    # bash makes --option=value three words.
    if [[ $word == = ]]; then word=; elif [[ $before == = ]]; then before=${{COMP_WORDS[COMP_CWORD-2]}}; fi
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        words="{verbs} --help --version"
    elif [[ $word == -* ]]; then
        case $verb in
{options}
        esac
    else
        case "$verb $before" in
{choices}
        esac
    fi
    # Where there are no words to choose from, bash completes file names.
    [[ -n $words ]] && COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _linrank linrank
"""


def _bash() -> str:
    verbs = _verbs()
    return _BASH.format(
        verbs=" ".join(verbs),
        options="\n".join(f'            {verb}) words="{_options(takes)}" ;;' for verb, (_, takes) in verbs.items()),
        choices="\n".join(f'            {place}) words="{choices}" ;;' for place, choices in _with_choices()),
    )


_ZSH = """\
#compdef linrank
_linrank() {{
    local verb=$words[2] before=$words[CURRENT-1]
    local -a found
    if ((CURRENT == 2)); then
        found=(
{verbs}
        )
        _describe verb found
    elif [[ $words[CURRENT] == -* ]]; then
        case $verb in
{options}
        esac
        _describe option found
    else
        case "$verb $before" in
{choices}
        *) _files ;;
        esac
    fi
}}
if [[ $funcstack[1] == _linrank ]]; then _linrank; else compdef _linrank linrank; fi
"""


def _zsh() -> str:
    def described(name: str, says: str, indent: int) -> str:
        # A colon separates a name from what it says.
        return " " * indent + _quoted(f"{name}:{says}".replace("\n", " "))

    verbs = _verbs()
    options = [
        "\n".join(
            [
                f"        {verb}) found=(",
                *(described(name, _says(action), 12) for action in takes for name in action.option_strings),
                "        ) ;;",
            ]
        )
        for verb, (_, takes) in verbs.items()
    ]
    return _ZSH.format(
        verbs="\n".join(described(verb, says, 12) for verb, (says, _) in verbs.items()),
        options="\n".join(options),
        choices="\n".join(f"        {place}) compadd -- {choices} ;;" for place, choices in _with_choices()),
    )


def _fish() -> str:
    lines = ["complete -c linrank -n __fish_use_subcommand -f"]
    for verb, (says, takes) in _verbs().items():
        lines.append(f"complete -c linrank -n __fish_use_subcommand -a {verb} -d {_quoted(says, fish=True)}")
        after = f"complete -c linrank -n '__fish_seen_subcommand_from {verb}'"
        for action in takes:
            names = "".join(
                f" -l {name[2:]}" if name[:2] == "--" else f" -s {name[1:]}" for name in action.option_strings
            )
            choices = f" -x -a '{' '.join(map(str, action.choices))}'" if action.choices else ""
            value = choices or (" -r" if action.nargs != 0 else "")
            if names:
                lines.append(f"{after}{names}{value} -d {_quoted(_says(action), fish=True)}")
            elif choices:
                lines.append(f"{after} -f{choices.removeprefix(' -x')}")
    return "\n".join(lines) + "\n"


def _says(action: Action) -> str:
    # A per cent sign is written twice in argparse's texts.
    return (action.help or "").replace("%%", "%")


def _quoted(text: str, *, fish: bool = False) -> str:
    """In single quotes, as a shell reads them."""
    inner = text.replace("\\", "\\\\").replace("'", "\\'") if fish else text.replace("'", "'\\''")
    return f"'{inner}'"
