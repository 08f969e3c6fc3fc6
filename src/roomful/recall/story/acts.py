"""What can happen to the house from outside: people speak, answer, agree, stop a run; time runs out; and what
cannot be told again is put in its place as it was."""

from typing import TypeAlias

import msgspec

from roomful.domain.grants import Grant
from roomful.domain.messages import MemberAnswer, Message
from roomful.domain.runs import Call, Run
from roomful.domain.spaces import Role


class _Act(msgspec.Struct, frozen=True, kw_only=True):
    at: str = ""
    """When; empty when nobody wrote it down: as soon as it can be."""
    seq: int = 0
    """The place of the message that comes of it, if one does."""


class Post(_Act, frozen=True):
    message: Message


class Give(_Act, frozen=True):
    """A message that is put in its place as it was recorded."""

    message: Message


class Begin(_Act, frozen=True):
    """A run whose beginning lies outside the story."""

    run: Run


class Answer(_Act, frozen=True):
    call: Call


class Vote(_Act, frozen=True):
    call: Call
    vote: MemberAnswer


class CallBack(_Act, frozen=True):
    call: Call


class Expire(_Act, frozen=True):
    """Nobody answered this call in time."""

    call_id: str


class Cancel(_Act, frozen=True):
    run: Run


class Allow(_Act, frozen=True):
    """A call was not asked about, because somebody had agreed to it before."""

    grant: Grant


class Revoke(_Act, frozen=True):
    """So that the same is asked about where it was."""

    grant: Grant


class Join(_Act, frozen=True):
    """An agent comes into the space."""

    entity_id: str
    role: Role = "member"


class Leave(_Act, frozen=True):
    entity_id: str


class ReplyElsewhere(_Act, frozen=True):
    """Somebody said what a run waited for in a space whose story this is not."""

    call: Call
    by: str
    text: str


Act: TypeAlias = (
    Post
    | Give
    | Begin
    | Answer
    | Vote
    | CallBack
    | Expire
    | Cancel
    | Allow
    | Revoke
    | Join
    | Leave
    | ReplyElsewhere
)
