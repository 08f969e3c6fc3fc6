"""A copy of everything, made while somebody writes."""

import stat
from pathlib import Path

import pytest

from roomful.cli import main
from tests.servers.roomful import Caller, Roomful


def backed_up(capsys: pytest.CaptureFixture[str], copy: Path, database: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main(["backup", str(copy), "--database", database])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_a_copy_beside_a_running_gateway_has_all_that_was_acknowledged_and_serves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy.db"
    with Roomful(tmp_path) as house:
        ada = house.person("ada")
        house.space("team", "ada")
        for number in range(20):
            ada.say("team", f"words {number}")
        made = backed_up(capsys, copy, house.database)
        assert made == (0, f"{copy} has the whole database: {copy.stat().st_size} bytes\n", "")
        seen = ada.messages("team")
        ada.say("team", "too late")
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert main(["doctor", "--database", f"sqlite:///{copy}"]) == 0
    (tmp_path / "again").mkdir()
    with Roomful(tmp_path / "again", database=f"sqlite:///{copy}") as house:
        assert Caller(house, ada.token, "ada").messages("team") == seen


def test_a_file_that_is_there_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = tmp_path / "copy.db"
    copy.write_bytes(b"precious")
    with Roomful(tmp_path) as house:
        code, _, told = backed_up(capsys, copy, house.database)
    assert (code, copy.read_bytes()) == (1, b"precious")
    assert "is there already and was left as it is: name another file" in told


@pytest.mark.parametrize(
    ("database", "copy", "told"),
    [
        ("sqlite:///{}/nothing.db", "copy.db", "There is no database"),
        ("sqlite:///{}/damaged.db", "copy.db", "damaged"),
        ("sqlite:///{}/empty.db", "no/folder/copy.db", "cannot be written"),
        ("postgresql://db/roomful", "copy.db", "pg_dump"),
    ],
)
def test_what_cannot_be_copied_is_told_and_leaves_nothing_behind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], database: str, copy: str, told: str
) -> None:
    (tmp_path / "damaged.db").write_bytes(b"no database at all" * 1000)
    (tmp_path / "empty.db").touch()
    code, _, said = backed_up(capsys, tmp_path / copy, database.format(tmp_path))
    assert code == 1
    assert told in said
    assert {path.name for path in tmp_path.iterdir()} == {"damaged.db", "empty.db"}
