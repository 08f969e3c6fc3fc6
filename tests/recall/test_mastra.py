"""Recordings that nobody made, but somebody might: several turns, shared threads, crashes, odd parts."""

import json
from pathlib import Path
from typing import Any

import pytest

from roomful.domain.errors import Invalid
from roomful.domain.messages import Message, ToolCallPart
from roomful.domain.shape import UNSET
from roomful.domain.trails import Child
from roomful.recall.mastra import Imported, Into, imported, read_recording

INTO = Into(space_id="team", owner_id="ada", agent_id="mastra", at="2026-02-02T00:00:00.000Z")


def user(text: str, id: str = "u") -> dict[str, Any]:
    return {"id": id, "role": "user", "parts": [{"type": "text", "text": text}]}


def assistant(*parts: Any, id: str = "a") -> dict[str, Any]:
    return {"id": id, "role": "assistant", "metadata": {"resourceId": "user-1"}, "parts": list(parts)}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def tool(id: str, output: Any = "ok", name: str = "search") -> dict[str, Any]:
    return {
        "type": f"tool-{name}",
        "toolCallId": id,
        "input": {},
        "output": output,
        "state": "output-available",
    }


def asks(id: str, thread: str | None, prompt: str = "go", agent: str = "research", **more: Any) -> Any:
    output = {"text": "", "subAgentThreadId": thread} if thread else None
    made = {"type": f"tool-agent-{agent}", "toolCallId": id, "input": {"prompt": prompt}}
    return made | ({"state": "output-available", "output": output} if thread else {}) | more


def thread(*said: Any, **more: Any) -> dict[str, Any]:
    return {"ui": list(said), **more}


def made(said: list[Any], threads: dict[str, Any] | None = None, orphans: Any = ()) -> Imported:
    file = {"storedParentUi": said, "storedSubThreads": threads or {}, "orphanThreads": orphans}
    return imported(read_recording(json.dumps(file).encode(), "rec.json"), INTO)


def delegations(message: Message) -> list[Child]:
    calls = [part for part in message.parts if isinstance(part, ToolCallPart)]
    return [part.child for part in calls if part.child is not UNSET]


def ids(child: Child) -> list[str]:
    return [call.tool_call_id for call in child.calls or []]


def test_delegations_that_go_on_in_one_thread_have_a_turn_each() -> None:
    shared = thread(
        user("one"),
        assistant(tool("c1"), text("First.")),
        user("two"),
        assistant(tool("c2"), text("Second.")),
    )
    result = made([assistant(asks("d1", "t", "one"), asks("d2", "t", "two"))], {"t": shared})

    assert [(ids(child), child.text) for child in delegations(result.messages[0])] == [
        (["c1"], "First."),
        (["c2"], "Second."),
    ]
    assert result.notes == []


def test_call_ids_that_come_back_in_a_later_turn_are_not_confused() -> None:
    threads = {
        "t1": thread(user("go"), assistant(tool("c", 1)), viaToolCallId="d"),
        "t2": thread(user("go"), assistant(tool("c", 2)), viaToolCallId="d"),
    }
    result = made([assistant(asks("d", "t1")), assistant(asks("d", "t2"))], threads)

    [first], [second] = (delegations(message) for message in result.messages)
    assert [call.result for each in (first, second) for call in each.calls or []] == [1, 2]
    assert len({message.id for message in result.messages}) == 2
    assert len({part.id for message in result.messages for part in message.parts}) == 2


def test_a_crashed_delegation_finds_the_thread_it_started() -> None:
    crashed = asks("d", None, state="output-error", errorText="boom")
    orphans = [
        {"threadId": "x", "viaToolCallId": "other", "ui": [user("go"), assistant(tool("c0"))]},
        {"threadId": "y", "viaToolCallId": "d", "ui": [user("go"), assistant(tool("c1"))]},
    ]
    result = made([assistant(crashed)], {}, orphans)

    [child] = delegations(result.messages[0])
    assert (child.status, ids(child)) == ("failed", ["c1"])
    [part] = result.messages[0].parts
    assert isinstance(part, ToolCallPart)
    assert (part.status, part.error, part.provider_call_id) == ("error", "boom", "d")


def test_a_delegation_that_was_cut_off_finds_the_only_thread_with_its_prompt() -> None:
    cut_off = asks("d", None, "look", state="input-available")
    orphans = [
        {"id": "x", "resourceId": "user-1-research", "messages": [user("look"), assistant(tool("c1"))]},
        {"id": "y", "resourceId": "user-1-stats", "messages": [user("look"), assistant(tool("c2"))]},
    ]
    result = made([assistant(cut_off)], {}, orphans)

    [child] = delegations(result.messages[0])
    assert (child.status, ids(child)) == ("canceled", ["c1"])
    [orphan] = delegations(result.messages[1])
    assert (orphan.agent_id, ids(orphan)) == ("stats", ["c2"])


def test_two_threads_that_could_be_meant_are_shown_as_nobodys() -> None:
    orphans = {id: {"ui": [user("look"), assistant(tool(f"c-{id}"))]} for id in ("x", "y")}
    result = made([assistant(asks("d", None, "look"))], {}, orphans)

    assert [[ids(child) for child in delegations(message)] for message in result.messages] == [
        [[]],
        [["c-x"]],
        [["c-y"]],
    ]
    assert result.notes == [
        "call d: no thread of research is in the file",
        "thread x: no call led to it, so it is shown at the end",
        "thread y: no call led to it, so it is shown at the end",
    ]


def test_an_orphan_has_its_own_sub_agents_and_those_are_no_orphans() -> None:
    threads = {
        "in": thread(user("deep"), assistant(tool("c1"))),
        "out": thread(user("go"), assistant(asks("d", "in", "deep", "nested"))),
    }
    result = made([user("Hi")], threads)

    assert len(result.messages) == 2
    [orphan] = delegations(result.messages[1])
    [inner] = orphan.calls or []
    assert inner.child is not UNSET
    assert ids(inner.child) == ["c1"]


def test_nesting_has_no_bound_and_a_circle_ends() -> None:
    deep = {f"t{n}": thread(user("go"), assistant(asks(f"d{n}", f"t{n + 1}"))) for n in range(60)}
    deep["t60"] = thread(user("go"), assistant(tool("bottom")))
    [child] = delegations(made([assistant(asks("d", "t0"))], deep).messages[0])
    for _ in range(60):
        [call] = child.calls or []
        assert call.child is not UNSET
        child = call.child
    assert ids(child) == ["bottom"]

    circle = {"t": thread(user("go"), assistant(asks("again", "t")))}
    [child] = delegations(made([assistant(asks("d", "t"))], circle).messages[0])
    assert ids(child) == ["again"]

    [child] = delegations(made([user("Hi")], circle).messages[1])
    assert ids(child) == ["again"]


def test_an_orphan_of_which_nothing_is_there_is_said() -> None:
    assert made([user("Hi")], {}, ["x"]).notes == [
        "thread x: no call led to it, and nothing of it is in the file"
    ]


def test_without_its_thread_a_delegation_has_what_its_output_repeats() -> None:
    repeated = [{"toolName": "search", "toolCallId": "c1", "args": {"q": 1}, "result": None}]
    output = {"text": " Found. ", "subAgentThreadId": "gone", "subAgentToolResults": repeated}
    result = made([assistant(asks("d", "gone", output=output))])

    [child] = delegations(result.messages[0])
    assert (child.text, ids(child)) == ("Found.", ["c1"])
    assert result.notes == ["call d: no thread of research is in the file"]


def test_parts_without_a_kind_are_kept_as_data_and_said() -> None:
    picture = {"type": "file", "mediaType": "image/png", "url": "data:,"}
    thought = {"type": "reasoning", "text": "Hm."}
    system = {"id": "s", "role": "system", "parts": [text("Be kind.")]}
    result = made(
        [
            system,
            user("Hi") | {"parts": [text("Hi"), picture]},
            assistant(thought, {"type": "step-start"}, asks("d", "t")),
        ],
        {"t": thread(user("go"), user("and?"), assistant(thought, tool("c1")))},
    )

    kept = [part for message in result.messages for part in message.parts if isinstance(part, ToolCallPart)]
    assert [(part.tool_name, part.result) for part in kept if part.child is UNSET] == [
        ("mastra.system-message", {"type": "system-message", "parts": [text("Be kind.")]}),
        ("mastra.file", picture),
        ("mastra.user-message", {"type": "user-message", "parts": [text("and?")]}),
        ("mastra.reasoning", thought),
    ]
    assert result.notes == [
        "message s: a part 'system-message' is kept as data",
        "message u: a part 'file' is kept as data",
        "thread t: a part 'user-message' is kept as data",
        "thread t: a part 'reasoning' is kept as data",
    ]
    assert [part.text for part in result.messages[2].parts if not isinstance(part, ToolCallPart)] == ["Hm."]


THROWN = {"message": "down", "domain": "TOOL", "category": "USER", "code": "TOOL_EXECUTION_FAILED"}


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        pytest.param({"state": "output-available", "output": None}, ("complete", None, UNSET), id="null"),
        pytest.param({"state": "output-available"}, ("complete", None, UNSET), id="undefined"),
        pytest.param({"output": [1]}, ("complete", [1], UNSET), id="no state"),
        pytest.param({"state": "output-error", "errorText": "x"}, ("error", UNSET, "x"), id="error"),
        pytest.param({"state": "input-available"}, ("unknown", UNSET, UNSET), id="cut off"),
        pytest.param({"state": "output-denied"}, ("error", UNSET, "denied"), id="denied"),
        pytest.param(
            {"state": "output-available", "output": {"message": "m", "domain": "me", "code": 1}},
            ("complete", {"message": "m", "domain": "me", "code": 1}, UNSET),
            id="an output that only looks like an error",
        ),
        pytest.param(
            {"state": "output-available", "output": THROWN},
            ("error", THROWN, "down"),
            id="what a tool threw, stored as an output",
        ),
    ],
)
def test_an_end_is_read_as_it_was_stored(part: Any, expected: Any) -> None:
    call = {"type": "dynamic-tool", "toolName": "odd", "toolCallId": "c", "input": {}} | part
    [read] = made([assistant(call)]).messages[0].parts

    assert isinstance(read, ToolCallPart)
    assert read.tool_name == "odd"
    assert (read.status, read.result, read.error) == expected


RECORDINGS = Path(__file__).parent.parent / "data" / "recordings"


@pytest.mark.parametrize("path", sorted(RECORDINGS.glob("mastra-*/*.json")), ids=str)
def test_what_was_streamed_completes_an_output_of_which_only_the_value_was_stored(path: Path) -> None:
    """Nothing else is taken from it: without it a recording is the same but for the one such output."""
    file = json.loads(path.read_text(encoding="utf-8"))
    whole = imported(read_recording(json.dumps(file).encode(), "rec.json"), INTO)
    del file["streamedFinalAgentParts"]
    stored = imported(read_recording(json.dumps(file).encode(), "rec.json"), INTO)

    if path.parent.name == "mastra-1.1" and path.name.startswith("04"):
        [call], [as_stored] = (delegations(each.messages[1])[1].calls or [] for each in (whole, stored))
        assert as_stored.result == 103.1
        assert call.result == {"success": True, "code": "CPI", "value": 103.1}
        as_stored.result = call.result
    assert whole == stored


def test_texts_that_the_output_has_too_keep_its_spacing() -> None:
    pieces = thread(user("go"), assistant(text("One."), tool("c1"), text("Two.")))
    told = {"text": "One.\n\nTwo.\n", "subAgentThreadId": "t"}

    [child] = delegations(made([assistant(asks("d", "t", output=told))], {"t": pieces}).messages[0])

    assert child.text == "One.\n\nTwo."


def test_times_are_utc_with_milliseconds() -> None:
    stamps = ["2026-01-01T02:00:00+02:00", 1767225600000, None]
    said = [user("Hi", str(n)) | {"metadata": {"createdAt": stamp}} for n, stamp in enumerate(stamps)]

    assert [message.created_at for message in made(said).messages] == [
        "2026-01-01T00:00:00.000Z",
        "2026-01-01T00:00:00.000Z",
        INTO.at,
    ]


@pytest.mark.parametrize(
    ("file", "missing"),
    [
        pytest.param("{", "this is not JSON", id="no JSON"),
        pytest.param("[]", "the file is not an object", id="a list"),
        pytest.param({}, "storedParentUi is missing", id="nothing"),
        pytest.param({"stored": {}}, "stored.parent is missing", id="the other form"),
        pytest.param({"storedParentUi": []}, "storedParentUi is empty", id="empty"),
        pytest.param({"storedParentUi": [user("Hi")]}, "storedSubThreads is missing", id="no threads"),
        pytest.param({"storedParentUi": [{"id": "a"}]}, "storedParentUi[0].parts is missing", id="no parts"),
        pytest.param(
            {"storedParentUi": [assistant({"type": "tool-x"})]},
            "storedParentUi[0].parts[0].toolCallId is missing",
            id="no call id",
        ),
        pytest.param(
            {"storedParentUi": [assistant({"type": "text"})]},
            "storedParentUi[0].parts[0].text is missing",
            id="no text",
        ),
        pytest.param(
            {"storedParentUi": [user("Hi")], "storedSubThreads": {"t": {"ui": [{"parts": []}]}}},
            "storedSubThreads['t'].ui[0].id is missing",
            id="in a thread",
        ),
        pytest.param(
            {"storedParentUi": [user("Hi")], "storedSubThreads": {"t": {"resourceId": "r"}}},
            "storedSubThreads['t'].ui is missing",
            id="a thread without messages",
        ),
        pytest.param(
            {"storedParentUi": [user("Hi")], "storedSubThreads": {}, "orphanThreads": [{}]},
            "orphanThreads[0].threadId is missing",
            id="an orphan without a name",
        ),
        pytest.param(
            {"storedParentUi": [user("Hi") | {"metadata": {"createdAt": "soon"}}]},
            "storedParentUi[0].metadata.createdAt is not a time: 'soon'",
            id="no time",
        ),
    ],
)
def test_what_is_missing_is_named(file: Any, missing: str) -> None:
    data = file if isinstance(file, str) else json.dumps(file)

    with pytest.raises(Invalid) as refused:
        read_recording(data.encode(), "rec.json")

    assert refused.value.detail.startswith(f"rec.json: {missing}")
