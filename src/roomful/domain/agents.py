"""An agent after configuration: who it is, what it thinks with, what it can do, how far it may go."""

from typing import Literal

from msgspec.structs import replace

from roomful.domain.shape import Frozen, Json, Noun
from roomful.domain.tools import ToolSpec
from roomful.domain.usage import Price

Dialect = Literal["composite", "display", "active"]
Speaks = Literal["tools", "text", "both"]
OnBusy = Literal["parallel", "queue", "steer"]


class ModelRef(Frozen):
    """`name` is `provider:model`. `api_key` is a reference (`${env.X}`), a sealed secret, or nothing."""

    name: str
    base_url: str | None = None
    api_key: str | None = None
    price: Price | None = None

    @property
    def provider(self) -> str:
        return self.name.partition(":")[0]

    @property
    def model(self) -> str:
        return self.name.partition(":")[2]


class Limits(Frozen):
    max_steps: int = 50
    calls_per_run: int = 50
    depth: int = 8
    runs_per_root: int = 32
    runs_per_pair: int = 60
    """How often a minute one agent may wake another by mentioning it."""
    tokens_per_root: int | None = None
    model_silence_seconds: float = 120
    run_seconds: float | None = None
    answer_seconds: float | None = None

    def within(self, root: "Limits") -> "Limits":
        """Those of an agent in a run that another's trigger led to: it goes no further than the root may."""
        tokens = [one.tokens_per_root for one in (self, root) if one.tokens_per_root is not None]
        return replace(
            self,
            depth=min(self.depth, root.depth),
            runs_per_root=min(self.runs_per_root, root.runs_per_root),
            tokens_per_root=min(tokens, default=None),
        )


class McpServer(Frozen):
    name: str
    url: str | None = None
    command: tuple[str, ...] = ()
    transport: Literal["http", "stdio"] = "http"
    allowed_tools: tuple[str, ...] | None = None
    headers: dict[str, str] = {}
    visibility: dict[str, str] = {}
    """By tool name; `*` is the server's default."""
    approval: dict[str, Json] = {}


class AgentSpec(Frozen):
    id: str
    name: str
    model: ModelRef
    instructions: str
    dialect: Dialect
    tools: tuple[ToolSpec, ...]
    """The author's and the built-in ones together."""
    mcp_servers: tuple[McpServer, ...] = ()
    speaks: Speaks = "tools"
    on_busy: OnBusy = "parallel"
    show_reasoning: bool = False
    limits: Limits = Limits()


class Agent(Noun):
    """The stored configuration, as it was given, and whose it is."""

    id: str
    name: str
    owner_id: str
    config: dict[str, Json]
    created_at: str
    updated_at: str
