"""AG-UI, spoken with the real client: what it hears, what it has at the end, and what a replay gives."""

import contextlib
import json
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import pytest

from tests.clients.node import Node
from tests.http.test_delegation import FAILS, SEARCH, Script, both, delegate
from tests.http.threads import client, events, flat, replayed, run_id, types
from tests.servers.fake_openai import Answer, FakeOpenAI, call, hold, reasoning, text
from tests.servers.roomful import Caller, Roomful, openai


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


def test_a_text_is_told_as_it_is_written(house: Roomful, ada: Caller, model: FakeOpenAI) -> None:
    house.agent("writer", openai(model.base_url), speaks="text")
    model.answer(Answer([*text("Hello "), hold(), *text("world.")]))
    with client(ada, "writer", "letters") as node:
        sending = node.begin("send", text="hi", id="m1")
        node.wait_for("messages", lambda messages: messages[-1].get("content") == "Hello ")
        model.release()
        done = sending.result(30)

        [asked, said] = done["messages"]
        assert asked == {"id": "m1", "role": "user", "content": "hi"}
        assert said == {
            "id": ada.messages("letters")[1]["parts"][0]["id"],
            "role": "assistant",
            "content": "Hello world.",
            "metadata": {"roomful": {"entityId": "writer"}},
        }
        [started, *_, finished] = events(node)
        assert started["type"] == "RUN_STARTED"
        assert started["threadId"] == finished["threadId"] == "letters"
        assert started["runId"] == finished["runId"]
        assert finished["outcome"] == {"type": "success"}
        assert ada.get(f"/api/runs/{run_id(node)}")["status"] == "completed"
        assert node.noted("warning") == []
    with client(ada, "writer", "letters") as node:
        assert node.call("replay")["messages"] == done["messages"]
        assert types(node) == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]


def test_a_call_is_told_as_far_as_the_space_may_see_it(
    house: Roomful, ada: Caller, model: FakeOpenAI
) -> None:
    kinds = ["full", "minimal", "hidden"]
    tools = [{**SEARCH, "name": f"a_{kind}_one", "visibility": kind} for kind in kinds]
    house.agent("tools", openai(model.base_url), *tools, speaks="text")
    args = [{"targetSpaceId": "tools-thread", "query": f"secret {kind}"} for kind in kinds]
    args[2].pop("targetSpaceId")
    calls = [call(f"a_{kind}_one", args[at], index=at, id=kind) for at, kind in enumerate(kinds)]
    model.answer(both(*calls), Answer(text("Done.")))
    with client(ada, "tools", "tools-thread") as node:
        done = node.call("send", text="go", id="m1")
        assert flat(done["messages"]) == [
            ("user", "go"),
            ("call", "a_full_one", '{"query":"secret full"}'),
            ("tool", '{"found":["secret full"]}'),
            ("call", "a_minimal_one", ""),
            ("tool", ""),
            ("assistant", "Done."),
        ]
        told = json.dumps(events(node))
        assert "hidden" not in told
        assert "secret minimal" not in told
        assert len(events(node, "TOOL_CALL_ARGS")) > 1
        assert node.noted("warning") == []
    assert replayed(ada, "tools", "tools-thread") == done["messages"]


def test_of_a_result_only_the_result_is_told(house: Roomful, ada: Caller, model: FakeOpenAI) -> None:
    weather = {
        **SEARCH,
        "name": "weather",
        "executionType": "gateway",
        "visibility": "result-only",
        "execution": {"mode": "static", "output": "sunny"},
    }
    house.agent("sky", openai(model.base_url), weather, dialect="active", speaks="text")
    model.answer(Answer(call("weather", {"query": "a secret"})), Answer(text("Go out.")))
    with client(ada, "sky", "sky-thread") as node:
        done = node.call("send", text="?", id="m1")
        assert flat(done["messages"])[1:] == [
            ("call", "weather", ""),
            ("tool", "sunny"),
            ("assistant", "Go out."),
        ]
        assert "a secret" not in json.dumps(events(node))
    assert replayed(ada, "sky", "sky-thread") == done["messages"]


def test_reasoning_is_told_where_the_agent_shows_it(house: Roomful, ada: Caller, model: FakeOpenAI) -> None:
    house.agent("thinker", openai(model.base_url), speaks="text", showReasoning=True)
    model.answer(Answer([*reasoning("Let me think."), *text("Yes.")]))
    with client(ada, "thinker", "thoughts") as node:
        done = node.call("send", text="?", id="m1")
        assert flat(done["messages"]) == [
            ("user", "?"),
            ("reasoning", "Let me think."),
            ("assistant", "Yes."),
        ]
        assert types(node)[1:6] == [
            "REASONING_START",
            "REASONING_MESSAGE_START",
            "REASONING_MESSAGE_CONTENT",
            "REASONING_MESSAGE_END",
            "REASONING_END",
        ]
    assert replayed(ada, "thinker", "thoughts") == done["messages"]


def test_sub_agents_are_told_at_any_depth(house: Roomful, ada: Caller) -> None:
    """Two at once, one of which asks a third whose call fails. The slower one is the first."""
    clerk = delegate("clerk", SEARCH, delegate("digger", FAILS, SEARCH))
    script = Script(
        boss=[
            both(call("ask_scout", {"prompt": "a"}, index=0), call("ask_clerk", {"prompt": "b"}, index=1)),
            Answer(text("Thanks.")),
        ],
        scout=[
            Answer([*text("Looking. "), *call("search", {"query": "x"})]),
            Answer([hold(), *text("Found.")]),
        ],
        clerk=[Answer(call("ask_digger", {"prompt": "dig"})), Answer(text("Filed."))],
        digger=[
            both(call("fails", {}, index=0), call("search", {"query": "y"}, index=1)),
            Answer(text("Dug.")),
        ],
    )
    with FakeOpenAI(script) as model, client(ada, "boss", "office") as node:
        tools = (delegate("scout", SEARCH), clerk)
        house.agent("boss", openai(model.base_url), *tools, instructions="You are boss.", speaks="text")
        sending = node.begin("send", text="go", id="m1")
        node.wait_for("messages", lambda messages: ("assistant", "Filed.") in flat(messages))
        model.release()
        done = sending.result(30)

        begun = {event["subagentRunId"]: event for event in events(node, "SUBAGENT_STARTED")}
        by_name = {event["name"]: event for event in begun.values()}
        assert by_name.keys() == {"Scout", "Clerk", "Digger"}
        digger = by_name["Digger"]
        assert begun[digger["parentSubagentRunId"]]["name"] == "Clerk"
        own = [message for message in done["messages"] if "subagentRunId" not in message]
        assert [kind for kind, *_ in flat(own)] == ["user", "call", "tool", "call", "tool", "assistant"]
        inside = {
            name: flat(
                [one for one in done["messages"] if one.get("subagentRunId") == event["subagentRunId"]]
            )
            for name, event in by_name.items()
        }
        assert inside["Scout"] == [
            ("assistant", "Looking. Found."),
            ("call", "search", '{"query":"x"}'),
            ("tool", '{"found":["x"]}'),
        ]
        assert inside["Digger"][:3] == [
            ("assistant", "Dug."),
            ("call", "fails", "{}"),
            ("call", "search", '{"query":"y"}'),
        ]
        [failed, found] = inside["Digger"][3:]
        assert "error" in json.loads(failed[1])
        assert found == ("tool", '{"found":["y"]}')
        ended = events(node, "SUBAGENT_FINISHED")
        assert len(ended) == 3
        assert all(event["outcome"] == {"type": "success"} for event in ended)
        assert node.noted("warning") == []
    assert replayed(ada, "boss", "office") == done["messages"]


def test_whoever_comes_later_has_the_same_at_the_end(house: Roomful, ada: Caller, bob: Caller) -> None:
    """At every cut: in a text, in arguments, between calls and steps, in a sub-agent."""
    asked = call("search", {"targetSpaceId": "watched", "query": "a long question"})
    script = Script(
        slow=[
            Answer(
                [
                    *text("One, "),
                    hold(),
                    *text("two. "),
                    hold(),
                    *asked[:7],
                    hold(),
                    *asked[7:],
                    hold(),
                    *call("ask_scout", {"prompt": "p"}, index=1),
                    hold(),
                ]
            ),
            Answer([*text("And "), hold(), *text("done.")]),
        ],
        scout=[
            Answer([*text("Look"), hold(), *text("ing. "), *call("search", {"query": "x"})]),
            Answer([hold(), *text("Found.")]),
        ],
    )
    house.space("watched", "ada", "bob")
    with FakeOpenAI(script) as model, contextlib.ExitStack() as stack:
        tools = ({**SEARCH, "visibility": "full"}, delegate("scout", SEARCH))
        house.agent("slow", openai(model.base_url), *tools, instructions="You are slow.", speaks="text")
        house.admin.post("/api/spaces/watched/members", {"entityId": "slow"}, expect=201)
        first = stack.enter_context(client(ada, "slow", "watched"))
        sending = first.begin("send", text="go", id="m1")
        later: list[tuple[Caller, Node, Future[Any]]] = []
        for number in range(8):
            who = (ada, bob)[number % 2]
            node = stack.enter_context(client(who, "slow", "watched"))
            later.append((who, node, node.begin("replay")))
            node.wait_for("event", lambda event: event["type"] == "MESSAGES_SNAPSHOT")
            heard = len(first.noted("event"))
            model.release()
            first.wait_for_more("event", heard)
        done = sending.result(30)
        for who, node, replaying in later:
            assert replaying.result(30)["messages"] == as_seen_by(who, done["messages"])
            assert node.noted("warning") == []
    assert replayed(ada, "slow", "watched") == done["messages"]


def as_seen_by(who: Caller, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What Ada has. Others are told whose her words are."""
    hers = {"metadata": {"roomful": {"entityId": "ada"}}} if who.id != "ada" else {}
    return [{**message, **hers} if message["role"] == "user" else message for message in messages]
