"""Help that can be followed as it stands, and what is said to somebody who typed something else."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from roomful import settings
from roomful.cli import main, make_parser
from roomful.cli.parsing import Parser

HEAVY = {
    "aiohttp",
    "jsonschema_rs",
    "nacl",
    "roomful.app",
    "roomful.client",
    "starlette",
    "uvicorn",
    "yaml",
}


def commands(parser: Parser) -> Iterator[Parser]:
    for inner in parser.commands.values():
        yield from commands(inner) if inner.commands else [inner]


COMMANDS = list(commands(make_parser()))


def examples(parser: Parser) -> list[str]:
    [block] = re.findall(r"^examples:\n((?:  .*\n)+)", parser.format_help(), re.MULTILINE)
    return [line.strip() for line in block.splitlines()]


def words(example: str) -> list[str]:
    """Of roomful's own command in a line of a shell."""
    [command] = re.findall(r"\broomful (.*?)(?:\)| > .*)?$", example)
    return shlex.split(command)


def said_by(parser: Parser, capsys: pytest.CaptureFixture[str], *typed: str) -> str:
    with pytest.raises(SystemExit) as ended:
        parser.read(typed)
    assert ended.value.code == 2
    return capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.prog)
def test_every_command_has_examples_that_are_understood_and_says_what_it_exits_with(command: Parser) -> None:
    for example in examples(command):
        assert make_parser().read(words(example)).parser.prog == command.prog
    [exits] = re.findall(r"^exits with:\n((?:  .*\n)+)", command.format_help(), re.MULTILINE)
    assert [line.split()[0] for line in exits.splitlines()] == ["0", "1", "2"]


def test_the_examples_that_harm_nobody_work_as_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One after the other, as somebody who reads the help from top to bottom."""
    shown = {parser.prog.partition(" ")[2]: examples(parser) for parser in COMMANDS}
    monkeypatch.chdir(tmp_path)
    assert main(words(shown["init"][0])) == 0
    monkeypatch.chdir(tmp_path / "my-room")
    monkeypatch.setenv("ROOMFUL_SECRET_KEY", "new,old")
    run = [
        shown["validate"][0],
        shown["migrate"][0],
        "roomful space team --person ada",
        shown["space"][1],
        *shown["token"],
        *shown["rotate"],
        *shown["export"],
        *shown["replay"],
        shown["doctor"][0],
        *shown["completion"],
    ]
    assert [(line, capsys.readouterr().err) for line in run if main(words(line)) != 0] == []


@pytest.mark.parametrize("variable", settings.variables(), ids=lambda variable: variable.name)
def test_every_variable_stands_in_the_help_of_serve_with_its_default(variable: settings.Variable) -> None:
    shown = make_parser().commands["serve"].format_help().splitlines()
    at = shown.index(f"  {variable.name}={variable.default}")
    assert shown[at + 1] == f"      {variable.about}"
    assert re.fullmatch(r"\S.+\.", variable.about)


def test_no_variable_that_the_settings_read_is_left_out_of_the_help() -> None:
    source = Path(settings.__file__).read_text(encoding="utf-8")
    shown = "".join(command.format_help() for command in COMMANDS)
    named = set(re.findall(r"\bROOMFUL_[A-Z_]*[A-Z]\b", source))
    assert {name for name in named if name not in shown} == set()
    assert len(settings.variables()) == len(settings.Settings.__struct_fields__)


def test_somebody_who_types_nothing_more_is_told_where_to_begin(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "roomful demo" in said.err
    assert "roomful init my-room" in said.err
    assert [name for name in make_parser().commands if f"\n    {name}" not in said.err] == []


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("sevre", "roomful: there is no command 'sevre'. Did you mean serve?"),
        ("valdate agents/a.yaml", "roomful: there is no command 'valdate'. Did you mean validate?"),
        ("qqq", "roomful: there is no command 'qqq': there are serve, demo, init, "),
        ("import mstra", "roomful import: there is no system 'mstra'. Did you mean mastra?"),
        ("completion bsh", "roomful completion: there is no shell 'bsh'. Did you mean bash?"),
        ("serve --prot 9000", "roomful serve: there is no option --prot. Did you mean --port?"),
        ("serve --agent=x --q", "roomful serve: there is no option --q\n"),
        ("serve agents", "roomful serve: 'agents' is one word too many"),
        ("serve --port many", "roomful serve: argument --port: invalid int value: 'many'"),
        ("token", "roomful token: the following arguments are required: ENTITY"),
    ],
)
def test_what_is_not_understood_is_answered_with_what_is_nearest(
    typed: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    told = said_by(make_parser(), capsys, *typed.split())
    assert said in told
    assert told.splitlines()[-1] == f"Try: {said.partition(':')[0]} --help"


def test_help_loads_nothing_that_only_a_command_needs() -> None:
    ask = (
        f"import sys; from roomful.cli import make_parser; make_parser(); print({HEAVY} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert (ended.value.code, capsys.readouterr().out) == (0, "roomful 0.1.0\n")
