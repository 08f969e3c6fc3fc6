"""What a run asks of people, over AG-UI: as an interrupt, or as a tool of the client's."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.clients.node import Node
from tests.http.test_approvals import PAY
from tests.http.test_delegation import Script, both, delegate
from tests.http.threads import FORM, client, events, flat, replayed, run_id, types
from tests.servers.fake_openai import Answer, FakeOpenAI, call, hold, text
from tests.servers.roomful import Caller, Roomful, openai

FRONTEND = {"name": "form", "description": "Ask the people.", "parameters": FORM["inputSchema"]}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Roomful]:
    with Roomful(tmp_path_factory.mktemp("house")) as house:
        yield house


@pytest.fixture(scope="module")
def ada(house: Roomful) -> Caller:
    return house.person("ada")


@pytest.fixture(scope="module")
def bob(house: Roomful) -> Caller:
    return house.person("bob")


def asks(model: FakeOpenAI, *calls: list[bytes]) -> None:
    asked = [piece for one in calls for piece in one]
    model.answer(Answer([*text("Hm. "), *asked]), Answer(text("Good.")))


def resume(node: Node, *answers: Any, status: str = "resolved") -> dict[str, Any]:
    """Answers all interrupts, in order."""
    waiting = node.call("state")["interrupts"]
    assert len(waiting) == len(answers)
    entries = [
        {"interruptId": one["id"], "status": status, **({} if given is None else {"payload": given})}
        for one, given in zip(waiting, answers, strict=True)
    ]
    return node.call("run", resume=entries)


def told(model: FakeOpenAI) -> Any:
    return json.loads(model.requests[-1].messages[-1]["content"])


def test_a_card_is_an_interrupt_and_its_answer_lets_the_same_run_go_on(
    house: Roomful, ada: Caller, model: FakeOpenAI
) -> None:
    house.agent("asker", openai(model.base_url), FORM, speaks="text")
    asks(model, call("form", {"q": "Red?"}))
    with client(ada, "asker", "cards") as node:
        waiting = node.call("send", text="go", id="m1")
        first, [interrupt] = run_id(node), waiting["interrupts"]
        [_, _, card] = waiting["messages"]
        assert flat(waiting["messages"])[1:] == [("assistant", "Hm. "), ("call", "form", '{"q":"Red?"}')]
        assert interrupt == {
            "id": card["toolCalls"][0]["id"],
            "toolCallId": card["toolCalls"][0]["id"],
            "reason": "input_required",
            "metadata": {"roomful": {"toolName": "form", "runId": first}},
        }
        heard = len(events(node))
        done = resume(node, {"color": "red"})

        new = [event["type"] for event in events(node)[heard:]]
        assert new[:3] == ["RUN_STARTED", "TOOL_CALL_RESULT", "TEXT_MESSAGE_START"]
        assert "TOOL_CALL_START" not in new
        assert new.count("TEXT_MESSAGE_START") == 1
        assert done["interrupts"] == []
        assert done["messages"][:3] == waiting["messages"]
        assert flat(done["messages"])[3:] == [("tool", '{"color":"red"}'), ("assistant", "Good.")]
        assert events(node)[heard]["metadata"]["roomful"]["runId"] == first
        assert told(model) == {"color": "red"}
        assert node.noted("warning") == []
    assert replayed(ada, "asker", "cards") == done["messages"]


def test_a_client_that_has_the_tool_answers_with_a_message(
    house: Roomful, ada: Caller, model: FakeOpenAI
) -> None:
    house.agent("asker2", openai(model.base_url), FORM, speaks="text")
    asks(model, call("form", {"q": "Red?"}))
    with client(ada, "asker2", "tool-messages") as node:
        waiting = node.call("send", text="go", id="m1", tools=[FRONTEND])
        [called] = waiting["messages"][-1]["toolCalls"]
        assert waiting["interrupts"] == []
        [finished] = events(node, "RUN_FINISHED")
        assert finished["outcome"] == {"type": "success", "pendingToolCallIds": [called["id"]]}
        node.call("add", id="t1", role="tool", toolCallId=called["id"], content='{"color": "red"}')
        done = node.call("run", tools=[FRONTEND])

        assert flat(done["messages"])[3:] == [("tool", '{"color": "red"}'), ("assistant", "Good.")]
        assert told(model) == {"color": "red"}
    again = replayed(ada, "asker2", "tool-messages")
    assert flat(again)[3:] == [("tool", '{"color":"red"}'), ("assistant", "Good.")]


@pytest.mark.parametrize(
    ("status", "payload", "outcome"),
    [
        ("resolved", {"approved": True}, {"amount": 50, "to": "ACME"}),
        (
            "resolved",
            {"approved": True, "editedArgs": {"amount": 5, "to": "ACME"}},
            {"amount": 5, "to": "ACME"},
        ),
        ("resolved", {"approved": False, "reason": "too much"}, "ada did not approve this call: too much"),
        ("cancelled", None, "ada did not approve this call"),
    ],
    ids=["approved", "edited", "denied", "cancelled"],
)
def test_consent_is_an_interrupt_of_a_tool_call(
    house: Roomful,
    ada: Caller,
    model: FakeOpenAI,
    request: pytest.FixtureRequest,
    status: str,
    payload: Any,
    outcome: Any,
) -> None:
    name = f"payer-{request.node.callspec.id}"
    house.agent(name, openai(model.base_url), PAY, speaks="text")
    asks(model, call("pay", {"amount": 50, "to": "ACME"}))
    with client(ada, name, f"{name}-thread") as node:
        [interrupt] = node.call("send", text="pay it", id="m1")["interrupts"]
        assert interrupt["reason"] == "tool_call"
        assert "editedArgs" in interrupt["responseSchema"]["properties"]
        done = resume(node, payload, status=status)

        [result] = events(node, "TOOL_CALL_RESULT")
        shown = json.loads(result["content"])
        assert shown == (outcome if isinstance(outcome, dict) else {"error": outcome})
        assert flat(done["messages"])[-1] == ("assistant", "Good.")
        assert node.noted("warning") == []
    if "editedArgs" not in (payload or {}):
        assert replayed(ada, name, f"{name}-thread") == done["messages"]


def test_a_question_that_nobody_wants_to_answer_ends_its_run(
    house: Roomful, ada: Caller, model: FakeOpenAI
) -> None:
    house.agent("asker3", openai(model.base_url), FORM, speaks="text")
    asks(model, call("form", {"q": "Red?"}))
    with client(ada, "asker3", "given-up") as node:
        node.call("send", text="go", id="m1")
        done = resume(node, None, status="cancelled")
        assert events(node, "RUN_FINISHED")[-1]["outcome"] == {"type": "cancelled"}
        assert ada.get(f"/api/runs/{run_id(node)}")["status"] == "canceled"
        assert node.noted("warning") == []
    assert replayed(ada, "asker3", "given-up") == done["messages"]


def test_of_two_cards_the_other_one_still_waits(house: Roomful, ada: Caller, model: FakeOpenAI) -> None:
    house.agent("asker4", openai(model.base_url), FORM, speaks="text")
    asks(model, call("form", {"q": "A?"}, index=0, id="a"), call("form", {"q": "B?"}, index=1, id="b"))
    with client(ada, "asker4", "two-cards") as node:
        waiting = node.call("send", text="go", id="m1")
        [one, other] = waiting["interrupts"]
        refused = node.call("run", resume=[{"interruptId": one["id"], "status": "resolved", "payload": "a"}])
        assert "pending interrupt" in refused["error"]
        body = {"toolCallId": one["id"], "result": "a"}
        ada.post(f"/api/runs/{run_id(node)}/tool-results", body)
    with client(ada, "asker4", "two-cards") as node:
        half = node.call("replay")
        assert [left["id"] for left in half["interrupts"]] == [other["id"]]
        done = resume(node, "b")
        assert [word for word in flat(done["messages"]) if word[0] == "tool"] == [
            ("tool", "a"),
            ("tool", "b"),
        ]
        assert node.noted("warning") == []
    assert replayed(ada, "asker4", "two-cards") == done["messages"]


def test_a_card_that_nobody_has_to_answer_does_not_end_the_stream(house: Roomful, ada: Caller) -> None:
    card = {**FORM, "execution": {"mode": "no-execution", "wait": False}}
    script = Script(
        shop=[
            both(call("form", {"q": "Red?"}, index=0), call("ask_scout", {"prompt": "p"}, index=1)),
            Answer(text("Good.")),
        ],
        scout=[Answer([hold(), *text("Found.")])],
    )
    with FakeOpenAI(script) as model, client(ada, "shop", "shopping") as node:
        tools = (card, delegate("scout"))
        house.agent("shop", openai(model.base_url), *tools, instructions="You are shop.", speaks="text")
        sending = node.begin("send", text="go", id="m1")
        node.wait_for("event", lambda event: event["type"] == "SUBAGENT_STARTED")
        model.wait_for_requests(2)
        model.release()
        done = sending.result(30)
        assert flat(done["messages"])[-1] == ("assistant", "Good.")
        assert done["interrupts"] == []
        assert node.noted("warning") == []
    assert replayed(ada, "shop", "shopping") == done["messages"]


def test_a_card_of_a_sub_agent_is_answered_in_the_replay_of_its_run(house: Roomful, ada: Caller) -> None:
    script = Script(
        chief=[Answer(call("ask_scout", {"prompt": "p"})), Answer(text("Good."))],
        scout=[Answer(call("form", {"q": "Red?"})), Answer(text("Found."))],
    )
    with FakeOpenAI(script) as model, client(ada, "chief", "below") as node:
        tool = delegate("scout", FORM)
        house.agent("chief", openai(model.base_url), tool, instructions="You are chief.", speaks="text")
        house.space("below", "ada", "chief")
        with ada.listen("below") as listener:
            sending = node.begin("send", text="go", id="m1")
            asked = listener.wait(
                lambda heard: [
                    one.data["runId"]
                    for one in heard
                    if one.name == "run.waiting_tool" and "rootRunId" in one.data
                ]
            )
        with client(ada, "chief", "below") as other:
            assert len(other.call("replay", query=f"?runId={asked[0]}")["interrupts"]) == 1
            done = resume(other, "red")
            assert flat(done["messages"])[-1] == ("assistant", "Good.")
            assert other.noted("warning") == []
        assert flat(sending.result(30)["messages"])[-1] == ("assistant", "Good.")


def test_who_answers_too_late_is_told_what_was_decided(
    house: Roomful, ada: Caller, bob: Caller, model: FakeOpenAI
) -> None:
    house.agent("asker5", openai(model.base_url), FORM, speaks="text")
    house.space("raced", "ada", "bob", "asker5")
    asks(model, call("form", {"q": "Red?"}))
    with client(ada, "asker5", "raced") as hers, client(bob, "asker5", "raced") as his:
        hers.call("send", text="go", id="m1")
        assert len(his.call("replay")["interrupts"]) == 1
        done = resume(hers, "hers")
        late = resume(his, "his")
        assert ("tool", "hers") in flat(late["messages"])
        assert flat(late["messages"]) == flat(done["messages"])
        assert his.noted("warning") == []
    [_, last] = model.requests
    assert last.messages[-1]["content"] == "hers"


def test_a_reader_may_see_a_card_and_not_answer_it(
    house: Roomful, ada: Caller, bob: Caller, model: FakeOpenAI
) -> None:
    house.agent("asker6", openai(model.base_url), FORM, speaks="text")
    house.space("read-only", "ada", "bob:reader", "asker6")
    asks(model, call("form", {"q": "Red?"}))
    with client(ada, "asker6", "read-only") as hers, client(bob, "asker6", "read-only") as his:
        hers.call("send", text="go", id="m1")
        his.call("replay")
        refused = resume(his, "his")
        assert "HTTP 403" in refused["error"]
        unknown = hers.call("run", resume=[{"interruptId": one, "status": "resolved"} for one in [
            "nothing", hers.call("state")["interrupts"][0]["id"]
        ]])  # fmt: skip
        assert "HTTP 404" in unknown["error"]
        assert types(hers)[-1] == "RUN_FINISHED"
        assert ada.get(f"/api/runs/{run_id(hers)}")["status"] == "waiting_tool"


def test_a_card_for_one_member_is_asked_of_nobody_else(
    house: Roomful, ada: Caller, bob: Caller, model: FakeOpenAI
) -> None:
    house.agent("asker7", openai(model.base_url), FORM, speaks="text")
    house.space("private", "ada", "bob", "asker7")
    asks(model, call("form", {"targetEntityId": "bob", "q": "a secret"}))
    with client(ada, "asker7", "private") as hers, client(bob, "asker7", "private") as his:
        sending = hers.begin("send", text="go", id="m1")
        hers.wait_for("messages", lambda messages: ("assistant", "Hm. ") in flat(messages))
        [_] = his.call("replay")["interrupts"]
        resume(his, "his")
        done = sending.result(30)
        assert flat(done["messages"]) == [("user", "go"), ("assistant", "Hm. "), ("assistant", "Good.")]
        assert "a secret" not in json.dumps(events(hers))
