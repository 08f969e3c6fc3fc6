"""People and agents brought together from the command line."""

from pathlib import Path

import pytest

from roomful.cli import main
from tests.servers.roomful import Caller, Roomful


def gathered(house: Roomful, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main(["space", *words, "--database", house.database])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_a_space_is_made_beside_a_running_server_with_people_and_agents_in_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Roomful(tmp_path) as house:
        house.agent("helper", "scripted:helper")
        made = gathered(house, capsys, "team", "--person", "ada", "--person", "grace", "--agent", "helper")
        assert made == (0, "in team: ada, grace, helper\n", "")
        main(["token", "ada", "--database", house.database])
        ada = Caller(house, capsys.readouterr().out.strip(), "ada")
        assert ada.say("team", "hello")["message"]["seq"] == 1
        assert ada.get("/api/spaces/team")["name"] == "Team"

        again = gathered(house, capsys, "team", "--person", "ada", "--person", "omar")
        assert again == (0, "in team: ada, grace, helper, omar\n", "")
        told = house.admin.get("/api/audit")["rows"]
    actions = sorted(row["action"] for row in told if row.get("spaceIds") == ["team"])
    assert actions == ["member.added"] * 4 + ["space.created"]


def test_whoever_is_in_the_space_keeps_their_role(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Roomful(tmp_path) as house:
        house.person("ada")
        house.space("team", "ada:owner")
        assert gathered(house, capsys, "team", "--person", "ada")[0] == 0
        [ada] = house.admin.get("/api/spaces/team/members")["members"]
    assert ada["role"] == "owner"


def test_nothing_is_made_when_somebody_cannot_come(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Roomful(tmp_path) as house:
        house.agent("helper", "scripted:helper")
        house.person("ada")
        for words, said in (
            (("--person", "grace", "--agent", "helpr"), "--agent: there is no agent 'helpr' yet: start"),
            (("--person", "helper"), "--person: 'helper' is no person; an agent comes with --agent helper"),
            (("--agent", "ada"), "--agent: 'ada' is a human; a person comes with --person ada"),
            (("--person", "a b"), "id 'a b' is not an id"),
        ):
            code, out, err = gathered(house, capsys, "team", *words)
            assert (code, out) == (1, "")
            assert said in err
        assert house.admin.request("GET", "/api/spaces/team").status_code == 404
        assert main(["token", "grace", "--database", house.database]) == 1
