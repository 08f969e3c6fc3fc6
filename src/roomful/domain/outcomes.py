"""What becomes of a call when it is executed."""

from typing import Literal, TypeAlias

from roomful.domain.shape import UNSET, Frozen, Json, Unset


class Done(Frozen, tag_field="type", tag="done"):
    value: Json
    told: Json | Unset = UNSET
    """What the model is told when it differs from what the part holds."""
    read_spaces: tuple[str, ...] = ()
    """The spaces whose content it carries."""


class Failed(Frozen, tag_field="type", tag="failed"):
    error: str


class Delegated(Frozen):
    """A run to be started whose end settles the call."""

    agent_id: str
    """Whose spaces and rights it has."""
    prompt: Json
    is_inline: bool = False
    """Its configuration stands in the tool."""
    include_context: bool = False
    name: str = ""
    label: str = ""
    """The id under which it is shown."""


class Waiting(Frozen, tag_field="type", tag="waiting"):
    """Nothing is held in memory: whatever `on` names settles the call later."""

    on: Literal["answer", "callback", "reply", "child_run"]
    question: Json | Unset = UNSET
    """What is asked, when it is not the call itself that asks."""
    state: Json | Unset = UNSET
    """What the executor wants back with the answer, in `Call.continuation`; nobody else reads it."""
    child: Delegated | Unset = UNSET
    """With `child_run`: which."""


class Ends(Frozen, tag_field="type", tag="ends"):
    """The run ends with this call and says no more. With `hand_to` another agent gets what started it."""

    value: Json
    status: Literal["completed", "canceled"] = "completed"
    hand_to: str | None = None


Outcome: TypeAlias = Done | Failed | Waiting | Ends
