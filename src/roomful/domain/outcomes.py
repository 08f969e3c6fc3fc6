"""What becomes of a call when it is executed."""

from typing import Literal, TypeAlias

from roomful.domain.shape import UNSET, Frozen, Json, Unset


class Done(Frozen, tag_field="type", tag="done"):
    value: Json
    told: Json | Unset = UNSET
    """What the model is told when it differs from what the part holds."""


class Failed(Frozen, tag_field="type", tag="failed"):
    error: str


class Waiting(Frozen, tag_field="type", tag="waiting"):
    """Nothing is held in memory: whatever `on` names settles the call later."""

    on: Literal["answer", "callback", "reply", "child_run"]
    question: Json | Unset = UNSET
    """What is asked, when it is not the call itself that asks."""
    state: Json | Unset = UNSET
    """What the executor wants back with the answer, in `Call.continuation`; nobody else reads it."""


Outcome: TypeAlias = Done | Failed | Waiting
