"""How a command line is read, and how it is explained: with examples, and what a command exits with."""

import argparse
import difflib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn, TypeAlias

import roomful
from roomful.settings import Settings, load_settings

Run: TypeAlias = Callable[[argparse.Namespace], int]

USUAL_EXITS = {
    "0": "done",
    "1": "it cannot be done; standard error says why",
    "2": "the command is not understood",
}


class Parser(argparse.ArgumentParser):
    """Says what is nearest when a word is not understood. `commands` are those below it, by name."""

    def __init__(self, **more: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **more)
        self.commands: dict[str, Parser] = {}
        self.summary = ""

    @property
    def options(self) -> list[argparse.Action]:
        return [action for action in self._actions if action.option_strings]

    @property
    def positionals(self) -> list[argparse.Action]:
        return [action for action in self._actions if not action.option_strings and not self.commands]

    def add_version(self) -> None:
        self.add_argument("--version", action="version", version=f"roomful {roomful.__version__}")

    def add_commands(self, title: str, metavar: str) -> "Commands":
        return Commands(self, self.add_subparsers(title=title, required=True, metavar=metavar))

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """As `parse_args`, but an option that is not there is told by the command it was meant for."""
        found, unknown = self.parse_known_args(words)
        if unknown:
            found.parser.refuse(unknown[0])
        return found

    def refuse(self, word: str) -> NoReturn:
        if not word.startswith("-"):
            self.error(f"{word!r} is one word too many")
        known = [flag for action in self.options for flag in action.option_strings]
        self.error(f"there is no option {word}{nearest(word.partition('=')[0], known)}")

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.format_usage()}{self.prog}: {message}\nTry: {self.prog} --help\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            known = [str(choice) for choice in action.choices]
            what = str(action.metavar or action.dest).lower()
            hint = nearest(str(value), known) or f": there are {', '.join(known)}"
            self.error(f"there is no {what} {value!r}{hint}")


class Commands:
    """The commands below a parser."""

    def __init__(self, parser: Parser, made: Any) -> None:
        self._parser = parser
        self._made = made

    def add(
        self,
        name: str,
        run: Run,
        summary: str,
        *,
        examples: Sequence[str],
        exits: dict[str, str] | None = None,
        more: str = "",
    ) -> Parser:
        """A command that `run` does. `examples` are command lines that work as they stand, `exits` what its
        own exit codes mean, `more` is told between the two."""
        shown = [_section("examples", ((example, "") for example in examples)), more]
        shown.append(_section("exits with", (USUAL_EXITS | (exits or {})).items()))
        made = self._below(name, summary, "\n".join(part for part in shown if part))
        made.set_defaults(run=run, parser=made)
        return made

    def add_group(self, name: str, summary: str, title: str, metavar: str) -> "Commands":
        return self._below(name, summary, "").add_commands(title, metavar)

    def _below(self, name: str, summary: str, epilog: str) -> Parser:
        made: Parser = self._made.add_parser(name, help=summary, description=summary, epilog=epilog)
        made.summary = summary
        self._parser.commands[name] = made
        return made


def nearest(word: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(word, list(known), 1)
    return f". Did you mean {close[0]}?" if close else ""


def _section(title: str, rows: Iterable[tuple[str, str]]) -> str:
    lines = [f"  {name}  {words}".rstrip() for name, words in rows]
    return "\n".join([f"{title}:", *lines, ""])


def add_database(parser: Parser) -> None:
    parser.add_argument("--database", metavar="URL", help="sqlite:///roomful.db (default) or postgresql://…")


def settings_of(arguments: argparse.Namespace, **more: Any) -> Settings:
    """What was typed, then the environment, then roomful.toml."""
    names = set(Settings.__struct_fields__)
    return load_settings({name: value for name, value in vars(arguments).items() if name in names} | more)
