"""What happened inside each recorded delegation, found in the threads of its sub-agents.

A delegation's thread is the one its output names. One that has no output (it crashed, or was cut off) has the
thread that was recorded as started by it, else the only free one that began with its very prompt. A thread
that several delegations name is told apart by its turns, in order.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal, cast

from roomful.domain.shape import UNSET, Json
from roomful.domain.trails import Child, ChildCall, ChildStatus
from roomful.recall.mastra.calls import RecordedCall, recorded_call
from roomful.recall.mastra.reading import Object, Recording, Said, Thread, is_call

_ENDS: dict[Literal["complete", "error", "unknown"], ChildStatus] = {
    "complete": "completed",
    "error": "failed",
    "unknown": "canceled",
}


class Trails:
    """Each thread is told once. What a trail cannot hold is in `rest`, with the thread it is from."""

    def __init__(self, recording: Recording) -> None:
        self._threads = recording.threads
        self._streamed = recording.streamed
        owner = next((said.resource_id for said in recording.said if said.resource_id), "")
        self._prefix = f"{owner}-"
        everything = [recording.said, *(thread.said for thread in recording.threads.values())]
        self._named = Counter(
            call.thread_id for said in everything for call in _calls(said) if call.thread_id is not None
        )
        self._told: Counter[str] = Counter()
        self._free = {id: thread for id, thread in self._threads.items() if id not in self._named}
        self.rest: list[tuple[str, Object]] = []
        self.notes: list[str] = []

    def child(self, call: RecordedCall, agent_id: str, above: tuple[str, ...] = ()) -> Child:
        """The delegation's sub-agent. Its run, usage and finish reason were never stored."""
        id = call.thread_id or self._thread_without_output(call, agent_id)
        thread = self._threads.get(id) if id is not None and id not in above else None
        if thread is None or id is None:
            self.notes.append(f"call {call.id}: no thread of {agent_id} is in the file")
            return self._made(call, agent_id, _told_by(call), _results_in(call))
        said = self._turn(thread)
        calls = [self._inner(inner, (*above, id)) for inner in _calls(said)]
        self._keep_rest(thread.id, said, call.prompt)
        return self._made(call, agent_id, _text(said, _told_by(call)), calls)

    def orphans(self) -> Iterator[tuple[RecordedCall, str]]:
        """The threads that no call led to so far, each as the call that must have been there."""
        for thread in [*self._free.values(), *self._threads.values()]:
            if not self._told[thread.id]:
                agent_id = self._agent_of(thread) or "unknown"
                args = {"prompt": _words(thread.said[0])} if thread.said else {}
                id, result = thread.via_call or thread.id, {"subAgentThreadId": thread.id}
                rest = "so it is shown at the end" if thread.said else "and nothing of it is in the file"
                self.notes.append(f"thread {thread.id}: no call led to it, {rest}")
                yield RecordedCall(id, f"agent-{agent_id}", "unknown", args, result), agent_id

    def _made(self, call: RecordedCall, agent_id: str, text: str, calls: list[ChildCall]) -> Child:
        status = _ENDS[call.status]
        return Child(run_id=None, agent_id=agent_id, name=agent_id, status=status, text=text, calls=calls)

    def _inner(self, call: RecordedCall, above: tuple[str, ...]) -> ChildCall:
        made = ChildCall(
            tool_call_id=call.id,
            tool_name=call.tool_name,
            status=call.status,
            args=call.args,
            result=self._whole(call),
            error=call.error,
        )
        if call.agent_id is not None:
            made.child = self.child(call, call.agent_id, above)
        return made

    def _whole(self, call: RecordedCall) -> Json:
        """The older version shows of an output that has a `value` only that. Where the file has the streamed
        result too, and they agree, it is the whole."""
        for result in self._streamed.get(call.id, ()):
            if isinstance(result, dict) and "value" in result and result["value"] == call.result:
                return cast(Object, result)
        return call.result

    def _thread_without_output(self, call: RecordedCall, agent_id: str) -> str | None:
        free = [each for each in self._free.values() if self._may_be_of(each, agent_id)]
        started = [each for each in free if each.via_call == call.id]
        begun = [each for each in free if each.via_call is None and _began_with(each, call.prompt)]
        found = started[:1] or (begun if len(begun) == 1 else [])
        for thread in found:
            del self._free[thread.id]
            return thread.id
        return None

    def _may_be_of(self, thread: Thread, agent_id: str) -> bool:
        name = self._agent_of(thread)
        return name is None or name == agent_id or name.endswith(f"-{agent_id}")

    def _agent_of(self, thread: Thread) -> str | None:
        """As recorded; else the newer version has it, behind those above it, in whose thread it is."""
        if thread.via_tool is not None:
            return thread.via_tool.removeprefix("agent-")
        return thread.resource_id.removeprefix(self._prefix) if self._is_newer(thread) else None

    def _is_newer(self, thread: Thread) -> bool:
        return len(self._prefix) > 1 and thread.resource_id.startswith(self._prefix)

    def _turn(self, thread: Thread) -> list[Said]:
        """This telling's messages: all of them, unless several delegations went on in one thread."""
        turn, tellings = self._told[thread.id], self._named[thread.id]
        self._told[thread.id] += 1
        if tellings < 2:
            return thread.said
        starts = [at for at, said in enumerate(thread.said) if said.role == "user"] or [0]
        if turn >= len(starts):
            return []
        is_last = turn in (len(starts) - 1, tellings - 1)
        begin = 0 if turn == 0 else starts[turn]
        return thread.said[begin:] if is_last else thread.said[begin : starts[turn + 1]]

    def _keep_rest(self, thread_id: str, said: Sequence[Said], prompt: str | None) -> None:
        for message in said:
            if message.role == "assistant" or _words(message) == prompt:
                kept = [part for part in message.parts if not is_call(part) and part["type"] not in _TOLD]
                self.rest += [(thread_id, part) for part in kept]
            else:
                self.rest.append((thread_id, {"type": f"{message.role}-message", "parts": message.parts}))


_TOLD = ("text", "step-start")


def _calls(said: Sequence[Said]) -> Iterator[RecordedCall]:
    for message in said:
        if message.role == "assistant":
            yield from (recorded_call(part) for part in message.parts if is_call(part))


def _text(said: Sequence[Said], told: str) -> str:
    """All that the sub-agent wrote. Stored piece by piece and trimmed: where the call's own output has the
    same words, their spacing is the true one."""
    pieces = [_words(message) for message in said if message.role == "assistant"]
    joined = " ".join(piece for piece in pieces if piece)
    return told if not joined or _squeezed(told) == _squeezed(joined) else joined


def _words(message: Said) -> str:
    texts = (part["text"].strip() for part in message.parts if part["type"] == "text")
    return " ".join(text for text in texts if text)


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _told_by(call: RecordedCall) -> str:
    text = call.output.get("text")
    return text.strip() if isinstance(text, str) else ""


def _began_with(thread: Thread, prompt: str | None) -> bool:
    return prompt is not None and bool(thread.said) and _words(thread.said[0]) == prompt


def _results_in(call: RecordedCall) -> list[ChildCall]:
    """The newer version repeats the inner results in the output: all there is, without the thread."""
    listed: Json = call.output.get("subAgentToolResults")
    found = cast("list[Json]", listed) if isinstance(listed, list) else []
    return [_repeated(cast(Object, each)) for each in found if isinstance(each, dict)]


def _repeated(result: Object) -> ChildCall:
    return ChildCall(
        tool_call_id=str(result.get("toolCallId", "")),
        tool_name=str(result.get("toolName", "")),
        status="error" if result.get("isError") is True else "complete",
        args=result.get("args", UNSET),
        result=result.get("result"),
    )
