"""MCP servers of an agent and the tools they offer."""

from typing import Any

import pytest

from roomful.domain.agents import McpServer
from roomful.domain.tools import Approval, Approvers, Fallback, Mcp, RouteRule, ToolSpec, Visibility
from roomful.tools import ConfigRefused, configure, offered_tool
from tests.tools.written import config, problems

URL = "https://mcp.example.com"


def server(given: Any, dialect: str = "active", *, trusted: bool = False) -> McpServer:
    return configure(config(dialect=dialect, mcp={"servers": [given]}), trusted=trusted).mcp_servers[0]


def test_a_server_as_configured() -> None:
    given = {
        "name": "files",
        "url": URL,
        "headers": {"Authorization": "Bearer ${env.KEY}"},
        "allowedTools": ["read", "write"],
        "visibility": {"*": "hidden", "read": "result-only"},
        "approval": {"write": {"approvers": {"roles": ["owner"]}}, "*": False},
    }
    assert server(given) == McpServer(
        name="files",
        url=URL,
        headers={"Authorization": "Bearer ${env.KEY}"},
        allowed_tools=("read", "write"),
        visibility={"*": "hidden", "read": "result"},
        approval={"*": None, "write": {"approvers": {"roles": ("owner",), "entities": ()}, "when": "always"}},
    )


@pytest.mark.parametrize(
    ("dialect", "word", "visibility"),
    [
        ("active", "visible", "full"), ("active", "result-only", "result"), ("active", "hidden", "hidden"),
        ("composite", "minimal", "status"), ("composite", "full", "full"), ("display", "full", "full"),
    ],
)  # fmt: skip
def test_one_word_is_for_the_whole_server(dialect: str, word: str, visibility: str) -> None:
    assert server({"name": "a", "url": URL, "visibility": word}, dialect).visibility == {"*": visibility}


def test_a_program_is_started_only_for_the_operators_own_files() -> None:
    given = {"name": "a", "transport": "stdio", "command": ["program", "--flag"]}
    assert server(given, trusted=True).command == ("program", "--flag")
    split = {"name": "a", "command": "program", "args": ["--flag"]}
    assert server(split, trusted=True) == McpServer(
        name="a", transport="stdio", command=("program", "--flag")
    )
    for wrong in (given, split, {"name": "a", "transport": "stdio"}):
        (problem,) = problems(config(mcp={"servers": [wrong]}))
        assert problem[1] in ("mcp.servers[0].command", "mcp.servers[0].transport")
        assert "operator" in problem[2]
    inline = {"agentConfig": {"mcp": {"servers": [given]}}}
    found = problems(config({"name": "it", "executionType": "ai-agent", "execution": inline}))
    assert found[0][:2] == ("it", "execution.agentConfig.mcp.servers[0].command")


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"url": URL}, "name"),
        ({"name": "a b", "url": URL}, "name"),
        ({"name": "a"}, "url"),
        ({"name": "a", "url": "ftp://x/"}, "url"),
        ({"name": "a", "url": URL, "transport": "sse"}, "transport"),
        ({"name": "a", "url": URL, "allowedTool": []}, "allowedTool"),
        ({"name": "a", "url": URL, "allowedTools": "x"}, "allowedTools"),
        ({"name": "a", "url": URL, "visibility": "minimal"}, "visibility"),
        ({"name": "a", "url": URL, "visibility": {"x": "full"}}, "visibility.x"),
        ({"name": "a", "url": URL, "allowedTools": ["x"], "visibility": {"y": "visible"}}, "visibility.y"),
        ({"name": "a", "url": URL, "approval": {"x": "yes"}}, "approval.x"),
        ({"name": "a", "url": URL, "headers": {"X": "{{a}}"}}, "headers"),
        ({"name": "a", "url": URL, "command": ["x"], "transport": "http"}, "command"),
        ({"name": "get", "url": URL}, "name"),
        ({"name": "get", "url": URL, "allowedTools": ["plans"]}, "name"),
    ],
)
def test_a_wrong_server_is_refused_at_its_field(given: Any, field: str) -> None:
    found = problems(config(dialect="active", mcp={"servers": [given]}))
    assert (("", f"mcp.servers[0].{field}")) in [problem[:2] for problem in found], found


def test_servers_whose_tools_could_share_a_name_are_refused() -> None:
    for names in (("a", "a"), ("a", "a_b"), ("a_b", "a")):
        servers = [{"name": name, "url": URL} for name in names]
        assert [found[:2] for found in problems(config(mcp={"servers": servers}))] == [
            ("", "mcp.servers[1].name")
        ]
    fine = [{"name": name, "url": URL} for name in ("a", "ab", "b_a")]
    assert len(configure(config(mcp={"servers": fine})).mcp_servers) == 3
    assert server({"name": "get", "url": URL, "allowedTools": ["weather"]}).name == "get"


def test_an_offered_tool_is_hidden_unless_the_configuration_says_otherwise() -> None:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    plain = McpServer(name="files", url=URL)
    assert offered_tool(plain, "composite", "read.file", "x" * 5000, schema) == ToolSpec(
        name="files_read_file",
        description="x" * 2048,
        input_schema=schema,
        executor=Mcp(server="files", tool="read.file"),
        visibility=Visibility.HIDDEN,
        route=RouteRule(),
    )
    shown = server(
        {"name": "files", "url": URL, "visibility": "full", "approval": {"when": "new-arguments"}}, "display"
    )
    spec = offered_tool(shown, "display", "read", "", schema)
    assert spec.visibility is Visibility.FULL
    assert spec.route == RouteRule(args=("targetSpaceId",), injected=True, fallback=Fallback.ACTIVE)
    assert spec.approval == Approval(when="new-arguments")
    some = server(
        {
            "name": "files",
            "url": URL,
            "approval": {"*": True, "read": False, "put": {"approvers": {"entities": ["ann"]}}},
        }
    )
    assert offered_tool(some, "active", "read", "", schema).approval is None
    assert offered_tool(some, "active", "other", "", schema).approval == Approval()
    assert offered_tool(some, "active", "put", "", schema).approval == Approval(
        approvers=Approvers(entities=("ann",))
    )


@pytest.mark.parametrize(
    ("name", "schema", "visibility"),
    [
        ("x" * 64, {}, {}),
        ("read", {"type": "string"}, {}),
        ("read", {"$ref": "https://evil.example/"}, {}),
        ("read", {"properties": {"a": {"pattern": "(?=a)b"}}}, {}),
        ("read", {"properties": {"targetSpaceId": {}}}, {"*": "full"}),
    ],
)
def test_an_offered_tool_that_an_author_could_not_write_is_refused(
    name: str, schema: Any, visibility: dict[str, str]
) -> None:
    with pytest.raises(ConfigRefused):
        offered_tool(McpServer(name="files", url=URL, visibility=visibility), "composite", name, "", schema)


def test_a_hidden_tool_may_have_arguments_of_any_name_and_a_forbidden_one_is_not_taken() -> None:
    schema = {"properties": {"targetSpaceId": {}}}
    spec = offered_tool(McpServer(name="a", url=URL), "composite", "move", "", schema)
    assert spec.input_schema == schema
    with pytest.raises(ConfigRefused, match="allowed"):
        offered_tool(McpServer(name="a", url=URL, allowed_tools=("x",)), "composite", "move", "", schema)
