"""A sub-agent's work: seen live inside the part that called it, and the same after a reload."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from roomful.domain.messages import Message
from roomful.recall.ui_messages import ui_messages
from tests.requirements import requirement
from tests.servers.fake_openai import Answer, Asked, FakeOpenAI, call, hold, status, text
from tests.servers.inhouse import InHouse
from tests.servers.roomful import Caller, Event, Listener, Roomful, fold, openai

SEARCH: dict[str, Any] = {
    "name": "search",
    "description": "Find something.",
    "executionType": "basic",
    "execution": {"mode": "static", "output": {"found": ["{{query}}"]}},
    "inputSchema": {"type": "object", "properties": {"query": {"type": "string"}}},
}


def delegate(name: str, *tools: Any, **more: Any) -> dict[str, Any]:
    """A tool that calls a sub-agent of this name."""
    config = {"name": name.title(), "instructions": f"You are {name}.", "tools": list(tools), **more}
    return {
        "name": f"ask_{name}",
        "description": f"Ask {name}.",
        "executionType": "ai-agent",
        "visibility": "full",
        "execution": {"agentConfig": config},
    }


class Script:
    """Answers by who is asked: each agent is found by the first line of its instructions."""

    def __init__(self, **answers: list[Answer]) -> None:
        self.answers = answers

    def __call__(self, asked: Asked) -> Answer:
        who = asked.messages[0]["content"].split("You are ")[1].split(".")[0].split(" (")[0].lower()
        return self.answers[who].pop(0)


def same(live: Any, reloaded: Any, where: str = "") -> None:
    """Equal as JSON; says where not."""
    if isinstance(live, dict) and isinstance(reloaded, dict):
        one, other = cast("dict[str, Any]", live), cast("dict[str, Any]", reloaded)
        for key in one.keys() | other.keys():
            same(one.get(key, "(unset)"), other.get(key, "(unset)"), f"{where}.{key}")
    elif isinstance(live, list) and isinstance(reloaded, list):
        these, those = cast("list[Any]", live), cast("list[Any]", reloaded)
        assert len(these) == len(those), where
        for index, (one, other) in enumerate(zip(these, those, strict=True)):
            same(one, other, f"{where}[{index}]")
    else:
        assert live == reloaded, where


def checked(listener: Listener, who: Caller, space_id: str) -> list[dict[str, Any]]:
    """What was seen live is what a reload shows, once all of it has arrived; gives it."""
    reloaded = who.messages(space_id)
    try:
        listener.wait(lambda events: fold(events) == reloaded)
    except AssertionError:
        same(fold(listener.events), reloaded)
        raise
    return reloaded


@pytest.fixture
def ada(house: Roomful) -> Caller:
    return house.person("ada")


@requirement("R-01")
@requirement("R-02")
@requirement("T-06")
def test_a_sub_agents_calls_and_words_are_seen_as_they_happen(house: Roomful, ada: Caller) -> None:
    script = Script(
        boss=[Answer(call("ask_scout", {"prompt": "find it"})), Answer(text("Thanks."))],
        scout=[
            Answer([*text("Looking. "), *call("search", {"query": "x"}, id="dup")]),
            Answer([*call("search", {"query": "y"}, id="dup")]),
            Answer(text("Found x and y.")),
        ],
    )
    with FakeOpenAI(script) as model:
        scout = delegate("scout", {**SEARCH, "visibility": "full"})
        house.agent("boss", openai(model.base_url), scout, instructions="You are boss.")
        house.space("room", "ada", "boss")
        with ada.listen("room") as listener:
            ada.say("room", "go")
            listener.wait_for("run.completed")
            [_, message] = checked(listener, ada, "room")
        [part] = message["parts"]
        assert part["status"] == "complete"
        child = part["child"]
        assert child["text"] == "Looking. Found x and y."
        assert part["result"] == {
            "text": child["text"],
            "subAgentThreadId": child["runId"],
            "subAgentResourceId": "boss-ask_scout",
        }
        assert [(one["toolName"], one["args"], one["result"]) for one in child["calls"]] == [
            ("search", {"query": "x"}, {"found": ["x"]}),
            ("search", {"query": "y"}, {"found": ["y"]}),
        ]
        assert len({one["toolCallId"] for one in child["calls"]}) == 2
        assert (child["status"], child["finishReason"], child["name"]) == ("completed", "stop", "Scout")
        told = json.loads(model.requests[-1].messages[-1]["content"])
        assert told == part["result"]
        names = [name for name in listener.names() if name.startswith("subagent.")]
        assert names[0] == "subagent.call" or names[0] == "subagent.text"
        assert names[-1] == "subagent.end"
        assert names.count("subagent.call") == 4
        assert f"run {child['runId']}: nobody sees" not in house.log.read_text()


def static(name: str, output: Any, **more: Any) -> dict[str, Any]:
    execution = {"mode": "static", "output": output}
    return {**SEARCH, "name": name, "execution": execution, **more}


FAILS: dict[str, Any] = {
    "name": "fails",
    "description": "Reach what cannot be reached.",
    "executionType": "request",
    "execution": {"url": "http://127.0.0.1:1/x", "method": "GET"},
}


def both(*calls: list[bytes]) -> Answer:
    return Answer([piece for one in calls for piece in one])


def _asks(name: str, index: int = 0) -> list[bytes]:
    return call(f"ask_{name}", {"prompt": f"do {name}"}, index=index, id="same-id")


DEEP = delegate("one", delegate("two", delegate("three", SEARCH)))

CASES: dict[str, tuple[list[dict[str, Any]], dict[str, list[Answer]]]] = {
    "one": (
        [delegate("scout", SEARCH)],
        {
            "boss": [Answer(_asks("scout")), Answer(text("ok"))],
            "scout": [both(text("Hm. "), call("search", {"query": "x"})), Answer(text("Found."))],
        },
    ),
    "the same agent twice, one after the other": (
        [delegate("scout", SEARCH)],
        {
            "boss": [Answer(_asks("scout")), Answer(_asks("scout")), Answer(text("ok"))],
            "scout": [
                Answer(call("search", {"query": "x"})),
                Answer(text("first")),
                Answer(call("search", {"query": "y"})),
                Answer(text("second")),
            ],
        },
    ),
    "the same agent twice at once": (
        [delegate("scout", SEARCH)],
        {
            "boss": [both(_asks("scout", 0), _asks("scout", 1)), Answer(text("ok"))],
            "scout": [Answer(text("either")), Answer(text("either"))],
        },
    ),
    "two agents at once": (
        [delegate("scout", SEARCH), delegate("clerk", static("file", {"filed": True}))],
        {
            "boss": [both(_asks("scout", 0), _asks("clerk", 1)), Answer(text("ok"))],
            "scout": [Answer(call("search", {"query": "x"})), Answer(text("found"))],
            "clerk": [Answer(call("file", {})), Answer(text("filed"))],
        },
    ),
    "three deep": (
        [DEEP],
        {
            "boss": [Answer(_asks("one")), Answer(text("ok"))],
            "one": [both(text("I ask. "), _asks("two")), Answer(text("one done"))],
            "two": [both(text("I too. "), _asks("three")), Answer(text("two done"))],
            "three": [Answer(call("search", {"query": "deep"})), Answer(text("three done"))],
        },
    ),
    "an inner tool fails": (
        [delegate("scout", SEARCH, FAILS)],
        {
            "boss": [Answer(_asks("scout")), Answer(text("ok"))],
            "scout": [
                both(call("fails", {}, index=0), call("search", {"query": "x"}, index=1)),
                Answer(text("half")),
            ],
        },
    ),
    "the sub-agent crashes": (
        [delegate("scout", SEARCH)],
        {
            "boss": [Answer(_asks("scout")), Answer(text("ok"))],
            "scout": [both(text("Wait. "), call("search", {"query": "x"})), status(400)],
        },
    ),
    "no text": (
        [delegate("scout", SEARCH)],
        {
            "boss": [Answer(_asks("scout")), Answer(text("ok"))],
            "scout": [Answer(call("search", {"query": "x"})), Answer([])],
        },
    ),
    "odd outputs": (
        [
            delegate(
                "scout",
                static("nothing", None),
                static("words", "a string"),
                static("list", [1, None, "x"]),
                static("no", {"success": False}),
            )
        ],
        {
            "boss": [Answer(_asks("scout")), Answer(text("ok"))],
            "scout": [
                both(*(call(name, {}, index=n) for n, name in enumerate(("nothing", "words", "list", "no")))),
                Answer(text("odd")),
            ],
        },
    ),
    "the model uses a call id again": (
        [delegate("scout", SEARCH)],
        {
            "boss": [Answer(_asks("scout")), Answer(text("ok"))],
            "scout": [
                Answer(call("search", {"query": "x"}, id="again")),
                Answer(call("search", {"query": "y"}, id="again")),
                Answer(text("twice")),
            ],
        },
    ),
}

EXPECTED: dict[str, list[tuple[str, str, list[tuple[str, str, Any]]]]] = {
    "one": [("completed", "Hm. Found.", [("search", "complete", {"found": ["x"]})])],
    "the same agent twice, one after the other": [
        ("completed", "first", [("search", "complete", {"found": ["x"]})]),
        ("completed", "second", [("search", "complete", {"found": ["y"]})]),
    ],
    "the same agent twice at once": [("completed", "either", []), ("completed", "either", [])],
    "two agents at once": [
        ("completed", "found", [("search", "complete", {"found": ["x"]})]),
        ("completed", "filed", [("file", "complete", {"filed": True})]),
    ],
    "three deep": [("completed", "I ask. one done", [("ask_two", "complete", ...)])],
    "an inner tool fails": [
        ("completed", "half", [("fails", "error", None), ("search", "complete", {"found": ["x"]})])
    ],
    "the sub-agent crashes": [("failed", "Wait. ", [("search", "complete", {"found": ["x"]})])],
    "no text": [("completed", "", [("search", "complete", {"found": ["x"]})])],
    "odd outputs": [
        (
            "completed",
            "odd",
            [
                ("nothing", "complete", None),
                ("words", "complete", "a string"),
                ("list", "complete", [1, None, "x"]),
                ("no", "complete", {"success": False}),
            ],
        )
    ],
    "the model uses a call id again": [
        (
            "completed",
            "twice",
            [("search", "complete", {"found": ["x"]}), ("search", "complete", {"found": ["y"]})],
        )
    ],
}


def _seen(child: dict[str, Any]) -> tuple[str, str, list[tuple[str, str, Any]]]:
    calls = [
        (one["toolName"], one["status"], ... if "child" in one else one.get("result"))
        for one in child["calls"]
    ]
    return child["status"], child["text"], calls


@requirement("R-04")
@requirement("R-02")
@pytest.mark.parametrize("name", CASES)
def test_a_reload_at_every_moment_shows_what_was_seen_live(house: Roomful, ada: Caller, name: str) -> None:
    tools, answers = CASES[name]
    held = {who: [replace(answer, held=True) for answer in given] for who, given in answers.items()}
    with FakeOpenAI(Script(**held)) as model:
        house.agent("boss", openai(model.base_url), *tools, instructions="You are boss.")
        house.space("room", "ada", "boss")
        reloads: list[tuple[int, list[dict[str, Any]]]] = []
        with ada.listen("room") as listener:
            ada.say("room", "go")
            while "run.completed" not in listener.names():
                page = ada.get("/api/spaces/room/messages")
                reloads.append((int(page["position"].rpartition(".")[2]), page["messages"]))
                model.release()
            state = checked(listener, ada, "room")
            for position, messages in reloads:
                known = [
                    event
                    for event in listener.events
                    if event.id is None or int(event.id.rpartition(".")[2]) <= position
                ]
                same(fold(known), messages)
        parts = [part for part in state[1]["parts"] if part["type"] == "tool_call"]
        assert [_seen(part["child"]) for part in parts] == EXPECTED[name]
        assert len({position for position, _ in reloads}) > 5, "too few moments to prove anything"
        whole = ada.get(f"/api/spaces/room/messages/{state[1]['id']}")
        assert whole == state[1]


def test_three_deep_is_a_tree_with_paths(house: Roomful, ada: Caller) -> None:
    tools, answers = CASES["three deep"]
    with FakeOpenAI(Script(**{who: list(given) for who, given in answers.items()})) as model:
        house.agent("boss", openai(model.base_url), *tools, instructions="You are boss.")
        house.space("room", "ada", "boss")
        with ada.listen("room") as listener:
            ada.say("room", "go")
            listener.wait_for("run.completed")
            [_, message] = checked(listener, ada, "room")
        one = message["parts"][0]["child"]
        two = one["calls"][0]["child"]
        three = two["calls"][0]["child"]
        assert [child["name"] for child in (one, two, three)] == ["One", "Two", "Three"]
        assert three["calls"][0]["result"] == {"found": ["deep"]}
        inner = [e.data for e in listener.events if e.name == "subagent.call"]
        search = [data for data in inner if data["call"]["toolName"] == "search"]
        path = [one["calls"][0]["toolCallId"], two["calls"][0]["toolCallId"]]
        assert [data["path"] for data in search] == [path, path]
        assert {data["toolCallId"] for data in inner} == {message["parts"][0]["toolCallId"]}


@pytest.mark.parametrize(
    ("visibility", "keys"), [("minimal", {"child", "args", "result"}), ("hidden", set())]
)
def test_a_less_visible_delegation_shows_nothing_of_what_is_inside(
    house: Roomful, ada: Caller, visibility: str, keys: set[str]
) -> None:
    answers = CASES["one"][1]
    tool = {**delegate("scout", SEARCH), "visibility": visibility}
    with FakeOpenAI(Script(**{who: list(given) for who, given in answers.items()})) as model:
        house.agent("boss", openai(model.base_url), tool, instructions="You are boss.")
        house.space("room", "ada", "boss")
        with ada.listen("room") as listener:
            ada.say("room", "go")
            listener.wait_for("run.completed")
            state = checked(listener, ada, "room")
        assert not [name for name in listener.names() if name.startswith("subagent.")]
        parts = [part for message in state[1:] for part in message["parts"]]
        assert not [key for part in parts for key in keys if key in part]
        assert "Found." not in json.dumps([event.data for event in listener.events])


def test_what_an_author_hid_inside_stays_hidden(house: Roomful, ada: Caller) -> None:
    secret = static("vault", {"code": "canary-1"}, visibility="hidden")
    status_only = static("count", {"n": "canary-2"}, visibility="minimal")
    answers = {
        "boss": [Answer(_asks("scout")), Answer(text("ok"))],
        "scout": [
            both(call("vault", {"query": "canary-3"}, index=0), call("count", {}, index=1)),
            Answer(text("done")),
        ],
    }
    with FakeOpenAI(Script(**answers)) as model:
        tool = delegate("scout", secret, status_only)
        house.agent("boss", openai(model.base_url), tool, instructions="You are boss.")
        house.space("room", "ada", "boss")
        with ada.listen("room") as listener:
            ada.say("room", "go")
            listener.wait_for("run.completed")
            [_, message] = checked(listener, ada, "room")
        assert "canary" not in json.dumps([event.data for event in listener.events])
        [seen] = message["parts"][0]["child"]["calls"]
        assert seen.keys() == {"toolCallId", "toolName", "status"}


FORM: dict[str, Any] = {
    "name": "form",
    "description": "Ask a person.",
    "executionType": "basic",
    "execution": {"mode": "no-execution"},
    "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}},
}


def test_a_form_inside_a_sub_agent_asks_a_person_and_resumes_the_right_run(
    house: Roomful, ada: Caller
) -> None:
    answers = {
        "boss": [both(_asks("scout", 0), _asks("scout", 1)), Answer(text("ok"))],
        "scout": [
            Answer(call("form", {"q": "first?"})),
            Answer(call("form", {"q": "second?"})),
            Answer(text("done")),
            Answer(text("done")),
        ],
    }
    with FakeOpenAI(Script(**answers)) as model:
        house.agent("boss", openai(model.base_url), delegate("scout", FORM), instructions="You are boss.")
        house.space("room", "ada", "boss")
        with ada.listen("room") as listener:
            run_id = ada.say("room", "go")["runs"][0]["runId"]

            def forms(events: list[Event]) -> list[dict[str, Any]] | None:
                asked = [
                    e.data for e in events if e.name == "run.waiting_tool" and "pendingToolCalls" in e.data
                ]
                return asked if len(asked) == 2 else None

            first, second = listener.wait(forms)
            assert {first["runId"], second["runId"]}.isdisjoint({run_id})
            for asked, result in ((second, "b"), (first, "a")):
                answer = {"toolCallId": asked["pendingToolCalls"][0]["toolCallId"], "result": result}
                ada.post(f"/api/runs/{asked['runId']}/tool-results", answer)
            listener.wait_for("run.completed", runId=run_id)
            state = checked(listener, ada, "room")
        told = {asked["pendingToolCalls"][0]["args"]["q"]: asked["runId"] for asked in (first, second)}
        by_run = {
            part["child"]["runId"]: part["child"]["calls"][0]["result"]
            for message in state
            for part in message["parts"]
            if "child" in part
        }
        assert by_run == {first["runId"]: "a", second["runId"]: "b"}
        assert len(told) == 2


def test_cancel_reaches_the_children(house: Roomful, ada: Caller) -> None:
    answers = {
        "boss": [Answer(_asks("one"))],
        "one": [both(text("I ask. "), _asks("two"))],
        "two": [both(_asks("three"))],
        "three": [Answer([*call("search", {"query": "x"})]), Answer([*text("writing"), hold("never")])],
    }
    with FakeOpenAI(Script(**answers)) as model:
        house.agent("boss", openai(model.base_url), DEEP, instructions="You are boss.")
        house.space("room", "ada", "boss")
        with ada.listen("room") as listener:
            run_id = ada.say("room", "go")["runs"][0]["runId"]
            listener.wait_for("subagent.text", delta="writing")
            assert ada.post(f"/api/runs/{run_id}/cancel")["status"] == "canceled"
            listener.wait_for("run.canceled", runId=run_id)
            [_, message] = checked(listener, ada, "room")
        assert model.requests[-1].gone.wait(10)
        runs = house.admin.get("/api/runs")["runs"]
        assert {run["status"] for run in runs} == {"canceled"}
        assert len(runs) == 4
        child, depth = message["parts"][0]["child"], 0
        while child:
            assert (child["status"], child["finishReason"]) == ("canceled", "canceled")
            child, depth = child["calls"][0].get("child"), depth + 1
        assert depth == 3


def test_one_sub_agent_can_be_stopped_alone_and_its_caller_is_told(house: Roomful, ada: Caller) -> None:
    answers = {
        "boss": [Answer(_asks("scout")), Answer(text("ok"))],
        "scout": [Answer([*text("thinking"), hold("never")])],
    }
    with FakeOpenAI(Script(**answers)) as model:
        house.agent("boss", openai(model.base_url), delegate("scout", SEARCH), instructions="You are boss.")
        house.space("room", "ada", "boss")
        with ada.listen("room") as listener:
            run_id = ada.say("room", "go")["runs"][0]["runId"]
            listener.wait_for("subagent.text")
            child_id = ada.messages("room")[1]["parts"][0]["child"]["runId"]
            assert ada.get(f"/api/runs/{child_id}")["status"] == "running"
            stranger = house.person("eve")
            assert stranger.request("GET", f"/api/runs/{child_id}").status_code == 404
            assert stranger.request("POST", f"/api/runs/{child_id}/cancel").status_code == 404
            ada.post(f"/api/runs/{child_id}/cancel")
            listener.wait_for("run.completed", runId=run_id)
            [_, message] = checked(listener, ada, "room")
        assert message["parts"][0]["error"] == "Scout was canceled"
        assert "Scout was canceled" in model.requests[-1].messages[-1]["content"]


def test_a_sub_agent_that_takes_too_long_is_stopped(house: Roomful, ada: Caller) -> None:
    tool = delegate("scout", SEARCH)
    tool["execution"]["timeout"] = 300
    answers = {
        "boss": [Answer(_asks("scout")), Answer(text("ok"))],
        "scout": [Answer([*text("thinking"), hold("never")])],
    }
    with FakeOpenAI(Script(**answers)) as model:
        house.agent("boss", openai(model.base_url), tool, instructions="You are boss.")
        house.space("room", "ada", "boss")
        with ada.listen("room") as listener:
            ada.say("room", "go")
            listener.wait_for("run.completed")
            [_, message] = checked(listener, ada, "room")
        assert message["parts"][0]["error"] == "Scout did not finish in time"
        assert message["parts"][0]["child"]["status"] == "canceled"


def test_a_configured_agent_is_called_with_its_own_rights(house: Roomful, ada: Caller) -> None:
    answers = {
        "boss": [Answer(call("ask", {"prompt": "hello"})), Answer(text("ok"))],
        "helper": [
            Answer(call("readSpaceMessages", {"spaceId": "den"})),
            Answer(call("readSpaceMessages", {"spaceId": "room"})),
            Answer(text("I read.")),
        ],
    }
    with FakeOpenAI(Script(**answers)) as model:
        house.agent("helper", openai(model.base_url), instructions="You are helper.")
        ask = {
            "name": "ask",
            "description": "Ask the helper.",
            "executionType": "ai-agent",
            "visibility": "full",
            "execution": {"agentId": "helper"},
        }
        house.agent("boss", openai(model.base_url), ask, instructions="You are boss.")
        house.space("room", "ada", "boss")
        house.space("den", "helper")
        with ada.listen("room") as listener:
            ada.say("room", "go")
            listener.wait_for("run.completed")
            [_, message] = checked(listener, ada, "room")
        assert message["parts"][0]["result"]["subAgentResourceId"] == "boss-helper"
        assert message["parts"][0]["child"]["agentId"] == "helper"
        told = [m["content"] for m in model.requests[-2].messages if m["role"] == "tool"]
        assert "error" not in told[0].lower()
        assert "there is no space 'room'" in told[1]


def test_a_killed_gateway_goes_on_inside_the_sub_agent(tmp_path: Path) -> None:
    answers = {
        "boss": [Answer(_asks("scout")), Answer(text("ok"))],
        "scout": [
            Answer(call("search", {"query": "x"})),
            Answer([*text("half a"), hold("never")]),
            Answer([hold("watched"), *text("Found.")]),
        ],
    }
    with FakeOpenAI(Script(**answers)) as model, Roomful(tmp_path) as house:
        ada = house.person("ada")
        house.agent("boss", openai(model.base_url), delegate("scout", SEARCH), instructions="You are boss.")
        house.space("room", "ada", "boss")
        with ada.listen("room") as listener:
            ada.say("room", "go")
            listener.wait_for("subagent.text")
            house.kill()
        house.start()
        with ada.listen("room") as listener:
            model.release("watched")
            listener.wait_for("run.completed")
            [_, message] = checked(listener, ada, "room")
        assert message["parts"][0]["child"]["text"] == "Found."
        assert message["parts"][0]["result"]["text"] == "Found."


@requirement("R-06")
def test_the_number_of_reads_of_a_page_does_not_depend_on_its_delegations(tmp_path: Path) -> None:
    """One, ten and fifty sub-agents, while they work and afterwards."""
    counts: dict[str, list[int]] = {"at work": [], "ended": []}
    for number in (1, 10, 50):
        asks = [piece for n in range(number) for piece in _asks("scout", n)]

        def script(asked: Asked, asks: list[bytes] = asks) -> Answer:
            is_first = asked.messages[-1]["role"] == "user"
            if "You are boss." in asked.messages[0]["content"]:
                return Answer(asks if is_first else text("ok"))
            return Answer(call("search", {"query": "x"}) if is_first else [*text("done"), hold("end")])

        folder = tmp_path / str(number)
        folder.mkdir()
        with FakeOpenAI(script) as model, InHouse(folder, lease_seconds=3600.0) as house:
            ada = house.person("ada")
            limits = {"runsPerRoot": 100, "callsPerRun": 100}
            tool = delegate("scout", SEARCH)
            house.agent("boss", openai(model.base_url), tool, instructions="You are boss.", limits=limits)
            house.space("room", "ada", "boss")
            with ada.listen("room") as listener:
                ada.say("room", "go")
                listener.wait_for("subagent.text", count=number)
                counts["at work"].append(_reads(house, ada, number))
                model.release("end", number)
                listener.wait_for("run.completed")
                checked(listener, ada, "room")
                counts["ended"].append(_reads(house, ada, number))
    assert len(set(counts["at work"])) == 1
    assert len(set(counts["ended"])) == 1


def _reads(house: InHouse, ada: Caller, number: int) -> int:
    """How many statements two ways to read the page take; all sub-agents are in it."""
    with house.reads() as asked:
        page = ada.messages("room")
        chat = ada.get("/api/chat", params={"threadId": "room"})
    assert len([part for part in page[1]["parts"] if part["child"]["calls"]]) == number
    assert len([part for part in chat[1]["parts"] if part["type"] == "data-tool-agent"]) == number
    return len([one for one in asked if "tokens" not in one and "kind = 'agent'" not in one])


@requirement("R-03")
@requirement("R-04")
@pytest.mark.parametrize("name", CASES)
def test_the_ui_messages_are_made_of_the_same_tree(house: Roomful, ada: Caller, name: str) -> None:
    tools, answers = CASES[name]
    with FakeOpenAI(Script(**{who: list(given) for who, given in answers.items()})) as model:
        house.agent("boss", openai(model.base_url), *tools, instructions="You are boss.")
        house.space("room", "ada", "boss")
        with ada.listen("room") as listener:
            ada.say("room", "go")
            listener.wait_for("run.completed")
            live = [msgspec.convert(message, Message) for message in checked(listener, ada, "room")]
        chat = ada.get("/api/chat", params={"threadId": "room"})
        assert json.loads(msgspec.json.encode(ui_messages(live, "ada", 6))) == chat
        parts = chat[1]["parts"]
        for at, part in enumerate(parts):
            if part["type"].startswith("tool-agent-"):
                below = parts[at + 1]
                assert below["type"] == "data-tool-agent"
                results = {one["toolCallId"] for one in below["data"]["toolResults"]}
                assert {one["toolCallId"] for one in below["data"]["toolCalls"]} == results
