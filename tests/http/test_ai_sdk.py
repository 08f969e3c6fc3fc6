"""The AI SDK's own chat, in the versions 5, 6 and 7, talks to a gateway."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.clients.node import Node
from tests.http.chatting import Chatting, newest, shapes
from tests.http.test_delegation import CASES, SEARCH, Script, both, delegate
from tests.requirements import requirement
from tests.servers.cluster import eventually
from tests.servers.fake_openai import Answer, FakeOpenAI, call, hold, reasoning, text
from tests.servers.roomful import Caller, Roomful

FULL_SEARCH = SEARCH | {"visibility": "full"}
CONFIRM: dict[str, Any] = {
    "name": "confirm",
    "description": "Ask somebody.",
    "executionType": "basic",
    "execution": {"mode": "no-execution"},
    "inputSchema": {"type": "object", "properties": {"question": {"type": "string"}}},
}
PAY: dict[str, Any] = {
    "name": "pay",
    "description": "Pay.",
    "executionType": "basic",
    "visibility": "full",
    "approval": True,
    "execution": {"mode": "static", "output": {"paid": "{{amount}}"}},
    "inputSchema": {"type": "object", "properties": {"amount": {"type": "number"}}},
}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Roomful]:
    with Roomful(tmp_path_factory.mktemp("chats")) as house:
        yield house


@pytest.fixture(scope="module")
def ada(house: Roomful) -> Caller:
    return house.person("ada")


@pytest.fixture(scope="module")
def bob(house: Roomful) -> Caller:
    return house.person("bob")


@pytest.fixture(params=(5, 6, 7), ids=lambda version: f"ai{version}")
def chat(house: Roomful, ada: Caller, request: pytest.FixtureRequest) -> Chatting:
    return Chatting(house, ada, request.param)


def test_a_text_streams_and_a_reload_shows_the_same(chat: Chatting, model: FakeOpenAI) -> None:
    model.answer(Answer([*text("Hello, "), hold(), *text("world.")]))
    chat.casts(model)
    with chat.sending("hi") as (client, sending):
        client.wait_for("messages", lambda seen: newest(seen).get("text") == "Hello, ")
        model.release()
        state = sending.result(30)

    assert state["status"] == "ready"
    question, reply = chat.agrees(state)
    assert (question["role"], question["parts"]) == ("user", [{"type": "text", "text": "hi"}])
    said = {"type": "text", "text": "Hello, world.", "state": "done"}
    assert reply["parts"] == [{"type": "step-start"}, said]
    assert client.noted("finish")[-1]["isError"] is False
    members = chat.ada.get(f"/api/spaces/{chat.chat}/members")["members"]
    assert {member["entityId"] for member in members} == {"ada", chat.agent}


def test_tools_stream_their_arguments_and_results(chat: Chatting, model: FakeOpenAI) -> None:
    begin, *asks = call("search", {"query": "red shoes, size 42"}, size=9)
    model.answer(Answer([begin, asks[0], asks[1], hold(), *asks[2:]]), Answer(text("Found.")))
    chat.casts(model, FULL_SEARCH)
    with chat.sending() as (client, sending):
        client.wait_for("messages", lambda seen: "red" in str(newest(seen).get("input")))
        model.release()
        state = sending.result(30)

    _, reply = chat.agrees(state)
    assert shapes(reply) == ["step-start", "tool-search output-available", "step-start", "text done"]
    assert reply["parts"][1]["output"] == {"found": ["red shoes, size 42"]}
    parts = [newest(seen) for seen in client.noted("messages")]
    half = [part for part in parts if part.get("state") == "input-streaming" and part.get("input")]
    assert half[0]["input"] == {"query": "red sho"}
    assert client.noted("toolCall") == []


@pytest.mark.parametrize(
    ("visibility", "shown"),
    [
        (
            "minimal",
            [{"type": "tool-search", "state": "output-available", "input": None, "output": None}],
        ),
        ("hidden", []),
    ],
)
def test_a_client_gets_no_more_than_the_space(
    chat: Chatting, model: FakeOpenAI, visibility: str, shown: list[Any]
) -> None:
    model.answer(Answer(call("search", {"query": "a secret"})), Answer(text("Found.")))
    chat.casts(model, SEARCH | {"visibility": visibility})
    with chat.sending() as (client, sending):
        state = sending.result(30)

    _, reply = chat.agrees(state)
    parts = [part for part in reply["parts"] if part["type"].startswith("tool-")]
    told = [{key: part[key] for key in ("type", "state", "input", "output")} for part in parts]
    assert told == shown
    assert "a secret" not in str(client.notes)


def test_reasoning_is_told_where_the_agent_shows_it(chat: Chatting, model: FakeOpenAI) -> None:
    model.answer(Answer([*reasoning("Let me think."), *text("Yes.")]))
    chat.casts(model, showReasoning=True)
    with chat.sending() as (_, sending):
        _, reply = chat.agrees(sending.result(30))
    assert shapes(reply) == ["step-start", "reasoning done", "text done"]


@requirement("R-02", "R-03", "R-04")
@pytest.mark.parametrize("name", CASES)
def test_nested_agents_are_the_same_live_and_after_a_reload(chat: Chatting, name: str) -> None:
    tools, answers = CASES[name]
    with FakeOpenAI(Script(**{who: list(given) for who, given in answers.items()})) as model:
        chat.casts(model, *tools, name="boss")
        with chat.sending() as (_, sending):
            state = sending.result(30)

    _, reply = chat.agrees(state)
    parts = reply["parts"]
    asked = [at for at, part in enumerate(parts) if part["type"].startswith("tool-agent-")]
    assert asked
    for at in asked:
        assert parts[at + 1]["type"] == "data-tool-agent"
        assert parts[at]["type"] == f"tool-agent-{parts[at + 1]['data']['id']}"


def test_a_client_tool_is_answered_by_the_client(chat: Chatting, model: FakeOpenAI) -> None:
    model.answer(Answer(call("confirm", {"question": "Sure?"})), Answer(text("Good.")))
    chat.casts(model, CONFIRM)
    outputs = {"confirm": {"ok": True}}
    with chat.sending(automatic="tools", outputs=outputs) as (client, sending):
        sending.result(30)
        state = eventually(lambda: _rests(client.call("state"), 2), "the answer")

    assert [one["toolName"] for one in client.noted("toolCall")] == ["confirm"]
    _, reply = chat.agrees(state)
    assert shapes(reply) == ["step-start", "tool-confirm output-available", "step-start", "text done"]
    assert reply["parts"][1]["output"] == {"ok": True}
    assert state["requests"] == 2
    assert len(model.requests) == 2


def test_a_client_that_answers_by_itself_does_so_once(chat: Chatting, model: FakeOpenAI) -> None:
    """The agent shows nothing after the answer: nothing there may look as if it still waited for one."""
    model.answer(Answer(call("confirm", {"question": "Sure?"})), Answer(call("skipResponse", {})))
    chat.casts(model, CONFIRM, speaks="tools")
    with chat.sending(automatic="tools", outputs={"confirm": "yes"}) as (client, sending):
        sending.result(30)
        state = eventually(lambda: _rests(client.call("state"), 2), "the answer")
        assert not client.noted("error")

    _, reply = chat.agrees(state)
    assert shapes(reply) == ["step-start", "tool-confirm output-available", "step-start"]
    assert state["requests"] == 2


def test_two_cards_of_one_step_are_answered_together(chat: Chatting, model: FakeOpenAI) -> None:
    both = [*call("confirm", {"question": "1"}), *call("confirm", {"question": "2"}, index=1, id="call_1")]
    model.answer(Answer(both), Answer(text("Good.")))
    chat.casts(model, CONFIRM)
    with chat.sending(automatic="tools") as (client, sending):
        state = sending.result(30)
        assert state["requests"] == 1
        cards = [part for part in state["messages"][1]["parts"] if part["type"] == "tool-confirm"]
        for number, card in enumerate(cards):
            client.call("output", tool="confirm", toolCallId=card["toolCallId"], output=number)
        state = eventually(lambda: _rests(client.call("state"), 2), "the answer")

    _, reply = chat.agrees(state)
    assert [part.get("output") for part in reply["parts"] if part["type"] == "tool-confirm"] == [0, 1]
    assert state["requests"] == 2


def test_a_card_that_another_client_answered_shows_their_answer(chat: Chatting, model: FakeOpenAI) -> None:
    model.answer(Answer(call("confirm", {"question": "Sure?"})), Answer(text("Good.")))
    chat.casts(model, CONFIRM)
    with chat.sending(automatic="tools") as (client, sending):
        [_, reply] = sending.result(30)["messages"]
        [card] = [part for part in reply["parts"] if part["type"] == "tool-confirm"]
        run_id = reply["metadata"]["runId"]
        sent = {"toolCallId": card["toolCallId"], "result": "theirs"}
        with chat.ada.listen(chat.chat) as listener:
            chat.ada.post(f"/api/runs/{run_id}/tool-results", sent)
            listener.wait_for("run.completed")
        client.call("output", tool="confirm", toolCallId=card["toolCallId"], output="mine")
        state = eventually(lambda: _rests(client.call("state"), 2), "the answer")

    assert state["error"] is None or "complete" in state["error"]
    assert [part.get("output") for part in chat.history()[1]["parts"][1:2]] == ["theirs"]


@pytest.mark.parametrize("approved", [True, False])
def test_an_approval_is_given_or_refused(chat: Chatting, model: FakeOpenAI, approved: bool) -> None:
    if chat.version == 5:
        pytest.skip("version 5 has no approvals")
    model.answer(Answer(call("pay", {"amount": 5})), Answer(text("Done.")))
    chat.casts(model, PAY)
    with chat.sending(automatic="approvals") as (client, sending):
        state = sending.result(30)
        [card] = [part for part in state["messages"][1]["parts"] if part["type"] == "tool-pay"]
        assert card["state"] == "approval-requested"
        chat.agrees(state)
        more = {} if approved else {"reason": "too much"}
        client.call("approve", id=card["approval"]["id"], approved=approved, **more)
        state = eventually(lambda: _rests(client.call("state"), 2), "the answer")

    _, reply = chat.agrees(state)
    outcome = "output-available" if approved else "output-denied"
    assert shapes(reply) == ["step-start", f"tool-pay {outcome}", "step-start", "text done"]
    assert state["requests"] == 2
    told = model.requests[1].messages[-1]["content"]
    assert ("too much" in told) is not approved


def test_an_approval_by_somebody_else_is_seen_by_a_client_without_approvals(
    house: Roomful, ada: Caller, model: FakeOpenAI
) -> None:
    chat = Chatting(house, ada, 5)
    model.answer(Answer(call("pay", {"amount": 5})), Answer(text("Done.")))
    chat.casts(model, PAY)
    with chat.sending() as (client, sending):
        seen = client.wait_for("messages", lambda seen: newest(seen).get("state") == "input-available")
        sent = {"toolCallId": newest(seen)["toolCallId"], "result": {"approved": True}}
        eventually(lambda: chat.runs("waiting_tool"), "that it waits")
        chat.ada.post(f"/api/runs/{seen[1]['metadata']['runId']}/tool-results", sent)
        _, reply = chat.agrees(sending.result(30))
    assert shapes(reply) == ["step-start", "tool-pay output-available", "step-start", "text done"]


def test_a_client_and_the_page_see_the_same_parts(chat: Chatting) -> None:
    """In the middle of a run and at its end: the page's own fold and the SDK's."""
    script = Script(
        boss=[
            Answer(
                [
                    *text("I look. "),
                    *call("search", {"query": "shoes"}),
                    *_more("ask_scout", {"prompt": "go"}),
                ]
            ),
            Answer([*text("Found: "), hold(), *call("confirm", {"question": "Buy?"})]),
            Answer(text("Bought.")),
        ],
        scout=[both(text("Hm. "), call("search", {"query": "inside"})), Answer(text("Here."))],
    )
    tools = (FULL_SEARCH, CONFIRM, delegate("scout", SEARCH))
    with FakeOpenAI(script) as model:
        chat.casts(model, *tools, name="boss")
        outputs = {"confirm": "yes"}
        with chat.sending(automatic="tools", outputs=outputs) as (client, sending):
            client.wait_for("messages", lambda seen: newest(seen).get("text") == "Found: ")
            with Node("page.mjs", url=chat.house.url, token=chat.ada.token, space=chat.chat) as page:
                page.wait_for("snapshot")
                eventually(lambda: _is_alike(client, page), "that both see the same in the middle")
                model.release()
                sending.result(30)
                page.wait_for("run.completed")
                eventually(lambda: _rests(client.call("state"), 2), "the answer")
                assert _is_alike(client, page)
                [_, reply] = client.call("state")["messages"]
    assert len([part for part in reply["parts"] if part["type"] != "step-start"]) == 7


def _more(name: str, args: dict[str, Any]) -> list[bytes]:
    return call(name, args, index=1, id="call_1")


def _is_alike(client: Node, page: Node) -> bool:
    """Whether what the page has, said in the words of the SDK, is what the SDK has."""
    theirs = [part for part in client.call("state")["messages"][-1]["parts"] if part["type"] != "step-start"]
    ours: list[Any] = []
    for part in page.call("messages")[-1]["parts"]:
        if part["type"] == "text":
            ours.append((part["text"],))
            continue
        child = part.get("child")
        name = part["toolName"] if child is None else f"agent-{child['agentId']}"
        ours.append((f"tool-{name}", part["toolCallId"], part["args"], part["result"]))
        if child is not None:
            ours.append((child["runId"], child["text"], [call["toolCallId"] for call in child["calls"]]))
    return ours == [_in_short(part) for part in theirs]


def _in_short(part: dict[str, Any]) -> tuple[Any, ...]:
    if part["type"] == "text":
        return (part["text"],)
    if part["type"] == "data-tool-agent":
        data = part["data"]
        return (part["id"], data["text"], [call["toolCallId"] for call in data["toolCalls"]])
    return (part["type"], part["toolCallId"], part.get("input"), part.get("output"))


HOSTILE: dict[str, Any] = {
    "__proto__": {"admin": True},
    "list": [{"constructor": {"prototype": {"admin": True}, "kept": 1}}],
    "constructor": {"prototype": 1},
    "query": "x",
}


def test_keys_that_the_sdk_refuses_do_not_end_a_stream(chat: Chatting, model: FakeOpenAI) -> None:
    echo = {"name": "echo", "description": "Echo.", "executionType": "basic", "visibility": "full"}
    begin, *asks = call("echo", HOSTILE, size=12)
    pieces = [step for piece in asks for step in (piece, hold())]
    model.answer(Answer([begin, *pieces]), Answer(text("Done.")))
    chat.casts(model, echo | {"execution": {"mode": "static", "output": {"__proto__": 1, "ok": True}}})
    with chat.sending() as (_, sending):
        model.release(times=len(asks))
        state = sending.result(30)

    assert state["status"] == "ready"
    _, reply = chat.agrees(state)
    [made] = [part for part in reply["parts"] if part["type"] == "tool-echo"]
    assert made["input"] == {"list": [{"constructor": {"kept": 1}}], "constructor": {}, "query": "x"}
    assert made["output"] == {"ok": True}


def _rests(state: dict[str, Any], requests: int) -> dict[str, Any] | None:
    return state if state["requests"] >= requests and state["status"] in ("ready", "error") else None
