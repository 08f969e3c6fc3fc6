"""A message as the AI SDK's UI message: a table of what becomes of each part."""

from typing import Any

import pytest

from roomful.domain.messages import Message, Part, PartStatus, ReasoningPart, TextPart, ToolCallPart
from roomful.domain.shape import decode_json, encode_json
from roomful.domain.trails import Child, ChildCall
from roomful.domain.usage import Usage
from roomful.recall.ui_messages import ui_message, ui_messages


def said(*parts: Part, **more: Any) -> Message:
    fields: dict[str, Any] = {
        "id": "msg_1",
        "space_id": "team",
        "entity_id": "lead",
        "seq": 7,
        "status": "final",
        "role": "assistant",
        "created_at": "2026-01-01T00:00:00.000Z",
        "updated_at": "2026-01-02T00:00:00.000Z",
    }
    return Message(parts=list(parts), **fields | more)


def ui(*parts: Part, **more: Any) -> list[Any]:
    return decode_json(encode_json(ui_message([said(*parts, **more)], None, 6)))["parts"]


def call(status: PartStatus = "complete", **more: Any) -> ToolCallPart:
    return ToolCallPart(id="prt_1", tool_call_id="call_1", tool_name="search", status=status, **more)


def data(**more: Any) -> dict[str, Any]:
    return {
        "id": "research",
        "status": "finished",
        "text": "",
        "toolCalls": [],
        "toolResults": [],
        "toolErrors": [],
        "steps": [],
        "finishReason": None,
        "usage": None,
    } | more


def child(*calls: ChildCall, **more: Any) -> Child:
    fields: dict[str, Any] = {
        "run_id": "run_2",
        "agent_id": "research",
        "name": "Research",
        "status": "completed",
    }
    return Child(calls=list(calls), **fields | more)


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        pytest.param(
            TextPart(id="p", text="Hi"), {"type": "text", "text": "Hi", "state": "done"}, id="a text"
        ),
        pytest.param(
            TextPart(id="p", text="H", status="streaming"),
            {"type": "text", "text": "H", "state": "streaming"},
            id="a text that grows",
        ),
        pytest.param(
            ReasoningPart(id="p", text="Hm"),
            {"type": "reasoning", "text": "Hm", "state": "done", "id": "p"},
            id="reasoning",
        ),
        pytest.param(
            call("streaming", args={"q": "a"}, result=None),
            {
                "type": "tool-search",
                "toolCallId": "call_1",
                "state": "input-streaming",
                "input": {"q": "a"},
                "rawInput": '{"q":"a',
            },
            id="a call whose input grows",
        ),
        *(
            pytest.param(
                call(status, args={}, result=None),
                {"type": "tool-search", "toolCallId": "call_1", "state": "input-available", "input": {}},
                id=f"a call that is {status}",
            )
            for status in ("ready", "running", "waiting")
        ),
        pytest.param(
            call(args={"q": "a"}, result=None),
            {
                "type": "tool-search",
                "toolCallId": "call_1",
                "state": "output-available",
                "input": {"q": "a"},
                "output": None,
            },
            id="a result that is null stays null",
        ),
        pytest.param(
            call(),
            {
                "type": "tool-search",
                "toolCallId": "call_1",
                "state": "output-available",
                "input": None,
                "output": None,
            },
            id="a redacted call has neither input nor output",
        ),
        pytest.param(
            call("error", args={}, result=None, error="down"),
            {
                "type": "tool-search",
                "toolCallId": "call_1",
                "state": "output-error",
                "input": {},
                "errorText": "down",
            },
            id="a failed call",
        ),
        pytest.param(
            call("canceled"),
            {
                "type": "tool-search",
                "toolCallId": "call_1",
                "state": "output-error",
                "input": None,
                "errorText": "This call was canceled.",
            },
            id="a canceled call",
        ),
        pytest.param(
            call("unknown", provider_call_id="theirs"),
            {
                "type": "tool-search",
                "toolCallId": "call_1",
                "state": "output-error",
                "input": None,
                "errorText": "Nobody knows what became of this call.",
                "callProviderMetadata": {"roomful": {"providerCallId": "theirs"}},
            },
            id="an imported call whose end was never stored",
        ),
    ],
)
def test_a_part_has_its_form(part: Part, expected: Any) -> None:
    assert ui(part) == [expected]


def test_a_message_carries_where_and_whose_it_is() -> None:
    open_one = said(TextPart(id="p", text="Hi"), status="open", run_id="run_1", attachments=["blob_1"])

    assert decode_json(encode_json(ui_message([open_one], None, 6))) == {
        "id": "msg_1",
        "role": "assistant",
        "metadata": {
            "createdAt": "2026-01-01T00:00:00.000Z",
            "spaceId": "team",
            "entityId": "lead",
            "seq": 7,
            "status": "open",
            "runId": "run_1",
            "attachments": ["blob_1"],
        },
        "parts": [{"type": "step-start"}, {"type": "text", "text": "Hi", "state": "done"}],
    }


def test_a_persons_text_is_as_the_sdk_sends_it() -> None:
    assert ui(TextPart(id="p", text="Hi"), role="user") == [{"type": "text", "text": "Hi"}]


def test_a_deleted_message_is_not_there() -> None:
    assert ui_messages([said(deleted=True), said()], None, 6) == [ui_message([said()], None, 6)]


def test_a_delegation_is_followed_by_what_its_sub_agent_did() -> None:
    inner = [
        ChildCall("c1", "search", "complete", args={"q": 1}, result=None),
        ChildCall("c2", "search", "error", args={"q": 2}, error="down"),
        ChildCall("c3", "search", "running", args={"q": 3}),
        ChildCall("c4", "search", "complete"),
        ChildCall("c5", "search", "canceled", args={}),
    ]
    whole = child(*inner, text="Found.", finish_reason="stop", usage=Usage(10, 2))

    delegation, agent, text = ui(
        call(args={"prompt": "look"}, result={"text": "Found."}, child=whole), TextPart(id="p", text="Done.")
    )

    assert delegation == {
        "type": "tool-agent-research",
        "toolCallId": "call_1",
        "state": "output-available",
        "input": {"prompt": "look"},
        "output": {"text": "Found."},
    }
    assert agent == {
        "type": "data-tool-agent",
        "id": "run_2",
        "data": data(
            text="Found.",
            toolCalls=[
                {"toolCallId": "c1", "toolName": "search", "args": {"q": 1}},
                {"toolCallId": "c2", "toolName": "search", "args": {"q": 2}},
                {"toolCallId": "c3", "toolName": "search", "args": {"q": 3}},
                {"toolCallId": "c4", "toolName": "search"},
                {"toolCallId": "c5", "toolName": "search", "args": {}},
            ],
            toolResults=[
                {"toolCallId": "c1", "toolName": "search", "args": {"q": 1}, "result": None},
                {"toolCallId": "c2", "toolName": "search", "args": {"q": 2}, "result": {"error": "down"}},
                {"toolCallId": "c4", "toolName": "search"},
            ],
            toolErrors=[{"toolCallId": "c2", "toolName": "search", "args": {"q": 2}, "error": "down"}],
            finishReason="stop",
            usage={"inputTokens": 10, "outputTokens": 2, "totalTokens": 12},
        ),
    }
    assert text["text"] == "Done."


def test_a_failure_with_a_result_of_its_own_keeps_it() -> None:
    failed = ChildCall("c1", "search", "error", args={}, result={"code": 5}, error="down")

    _, agent = ui(call(child=child(failed)))

    assert [each["result"] for each in agent["data"]["toolResults"]] == [{"code": 5}]
    assert [each["error"] for each in agent["data"]["toolErrors"]] == ["down"]


@pytest.mark.parametrize(
    ("status", "expected"), [("running", "running"), ("failed", "failed"), ("canceled", "canceled")]
)
def test_a_sub_agent_that_did_not_finish_says_so(status: Any, expected: str) -> None:
    _, agent = ui(call("running", child=child(status=status, run_id=None)))

    assert agent == {"type": "data-tool-agent", "id": None, "data": data(status=expected)}


def test_sub_agents_of_sub_agents_are_parts_of_their_own_at_any_depth() -> None:
    third = child(agent_id="third", run_id="run_4")
    second = child(ChildCall("c3", "ask", "complete", child=third), agent_id="second", run_id="run_3")
    first = child(
        ChildCall("c1", "ask", "complete", args={}, result="x", child=second),
        ChildCall("c2", "ask", "complete", child=child(agent_id="other", run_id=None)),
    )

    _, *agents = ui(call(child=first))

    assert [(each["data"]["id"], each["id"], each["data"].get("ancestry")) for each in agents] == [
        ("research", "run_2", None),
        ("second", "run_3", ["call_1", "c1"]),
        ("third", "run_4", ["call_1", "c1", "c3"]),
        ("other", None, ["call_1", "c2"]),
    ]
    assert agents[0]["data"]["toolResults"][0] == {
        "toolCallId": "c1",
        "toolName": "agent-second",
        "args": {},
        "result": "x",
    }
