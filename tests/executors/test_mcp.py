"""MCP tools against real servers, made with the official SDK: what is offered, what a call gives."""

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from roomful.domain.agents import AgentSpec, McpServer, ModelRef
from roomful.domain.outcomes import Done, Failed, Outcome, Waiting
from roomful.domain.ports import CallContext
from roomful.domain.tools import Approval, Mcp, ToolSpec, Visibility
from roomful.egress import HttpEgress
from roomful.executors.mcp import McpExecutor
from tests.executors.contexts import call_of
from tests.executors.pins import MemoryPins
from tests.servers.mcp_server import STDIO, McpHttpServer

KEY = "sk-live-51HxYz-secret"
PROGRAM = McpServer(name="desk", transport="stdio", command=STDIO)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpHttpServer]:
    with McpHttpServer(tmp_path_factory.mktemp("mcp")) as server:
        yield server


def agent(*servers: McpServer, agent_id: str = "shop") -> AgentSpec:
    model = ModelRef("openai:fake")
    return AgentSpec(agent_id, "Shop", model, "", "active", tools=(), mcp_servers=servers)


def at(server: McpHttpServer, **more: Any) -> McpServer:
    return McpServer(name="desk", url=server.url, **more)


@asynccontextmanager
async def executing(*servers: McpHttpServer, **more: Any) -> AsyncGenerator[McpExecutor, None]:
    egress = HttpEgress(allow=[server.authority for server in servers])
    options = {"pins": MemoryPins(), "connect_seconds": 20.0, **more}
    executor = McpExecutor(egress, lambda name: {"KEY": KEY}[name], **options)
    try:
        yield executor
    finally:
        await executor.close()
        egress.close()


def asking(tool: str, *, limit: float | None = None, agent_id: str = "shop", **args: Any) -> CallContext:
    context = call_of(Mcp("desk", tool), args, seconds=limit)
    return CallContext(context.call, context.spec, context.run, agent_id, context.args)


def called(config: McpServer, *contexts: CallContext, served: McpHttpServer) -> list[Outcome]:
    async def main() -> list[Outcome]:
        async with executing(served) as executor:
            await executor.offered(agent(config))
            return [await executor.execute(context) for context in contexts]

    return asyncio.run(main())


def offered(config: McpServer, *servers: McpHttpServer, **more: Any) -> dict[str, ToolSpec]:
    async def main() -> tuple[ToolSpec, ...]:
        async with executing(*servers, **more) as executor:
            return await executor.offered(agent(config))

    return {tool.name: tool for tool in asyncio.run(main())}


def test_tools_are_named_after_their_server_and_hidden(served: McpHttpServer) -> None:
    tools = offered(at(served), served)
    assert {"desk_weather", "desk_say_twice", "desk_fail", "desk_book"} <= set(tools)
    weather = tools["desk_weather"]
    assert weather.description == '[In the words of the MCP server "desk"] The weather in a city.'
    assert weather.executor == Mcp(server="desk", tool="weather")
    assert weather.input_schema["required"] == ["city"]
    assert {tool.visibility for tool in tools.values()} == {Visibility.HIDDEN}


def test_allowed_tools_visibility_and_approval_are_for_each_tool(served: McpHttpServer) -> None:
    config = at(
        served,
        allowed_tools=("weather", "say.twice"),
        visibility={"*": "result", "weather": "full"},
        approval={"say.twice": {"when": "always"}},
    )
    tools = offered(config, served)
    assert {name: (tool.visibility, tool.approval) for name, tool in tools.items()} == {
        "desk_weather": (Visibility.FULL, None),
        "desk_say_twice": (Visibility.RESULT, Approval()),
    }


def test_what_is_not_allowed_is_not_called(served: McpHttpServer) -> None:
    [outcome] = called(at(served, allowed_tools=("weather",)), asking("fail"), served=served)
    assert outcome == Failed("the MCP server desk does not offer this tool any more")


@pytest.mark.parametrize("transport", ["http", "stdio"])
def test_results(served: McpHttpServer, transport: str) -> None:
    config = at(served) if transport == "http" else PROGRAM
    structured, text, failed, large = called(
        config,
        asking("weather", city="Rome"),
        asking("say.twice", text="ha"),
        asking("fail"),
        asking("large", size=11 * 1024 * 1024),
        served=served,
    )
    assert structured == Done({"city": "Rome", "degrees": 21})
    assert text == Done("ha\nha")
    assert failed == Failed("Error executing tool fail: no such luck")
    assert isinstance(large, Failed)
    assert "larger than 10 MiB" in large.error


def test_a_slow_tool_is_given_up_and_the_session_goes_on(served: McpHttpServer) -> None:
    slow, after = called(
        at(served), asking("slow", limit=0.3, seconds=30), asking("weather", city="Rome"), served=served
    )
    assert slow == Failed("no result within 0.3 seconds")
    assert after == Done({"city": "Rome", "degrees": 21})


def test_a_secret_goes_out_in_a_header_and_does_not_come_back(served: McpHttpServer) -> None:
    config = at(served, headers={"X-Secret": "${env.KEY}"})
    assert called(config, asking("secret"), served=served) == [Done("got [secret]")]


@pytest.mark.parametrize("transport", ["http", "stdio"])
def test_a_question_waits_for_a_person_and_its_answer_goes_on(served: McpHttpServer, transport: str) -> None:
    async def main() -> tuple[Outcome, Outcome]:
        async with executing(served) as executor:
            await executor.offered(agent(at(served) if transport == "http" else PROGRAM))
            first = await executor.execute(asking("book", room="5"))
            assert isinstance(first, Waiting)
            again = asking("book", room="5")
            answer = {"confirm": {"action": "accept", "content": {"sure": True}}}
            again.call.continuation = {"state": first.state, "answer": answer}
            return first, await executor.execute(again)

    first, second = asyncio.run(main())
    assert isinstance(first, Waiting)
    assert first.on == "answer"
    schema = {"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]}
    assert first.question == {"requests": {"confirm": {"message": "Book 5?", "schema": schema}}}
    assert second == Done("accept {'sure': True} room=5")


def test_an_answer_that_is_none_fails_the_call(served: McpHttpServer) -> None:
    context = asking("book", room="5")
    context.call.continuation = {
        "state": {"requestState": "x", "keys": ["confirm"]},
        "answer": {"sure": True},
    }
    [outcome] = called(at(served), context, served=served)
    assert outcome == Failed("the answer to 'confirm' has no \"action\": write accept, decline or cancel")


def test_an_old_server_that_was_started_anew_is_greeted_anew(tmp_path: Path) -> None:
    async def main(server: McpHttpServer) -> list[Outcome]:
        async with executing(server) as executor:
            await executor.offered(agent(at(server)))
            before = await executor.execute(asking("weather", city="Rome"))
            await asyncio.to_thread(server.stop)
            gone = await executor.execute(asking("weather", city="Rome"))
            await asyncio.to_thread(server.start)
            return [before, gone, await executor.execute(asking("weather", city="Oslo"))]

    with McpHttpServer(tmp_path, "old", "json") as server:
        before, gone, after = asyncio.run(main(server))
    assert before == Done({"city": "Rome", "degrees": 21})
    assert gone == Failed("no connection to the host can be made")
    assert after == Done({"city": "Oslo", "degrees": 21})


def test_each_agent_has_a_program_of_its_own_without_our_environment_and_it_ends_with_us(
    served: McpHttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROOMFUL_SECRET_KEY", KEY)

    async def main() -> list[str]:
        async with executing() as executor:
            said: list[str] = []
            for agent_id in ("shop", "shop", "bank"):
                await executor.offered(agent(PROGRAM, agent_id=agent_id))
                outcome = await executor.execute(asking("surroundings", agent_id=agent_id))
                assert isinstance(outcome, Done)
                said.append(outcome.value)
            return said

    pids, names = zip(*((text.split()[0], text.split()[1:]) for text in asyncio.run(main())), strict=True)
    assert pids[0] == pids[1] != pids[2]
    assert set(names[0]) <= {"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LC_CTYPE"}
    for pid in pids:
        assert not Path(f"/proc/{pid}").exists()


def test_a_program_that_died_is_started_again() -> None:
    async def main() -> list[Outcome]:
        async with executing() as executor:
            await executor.offered(agent(PROGRAM))
            outcome = await executor.execute(asking("surroundings"))
            assert isinstance(outcome, Done)
            os.kill(int(outcome.value.split()[0]), 9)
            return [await executor.execute(asking("weather", city="Rome")) for _ in range(2)]

    assert asyncio.run(main()) == [Failed("Connection closed"), Done({"city": "Rome", "degrees": 21})]


def test_a_changed_configuration_is_listed_anew(served: McpHttpServer) -> None:
    async def main() -> list[list[str]]:
        async with executing(served) as executor:
            specs = [agent(at(served, allowed_tools=(name,))) for name in ("weather", "fail")] + [agent()]
            return [[tool.name for tool in await executor.offered(spec)] for spec in specs]

    assert asyncio.run(main()) == [["desk_weather"], ["desk_fail"], []]


def test_without_the_extra_there_are_no_tools_and_a_warning_says_why(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr("roomful.executors.mcp.importlib.import_module", missing)
    with caplog.at_level(logging.WARNING):
        assert offered(PROGRAM) == {}
    assert "pip install 'roomful[mcp]'" in caplog.text
