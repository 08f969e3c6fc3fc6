"""What a tool is after configuration. Three dialects come in; only this goes on."""

import enum
from typing import Literal, TypeAlias

from roomful.domain.shape import UNSET, Frozen, Json, Unset


class Visibility(enum.StrEnum):
    """How much of a call a space sees: nothing, that it happens, what came out, everything."""

    HIDDEN = "hidden"
    STATUS = "status"
    RESULT = "result"
    FULL = "full"


class Fallback(enum.StrEnum):
    """Where an unaddressed call goes."""

    ACTIVE = "active"
    NOWHERE = "nowhere"


MOST_SPACES = 16
"""That one call is shown in."""


class RouteRule(Frozen):
    args: tuple[str, ...] = ()
    """Argument names that name spaces; each holds one id, a list of ids, or null."""
    entity_arg: str | None = None
    """The argument that names the one member who may see the part."""
    injected: bool = False
    """True when we added these arguments: they are stripped before execution."""
    fallback: Fallback = Fallback.ACTIVE
    enters: str | None = None
    """The argument that moves the run's active space."""


class ToolCallShape(Frozen, tag_field="type", tag="tool_call"):
    component: str | None = None


Starts = Literal["always", "others", "nobody"]


class TextShape(Frozen, tag_field="type", tag="text"):
    """The call shows as what it says. A text may address members and wait for a reply."""

    from_arg: str
    mentions_arg: str | None = None
    wait_arg: str | None = None
    starts: Starts = "others"
    """Which mentioned agents start to work: all, those none of whose runs goes on with the text, or none."""


PartShape: TypeAlias = ToolCallShape | TextShape


class Echo(Frozen, tag_field="type", tag="echo"):
    """The input is the result."""


class Static(Frozen, tag_field="type", tag="static"):
    output: Json
    template: bool = False
    """Expand `{{input.x}}` in the output."""


class Http(Frozen, tag_field="type", tag="http"):
    url: str
    method: str = "GET"
    headers: dict[str, str] = {}
    query: dict[str, Json] = {}
    body: Json | Unset = UNSET
    """Unset sends the input as JSON where the method has a body."""


class Webhook(Frozen, tag_field="type", tag="webhook"):
    url: str
    method: str = "POST"
    headers: dict[str, str] = {}
    secret: str | None = None


class Client(Frozen, tag_field="type", tag="client"):
    """A person answers. Without `wait` the run goes on and an answer may come later."""

    wait: bool = True
    answers: Literal["one", "each"] = "one"


class SubAgent(Frozen, tag_field="type", tag="agent"):
    agent_id: str | None = None
    config: Json = None
    include_context: bool = False


class Image(Frozen, tag_field="type", tag="image"):
    provider: str = "builtin"
    model: str | None = None
    size: str | None = None
    quality: str | None = None


class Compute(Frozen, tag_field="type", tag="compute"):
    expression: str = ""


class Mcp(Frozen, tag_field="type", tag="mcp"):
    server: str
    tool: str


class PythonFunction(Frozen, tag_field="type", tag="python"):
    name: str


class Builtin(Frozen, tag_field="type", tag="builtin"):
    """Something only the house can do; `operation` names what, the tool's own name is free."""

    operation: str


ExecutorSpec: TypeAlias = (
    Echo | Static | Http | Webhook | Client | SubAgent | Image | Compute | Mcp | PythonFunction | Builtin
)


class Approvers(Frozen):
    """Who may answer. Empty means every member who may write where the card is shown."""

    roles: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()


class Approval(Frozen):
    """Somebody must agree before the tool runs."""

    approvers: Approvers = Approvers()
    when: Literal["always", "new-arguments"] = "always"


class ToolSpec(Frozen):
    name: str
    description: str
    input_schema: dict[str, Json]
    """As the author wrote it. What the model sees is a deep copy with the routing arguments in front."""
    executor: ExecutorSpec
    visibility: Visibility
    route: RouteRule
    shape: PartShape = ToolCallShape()
    seen_inside: Visibility = Visibility.FULL
    """How much of a sub-agent's call the part shows that shows the delegation."""
    timeout: float | None = None
    """Seconds for a machine's answer. A person's deadline is `answer_seconds`."""
    answer_seconds: float | None = None
    approval: Approval | None = None
    approvers: Approvers = Approvers()
    result_schema: dict[str, Json] | None = None
    idempotent: bool = False

    @property
    def is_poll(self) -> bool:
        return isinstance(self.executor, Client) and self.executor.answers == "each"

    def approvers_of(self, waits_for: str | Unset) -> Approvers:
        """Who may answer a call that waits; of a poll, who may close it."""
        return self.approval.approvers if waits_for == "approval" and self.approval else self.approvers

    @property
    def asks(self) -> bool:
        """Whether a person answers instead of a machine."""
        return isinstance(self.executor, Client)

    @property
    def delegate_id(self) -> str | Unset:
        """Of a sub-agent's tool: the id under which it is shown."""
        if not isinstance(self.executor, SubAgent):
            return UNSET
        own: Json = self.executor.config
        return self.executor.agent_id or str((own and own.get("id")) or self.name)

    @property
    def told_at_once(self) -> Json | Unset:
        """What the model is told of a card that nobody has to answer before the run goes on."""
        if isinstance(self.executor, Client) and not self.executor.wait:
            return {"shown": True}
        return UNSET

    @property
    def shape_is_text(self) -> bool:
        return isinstance(self.shape, TextShape)


class ModelTool(Frozen):
    """A tool as the model is told of it."""

    name: str
    description: str
    parameters: dict[str, Json]
