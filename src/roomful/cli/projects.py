"""`roomful init` and `roomful validate`: agents of one's own, as files."""

import argparse
import shlex
import sys
from pathlib import Path

from roomful.cli.parsing import Commands
from roomful.domain.errors import RoomfulError
from roomful.settings import load_settings

_NEXT = """\
{folder} has an agent with a tool and a form of its own, and a test. Serve it:

  {enter}roomful serve

and in another terminal, make a space with you in it, and talk there:

  {enter}roomful space team --person ada --agent helper
  {enter}ROOMFUL_TOKEN=$(roomful token ada) roomful chat team

Say: What does a laptop cost? No key is needed; README.md says how to use a real model."""


def add_commands(commands: Commands) -> None:
    init = commands.add(
        "init",
        _init,
        "Make a project: an agent, a tool, a form and a test, which work without a key.",
        examples=("roomful init my-room", "roomful init"),
        exits={"1": "a file of the same name is there; nothing was written"},
    )
    init.add_argument(
        "folder",
        metavar="FOLDER",
        type=Path,
        nargs="?",
        default=Path(),
        help="made if missing (default: here)",
    )
    validate = commands.add(
        "validate",
        _validate,
        "Check agent configuration files; exit 1 if one is wrong.",
        examples=("roomful validate agents/helper.yaml", "roomful validate agents/*.yaml"),
        exits={
            "0": "every file is fine",
            "1": "a file is wrong; standard error says where and what to write",
        },
    )
    validate.add_argument("files", nargs="+", metavar="FILE", type=Path)


def _init(arguments: argparse.Namespace) -> int:
    from roomful.app.projects import make_project

    folder: Path = arguments.folder
    for path in make_project(folder):
        print(f"wrote {path}")
    is_here = folder.resolve() == Path.cwd()
    enter = "" if is_here else f"cd {shlex.quote(str(folder))} && "
    print("\n" + _NEXT.format(folder="This folder" if is_here else folder, enter=enter))
    return 0


def _validate(arguments: argparse.Namespace) -> int:
    from roomful.app.validating import validate
    from roomful.tools import ConfigRefused

    settings = load_settings({})
    wrong = 0
    for path in arguments.files:
        try:
            spec = validate(path, settings)
            print(f"{path}: agent {spec.id!r} with {len(spec.tools)} tools is fine")
        except ConfigRefused as refused:
            wrong += 1
            for problem in refused.problems:
                print(problem.line, file=sys.stderr)
        except RoomfulError as error:
            wrong += 1
            print(error.detail, file=sys.stderr)
    return 1 if wrong else 0
