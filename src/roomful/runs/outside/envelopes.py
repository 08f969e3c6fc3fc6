"""What an envelope means: a message in the space that its conversation is."""

import hashlib
from collections.abc import Sequence

from roomful.domain.entities import Principal
from roomful.domain.envelopes import MessageEnvelope, address
from roomful.domain.errors import Forbidden, Invalid
from roomful.domain.ports import Store
from roomful.domain.shape import Json, clean_json, encode_json
from roomful.domain.spaces import Member
from roomful.runs.intake import Intake, Posted
from roomful.spaces.access import Access
from roomful.spaces.mentions import member_called

ID_LIMIT = 128


class Envelopes:
    def __init__(self, *, store: Store, access: Access, intake: Intake) -> None:
        self._store = store
        self._access = access
        self._intake = intake

    async def read(self, conversation_id: str, payload: dict[str, Json]) -> tuple[Principal, MessageEnvelope]:
        """An envelope that came by the bus, where only agents outside speak, and whose it is."""
        try:
            envelope = MessageEnvelope.model_validate(clean_json(payload))
        except ValueError as error:
            raise Invalid(str(error)) from None
        if envelope.conversation_id != conversation_id:
            raise Invalid(f"it is for the conversation {envelope.conversation_id[:80]!r} and came elsewhere")
        kind, _, entity_id = envelope.sender.partition(":")
        entity = await self._store.entity(entity_id) if kind == "agent" else None
        if entity is None or entity.kind != "agent" or await self._store.agent(entity.id) is not None:
            raise Forbidden(f"the sender {envelope.sender[:80]!r} is not an agent outside this gateway")
        return Principal(entity_id=entity.id, kind="agent", token_id=""), envelope

    async def post(self, principal: Principal, envelope: MessageEnvelope, key: str | None = None) -> Posted:
        """The same envelope again is the same message. Raises Forbidden for somebody else's name."""
        if envelope.sender != address(principal.kind, principal.entity_id):
            raise Forbidden(f"the sender has to be {address(principal.kind, principal.entity_id)!r}: you")
        _check(envelope)
        space_id = envelope.conversation_id
        await self._access.space(principal, space_id, "write")
        recipient = _recipient(envelope, await self._store.members(space_id))
        return await self._intake.post(
            principal,
            space_id,
            text=envelope.content or "",
            mentions=[recipient] if recipient not in (None, principal.entity_id) else [],
            client_message_id=envelope.id,
            key=key or f"envelope:{space_id}:{envelope.id}",
            digest=hashlib.sha256(encode_json([envelope.recipient, envelope.content])).digest(),
        )


def _check(envelope: MessageEnvelope) -> None:
    if not 0 < len(envelope.id) <= ID_LIMIT or not (envelope.id.isascii() and envelope.id.isprintable()):
        raise Invalid(f"id: use 1 to {ID_LIMIT} printable ASCII characters")
    if envelope.type != "message":
        raise Invalid(f"type: {envelope.type!r} means nothing to a space")
    if not (envelope.content or "").strip():
        raise Invalid("content must be non-empty")


def _recipient(envelope: MessageEnvelope, members: Sequence[Member]) -> str | None:
    """The member whom it is addressed to; None when that is the whole conversation, or nobody here."""
    kind, _, name = envelope.recipient.partition(":")
    name = name.strip()
    if kind not in ("chat", "agent", "user") or not name:
        raise Invalid("recipient must be 'chat:{conversation_id}', 'agent:{Name}' or 'user:{Name}'")
    if kind == "chat" and name == envelope.conversation_id:
        return None
    found = member_called(name, members)
    if kind == "chat" and found is None:
        raise Invalid(f"recipient: {name[:80]!r} is another conversation")
    return found
