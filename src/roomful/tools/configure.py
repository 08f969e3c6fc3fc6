"""From an author's configuration to an agent that can run. Everything that is wrong is told at once."""

import copy
import math
import re
from collections.abc import Mapping
from typing import cast

import msgspec

from roomful.domain.agents import AgentSpec, Dialect, Limits, ModelRef, OnBusy, Speaks
from roomful.domain.shape import Json, clean_text
from roomful.domain.tools import ToolSpec
from roomful.domain.usage import Price
from roomful.tools.builtins import builtin_tools
from roomful.tools.dialects import RULES, Inline, choose, mark_of
from roomful.tools.problems import Problems
from roomful.tools.reading import Fields, as_list, as_object, kind_of, wrong_id
from roomful.tools.servers import read_servers
from roomful.tools.urls import wrong_url

MOST_TOOLS = 256
DEEPEST_CONFIG = 96
MOST_VALUES = 100_000

_FIELDS = (
    "id", "name", "model", "instructions", "dialect", "tools", "mcp", "speaks", "onBusy", "showReasoning",
    "limits",
)  # fmt: skip
_INSTEAD = {
    "systemPrompt": 'write "instructions"',
    "system": 'write "instructions"',
    "prompt": 'write "instructions"',
    "mcpServers": 'write "mcp": {"servers": […]}',
    "servers": 'write "mcp": {"servers": […]}',
    "baseUrl": 'write it inside "model"',
    "apiKey": 'write it inside "model"',
}
_MODEL_INSTEAD = {
    "url": 'write "baseUrl"',
    "key": 'write "apiKey"',
    "model": 'write "name", as in "openai:gpt-5-mini"',
    "provider": 'write it into "name", as in "openai:gpt-5-mini"',
}
_DIALECTS: dict[str, Dialect] = {name: name for name in RULES}
_SPEAKS: dict[str, Speaks] = {"tools": "tools", "text": "text", "both": "both"}
_ON_BUSY: dict[str, OnBusy] = {"parallel": "parallel", "queue": "queue", "steer": "steer"}
_WHOLE = {
    "maxSteps": 100_000,
    "callsPerRun": 100_000,
    "depth": 64,
    "runsPerRoot": 10_000,
    "runsPerPair": 100_000,
    "tokensPerRoot": 10**12,
}
_SECONDS = {"modelSilenceSeconds": 86_400, "runSeconds": 366 * 86_400, "answerSeconds": 366 * 86_400}
MOST_DOLLARS = 1_000_000
_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*:[^\s\x00-\x1f]+")


def configure(
    config: Mapping[str, Json], *, agent_id: str | None = None, source: str = "", trusted: bool = False
) -> AgentSpec:
    """Raises ConfigRefused with every problem found.

    `agent_id` is for a configuration without one; `source` names the file in problems; `trusted` is for the
    operator's own files, which alone may start programs.
    """
    problems = Problems(source)
    wrong = _wrong_json(dict(config))
    if wrong:
        problems.add("", *wrong)
        problems.raise_any()
    agent = Fields(copy.deepcopy(dict(config)), problems)
    spec = _read_agent(agent, agent_id, trusted=trusted)
    problems.raise_any()
    return spec


def _read_agent(agent: Fields, agent_id: str | None, *, trusted: bool) -> AgentSpec:
    """What could not be read is a problem by then, and the spec is not used."""
    agent.only(_FIELDS, _INSTEAD)
    tools = _tool_fields(agent)
    dialect = choose(agent.choice("dialect", _DIALECTS), tools)
    specs = _read_tools(tools, dialect, _inline(agent, dialect, trusted=trusted))
    built_in = builtin_tools(dialect)
    _check_names(tools, {tool.name for tool in built_in})
    names = [tool.name for tool in (*specs, *built_in)]
    return AgentSpec(
        id=_read_id(agent, agent_id),
        name=(
            agent.text("name", required=True, longest=128, check=_wrong_name, example="Shop") or ""
        ).strip(),
        model=_read_model(agent),
        instructions=agent.text("instructions", longest=200_000) or "",
        dialect=dialect,
        tools=(*specs, *built_in),
        mcp_servers=read_servers(agent, RULES[dialect], names, trusted=trusted),
        speaks=agent.choice("speaks", _SPEAKS) or "tools",
        on_busy=agent.choice("onBusy", _ON_BUSY) or "parallel",
        show_reasoning=agent.flag("showReasoning") or False,
        limits=_read_limits(agent),
    )


def _tool_fields(agent: Fields) -> list[Fields]:
    raw = agent.items("tools", of='objects, as in [{"name": "search", …}]')
    if len(raw) > MOST_TOOLS:
        agent.refuse("tools", f"has {len(raw)} tools: write at most {MOST_TOOLS}")
    tools: list[Fields] = []
    for index, value in enumerate(raw[:MOST_TOOLS]):
        values = as_object(value)
        if values is None:
            agent.refuse(
                f"tools[{index}]", f'is {kind_of(value)}: write an object, as in {{"name": "search", …}}'
            )
            continue
        name = values.get("name")
        label = name if isinstance(name, str) and name else f"tools[{index}]"
        if agent.tool:
            tools.append(agent.below(f"tools[{index}]", values, named=f"tools.{label}"))
        else:
            tools.append(Fields(values, agent.problems, tool=label, at=f"tools[{index}]"))
    return tools


def _read_tools(tools: list[Fields], dialect: Dialect, inline: Inline) -> list[ToolSpec]:
    """A tool of another dialect is already refused; it is still read in its own, for its other problems."""
    found: list[ToolSpec] = []
    for tool in tools:
        mark = mark_of(tool)
        spec = RULES[mark[0] if mark else dialect].read(tool, inline)
        if spec is not None:
            found.append(spec)
    return found


def _check_names(tools: list[Fields], built_in: set[str]) -> None:
    seen: set[str] = set()
    for tool in tools:
        name = tool.raw("name")
        if not isinstance(name, str):
            continue
        if name in seen:
            tool.refuse("name", f'"{name[:80]}" names two tools: write another name for one of them')
        if name in built_in:
            tool.refuse("name", f'"{name[:80]}" is a built-in tool: write another name')
        seen.add(name)


def _inline(parent: Fields, dialect: Dialect, *, trusted: bool) -> Inline:
    """An agent inside a tool takes from its parent what it does not say itself."""

    def complete(config: Fields) -> Json:
        values: dict[str, Json] = {"name": config.tool[:128], "model": parent.raw("model"), **config.values}
        agent = Fields(values, config.problems, tool=config.tool, path=config.path, at=config.at)
        if not any(mark_of(tool) for tool in _tool_fields(agent)):
            values.setdefault("dialect", dialect)
        _read_agent(agent, "inline", trusted=trusted)
        return values

    return complete


def _read_id(agent: Fields, agent_id: str | None) -> str:
    written = agent.identifier("id")
    if agent_id is not None and (wrong := wrong_id(agent_id)):
        agent.refuse("id", wrong)
    if written and agent_id and written != agent_id and not agent.path:
        agent.refuse(
            "id", f"is {written!r}, but this is agent {agent_id!r}: write the same id or leave it out"
        )
    if not agent.has("id") and agent_id is None:
        agent.refuse("id", 'is missing: write a short name for the agent, as in "shop"')
    return written or agent_id or ""


def _wrong_name(name: str) -> str | None:
    return "has a line break in it: write one line" if "\n" in name or "\r" in name else None


def _read_model(agent: Fields) -> ModelRef:
    if not agent.has("model"):
        agent.refuse("model", 'is missing: write a provider and a model, as in "openai:gpt-5-mini"')
        return ModelRef(name="")
    if isinstance(agent.raw("model"), str):
        return ModelRef(name=agent.text("model", check=_wrong_model) or "")
    model = agent.inner("model")
    if model is None:
        return ModelRef(name="")
    model.only(("name", "baseUrl", "apiKey", "price"), _MODEL_INSTEAD)
    return ModelRef(
        name=model.text("name", required=True, check=_wrong_model, example="openai:gpt-5-mini") or "",
        base_url=model.text("baseUrl", check=wrong_url),
        api_key=model.text("apiKey", longest=8192),
        price=_read_price(model),
    )


def _read_price(model: Fields) -> Price | None:
    """Half a price would make every cost wrong."""
    price = model.inner("price")
    if price is None:
        return None
    price.only(("input", "output"))
    unit = "dollars per million tokens"
    read = [price.number(key, most=MOST_DOLLARS, unit=unit, or_zero=True) for key in ("input", "output")]
    for key in ("input", "output"):
        if not price.has(key):
            price.refuse(key, f"is missing: write a number of {unit}")
    return Price(input=read[0] or 0, output=read[1] or 0)


def _wrong_model(name: str) -> str | None:
    if len(name) <= 200 and _MODEL.fullmatch(name):
        return None
    return f'is {name[:60]!r}: write a provider and a model, as in "openai:gpt-5-mini"'


def _read_limits(agent: Fields) -> Limits:
    limits = agent.inner("limits")
    if limits is None:
        return Limits()
    limits.only((*_WHOLE, *_SECONDS))
    read: dict[str, float | None] = {
        **{key: limits.number(key, most=most, whole=True) for key, most in _WHOLE.items()},
        **{key: limits.number(key, most=most, unit="seconds") for key, most in _SECONDS.items()},
    }
    given = {key: int(value) if key in _WHOLE else value for key, value in read.items() if value is not None}
    return msgspec.convert(given, Limits)


def _wrong_json(config: Json) -> tuple[str, str] | None:
    """A place and what is wrong there, when the configuration is more than plain JSON of a sensible size."""
    count, waiting = 0, [(config, "", 0)]
    while waiting:
        value, path, depth = waiting.pop()
        count += 1
        if count > MOST_VALUES:
            return "", f"holds more than {MOST_VALUES} values: write a smaller configuration"
        if depth > DEEPEST_CONFIG:
            return path, "is nested too deep: write it flatter"
        wrong = _wrong_value(value)
        if wrong:
            return path, wrong
        for key, item in (as_object(value) or {}).items():
            waiting.append((item, f"{path}.{key}" if path else key, depth + 1))
        waiting.extend(
            (item, f"{path}[{index}]", depth + 1) for index, item in enumerate(as_list(value) or [])
        )
    return None


def _wrong_value(value: Json) -> str | None:
    if isinstance(value, str) and clean_text(value) != value:
        return "has a character in it that cannot be stored: write it without"
    if isinstance(value, int) and abs(value) >= 2**63:
        return "is too large a number: write it as a string"
    if isinstance(value, float) and not math.isfinite(value):
        return "is not a finite number: write one that JSON knows"
    inner = as_object(value)
    if inner is not None and any(
        not isinstance(key, str) or clean_text(key) != key for key in cast("dict[object, Json]", inner)
    ):
        return "has a key that is no plain string: write every key in quotes"
    if value is not None and not isinstance(value, (str, int, float, list, dict)):
        return f"is a {type(value).__name__}, which JSON does not know: write it in quotes"
    return None
