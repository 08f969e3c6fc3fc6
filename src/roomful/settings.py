"""What the operator decides: flags, then ROOMFUL_* variables, then roomful.toml. Nothing else reads the
environment, not even for agents outside the gateway."""

import difflib
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec

from roomful.domain.errors import Invalid

FILE = "roomful.toml"
PREFIX = "ROOMFUL_"
PROVIDER_KEYS = ("OPENAI_API_KEY", "GOOGLE_API_KEY", "XAI_API_KEY")
"""Known to everybody by these names, without our prefix."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    host: str = "127.0.0.1"
    port: Annotated[int, msgspec.Meta(ge=0, le=65535)] = 8000
    database: str = "sqlite:///roomful.db"
    bus: str = "memory:"
    workers: Annotated[int, msgspec.Meta(ge=1, le=256)] = 1
    """How many equal processes serve. More than one share a Postgres database and a Redis bus."""
    agents: str | None = None
    """A folder of agent configurations and scripts, loaded at start."""
    demo: bool = False
    admin_key: str | None = None
    secret_key: str | None = None
    """Seals literal secrets in agent configurations. Without it they are refused."""
    public_url: str = ""
    """Where others reach this gateway, for the addresses it gives out; its own host and port if left out."""
    oauth_issuers: str = ""
    """OAuth servers that give out tokens of this gateway, separated by commas, for MCP clients to ask."""
    hosts: str = ""
    """Further names under which browsers may reach this gateway, separated by commas."""
    allow_hosts: str = ""
    """`host:port` pairs on private networks that tools may reach, separated by commas."""
    tool_env: str = ""
    """Names of environment variables that `${env.X}` may read, separated by commas."""
    limit_streams: int = 100
    limit_posts: int = 20
    """Posts, answers, uploads and searches of one token in a second. 0 is no limit, here and below."""
    limit_space_posts: int | None = None
    """Messages that people and services may post in one space in a second; five times as many as one token
    may, if nothing is said."""
    limit_wrong_tokens: int = 30
    """Wrong tokens that may come from one address in a minute, before nobody new is recognised there."""
    proxies: str = "127.0.0.1"
    """Addresses or networks of proxies whose X-Forwarded-* headers are believed, separated by commas."""
    lease_seconds: float = 8.0
    """How long a process that fell silent keeps its runs. Others look for such runs four times as often."""
    heartbeat_seconds: float = 15.0
    openai_api_key: str | None = None
    google_api_key: str | None = None
    xai_api_key: str | None = None
    log_level: str = "info"

    @property
    def space_posts(self) -> int:
        """How many posts a second one space takes."""
        return 5 * self.limit_posts if self.limit_space_posts is None else self.limit_space_posts

    def provider_key(self, name: str) -> str | None:
        """The operator's key of a provider of models or images, by the name of its variable."""
        return getattr(self, name.lower()) if name in PROVIDER_KEYS else None

    def tool_variable(self, name: str) -> str:
        """The value of `${env.NAME}`, if the operator listed the name."""
        if name not in split(self.tool_env):
            raise Invalid(f"${{env.{name}}}: the operator did not list {name} in ROOMFUL_TOOL_ENV")
        value = os.environ.get(name)
        if value is None:
            raise Invalid(f"${{env.{name}}}: {name} is not set where the gateway runs")
        return value


def split(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def load_settings(flags: Mapping[str, Any], folder: Path | None = None) -> Settings:
    """`flags` are what the command line gave; None means not given."""
    values = _from_file((folder or Path.cwd()) / FILE) | _from_environment(os.environ)
    values |= {name: value for name, value in flags.items() if value is not None}
    return check_settings(values)


def check_settings(values: Mapping[str, Any]) -> Settings:
    """Raises Invalid, also for a name that is none of a setting."""
    known = Settings.__struct_fields__
    for name in values:
        if name not in known:
            meant = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean {meant[0]!r}?" if meant else f": there are {', '.join(known)}"
            raise Invalid(f"settings: there is no setting {name!r}{hint}")
    try:
        return msgspec.convert(values, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise Invalid(f"settings: {error}") from None


def without_settings() -> dict[str, str]:
    """The environment for a gateway that shall have none of the settings made here."""
    return {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}


class ChatSettings(msgspec.Struct, frozen=True):
    """What somebody who talks from a terminal has set there; the token is empty where none is."""

    url: str
    token: str
    has_colours: bool


def chat_settings() -> ChatSettings:
    url = os.environ.get("ROOMFUL_URL", "").strip() or "http://127.0.0.1:8000"
    token = os.environ.get("ROOMFUL_TOKEN", "").strip()
    is_dumb = os.environ.get("TERM") == "dumb"
    return ChatSettings(url, token, has_colours=not os.environ.get("NO_COLOR") and not is_dumb)


class OutsideAgent(msgspec.Struct, frozen=True):
    """What its environment tells an agent outside the gateway; empty where it says nothing."""

    name: str
    conversation_id: str
    redis_url: str


def outside_agent() -> OutsideAgent:
    names = ("AGENT_NAME", "CHAT_TOOL_CONVERSATION_ID", "REDIS_URL")
    return OutsideAgent(*(os.environ.get(name, "").strip() for name in names))


def _from_file(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise Invalid(f"{path.name}: {error}") from None


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    known = Settings.__struct_fields__
    values: dict[str, Any] = {}
    for name, value in environment.items():
        if name.startswith(PREFIX) and name[len(PREFIX) :].lower() in known:
            values[name[len(PREFIX) :].lower()] = value
    for name in PROVIDER_KEYS:
        if name in environment:
            values.setdefault(name.lower(), environment[name])
    return values
