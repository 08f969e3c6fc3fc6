"""Small tools and agents, as an author writes them."""

from typing import Any

from roomful.domain.agents import AgentSpec
from roomful.domain.tools import ToolSpec
from roomful.tools import ConfigRefused, Problem, configure

URL = "https://api.example.com/"
CITY = {"type": "object", "properties": {"city": {"type": "string"}}}


def of_type(kind: str, execution: Any, **fields: Any) -> dict[str, Any]:
    return {"name": "it", "executionType": kind, "execution": execution, **fields}


HTTP = of_type("request", {"url": URL})
FORM = of_type("basic", None)
V2 = of_type("gateway", {"url": URL})


def request(**execution: Any) -> dict[str, Any]:
    return of_type("request", {"url": URL, **execution}, inputSchema=CITY)


def config(*tools: Any, **fields: Any) -> dict[str, Any]:
    return {"id": "shop", "name": "Shop", "model": "scripted:shop", "tools": list(tools), **fields}


def agent(*tools: Any, **fields: Any) -> AgentSpec:
    return configure(config(*tools, **fields))


def tool(raw: Any, **fields: Any) -> ToolSpec:
    """The spec of one tool, the first of its agent."""
    return agent(raw, **fields).tools[0]


def problems(given: Any, **options: Any) -> list[tuple[str, str, str]]:
    """Tool, field and message of everything that is wrong."""
    found: list[Problem] = []
    try:
        configure(given, **options)
    except ConfigRefused as refused:
        found = refused.problems
    return [(problem.tool, problem.field, problem.message) for problem in found]
