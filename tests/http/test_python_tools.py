"""Functions of the operator's own are tools: sync and async, with a schema made of their type hints."""

from pathlib import Path

import pytest

from tests.servers.fake_openai import Answer, FakeOpenAI, call, text
from tests.servers.roomful import Roomful

TOOLS = '''
import asyncio
import roomful

@roomful.tool
def add(a: int, b: int = 2) -> dict:
    """Add two numbers."""
    return {"sum": a + b}

@roomful.tool(name="greet")
async def say_hello(name: str, titles: list[str] | None = None) -> str:
    await asyncio.sleep(0)
    return " ".join(["Hello", *(titles or []), name])

@roomful.tool
def broken() -> None:
    raise RuntimeError("out of order")
'''
AGENT = """
id: helper
name: Helper
model: {{name: "openai:fake", baseUrl: "{url}", apiKey: x}}
tools:
  - {{name: add, description: "", executionType: python, execution: {{function: add}}, visibility: full}}
  - {{name: greet, description: Greet., executionType: python, execution: {{function: greet}}}}
  - {{name: broken, description: Breaks., executionType: python, execution: {{function: broken}}}}
"""


@pytest.mark.parametrize(
    ("name", "args", "told"),
    [
        ("add", {"a": 1}, '{"sum":3}'),
        ("add", {"a": 1, "b": 5}, '{"sum":6}'),
        ("greet", {"name": "Ada", "titles": ["Dr."]}, "Hello Dr. Ada"),
        ("add", {"a": "one"}, "Error: "),
        ("broken", {}, "Error: RuntimeError: out of order"),
    ],
)
def test_a_marked_function_is_called_with_checked_arguments(
    tmp_path: Path, model: FakeOpenAI, name: str, args: dict[str, object], told: str
) -> None:
    agents = tmp_path / "agents"
    agents.mkdir()
    (agents / "tools.py").write_text(TOOLS)
    (agents / "helper.yaml").write_text(AGENT.format(url=model.base_url))
    model.answer(Answer(call(name, args)), Answer(text("ok")))
    with Roomful(tmp_path, "--agents", str(agents)) as house:
        ada = house.person("ada")
        house.space("room", "ada", "helper")
        with ada.listen("room") as listener:
            ada.say("room", "go")
            listener.wait_for("run.completed")
    offered = {tool["function"]["name"]: tool["function"] for tool in model.requests[0].body["tools"]}
    assert offered["add"]["description"] == "Add two numbers."
    assert {"a", "b"} <= offered["add"]["parameters"]["properties"].keys()
    assert offered["add"]["parameters"]["required"] == ["a"]
    assert model.requests[1].messages[-1]["content"].startswith(told)
