"""`roomful completion`: what a shell completes, read off the commands as they are."""

import argparse
import shlex
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from roomful.cli.parsing import Commands, Parser

Kind: TypeAlias = Literal["file", "folder", "word"]


class Value(NamedTuple):
    """What may stand somewhere: files, folders, one of the words, or what only the person knows."""

    kind: Kind
    words: tuple[str, ...] = ()


class Option(NamedTuple):
    flags: tuple[str, ...]
    about: str
    value: Value | None
    """None for one that stands alone."""


class Place(NamedTuple):
    """A command, by the words that lead to it: none for `roomful` itself."""

    path: tuple[str, ...]
    commands: tuple[tuple[str, str], ...]
    options: tuple[Option, ...]
    argument: Value | None

    @property
    def words(self) -> tuple[str, ...]:
        names = tuple(name for name, _ in self.commands)
        flags = tuple(flag for option in self.options for flag in option.flags)
        return (*names, *(self.argument.words if self.argument else ()), *flags)


def add_commands(commands: Commands, root: Parser) -> None:
    completion = commands.add(
        "completion",
        partial(_complete, root),
        "Print a script that completes roomful's commands in a shell.",
        examples=(
            "source <(roomful completion bash)",
            "roomful completion zsh > ~/.zfunc/_roomful",
            "roomful completion fish > ~/.config/fish/completions/roomful.fish",
        ),
    )
    completion.add_argument("shell", metavar="SHELL", choices=tuple(_SHELLS), help="bash, zsh or fish")


def _complete(root: Parser, arguments: argparse.Namespace) -> int:
    print(_SHELLS[arguments.shell](list(places(root))), end="")
    return 0


def places(parser: Parser, path: tuple[str, ...] = ()) -> Iterator[Place]:
    below = tuple((name, inner.summary) for name, inner in parser.commands.items())
    options = tuple(_option(action) for action in parser.options)
    taken = [_value(action) for action in parser.positionals]
    yield Place(path, below, options, taken[0] if taken else None)
    for name, inner in parser.commands.items():
        yield from places(inner, (*path, name))


def _option(action: argparse.Action) -> Option:
    value = None if action.nargs == 0 else _value(action)
    return Option(tuple(action.option_strings), action.help or "", value)


def _value(action: argparse.Action) -> Value:
    if action.choices is not None:
        return Value("word", tuple(map(str, action.choices)))
    if action.metavar in ("DIR", "FOLDER"):
        return Value("folder")
    return Value("file" if action.type is Path else "word")


def bash(found: list[Place]) -> str:
    return _filled(
        _BASH, found, {"file": "_roomful_paths -f", "folder": "_roomful_paths -d"}, '_roomful_words "{}"'
    )


def zsh(found: list[Place]) -> str:
    return _filled(_ZSH, found, {"file": "_files", "folder": "_files -/"}, "compadd -- {}")


def _filled(script: str, found: list[Place], paths: dict[str, str], words: str) -> str:
    """Both shells have a `case` for the words that lead to a command, one for an option's value, and one for
    all else."""
    after: list[str] = []
    for place in found:
        for option in place.options:
            if option.value is not None:
                pattern = " | ".join(_quoted((*place.path, flag)) for flag in option.flags)
                after.append(f"{pattern}) {_offer(option.value, paths, words)}; return ;;")
    rest: list[str] = []
    for place in found:
        offers = [words.format(" ".join(place.words))]
        if place.argument is not None and place.argument.kind in paths:
            offers.append(paths[place.argument.kind])
        rest.append(f"{_quoted(place.path)}) {'; '.join(offers)} ;;")
    return script.format(
        paths=" | ".join(_quoted(place.path) for place in found if place.path),
        values="\n        ".join(after),
        places="\n        ".join(rest),
    )


def _offer(value: Value, paths: dict[str, str], words: str) -> str:
    if value.kind in paths:
        return paths[value.kind]
    return words.format(" ".join(value.words)) if value.words else ":"


def _quoted(path: tuple[str, ...]) -> str:
    return '"' + "".join(f" {word}" for word in path) + '"'


def fish(found: list[Place]) -> str:
    lines = ["complete -c roomful -f"]
    for place in found:
        here = f"complete -c roomful -n {shlex.quote(_fish_condition(place))}"
        lines += [f"{here} -a {name} -d {shlex.quote(about)}" for name, about in place.commands]
        if place.argument is not None:
            lines.append(f"{here} {_fish_value(place.argument)}")
        for option in place.options:
            flags = " ".join(
                f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags
            )
            value = f" -r {_fish_value(option.value)}" if option.value is not None else ""
            lines.append(f"{here} {flags}{value} -d {shlex.quote(option.about)}")
    return "\n".join([*lines, ""])


def _fish_condition(place: Place) -> str:
    if not place.path:
        return "__fish_use_subcommand"
    seen = [f"__fish_seen_subcommand_from {word}" for word in place.path]
    if place.commands:
        seen.append(f"not __fish_seen_subcommand_from {' '.join(name for name, _ in place.commands)}")
    return "; and ".join(seen)


def _fish_value(value: Value) -> str:
    match value.kind:
        case "file":
            return "-F"
        case "folder":
            return "-a '(__fish_complete_directories)'"
        case "word":
            return f"-a {shlex.quote(' '.join(value.words))}" if value.words else "-f"


_SHELLS: dict[str, Callable[[list[Place]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}

_BASH = """\
# Completes roomful's commands in bash: source <(roomful completion bash)
_roomful_words() {{
    local IFS=$' \\t\\n'
    COMPREPLY+=($(compgen -W "$1" -- "$word"))
}}

_roomful_paths() {{
    local IFS=$'\\n'
    COMPREPLY+=($(compgen "$1" -- "$word"))
    compopt -o filenames 2> /dev/null
}}

_roomful() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" path="" i
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "$path ${{COMP_WORDS[i]}}" in
            {paths}) path="$path ${{COMP_WORDS[i]}}" ;;
        esac
    done
    COMPREPLY=()
    case "$path ${{COMP_WORDS[COMP_CWORD - 1]}}" in
        {values}
    esac
    case "$path" in
        {places}
    esac
}}

complete -F _roomful roomful
"""
_ZSH = """\
#compdef roomful
# Completes roomful's commands in zsh: put this into a folder of $fpath as _roomful, or source it.
_roomful() {{
    local so_far="" i
    for ((i = 2; i < CURRENT; i++)); do
        case "$so_far ${{words[i]}}" in
            {paths}) so_far="$so_far ${{words[i]}}" ;;
        esac
    done
    case "$so_far ${{words[CURRENT - 1]}}" in
        {values}
    esac
    case "$so_far" in
        {places}
    esac
}}

if [[ "${{funcstack[1]}}" == _roomful ]]; then
    _roomful "$@"
else
    compdef _roomful roomful
fi
"""
