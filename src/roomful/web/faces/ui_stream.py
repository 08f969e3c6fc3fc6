"""The AI SDK's UI message stream: one assistant message, told in the chunks of which its reader makes the UI
message that the history has."""

from collections.abc import Sequence
from typing import assert_never

import msgspec

from roomful.domain.events import CallInput, RunChanged, TextDelta
from roomful.domain.messages import Message, ToolCallPart
from roomful.domain.runs import WAITING
from roomful.domain.shape import UNSET, Json, Unset
from roomful.recall.argument_text import ArgumentText
from roomful.recall.harmless import harmless, harmless_json, harmless_ops
from roomful.recall.ui_messages import slots, ui_head
from roomful.recall.ui_nouns import Sdk, Slot, UiAgent, UiStep, UiText, UiToolCall
from roomful.web.sse import Manner

_STUCK = "What was said so far has to be said anew: load the messages and resume."
_DONE = b"data: [DONE]\n\n"


def chunk(type: str, **fields: Json) -> bytes:
    """Without what is unset."""
    given = {name: value for name, value in fields.items() if value is not UNSET}
    return b"data: " + harmless_json({"type": type, **given}) + b"\n\n"


MANNER = Manner(
    headers={"x-vercel-ai-ui-message-stream": "v1"},
    draining=chunk("error", errorText="The gateway restarts: resume in a moment.") + _DONE,
)


class _Told(msgspec.Struct):
    """What a reader has of one part."""

    part: UiText | UiToolCall | UiAgent | UiStep
    length: int = 0
    """Of its text, or of its arguments as text."""
    writing: ArgumentText | None = None


class UiStream:
    """A Face. `known` is what the reader has already, where it goes on with a message."""

    def __init__(self, sdk: Sdk, viewer: str | None, known: Sequence[Slot] = ()) -> None:
        self.is_stuck = False
        self._sdk: Sdk = sdk
        self._viewer = viewer
        self._metadata: Json = None
        self._told: dict[str, _Told] = {}
        for key, part in known:
            assert part is not None
            self._told[key] = _Told(part, len(part.text) if isinstance(part, UiText) else 0)

    def tell(self, messages: list[Message]) -> bytes:
        if not messages:
            return b""
        message_id, metadata = ui_head(messages, self._viewer)
        before, self._metadata = self._metadata, msgspec.to_builtins(metadata)
        parts = self._new(messages)
        if before is None:
            return chunk("start", messageId=message_id, messageMetadata=self._metadata) + parts
        return parts if before == self._metadata else parts + self._metadata_changed()

    def grow(self, event: TextDelta | CallInput) -> bytes:
        if isinstance(event, CallInput):
            told = self._told.get(event.tool_call_id)
            if told is None or told.writing is None:
                return b""
            return self._input(event.tool_call_id, told, told.writing.grow(harmless_ops(event.ops)))
        told = self._told.get(event.part_id)
        if told is None or not isinstance(told.part, UiText):
            return b""
        return self._text_delta(event.part_id, told, event.delta[max(0, told.length - event.offset) :])

    def can_answer(self, part: ToolCallPart) -> bool:
        if part.asks == "approval":
            return self._sdk > 5 and part.approval is not UNSET
        return part.asks == "answer"

    def end(self, run: RunChanged | None) -> bytes:
        if self.is_stuck:
            return chunk("error", errorText=_STUCK) + _DONE
        if run is None or run.status == "completed":
            return self._finish("stop") + _DONE
        if run.status in WAITING:
            return self._finish("tool-calls") + _DONE
        if run.status == "canceled":
            return chunk("abort") + _DONE
        why = "The agent could not finish." if run.error is UNSET else run.error.message
        return chunk("error", errorText=why) + _DONE

    def _finish(self, reason: str) -> bytes:
        """With the metadata once more: a step that began is noticed only with something behind it."""
        metadata: Json = UNSET if self._metadata is None else self._metadata
        return chunk("finish", finishReason=UNSET if self._sdk == 5 else reason, messageMetadata=metadata)

    def _metadata_changed(self) -> bytes:
        return chunk("message-metadata", messageMetadata=self._metadata)

    def _new(self, messages: list[Message]) -> bytes:
        """Parts are told in the order that they have in the history: whatever comes behind a gap waits."""
        chunks: list[bytes] = []
        is_held = False
        for key, part in slots(messages, self._sdk):
            if part is None:
                is_held = True
            elif key in self._told or not is_held:
                chunks.append(self._part(key, part))
        return b"".join(chunks)

    def _part(self, key: str, part: UiText | UiToolCall | UiAgent | UiStep) -> bytes:
        match part:
            case UiStep():
                return b"" if self._know(key, part) else chunk("start-step")
            case UiText():
                return self._text(key, part)
            case UiToolCall():
                return self._call(key, part)
            case UiAgent():
                before = self._know(key, part)
                return b"" if before == part else chunk(part.type, id=part.id, data=part.data)
            case _:
                assert_never(part)

    def _know(self, key: str, part: UiAgent | UiStep) -> UiText | UiToolCall | UiAgent | UiStep | None:
        """What was told of it before; from now on it is this."""
        told = self._told.get(key)
        self._told[key] = _Told(part)
        return told.part if told is not None else None

    def _text(self, key: str, part: UiText) -> bytes:
        told = self._told.get(key)
        opening = b""
        if told is None:
            told = self._told[key] = _Told(UiText(part.type, "", "streaming"))
            opening = chunk(f"{part.type}-start", id=key)
        assert isinstance(told.part, UiText)
        if len(part.text) < told.length:
            self.is_stuck = True
            return b""
        grown = self._text_delta(key, told, part.text[told.length :])
        if part.state == "streaming" or told.part.state == "done":
            return opening + grown
        told.part.state = "done"
        return opening + grown + chunk(f"{part.type}-end", id=key)

    def _text_delta(self, key: str, told: _Told, delta: str) -> bytes:
        assert isinstance(told.part, UiText)
        if not delta or told.part.state == "done":
            return b""
        told.length += len(delta)
        return chunk(f"{told.part.type}-delta", id=key, delta=delta)

    def _call(self, key: str, now: UiToolCall) -> bytes:
        told = self._told.get(key)
        chunks: list[bytes] = []
        if told is None:
            told = self._told[key] = _Told(UiToolCall(now.type, key, "input-streaming"))
            chunks.append(self._begin_call(now))
        before = told.part
        assert isinstance(before, UiToolCall)
        if now.state == "input-streaming":
            chunks.append(self._input_so_far(key, told, now))
        elif before.state == "input-streaming" or (before.input != now.input and not before.is_settled):
            chunks.append(chunk("tool-input-available", **_head(now), input=now.input))
        chunks += self._outcome(before, now)
        told.part = now
        return b"".join(chunks)

    def _input_so_far(self, key: str, told: _Told, now: UiToolCall) -> bytes:
        """What was told of it and is not so any more is forgotten when the call begins anew."""
        if now.raw_input is UNSET:
            return b""
        anew = b""
        if len(now.raw_input) < told.length:
            told.length = 0
            anew = self._begin_call(now)
        told.writing = ArgumentText()
        told.writing.begin(harmless(now.input))
        return anew + self._input(key, told, now.raw_input[told.length :])

    def _begin_call(self, now: UiToolCall) -> bytes:
        return chunk("tool-input-start", **_head(now))

    def _input(self, key: str, told: _Told, delta: str) -> bytes:
        if not delta:
            return b""
        told.length += len(delta)
        return chunk("tool-input-delta", toolCallId=key, inputTextDelta=delta)

    def _outcome(self, before: UiToolCall, now: UiToolCall) -> list[bytes]:
        chunks = self._approval(before, now)
        call = now.tool_call_id
        if now.state == "output-available" and (before.state != now.state or before.output != now.output):
            chunks.append(chunk("tool-output-available", toolCallId=call, output=now.output))
        elif now.state == "output-error" and before.state != now.state:
            chunks.append(chunk("tool-output-error", toolCallId=call, errorText=now.error_text))
        elif now.state == "output-denied" and before.state != now.state:
            chunks.append(chunk("tool-output-denied", toolCallId=call))
        return chunks

    def _approval(self, before: UiToolCall, now: UiToolCall) -> list[bytes]:
        """Version 6 has no word for a decision that somebody else took: who asks then is told the outcome."""
        if now.approval is UNSET:
            return []
        approval, known = now.approval, before.approval
        is_decided = approval.approved is not UNSET
        chunks: list[bytes] = []
        if known is UNSET and (self._sdk > 6 or not is_decided):
            request = chunk("tool-approval-request", approvalId=approval.id, toolCallId=now.tool_call_id)
            chunks.append(request)
        if self._sdk > 6 and is_decided and (known is UNSET or known.approved != approval.approved):
            decided = {"approved": approval.approved, "reason": approval.reason}
            chunks.append(chunk("tool-approval-response", approvalId=approval.id, **decided))
        return chunks


def _head(call: UiToolCall) -> dict[str, Json]:
    return {
        "toolCallId": call.tool_call_id,
        "toolName": call.type.removeprefix("tool-"),
        "providerExecuted": call.provider_executed,
    }


def known_slots(parts: Sequence[Json], messages: Sequence[Message], sdk: Sdk) -> list[Slot]:
    """What a client that sent these parts has of a run's messages. Calls have ids; texts and steps are known
    by their number."""
    calls = {one["toolCallId"]: one for one in parts if isinstance(one.get("toolCallId"), str)}
    left = {
        kind: [one for one in parts if one.get("type") == kind]
        for kind in ("text", "reasoning", "step-start")
    }
    known: list[Slot] = []
    for key, part in slots(messages, sdk):
        match part:
            case UiToolCall():
                if key in calls:
                    known.append(Slot(key, _as_sent(part, calls[key])))
            case UiText() | UiStep():
                if left[part.type]:
                    left[part.type].pop()
                    known.append(Slot(key, _ended(part)))
            case UiAgent() | None:
                pass  # Told again, a sub-agent is found by its id.
            case _:
                assert_never(part)
    return known


def _ended(part: UiText | UiStep) -> UiText | UiStep:
    """A reader cannot go on with a text that it has from before."""
    return part if isinstance(part, UiStep) else msgspec.structs.replace(part, state="done")


def _as_sent(part: UiToolCall, sent: Json) -> UiToolCall:
    state: str | Unset = sent.get("state", UNSET)
    approval = sent.get("approval")
    known = UiToolCall(part.type, part.tool_call_id, part.state, input=sent.get("input", UNSET))
    known.output = sent.get("output", UNSET)
    if isinstance(state, str):
        known.state = state  # pyright: ignore[reportAttributeAccessIssue] - another state is no state of ours
    if isinstance(approval, dict) and part.approval is not UNSET:
        known.approval = part.approval
    return known
