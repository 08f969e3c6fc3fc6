"""An invitation into a space: whoever redeems it first is a member."""

from typing import Literal

from roomful.domain.shape import Frozen

InviteRole = Literal["member", "reader"]


class Invite(Frozen):
    """The secret itself is shown once and never stored."""

    digest: bytes
    space_id: str
    role: InviteRole
    expires_at: float
    """Seconds since 1970."""
    maker_id: str | None = None
    """The owner who made it; None: the admin. It ends when its maker is no owner any more."""


class Joined(Frozen):
    """What became of an invitation."""

    space_id: str
    role: InviteRole
