"""Tells what happens in a space in the words of a conversation."""

from collections.abc import Iterable
from typing import assert_never, cast

import msgspec

from roomful.domain.entities import EntityKind
from roomful.domain.envelopes import address
from roomful.domain.events import (
    AgentActive,
    AgentInactive,
    CallCompleted,
    CallFailed,
    CallInput,
    CallReady,
    CallStarted,
    MemberJoined,
    MemberLeft,
    MessageChanged,
    PartReset,
    ReadUpTo,
    RunChanged,
    SpaceEvent,
    SubagentCall,
    SubagentEnded,
    SubagentText,
    TextDelta,
    TextEnded,
    TextStarted,
)
from roomful.domain.messages import Message, TextPart
from roomful.domain.shape import UNSET, Json, Unset, encode_json
from roomful.domain.spaces import Member
from roomful.domain.stream_events import Output, StreamEvent, Token, ToolStep, UserMessage

SUMMARY = 500
"""Characters of a result."""
REMEMBERED = 1000
"""Messages whose author is known."""


class _Told(msgspec.Struct):
    sender: str
    is_complete: bool = False


class Narrator:
    """Follows one space from some moment on. `messages` are those that may be growing at that moment."""

    def __init__(self, space_id: str, members: Iterable[Member], messages: Iterable[Message]) -> None:
        self._space_id = space_id
        self._kinds: dict[str, EntityKind] = {member.entity_id: member.kind for member in members}
        self._messages: dict[str, _Told] = {}
        self._texts: dict[str, str] = {}
        """The message of each text that may be growing."""
        for message in messages:
            if message.run_id is not UNSET:
                self._note(message.id, message.entity_id)
                texts = [part.id for part in message.parts if isinstance(part, TextPart)]
                self._texts |= dict.fromkeys(texts, message.id)

    def know_agents(self, entity_ids: Iterable[str]) -> None:
        self._kinds |= dict.fromkeys(entity_ids, cast("EntityKind", "agent"))

    def tell(self, event: SpaceEvent) -> StreamEvent | None:
        """None for what has no word. Only what everybody in the space may hear is to be told."""
        match event:
            case MessageChanged():
                return self._posted(event) if event.message.run_id is UNSET else self._completed(event)
            case TextStarted():
                self._note(event.message_id, event.entity_id)
                if not event.reasoning:
                    self._texts[event.part_id] = event.message_id
            case TextDelta():
                return self._token(event)
            case TextEnded():
                self._texts.pop(event.part_id, None)
            case CallStarted():
                self._note(event.message_id, event.entity_id)
            case CallReady() | CallCompleted() | CallFailed():
                return self._step(event)
            case MemberJoined():
                self._kinds[event.member.entity_id] = event.member.kind
            case CallInput() | SubagentCall() | SubagentText() | SubagentEnded() | PartReset():
                pass
            case RunChanged() | MemberLeft() | AgentActive() | AgentInactive() | ReadUpTo():
                pass
            case _:
                assert_never(event)
        return None

    def _posted(self, event: MessageChanged) -> UserMessage | None:
        message = event.message
        if not is_new(message):
            return None
        return UserMessage(
            conversation_id=self._space_id,
            message_id=message.id,
            sender=address(self._kinds.get(message.entity_id, "human"), message.entity_id),
            text=message.text,
            created_at=message.created_at,
        )

    def _token(self, event: TextDelta) -> Token | None:
        message_id = self._texts.get(event.part_id)
        if message_id is None:
            return None
        return Token(
            conversation_id=self._space_id,
            message_id=message_id,
            sender=self._sender(message_id),
            text=event.delta,
            index=event.offset,
        )

    def _step(self, event: CallReady | CallCompleted | CallFailed) -> ToolStep:
        args: Json = event.args
        return ToolStep(
            conversation_id=self._space_id,
            message_id=event.message_id,
            sender=self._sender(event.message_id),
            tool_call_id=event.tool_call_id,
            name=event.tool_name,
            args=cast("dict[str, Json]", args) if isinstance(args, dict) else {},
            result_summary=_summary(event),
        )

    def _completed(self, event: MessageChanged) -> Output | None:
        """A settled part travels alone and under a stream's id; the whole message without one, and more
        than once."""
        message = event.message
        known = self._note(message.id, message.entity_id)
        if message.status != "final" or event.stream_id is not UNSET or message.deleted or known.is_complete:
            return None
        known.is_complete = True
        for part in message.parts:
            self._texts.pop(part.id, None)
        return Output(
            conversation_id=self._space_id,
            message_id=message.id,
            sender=known.sender,
            text=message.text,
            created_at=message.updated_at,
        )

    def _note(self, message_id: str, entity_id: str) -> _Told:
        known = self._messages.setdefault(message_id, _Told(address("agent", entity_id)))
        if len(self._messages) > REMEMBERED:
            del self._messages[next(iter(self._messages))]
        return known

    def _sender(self, message_id: str) -> str | Unset:
        known = self._messages.get(message_id)
        return known.sender if known is not None else UNSET


def is_new(message: Message) -> bool:
    """Whether a message that no run wrote was posted just now, and is not one that was changed."""
    return not message.deleted and message.updated_at == message.created_at


def _summary(event: CallReady | CallCompleted | CallFailed) -> str | Unset:
    match event:
        case CallReady():
            return UNSET
        case CallFailed():
            return f"error: {event.error}"[:SUMMARY]
        case CallCompleted():
            if event.output is UNSET:
                return UNSET
            text = event.output if isinstance(event.output, str) else encode_json(event.output).decode()
            return text[:SUMMARY]
