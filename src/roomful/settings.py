"""What the operator decides: flags, then ROOMFUL_* variables, then roomful.toml. Nothing else reads the
environment, not even for agents outside the gateway."""

import difflib
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_type_hints

import msgspec

from roomful.domain.errors import Invalid

FILE = "roomful.toml"
PREFIX = "ROOMFUL_"
PROVIDER_KEYS = ("OPENAI_API_KEY", "GOOGLE_API_KEY", "XAI_API_KEY")
"""Known to everybody by these names, without our prefix."""


def about(words: str, **bounds: Any) -> msgspec.Meta:
    return msgspec.Meta(description=words, **bounds)


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Each with what it is, in the words of `roomful serve --help`."""

    host: Annotated[str, about("Address to listen on.")] = "127.0.0.1"
    port: Annotated[int, about("Port to listen on.", ge=0, le=65535)] = 8000
    database: Annotated[str, about("sqlite:///FILE or postgresql://HOST/NAME.")] = "sqlite:///roomful.db"
    bus: Annotated[str, about("memory: for one process, redis://HOST for several.")] = "memory:"
    workers: Annotated[
        int, about("Equal processes that serve; more than one share a Postgres and a Redis.", ge=1, le=256)
    ] = 1
    agents: Annotated[
        str | None, about("A folder of agent configurations, tools.py and scripts, loaded at start.")
    ] = None
    demo: Annotated[bool, about("Whether to add the demo world.")] = False
    admin_key: Annotated[str | None, about("The admin key; one is made and printed once if left out.")] = None
    secret_key: Annotated[
        str | None, about("Seals secrets that agents have written out; without it they are refused.")
    ] = None
    public_url: Annotated[
        str, about("Where others reach this gateway; its own host and port if left out.")
    ] = ""
    oauth_issuers: Annotated[
        str, about("OAuth servers that give out tokens of this gateway to MCP clients, with commas between.")
    ] = ""
    hosts: Annotated[str, about("Further names by which browsers reach this gateway, with commas.")] = ""
    allow_hosts: Annotated[
        str, about("host:port pairs on private networks that tools may reach, with commas.")
    ] = ""
    tool_env: Annotated[str, about("Names of variables that ${env.NAME} may read, with commas.")] = ""
    limit_streams: Annotated[int, about("Open streams of one entity. 0 is no limit, here and below.")] = 100
    limit_posts: Annotated[int, about("Posts, answers, uploads and searches of one token in a second.")] = 20
    limit_space_posts: Annotated[
        int | None,
        about("Messages in one space in a second; five times ROOMFUL_LIMIT_POSTS if left out."),
    ] = None
    limit_wrong_tokens: Annotated[
        int, about("Wrong tokens from one address in a minute, before nobody new is recognised there.")
    ] = 30
    proxies: Annotated[
        str, about("Addresses or networks of proxies whose X-Forwarded-* is believed, with commas.")
    ] = "127.0.0.1"
    lease_seconds: Annotated[
        float,
        about("How long a process that fell silent keeps its runs; others look four times as often.", gt=0),
    ] = 8.0
    heartbeat_seconds: Annotated[
        float, about("Seconds between the signs of life on a silent stream, at most 20.", gt=0, le=20)
    ] = 15.0
    """The page takes 25 s of silence for a broken line."""
    openai_api_key: Annotated[str | None, about("The key for models and images of openai:….")] = None
    google_api_key: Annotated[str | None, about("The key for images of Google.")] = None
    xai_api_key: Annotated[str | None, about("The key for images of xAI.")] = None
    log_level: Annotated[
        str, about("debug, info, warning or error.", pattern=r"(?i)^(debug|info|warning|error)\Z")
    ] = "info"
    log_format: Annotated[Literal["plain", "json"], about("plain, or json: one object a line.")] = "plain"
    traces: Annotated[
        Literal["", "otlp"], about("otlp sends traces to OTEL_EXPORTER_OTLP_ENDPOINT; empty sends none.")
    ] = ""
    trace_hosts: Annotated[str, about("host:port pairs whose tools are sent a traceparent, with commas.")] = (
        ""
    )

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


def address(host: str, port: int) -> str:
    """Where a gateway answers that listens there."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class Variable(NamedTuple):
    name: str
    default: str
    about: str


def variables() -> list[Variable]:
    """The variables that stand for settings."""
    hints = get_type_hints(Settings, include_extras=True)
    defaults = zip(Settings.__struct_fields__, Settings.__struct_defaults__, strict=True)
    return [Variable(_variable(name), _shown(default), _about(hints[name])) for name, default in defaults]


def _variable(setting: str) -> str:
    return setting.upper() if setting.upper() in PROVIDER_KEYS else PREFIX + setting.upper()


def _shown(default: object) -> str:
    return "" if default is None else str(default).lower() if isinstance(default, bool) else str(default)


def _about(hint: Any) -> str:
    [meta] = [each for each in hint.__metadata__ if isinstance(each, msgspec.Meta)]
    return meta.description or ""


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
