"""The command line. Each module here adds its commands, and each command is one function."""

import sys
from collections.abc import Sequence

from roomful.cli import completing, measuring, operating, projects, serving, stories, talking
from roomful.cli.parsing import Parser
from roomful.domain.errors import RoomfulError

__all__ = ["main", "make_parser"]

_BEGINNING = """\
begin with one of these:
  roomful demo              a world to look at; no key is needed
  roomful init my-room      an agent, a tool, a form and a test of your own

`roomful COMMAND --help` has examples of each command and says what it exits with.
"""


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    parser = make_parser()
    if not words:
        parser.print_help(sys.stderr)
        return 2
    arguments = parser.read(words)
    try:
        return arguments.run(arguments)
    except RoomfulError as error:
        print(f"roomful: {error.detail}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def make_parser() -> Parser:
    parser = Parser(
        prog="roomful",
        description="A gateway where people and AI agents share spaces.",
        epilog=_BEGINNING,
    )
    parser.add_version()
    commands = parser.add_commands("commands", "COMMAND")
    for room in (serving, projects, talking, operating, stories, measuring):
        room.add_commands(commands)
    completing.add_commands(commands, parser)
    return parser
