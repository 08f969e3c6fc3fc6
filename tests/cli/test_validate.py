"""Mistakes that people make in an agent's file, and what each is told: the file, the place in it, what is
wrong there, and what to write instead."""

import json
from pathlib import Path
from typing import Any

import pytest

from roomful.cli import main

AGENT = {"id": "shop", "name": "Shop", "model": "scripted:shop"}
CITY = {"type": "object", "properties": {"city": {"type": "string"}}}
URL = "https://api.example.com/"
FIRST = {"name": "first", "executionType": "basic", "execution": {"mode": "static", "output": 1}}
WEATHER = {"name": "weather", "executionType": "request", "execution": {"url": URL}, "inputSchema": CITY}


def agent(**fields: Any) -> dict[str, Any]:
    """A field that is None is left out."""
    return {name: value for name, value in (AGENT | fields).items() if value is not None}


def tool(**fields: Any) -> dict[str, Any]:
    """The agent's second tool."""
    return agent(
        tools=[FIRST, {name: value for name, value in (WEATHER | fields).items() if value is not None}]
    )


def request(**execution: Any) -> dict[str, Any]:
    return tool(execution={"url": URL, **execution})


def of_type(kind: str, execution: Any) -> dict[str, Any]:
    return tool(executionType=kind, execution=execution)


def schema(**properties: Any) -> dict[str, Any]:
    return tool(inputSchema={"type": "object", "properties": properties})


INNER = {"tools": [{"name": "inner", "executionType": "request", "execution": {"ulr": URL}}]}
MISTAKES: list[tuple[str, Any, str, list[str]]] = [
    ("no id", agent(id=None), "id", ["is missing", 'as in "shop"']),
    ("id with a space", agent(id="My Shop"), "id", ["is not an id", "A-Z a-z 0-9"]),
    ("id is a number", agent(id=5), "id", ["is a number", "in quotes"]),
    ("no name", agent(name=None), "name", ["is missing", 'as in "Shop"']),
    ("no model", agent(model=None), "model", ["is missing", '"openai:gpt-5-mini"']),
    ("model without provider", agent(model="gpt-5"), "model", ["'gpt-5'", '"openai:gpt-5-mini"']),
    ("model with a slash", agent(model="openai/gpt-5"), "model", ["'openai/gpt-5'", '"openai:gpt-5-mini"']),
    ("provider misspelled", agent(model="opnai:gpt-5"), "model", ["'opnai'", 'Did you mean "openai:gpt-5"?']),
    ("provider unknown", agent(model="nobody:gpt-5"), "model", ["'nobody'", "openai:gpt-5-mini"]),
    (
        "script misspelled",
        agent(model="scripted:shp"),
        "model",
        ["shp.yaml", 'Did you mean "scripted:shop"?'],
    ),
    ("script broken", agent(model="scripted:bad"), "model", ["bad.yaml: turn 1", "unknown field `txt`"]),
    ("model's url", agent(model={"name": "openai:a", "url": URL}), "model.url", ['write "baseUrl"']),
    ("model's provider", agent(model={"provider": "openai"}), "model.provider", ['write it into "name"']),
    ("model's key", agent(model={"name": "openai:a", "apiKey": "sk-1"}), "model.apiKey", ["${env.NAME}"]),
    ("case of a key", agent(Tools=[]), "Tools", ['Did you mean "tools"?']),
    ("system prompt", agent(system_prompt="Help."), "system_prompt", ['write "instructions"']),
    ("unknown key", agent(colour="red"), "colour", ["is not a field here", "Known are id, name, model"]),
    ("speaks", agent(speaks="txt"), "speaks", ['"tools", "text" or "both"', 'Did you mean "text"?']),
    ("flag in words", agent(showReasoning="yes"), "showReasoning", ["write true or false"]),
    ("limit misspelled", agent(limits={"maxstep": 3}), "limits.maxstep", ['Did you mean "maxSteps"?']),
    ("limit in words", agent(limits={"maxSteps": "3"}), "limits.maxSteps", ["write a whole number"]),
    ("servers by name", agent(mcp={"servers": {}}), "mcp.servers", ["write a list of objects", '"name"']),
    ("mcpServers", agent(mcpServers={}), "mcpServers", ['write "mcp": {"servers": […]}']),
    ("server without url", agent(mcp={"servers": [{"name": "a"}]}), "mcp.servers[0].url", ["https://"]),
    ("tools by name", agent(tools={"a": FIRST}), "tools", ["is an object", "write a list of objects"]),
    ("tool is a string", agent(tools=["search"]), "tools[0]", ["write an object", '{"name": "search", …}']),
    ("tool without name", tool(name=None), "tools[1].name", ["is missing", 'as in "search"']),
    ("tool with a space", tool(name="look up"), "tools[1].name", ["'look up'", "A-Z a-z 0-9 _ -"]),
    ("tools of one name", agent(tools=[FIRST, FIRST]), "tools[1].name", ["names two tools", "another name"]),
    ("built-in tool", tool(name="sendSpaceMessage"), "tools[1].name", ["is a built-in tool", "another name"]),
    ("no type", tool(executionType=None), "tools[1].executionType", ['write "request"', 'has "url"']),
    ("type misspelled", tool(executionType="requst"), "tools[1].executionType", ['mean "request"?']),
    ("type of a function", of_type("function", {}), "tools[1].executionType", ['write "python"']),
    ("type of a form", of_type("form", {}), "tools[1].executionType", ['"basic"', '"no-execution"']),
    ("type unknown", of_type("magic", {}), "tools[1].executionType", ['"basic", "request"', '"python"']),
    ("no execution", tool(execution=None), "tools[1].execution.url", ["is missing", "https://"]),
    ("execution in words", tool(execution=URL), "tools[1].execution", ["is a string: write an object"]),
    ("url misspelled", tool(execution={"ulr": URL}), "tools[1].execution.ulr", ['Did you mean "url"?']),
    ("url outside", tool(url=URL), "tools[1].url", ['write it inside "execution"']),
    ("url without scheme", request(url="example.com"), "tools[1].execution.url", ["https://host/path"]),
    ("wrong variable", request(url=URL + "{{town}}"), "tools[1].execution.url", ["{{town}}", "It has city"]),
    ("near variable", request(body="{{citi}}"), "tools[1].execution.body", ['Did you mean "city"?']),
    ("one brace", request(url=URL + "{city}"), "tools[1].execution.url", ["write {{city}}"]),
    ("open brace", request(url=URL + "{{city}"), "tools[1].execution.url", ["write {{name}}"]),
    ("variable as host", request(url="https://{{city}}.com/"), "tools[1].execution.url", ["plain text"]),
    ("shell variable", request(headers={"X": "${KEY}"}), "tools[1].execution.headers", ["${env.NAME}"]),
    ("method", request(method="FETCH"), "tools[1].execution.method", ['"GET", "POST"']),
    ("timeout in words", request(timeout="30s"), "tools[1].execution.timeout", ["number of milliseconds"]),
    (
        "secret in a header",
        request(headers={"Authorization": "Bearer sk-1"}),
        "tools[1].execution.headers.Authorization",
        ["is a secret in plain text", "${env.NAME}", "ROOMFUL_TOOL_ENV", "ROOMFUL_SECRET_KEY"],
    ),
    ("secret in a url", request(url=URL + "?api_key=1"), "tools[1].execution.url", ["${env.NAME}"]),
    ("mode", of_type("basic", {"mode": "form"}), "tools[1].execution.mode", ['write "no-execution"']),
    ("no mode", of_type("basic", {}), "tools[1].execution.mode", ['"no-execution", "static"']),
    ("no function", of_type("python", {}), "tools[1].execution.function", ["is missing", '"price"']),
    (
        "function misspelled",
        of_type("python", {"function": "prise"}),
        "tools[1].execution.function",
        ["'prise'", "tools.py", "@roomful.tool", 'Did you mean "price"?'],
    ),
    ("a call", of_type("python", {"function": "f()"}), "tools[1].execution.function", ["@roomful.tool"]),
    ("agent", of_type("ai-agent", {"agent": "a"}), "tools[1].execution.agent", ['write "agentId"']),
    ("expression", of_type("compute", {"expr": "1"}), "tools[1].execution.expr", ['mean "expression"?']),
    (
        "tool inside a tool",
        of_type("ai-agent", {"agentConfig": INNER}),
        "tools[1].execution.agentConfig.tools[0].execution.ulr",
        ['Did you mean "url"?'],
    ),
    ("case of a tool's key", tool(inputschema=CITY), "tools[1].inputschema", ['mean "inputSchema"?']),
    ("parameters", tool(parameters=CITY), "tools[1].parameters", ['write "inputSchema"']),
    ("schema is a list", tool(inputSchema=[]), "tools[1].inputSchema", ['write {"type": "object"']),
    (
        "schema of a string",
        tool(inputSchema={"type": "string"}),
        "tools[1].inputSchema",
        ['"type": "object"'],
    ),
    (
        "type in a schema",
        schema(city={"type": "strng"}),
        "tools[1].inputSchema",
        ["at properties/city/type", "'strng'", 'Did you mean "string"?'],
    ),
    (
        "required is true",
        schema(city={"required": True}),
        "tools[1].inputSchema",
        ["at properties/city/required", 'write a list of names beside "properties"'],
    ),
    (
        "target space",
        tool(inputSchema={"properties": {"targetSpaceId": {}}}, visibility="full"),
        "tools[1].inputSchema.properties.targetSpaceId",
        ["the gateway adds itself", "write another name"],
    ),
    ("visibility", tool(visibility="public"), "tools[1].visibility", ['"hidden", "minimal" or "full"']),
    ("another dialect", tool(visibility="visible"), "tools[1].visibility", ['write "full"', '"dialect"']),
    ("card outside", tool(customUI="Choice"), "tools[1].customUI", ['write it inside "display"']),
    ("approval in words", tool(approval="yes"), "tools[1].approval", ["write true, false or"]),
]
UNREADABLE = {
    'a.json: {"id": "shop"\n "name": "Shop"}': ["line 2, column 2", "write a comma before this"],
    'a.json: {"id": "shop",}': ["line 1, column 15", "no comma before a closing brace"],
    "a.json: {'id': 'shop'}": ["line 1, column 2", "in double quotes"],
    'a.json: {"id": "shop", "tools": [1,]}': ["line 1, column 28", "no comma before a closing bracket"],
    'a.json: {"id": "shop"} {}': ["line 1, column 16", "write one object"],
    "a.json: // mine\n{}": ["leave them out, or write YAML"],
    "a.yaml: id: shop\n name: Shop": ["line 2, column 6", "indent it like the line above"],
    "a.yaml: id: shop\nname: Shop: the best": ["line 2, column 11", "in quotes"],
    "a.yaml: id: shop\ntools:\n\t- name: a": ["line 3, column 1", "write spaces instead of the tab"],
    "a.yaml: id: shop\nname: {{name}}": ["line 2, column 8", 'as in "{{city}}"'],
    "a.yaml: id: shop\nid: shop": ["line 2, column 1", "'id' is written twice"],
    "a.yaml: - id: shop": ['write an object with "id", "name" and "model"'],
    "a.yaml: ": ['write an object with "id", "name" and "model"'],
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts/shop.yaml").write_text("turns: [{text: Hello.}]")
    (tmp_path / "scripts/bad.yaml").write_text("turns: [{txt: Hello.}]")
    (tmp_path / "tools.py").write_text(
        "import roomful\n\n\n@roomful.tool\ndef price(product: str) -> int:\n    return 1\n"
    )
    return tmp_path


def refused(capsys: pytest.CaptureFixture[str], *files: str) -> list[str]:
    capsys.readouterr()
    assert main(["validate", *files]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    return said.err.splitlines()


@pytest.mark.parametrize(
    ("config", "place", "parts"), [row[1:] for row in MISTAKES], ids=[row[0] for row in MISTAKES]
)
def test_a_mistake_is_told_with_its_place_and_what_to_write(
    folder: Path, capsys: pytest.CaptureFixture[str], config: Any, place: str, parts: list[str]
) -> None:
    (folder / "shop.json").write_text(json.dumps(config))
    told = refused(capsys, "shop.json")
    [line] = [
        line for line in told if line.startswith((f"shop.json: {place}: ", f"shop.json: {place} (tool "))
    ]
    assert [part for part in parts if part not in line] == []
    assert "sk-1" not in "".join(told)


@pytest.mark.parametrize(("written", "parts"), UNREADABLE.items())
def test_a_file_that_cannot_be_read_is_told_with_line_and_column(
    folder: Path, capsys: pytest.CaptureFixture[str], written: str, parts: list[str]
) -> None:
    name, _, text = written.partition(": ")
    (folder / name).write_text(text)
    [line] = refused(capsys, name)
    assert line.startswith(f"{name}: ")
    assert [part for part in parts if part not in line] == []


def test_a_file_that_is_not_there_and_a_folder_are_told(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "shop.yaml").write_text("")
    assert refused(capsys, "shp.yaml", "scripts") == [
        "shp.yaml: there is no such file. Did you mean shop.yaml?",
        "scripts: is a folder: name the files in it, as in scripts/*.yaml",
    ]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import roomful\n\nPRICE = {\n", "tools.py, line 3: SyntaxError: '{' was never closed"),
        ("import roomful\n\nroomful.tol\n", "tools.py, line 3: AttributeError: "),
        (
            "import roomful\n\n\n@roomful.tool\ndef price(product):\n    pass\n",
            "tools.py, line 4: tool 'price': give product a",
        ),
    ],
)
def test_functions_that_cannot_be_loaded_are_told_with_their_line(
    folder: Path, capsys: pytest.CaptureFixture[str], source: str, said: str
) -> None:
    (folder / "tools.py").write_text(source)
    (folder / "shop.json").write_text(json.dumps(of_type("python", {"function": "price"})))
    [line] = refused(capsys, "shop.json")
    assert said in line


def test_what_is_fine_and_what_is_wrong_are_told_of_each_file(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "fine.json").write_text(json.dumps(of_type("python", {"function": "price"})))
    (folder / "wrong.json").write_text(json.dumps(agent(name=None, model=None)))
    sealed = request(headers={"Authorization": "Bearer sk-1"})
    (folder / "sealed.json").write_text(json.dumps(sealed))
    monkeypatch.setenv("ROOMFUL_SECRET_KEY", "key")
    assert main(["validate", "fine.json", "wrong.json", "sealed.json"]) == 1
    said = capsys.readouterr()
    assert [line.split(" with ")[0] for line in said.out.splitlines()] == [
        "fine.json: agent 'shop'",
        "sealed.json: agent 'shop'",
    ]
    assert [line.split(": is")[0] for line in said.err.splitlines()] == [
        "wrong.json: name",
        "wrong.json: model",
    ]
    assert main(["validate", "fine.json"]) == 0
