"""Who did what that others rely on. A row is written with the thing itself and never changed."""

import hashlib
from typing import Literal

import msgspec

from roomful.domain.shape import UNSET, Frozen, Json, Unset

AuditAction = Literal[
    "card.answered",
    "card.approved",
    "card.refused",
    "card.closed",
    "grant.made",
    "grant.revoked",
    "mcp.approved",
    "token.made",
    "token.revoked",
    "member.added",
    "member.changed",
    "member.removed",
    "invite.made",
    "space.created",
    "space.changed",
    "space.deleted",
    "agent.created",
    "agent.changed",
    "agent.deleted",
    "entity.created",
    "entity.erased",
    "run.canceled",
    "admin.acted",
    "sign_in.failed",
    "keys.rotated",
]
_encode = msgspec.json.Encoder(order="deterministic").encode


class Audited(Frozen):
    """`id` begins with `at`, so that rows sort by their time. What was said or decided is a digest only."""

    id: str
    at: str
    action: AuditAction
    by: str
    """An entity, `admin` for the operator, or empty where nobody was recognised."""
    via_admin: bool | Unset = UNSET
    """The operator's key acted for `by`."""
    space_ids: tuple[str, ...] = ()
    entity_id: str | Unset = UNSET
    """Whom it is about."""
    agent_id: str | Unset = UNSET
    run_id: str | Unset = UNSET
    call_id: str | Unset = UNSET
    tool_name: str | Unset = UNSET
    token_id: str | Unset = UNSET
    grant_id: str | Unset = UNSET
    role: str | Unset = UNSET
    args_digest: str | Unset = UNSET
    """Of the tool's name and the exact arguments that the answer was about, edited or not."""
    edited_from: str | Unset = UNSET
    """The same of the arguments that were shown, where the answer replaced them."""
    result_digest: str | Unset = UNSET
    is_private: bool | Unset = UNSET
    """The card was for one member: others in the space are not told the digests."""
    detail: dict[str, Json] | Unset = UNSET


class AuditQuery(Frozen):
    """Rows between two ids or times, of a space, by or about an entity, of one action."""

    after: str | None = None
    before: str | None = None
    space_id: str | None = None
    entity_id: str | None = None
    action: str | None = None
    limit: int = 50


def digest_of(value: Json) -> str:
    """SHA-256 of the value as JSON with sorted keys."""
    return hashlib.sha256(_encode(value)).hexdigest()
