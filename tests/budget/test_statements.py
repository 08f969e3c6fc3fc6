"""What a request asks of the database: so many statements, whatever is stored, and each finds its rows."""

import asyncio
import re
import time
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pytest

from roomful.domain.changes import AddMessage
from roomful.store.sqlite import SqliteDatabase
from tests.budget.counted import CountedHouse, Statement, calling, counted_house, listed
from tests.store.things import message

Script: TypeAlias = Mapping[str, Any]
LOOKING: Script = {"turns": [{"text": "Looking.", "hang": True}]}


Asks: TypeAlias = Callable[[CountedHouse], Coroutine[Any, Any, list[Statement]]]


class Request(NamedTuple):
    """`asks` gives the statements of one request to a house with this script."""

    asks: Asks
    most: int
    why: str
    script: Script | None = None
    scout: Script = LOOKING


async def _post(house: CountedHouse) -> list[Statement]:
    with house.counting() as done:
        await house.say(space_id="quiet")
    return done.statements


async def _wake(house: CountedHouse) -> list[Statement]:
    with house.counting() as done:
        await house.say()
    return done.until_commit


async def _page(house: CountedHouse) -> list[Statement]:
    with house.counting() as done:
        await house.asked("GET", "/api/spaces/room/messages")
    return done.statements


async def _snapshot(house: CountedHouse) -> list[Statement]:
    with house.counting() as done:
        await house.reader()
    return done.statements


async def _see_run(house: CountedHouse) -> list[Statement]:
    run_id = await house.woken()
    with house.counting() as done:
        await house.asked("GET", f"/api/runs/{run_id}")
    return done.statements


async def _list_runs(house: CountedHouse) -> list[Statement]:
    await house.woken()
    with house.counting() as done:
        listed = await house.asked("GET", "/api/runs?spaceId=room")
    assert len(listed["runs"]) == 1
    return done.statements


async def _answer(house: CountedHouse) -> list[Statement]:
    run_id = await house.woken()
    [card] = (await house.asked("GET", f"/api/runs/{run_id}"))["pendingToolCalls"]
    body = {"toolCallId": card["toolCallId"], "result": {"title": "Yes"}}
    with house.counting() as done:
        await house.asked("POST", f"/api/runs/{run_id}/tool-results", body)
    return done.until_commit


async def _everything(house: CountedHouse) -> list[Statement]:
    for number in range(8):
        await house.gateway.space(f"room-{number}", "ada")
    with house.counting() as done:
        stream = house.open("GET", "/api/stream", token=house.ada)
        await stream.until(lambda stream: stream.sends)
    return done.statements


async def _delegations(house: CountedHouse) -> list[Statement]:
    reader = await house.reader()
    await house.say()
    await reader.until(lambda stream: stream.text.count("event: subagent.text") >= 50)
    with house.counting() as done:
        page = await house.asked("GET", "/api/spaces/room/messages")
    assert all(part["child"]["text"] for part in page["messages"][-1]["parts"])
    assert len(page["messages"][-1]["parts"]) == 50
    return done.reads


REQUESTS = {
    "a message": Request(_post, 6, "space with members, awaited replies; place, message, number, commit"),
    "a message that wakes an agent": Request(
        _wake, 8, "as a message, and the agent, its run, and where that shows itself"
    ),
    "a page": Request(_page, 2, "space with role, messages"),
    "a snapshot": Request(
        _snapshot, 5, "a page, members, active runs; space and role again once nothing can be missed"
    ),
    "everything of somebody in ten spaces": Request(
        _everything, 32, "my spaces, before and after; of each a page, its members and active runs"
    ),
    "a run": Request(_see_run, 3, "run, agent, role"),
    "a space with one run": Request(_list_runs, 4, "role, runs; of each, as it was read, agent and role"),
    "an answer": Request(
        _answer, 20, "run, call, agent, message, roles; call, part, run, audit and number", calling("form")
    ),
    "a page with 50 delegations": Request(
        _delegations, 3, "a page, and all that is below it at once", calling("ask_scout", repeat=50)
    ),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_statements_of_a_request(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    request = REQUESTS[name]

    async def story() -> None:
        async with counted_house(tmp_path, monkeypatch, request.script, request.scout) as house:
            taken = await request.asks(house)
        most = f"{name} takes {request.most} at most ({request.why}), not {listed(taken)}"
        assert len(taken) <= request.most, most

    asyncio.run(story())


@pytest.mark.parametrize("ask", [_page, _snapshot, _post], ids=["a page", "a snapshot", "a message"])
def test_a_space_of_any_size_takes_the_same_statements(
    ask: Asks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with counted_house(tmp_path, monkeypatch) as house:
            taken: list[list[str]] = []
            for count in (10, 990):
                await _fill(house, count, first=len(taken) * 10)
                taken.append([one.sql for one in await ask(house)])
        assert taken[0] == taken[1]

    asyncio.run(story())


async def _fill(house: CountedHouse, count: int, first: int) -> None:
    for space_id in ("room", "quiet"):
        ids = (f"{space_id}-{number}" for number in range(first, first + count))
        await house.house.store.commit(
            [AddMessage(message(id, space_id=space_id, entity_id="ada")) for id in ids]
        )


SMALL = frozenset({"writers"})
"""Tables that may be read from one end to the other: a row for each process."""

SORTED = {
    "FROM members m JOIN entities e": "the members of one space, in the order in which they came",
    "FROM members m JOIN spaces s": "the spaces of one member",
    "FROM members own JOIN spaces s": "the members of one member's spaces",
    "FROM memories": "what one agent keeps, which is bounded",
    "FROM goals": "the goals of one agent, which are bounded",
    "FROM runs WHERE ended_at IS NULL AND (id = ?": "the runs under way of one root, which are bounded",
    "WITH RECURSIVE tree": "what is below the delegations of one page, which is bounded",
}
"""What is sorted after it was found, and why that is little."""


def test_every_statement_of_a_run_and_its_readers_finds_its_rows_by_an_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    statements: dict[str, Any] = {}
    for number, request in enumerate(REQUESTS.values()):
        folder = tmp_path / str(number)
        folder.mkdir()

        async def story(request: Request = request, folder: Path = folder) -> None:
            async with counted_house(folder, monkeypatch, request.script, request.scout) as house:
                with house.counting() as done:
                    await request.asks(house)
                statements.update({one.sql: one.params for one in done.statements if one.sql != "COMMIT"})

        asyncio.run(story())
    assert len(statements) > 30
    wrong = _slow(tmp_path / "0" / "roomful.db", statements)
    assert not wrong, "\n".join(wrong)


def _slow(path: Path, statements: Mapping[str, Any]) -> list[str]:
    db = SqliteDatabase(path, now=time.time, patience=2, read_only=True)
    try:
        tables = {name for (name,) in db.rows("SELECT name FROM sqlite_master WHERE type = 'table'")}
        steps = [
            (" ".join(sql.split()), row[3])
            for sql, params in statements.items()
            for row in db.rows(f"EXPLAIN QUERY PLAN {sql}", params)
        ]
    finally:
        db.close()
    scanned = [f"{sql}: {step}" for sql, step in steps if _scanned(sql, step) in tables - SMALL]
    is_known = [any(known in sql for known in SORTED) for sql, _ in steps]
    return scanned + [
        f"{sql}: {step}"
        for (sql, step), known in zip(steps, is_known, strict=True)
        if "TEMP B-TREE" in step and not known
    ]


def _scanned(sql: str, step: str) -> str:
    """The table, by its own name, or whatever else a step goes through from one end to the other."""
    if (scan := re.match(r"SCAN (\w+)", step)) is None:
        return ""
    aliased = re.search(rf"(?:FROM|JOIN) (\w+) {scan[1]}\b", sql)
    return aliased[1] if aliased else scan[1]
