"""What holds after every history."""

import asyncio
import json
import re
import traceback
from typing import TYPE_CHECKING, Any

from tests.simulation.house import ADMIN_KEY
from tests.simulation.people import Reader, ask

if TYPE_CHECKING:
    from tests.simulation.history import History

UNSETTLED = {"streaming", "ready", "running"}
_MARK = re.compile(r"\[\[(\w+)\]\]")


async def look(history: "History") -> None:
    await _fresh_readers(history)
    pages = {space_id: await _messages(history, space_id, ADMIN_KEY) for space_id in history.spaces}
    runs = await _runs(history)
    for space_id, messages in pages.items():
        _dense(history, space_id, messages)
        _at_rest(history, runs, messages)
    for reader in history.readers:
        await _same(history, reader)
    _acknowledged(history, pages)
    _runs_are_as_told(history, runs)
    _effects(history)
    _nothing_crossed(history)


def _problem(history: "History", what: str) -> None:
    history.told.problems.append(what)


async def _fresh_readers(history: "History") -> None:
    """Somebody comes now, and everybody has the time to hear the last news."""
    for reader in list(history.readers):
        late = Reader(
            history.loop, reader.chance, reader.token, reader.space_id, history.door, history.heard,
            len(history.readers), name=reader.name, calm=True,
        )  # fmt: skip
        history.readers.append(late)
        history.late.append(history.loop.create_task(late.read()))
    await asyncio.sleep(5)


async def _messages(history: "History", space_id: str, token: str) -> list[dict[str, Any]]:
    """The same at every door."""
    path = f"/api/spaces/{space_id}/messages?limit=200"
    found: list[Any] = []
    for machine in history.houses.machines:
        given = await ask(history.loop, machine.door, "GET", path, token)
        assert given.status == 200, (path, given)
        history.note("page", given.body.decode())
        found.append(given.json["messages"])
    if any(other != found[0] for other in found):
        _problem(history, f"{space_id} is not the same everywhere: {_difference(found[0], found[-1])}")
    return found[0]


def _dense(history: "History", space_id: str, messages: list[dict[str, Any]]) -> None:
    if [message["seq"] for message in messages] != list(range(1, len(messages) + 1)):
        _problem(history, f"{space_id} has gaps: {[message['seq'] for message in messages]}")


def _at_rest(history: "History", runs: dict[str, Any], messages: list[dict[str, Any]]) -> None:
    """A run that waits may show what goes on once it is answered; one that ended leaves nothing open."""
    for message in messages:
        if "endedAt" not in runs.get(message.get("runId", ""), {"endedAt": ""}):
            continue
        if message["status"] == "open":
            _problem(history, f"{message['id']} is open, and its run has ended")
        if unsettled := [part for part in message["parts"] if part["status"] in UNSETTLED]:
            _problem(history, f"{message['id']} has parts that are not settled: {unsettled}")


async def _same(history: "History", reader: Reader) -> None:
    """What a reader made of what it was told is what a page shows."""
    page = await _messages(history, reader.space_id, reader.token)
    try:
        view = reader.view()
        state = json.loads(json.dumps(view.state()))
    except (AssertionError, StopIteration, KeyError) as problem:
        line = traceback.extract_tb(problem.__traceback__)[-1].line
        _problem(history, f"reader {reader.number} of {reader.space_id} cannot fold: {problem!r} at {line}")
        return
    first = min((message["seq"] for message in state), default=1)
    shown = [message for message in page if message["seq"] >= first]
    where = f"reader {reader.number} of {reader.space_id}"
    if state != shown:
        _problem(history, f"{where} sees something else: {_difference(state, shown)}")
    path = f"/api/spaces/{reader.space_id}/members"
    given = await ask(history.loop, history.door(), "GET", path, reader.token)
    members = {member["entityId"] for member in given.json["members"]}
    if view.members != members:
        _problem(history, f"{where} sees {sorted(view.members)}, not {sorted(members)}")


def _difference(one: Any, other: Any, where: str = "") -> str:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted(one.keys() | other.keys()):
            if one.get(key, "(none)") != other.get(key, "(none)"):
                return _difference(one.get(key, "(none)"), other.get(key, "(none)"), f"{where}.{key}")
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, (this, that) in enumerate(zip(one, other, strict=True)):
            if this != that:
                return _difference(this, that, f"{where}[{index}]")
    return f"{where}: {json.dumps(one)[:600]} and {json.dumps(other)[:600]}"


def _acknowledged(history: "History", pages: dict[str, list[dict[str, Any]]]) -> None:
    for said in history.ledger.said:
        kept = [one for one in pages[said.space_id] if one.get("clientMessageId") == said.key]
        if len(kept) > 1 or (said.id and [one["id"] for one in kept] != [said.id]):
            _problem(history, f"{said} is there as {[one['id'] for one in kept]}")
        for message in kept:
            if said.is_deleted and not message.get("deleted"):
                _problem(history, f"{said.id} was deleted and is there: {message}")
            if message.get("deleted") and not said.may_be_deleted:
                _problem(history, f"nobody deleted {said.id}")
            texts = [part["text"] for part in message["parts"]]
            if not message.get("deleted") and not (len(texts) == 1 and texts[0] in said.texts):
                _problem(history, f"{said.id} says {texts}, not one of {said.texts}")


async def _runs(history: "History") -> dict[str, Any]:
    given = await ask(history.loop, history.door(), "GET", "/api/runs?limit=200", ADMIN_KEY)
    history.note("runs", given.body.decode())
    runs = {run["id"]: run for run in given.json["runs"]}
    history.told.runs = len(runs)
    return runs


def _runs_are_as_told(history: "History", runs: dict[str, Any]) -> None:
    for call_id, answers in history.ledger.answered.items():
        if answers > 1:
            _problem(history, f"{call_id} was answered {answers} times")
    for run in runs.values():
        if run["status"] in ("queued", "running"):
            _problem(history, f"run {run['id']} is {run['status']}")
        if run["id"] in history.ledger.canceled and "endedAt" not in run:
            _problem(history, f"run {run['id']} was canceled and is {run['status']}")
        if run.get("error", {}).get("code") == "internal":
            _problem(history, f"run {run['id']} failed inside: {run}")


def _effects(history: "History") -> None:
    for call_id, count in history.egress.effects.items():
        if count > 1:
            _problem(history, f"{call_id} had its effect {count} times")


def _nothing_crossed(history: "History") -> None:
    """No agent was told, and no reader read, what was said in a space that it is not in."""
    for request in history.models.requests:
        seen = set(_MARK.findall(repr(request.messages)))
        mine = {space_id for space_id, members in history.spaces.items() if request.agent_id in members}
        if request.agent_id in history.agents and not seen <= mine:
            _problem(history, f"{request.agent_id} was told of {seen - mine}")
    for reader in history.readers:
        history.told.events += len(reader.events)
        for event in reader.events:
            if not set(_MARK.findall(json.dumps(event.data))) <= {reader.space_id}:
                _problem(history, f"reader {reader.number} of {reader.space_id} read {event}")
