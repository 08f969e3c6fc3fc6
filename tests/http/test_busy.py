"""A message that comes while its agent is at work: a run beside it, a run after it, or a word to it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.http.test_delegation import checked
from tests.http.test_visibility import calling
from tests.requirements import requirement
from tests.servers.fake_openai import Answer, Asked, FakeOpenAI, Piece, hold, text
from tests.servers.roomful import Caller, Event, Listener, Roomful, openai

FORM: dict[str, Any] = {"name": "form", "executionType": "basic", "execution": {"mode": "no-execution"}}
LOOK: dict[str, Any] = {
    "name": "look",
    "executionType": "basic",
    "execution": {"mode": "static", "output": {"found": True}},
}
CARD: dict[str, Any] = {
    **FORM,
    "name": "card",
    "execution": {"mode": "no-execution", "wait": False},
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
}
HOW = {"queue": "queued", "steer": "steered"}
WORDS = ("one", "two", "three", "four")


def held(word: str) -> Answer:
    """Begins to speak, and ends when the test lets it."""
    return Answer([*text(f"begin {word}, "), hold(word), *text(f"end {word}.")])


def held_call(word: str, *calls: tuple[str, Any]) -> Answer:
    pieces: list[Piece] = [hold(word), *calling(*calls).pieces]
    return Answer(pieces)


class Book:
    """Answers by the word that started the run and by how many steps it made; the rest is a short word. The
    same question gets the same answer, so a run may be asked again after a crash."""

    def __init__(self) -> None:
        self.answers: dict[str, list[Answer]] = {}

    def __call__(self, asked: Asked) -> Answer:
        word = began(asked)
        step = sum(message["role"] == "assistant" for message in asked.messages)
        given = self.answers.get(word, [])
        return given[step] if step < len(given) else Answer(text(f"done {word}."))


def began(asked: Asked) -> str:
    """The word of the message that started the run."""
    return asked.messages[1]["content"]


def told(model: FakeOpenAI) -> set[str]:
    """Every word that some request had as said to the agent: in the history alone it does not count."""
    said = [
        message["content"].rpartition(": ")[2]
        for asked in model.requests
        for message in asked.messages
        if message["role"] == "user"
    ]
    return set(said)


@pytest.fixture
def book() -> Book:
    return Book()


@pytest.fixture
def model(book: Book) -> Iterator[FakeOpenAI]:
    with FakeOpenAI(book) as model:
        yield model


def arrange(house: Roomful, model: FakeOpenAI, busy: str, *tools: Any, **more: Any) -> Caller:
    ada = house.person("ada")
    house.agent("worker", openai(model.base_url), *tools, onBusy=busy, speaks="text", **more)
    for space_id in ("room", "other"):
        house.space(space_id, "ada", "worker")
    return ada


def begin(ada: Caller, word: str, space_id: str = "room") -> str:
    """Says it, and gives the id of the run that takes it."""
    [run] = ada.say(space_id, word)["runs"]
    assert run["agentId"] == "worker"
    return run["runId"]


def at_of(ears: Listener, name: str, **fields: Any) -> int:
    """Where such an event stands among what was heard."""
    return ears.events.index(ears.wait_for(name, **fields))


def woke(ears: Listener, ada: Caller, word: str) -> Any:
    """What the message says of what it woke, heard live and found again."""
    [stored] = [one for one in ada.messages("room") if one["parts"][0].get("text") == word]

    def told(events: list[Event]) -> list[Any]:
        live = [e.data["message"] for e in events if e.name == "smartSpace.message"]
        return [message for message in live if message["id"] == stored["id"]]

    [heard] = ears.wait(told)
    assert heard.get("woke") == stored.get("woke")
    return stored.get("woke")


def all_ended(*run_ids: str) -> Any:
    def found(events: list[Event]) -> bool:
        ends = ("run.completed", "run.canceled", "run.failed")
        return set(run_ids) <= {event.data["runId"] for event in events if event.name in ends}

    return found


# parallel


@requirement("X-03")
@pytest.mark.parametrize("busy", ["parallel", None])
def test_in_parallel_two_runs_stream_at_once(
    house: Roomful, model: FakeOpenAI, book: Book, busy: str | None
) -> None:
    ada = arrange(house, model, busy or "parallel") if busy else _by_default(house, model)
    book.answers = {word: [held(word)] for word in WORDS[:2]}
    with ada.listen("room") as ears:
        first, second = begin(ada, "one"), begin(ada, "two")
        assert first != second
        for run_id in (first, second):
            ears.wait_for("text-start", runId=run_id)
        model.release("two")
        ears.wait_for("run.completed", runId=second)
        assert house.admin.get(f"/api/runs/{first}")["status"] == "running"
        checked(ears, ada, "room")
        model.release("one")
        ears.wait_for("run.completed", runId=first)
        state = checked(ears, ada, "room")
        assert woke(ears, ada, "two") is None
    said = {message["runId"]: message["parts"][0]["text"] for message in state if "runId" in message}
    assert said == {first: "begin one, end one.", second: "begin two, end two."}


def _by_default(house: Roomful, model: FakeOpenAI) -> Caller:
    ada = house.person("ada")
    house.agent("worker", openai(model.base_url), speaks="text")
    house.space("room", "ada", "worker")
    return ada


# queue


@requirement("X-03")
def test_in_the_queue_a_run_waits_for_its_turn(house: Roomful, model: FakeOpenAI, book: Book) -> None:
    ada = arrange(house, model, "queue")
    book.answers = {word: [held(word)] for word in WORDS[:2]}
    with ada.listen("room") as ears:
        first = begin(ada, "one")
        ears.wait_for("text-start", runId=first)
        second = begin(ada, "two")
        ears.wait_for("run.started", runId=second, status="queued")
        assert woke(ears, ada, "one") is None
        assert woke(ears, ada, "two") == [{"runId": second, "agentId": "worker", "how": "queued"}]
        assert house.admin.get(f"/api/runs/{second}")["status"] == "queued"
        assert len(model.requests) == 1
        model.release("one")
        begun = at_of(ears, "run.started", runId=second, status="running")
        assert begun > at_of(ears, "run.completed", runId=first)
        model.release("two")
        ears.wait_for("run.completed", runId=second)
        state = checked(ears, ada, "room")
    assert [message["parts"][0]["text"] for message in state] == [
        "one",
        "begin one, end one.",
        "two",
        "begin two, end two.",
    ]
    starts = [e.data["status"] for e in ears.events if e.name == "run.started" and e.data["runId"] == second]
    assert starts == ["queued", "running"]


@requirement("X-03")
@pytest.mark.parametrize("spaces", [("room",), ("room", "other")])
def test_in_the_queue_the_order_is_kept(
    house: Roomful, model: FakeOpenAI, book: Book, spaces: tuple[str, ...]
) -> None:
    ada = arrange(house, model, "queue")
    book.answers = {"one": [held("one")]}
    with ada.listen("room") as room, ada.listen("other") as other:
        runs = {word: begin(ada, word, spaces[at % len(spaces)]) for at, word in enumerate(WORDS)}
        model.release("one")
        for at, word in enumerate(WORDS):
            ears = room if spaces[at % len(spaces)] == "room" else other
            ears.wait_for("run.completed", runId=runs[word])
        for ears, space_id in ((room, "room"), (other, "other")):
            checked(ears, ada, space_id)
    assert [began(asked) for asked in model.requests] == list(WORDS)


@requirement("X-03")
def test_in_the_queue_a_run_that_waits_for_a_person_holds_nobody(
    house: Roomful, model: FakeOpenAI, book: Book
) -> None:
    ada = arrange(house, model, "queue", FORM)
    book.answers = {"one": [calling(("form", {}))], "two": [held("two")]}
    with ada.listen("room") as ears:
        first = begin(ada, "one")
        [form] = ears.wait_for("run.waiting_tool", runId=first).data["pendingToolCalls"]
        second = begin(ada, "two")
        ears.wait_for("text-start", runId=second)
        assert woke(ears, ada, "two") is None
        ada.post(f"/api/runs/{first}/tool-results", {"toolCallId": form["toolCallId"], "result": 1})
        ears.wait_for("tool-call.complete", toolCallId=form["toolCallId"])
        assert house.admin.get(f"/api/runs/{first}")["status"] == "queued"
        assert len(model.requests) == 2
        model.release("two")
        ears.wait_for("run.completed", runId=second)
        ears.wait_for("run.completed", runId=first)
        checked(ears, ada, "room")
        assert at_of(ears, "run.completed", runId=first) > at_of(ears, "run.completed", runId=second)


@requirement("X-03")
def test_the_queue_outlives_a_crash(tmp_path: Path, model: FakeOpenAI, book: Book) -> None:
    with Roomful(tmp_path) as house:
        ada = arrange(house, model, "queue")
        book.answers = {"one": [held("one")]}
        runs = {word: begin(ada, word) for word in WORDS}
        model.wait_for_requests(1)
        house.kill()
        house.start()
        with ada.listen("room") as ears:
            model.wait_for_requests(2)
            model.release("one", 2)
            ears.wait_for("run.completed", runId=runs["four"])
        for run_id in runs.values():
            assert house.admin.get(f"/api/runs/{run_id}")["status"] == "completed"
    assert [began(asked) for asked in model.requests] == ["one", *WORDS]


@requirement("X-03")
@pytest.mark.parametrize("word", ["one", "two"])
def test_a_canceled_run_lets_the_queue_go_on(
    house: Roomful, model: FakeOpenAI, book: Book, word: str
) -> None:
    ada = arrange(house, model, "queue")
    book.answers = {"one": [held("one")]}
    with ada.listen("room") as ears:
        runs = {word: begin(ada, word) for word in WORDS[:3]}
        ears.wait_for("text-start", runId=runs["one"])
        ada.post(f"/api/runs/{runs[word]}/cancel")
        ears.wait_for("run.canceled", runId=runs[word])
        model.release("one")
        ears.wait_for("run.completed", runId=runs["three"])
        checked(ears, ada, "room")
    left = [one for one in WORDS[:3] if one != word]
    assert [one for one in (began(asked) for asked in model.requests) if one != word] == left
    assert [run["status"] for run in house.admin.get("/api/runs")["runs"]].count("completed") == 2


# steer


def steered(model: FakeOpenAI, number: int) -> list[tuple[str, str]]:
    """Roles and words of a request after its opening."""
    messages = model.requests[number].messages[2:]
    return [(message["role"], (message.get("content") or "").rpartition(": ")[2]) for message in messages]


@requirement("X-03")
@pytest.mark.parametrize("words", [("two",), ("two", "three", "four")])
def test_a_run_at_work_has_what_is_said_from_its_next_step_on(
    house: Roomful, model: FakeOpenAI, book: Book, words: tuple[str, ...]
) -> None:
    ada = arrange(house, model, "steer", LOOK)
    book.answers = {"one": [held_call("go", ("look", {})), calling(("look", {}))]}
    with ada.listen("room") as ears:
        run_id = begin(ada, "one")
        model.wait_for_requests(1)
        assert [begin(ada, word) for word in words] == [run_id] * len(words)
        for word in words:
            assert woke(ears, ada, word) == [{"runId": run_id, "agentId": "worker", "how": "steered"}]
        model.release("go")
        ears.wait_for("run.completed", runId=run_id)
        checked(ears, ada, "room")
        assert woke(ears, ada, words[0]) == [{"runId": run_id, "agentId": "worker", "how": "steered"}]
    said = [("user", word) for word in words]
    assert [role for role, _ in steered(model, 1)[:2]] == ["assistant", "tool"]
    assert steered(model, 1)[2:] == said
    assert steered(model, 2)[2 : 2 + len(said)] == said
    assert "ada" in model.requests[1].messages[-1]["content"]
    assert len(model.requests) == 3
    assert len(house.admin.get("/api/runs")["runs"]) == 1


@requirement("X-03")
def test_a_message_during_the_last_step_makes_one_more(house: Roomful, model: FakeOpenAI, book: Book) -> None:
    ada = arrange(house, model, "steer")
    book.answers = {"one": [held("one"), held("two")]}
    with ada.listen("room") as ears:
        run_id = begin(ada, "one")
        ears.wait_for("text-start", runId=run_id)
        assert begin(ada, "two") == run_id
        model.release("one")
        model.wait_for_requests(2)
        assert begin(ada, "three") == run_id
        model.release("two")
        ears.wait_for("run.completed", runId=run_id)
        checked(ears, ada, "room")
    assert steered(model, 1) == [("assistant", "begin one, end one."), ("user", "two")]
    assert steered(model, 2)[-1] == ("user", "three")
    assert len(model.requests) == 3
    assert len(house.admin.get("/api/runs")["runs"]) == 1


LEFT = {
    "it is canceled": ([], {}, "canceled"),
    "it fails": ([("look", {})], {"limits": {"maxSteps": 1}}, "failed"),
    "it ends without a word": ([("skipResponse", {})], {}, "completed"),
    "it asks a person": ([("form", {})], {}, "waiting_tool"),
}


@requirement("X-03")
@pytest.mark.parametrize("case", LEFT)
def test_what_a_run_did_not_get_to_starts_another(
    house: Roomful, model: FakeOpenAI, book: Book, case: str
) -> None:
    calls, more, status = LEFT[case]
    ada = arrange(house, model, "steer", LOOK, FORM, **more)
    book.answers = {"one": [held_call("go", *calls)]}
    with ada.listen("room") as ears:
        first = begin(ada, "one")
        model.wait_for_requests(1)
        assert [begin(ada, "two"), begin(ada, "three")] == [first, first]
        if status == "canceled":
            ada.post(f"/api/runs/{first}/cancel")
        model.release("go")
        ears.wait_for(f"run.{status}", runId=first)
        ears.wait(lambda _: {"two", "three"} <= told(model))
        again = [run for run in house.admin.get("/api/runs")["runs"] if run["id"] != first]
        ears.wait(all_ended(*(run["id"] for run in again)))
        checked(ears, ada, "room")
    assert house.admin.get(f"/api/runs/{first}")["status"] == status
    heard = [began(asked) for asked in model.requests[1:]]
    assert heard[0] == "two"
    assert {run["trigger"]["spaceId"] for run in again} == {"room"}
    assert {run["trigger"]["entityId"] for run in again} == {"ada"}


@requirement("X-03")
def test_a_form_that_is_answered_goes_on_without_what_another_run_took(
    house: Roomful, model: FakeOpenAI, book: Book
) -> None:
    ada = arrange(house, model, "steer", FORM)
    book.answers = {"one": [held_call("go", ("form", {}))]}
    with ada.listen("room") as ears:
        first = begin(ada, "one")
        model.wait_for_requests(1)
        assert begin(ada, "two") == first
        model.release("go")
        [form] = ears.wait_for("run.waiting_tool", runId=first).data["pendingToolCalls"]
        ears.wait(lambda _: "two" in told(model))
        ada.post(f"/api/runs/{first}/tool-results", {"toolCallId": form["toolCallId"], "result": 1})
        ears.wait_for("run.completed", runId=first)
        ears.wait_for("run.completed", 2)
    asked = [began(one) for one in model.requests]
    assert asked == ["one", "two", "one"]
    assert [role for role, _ in steered(model, 2)] == ["assistant", "tool"]


@requirement("X-03")
def test_what_is_said_elsewhere_or_to_a_waiting_run_starts_a_run_beside(
    house: Roomful, model: FakeOpenAI, book: Book
) -> None:
    ada = arrange(house, model, "steer", FORM)
    book.answers = {"one": [held_call("go", ("form", {}))]}
    with ada.listen("room") as ears, ada.listen("other") as there:
        first = begin(ada, "one")
        model.wait_for_requests(1)
        second = begin(ada, "two", "other")
        there.wait_for("run.completed", runId=second)
        model.release("go")
        ears.wait_for("run.waiting_tool", runId=first)
        third = begin(ada, "three")
        ears.wait_for("run.completed", runId=third)
        assert woke(ears, ada, "three") is None
        assert len({first, second, third}) == 3
        checked(ears, ada, "room")
    assert [began(asked) for asked in model.requests] == ["one", "two", "three"]


@requirement("X-03")
@pytest.mark.parametrize("is_taken", [False, True])
def test_what_a_run_was_handed_outlives_a_crash(
    tmp_path: Path, model: FakeOpenAI, book: Book, is_taken: bool
) -> None:
    with Roomful(tmp_path) as house:
        ada = arrange(house, model, "steer", LOOK)
        book.answers = {"one": [held_call("a", ("look", {})), held("b")]}
        run_id = begin(ada, "one")
        model.wait_for_requests(1)
        assert begin(ada, "two") == run_id
        if is_taken:
            model.release("a")
            model.wait_for_requests(2)
        before = len(model.requests)
        house.kill()
        house.start()
        with ada.listen("room") as ears:
            model.wait_for_requests(before + 1)
            assert begin(ada, "three") == run_id
            model.release("a", 2)
            model.release("b", 2)
            ears.wait_for("run.completed", runId=run_id)
        [run] = house.admin.get("/api/runs")["runs"]
        assert run["status"] == "completed"
    assert {"one", "two", "three"} <= told(model)
    last = steered(model, -1)
    assert [words for role, words in last if role == "user"] == ["two", "three"]


@requirement("X-03")
@pytest.mark.parametrize("busy", ["parallel", "queue", "steer"])
def test_whatever_the_moment_nothing_that_is_said_is_dropped(
    house: Roomful, model: FakeOpenAI, book: Book, busy: str
) -> None:
    ada = arrange(house, model, busy, LOOK)
    words = [f"word-{number}" for number in range(20)]
    book.answers = {word: [calling(("look", {}))] for word in words}
    with ada.listen("room") as ears:
        runs = {begin(ada, word) for word in words}
        ears.wait(all_ended(*runs))
        checked(ears, ada, "room")
    assert set(words) <= told(model)
    assert {run["status"] for run in house.admin.get("/api/runs")["runs"]} == {"completed"}
    assert len(runs) == len(words) or busy == "steer"
    assert json.dumps(ada.messages("room", limit=200)).count('"user"') == len(words)


@requirement("X-03")
@pytest.mark.parametrize("card", [None, {"text": "for all"}, {"targetEntityId": "bob", "text": "for one"}])
@pytest.mark.parametrize("busy", ["queue", "steer"])
def test_another_agents_message_reaches_a_busy_agent_the_same_way(
    house: Roomful, model: FakeOpenAI, book: Book, busy: str, card: dict[str, str] | None
) -> None:
    """Also when the message is not final yet, because it has a card that can be answered, or one for Bob."""
    ada, _ = arrange(house, model, busy), house.person("bob")
    house.agent("asker", openai(model.base_url), CARD)
    house.space("both", "ada", "bob", "worker", "asker")
    request = ("sendSpaceMessage", {"spaceId": "both", "text": "@worker two", "mention": "worker"})
    book.answers = {
        "@worker one": [held("one")],
        "@asker ask": [calling(*([("card", card)] if card else []), request)],
    }
    with ada.listen("both") as ears:
        first = begin(ada, "@worker one", "both")
        ears.wait_for("text-start", runId=first)
        [asker] = ada.say("both", "@asker ask")["runs"]
        ears.wait_for("run.completed", runId=asker["runId"])
        [message] = [one for one in ada.messages("both") if one["entityId"] == "asker"]
        [note] = message["woke"]
        assert note == {"runId": note["runId"], "agentId": "worker", "how": HOW[busy]}
        assert (note["runId"] == first) is (busy == "steer")
        model.release("one")
        ears.wait(all_ended(first, note["runId"]))
        [message] = [one for one in checked(ears, ada, "both") if one["entityId"] == "asker"]
        assert message["woke"] == [note]
        assert ("for one" in json.dumps([event.data for event in ears.events])) is False
    assert "@worker two" in told(model)
    results = [m["content"] for asked in model.requests for m in asked.messages if m["role"] == "tool"]
    assert json.loads(results[-1])["started"] == [note]


@requirement("X-03")
def test_a_message_that_is_sent_twice_is_handed_once(house: Roomful, model: FakeOpenAI, book: Book) -> None:
    ada = arrange(house, model, "steer", LOOK)
    book.answers = {"one": [held_call("go", ("look", {}))]}
    with ada.listen("room") as ears:
        run_id = begin(ada, "one")
        model.wait_for_requests(1)
        twice = [ada.say("room", "two", clientMessageId="same") for _ in range(2)]
        assert twice[0] == twice[1]
        assert twice[0]["runs"] == [{"runId": run_id, "agentId": "worker"}]
        model.release("go")
        ears.wait_for("run.completed", runId=run_id)
        checked(ears, ada, "room")
    assert [words for role, words in steered(model, -1) if role == "user"] == ["two"]
