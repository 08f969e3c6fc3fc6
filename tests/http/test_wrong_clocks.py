"""Gateways on machines whose clocks disagree share a database, and go by its clock."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.http.test_waiting import FORM
from tests.servers.fake_openai import HANG, Answer, FakeOpenAI, call, text
from tests.servers.postgres import PostgresServer, postgres_server
from tests.servers.roomful import Caller, Roomful, openai
from tests.servers.watched import wait_until

SECONDS = 2.0
WRONG_CLOCK = "import time\nright = time.time\ntime.time = lambda: right() + {}\n"


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


class Machine(Roomful):
    """One whose clock is so many hours ahead."""

    def __init__(self, folder: Path, database: str, hours: int) -> None:
        folder.mkdir()
        (folder / "sitecustomize.py").write_text(WRONG_CLOCK.format(3600 * hours))
        path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
        super().__init__(folder, database=database, ROOMFUL_LEASE_SECONDS="1", PYTHONPATH=path)


@pytest.mark.parametrize(("hours", "made_by_the_wrong_one"), [(-1, True), (1, False)])
def test_a_card_expires_in_time_wherever_it_was_made(
    tmp_path: Path, postgres: PostgresServer, model: FakeOpenAI, hours: int, made_by_the_wrong_one: bool
) -> None:
    database = f"{postgres.url}&schema=clocks_{hours + 1}_{made_by_the_wrong_one:d}"
    with (
        Machine(tmp_path / "right", database, 0) as right,
        Machine(tmp_path / "wrong", database, hours) as wrong,
    ):
        house = wrong if made_by_the_wrong_one else right
        ada = house.person("ada")
        house.agent("asker", openai(model.base_url), {**FORM, "answerSeconds": SECONDS})
        house.space("room", "ada", "asker")
        model.answer(Answer(call("form", {"q": "Pizza?"})), Answer(text("ok")))
        began = time.monotonic()
        ada.say("room", "ask them")
        wait_until(lambda: _statuses(ada) == ["waiting"])
        wait_until(lambda: _statuses(ada) == ["error"])
        assert SECONDS <= time.monotonic() - began < SECONDS + 10


def _statuses(ada: Caller) -> list[str]:
    return [part["status"] for message in ada.messages("room")[1:] for part in message["parts"]]


def test_the_runs_of_a_dead_machine_are_taken_over_by_one_whose_clock_is_behind(
    tmp_path: Path, postgres: PostgresServer, model: FakeOpenAI
) -> None:
    with (
        Machine(tmp_path / "right", postgres.url, 0) as right,
        Machine(tmp_path / "wrong", postgres.url, -1) as wrong,
    ):
        ada = right.person("ada")
        right.agent("helper", openai(model.base_url))
        right.space("room", "ada", "helper")
        model.answer(Answer([HANG]), Answer(text("Done.")))
        run_id = ada.say("room", "help")["runs"][0]["runId"]
        model.wait_for_requests(1)
        right.kill()
        model.wait_for_requests(2)
        wait_until(lambda: wrong.admin.get(f"/api/runs/{run_id}")["status"] == "completed")
