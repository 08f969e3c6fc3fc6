"""A gateway inside somebody's own program: opened with what the program has, served by its own server."""

import asyncio
import contextlib
import re
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount

import roomful
from roomful import Client, Gateway
from roomful.domain.audit import AuditQuery
from roomful.domain.errors import Conflict, Invalid, Unauthorized
from roomful.domain.events import Announcement, MemberJoined, RunChanged
from roomful.domain.messages import ToolCallPart
from roomful.domain.runs import ENDED
from tests.app.embedded import open_things, run, served
from tests.client.watching import ended, of, until
from tests.servers.fake_openai import HANG, Answer, FakeOpenAI, text
from tests.servers.roomful import openai

PAGE = Path(__file__).parent.parent.parent / "docs" / "embedding.md"


@roomful.tool
def price(product: str) -> dict[str, int]:
    """Look up a price."""
    return {"price": len(product)}


@roomful.tool(name="price")
def another_price(product: str) -> int:
    return 0


def unmarked() -> None: ...


SHOP = {
    "id": "shop",
    "name": "Shop",
    "model": "scripted:shop",
    "tools": [
        {
            "name": "price",
            "description": "",
            "executionType": "python",
            "execution": {"function": "price"},
            "visibility": "full",
        }
    ],
}
SCRIPT = {
    "turns": [
        {
            "steps": [
                {
                    "calls": [
                        {"tool": "sendSpaceMessage", "args": {"spaceId": "team", "text": "Let me look."}},
                        {"tool": "price", "args": {"product": "laptop"}},
                    ]
                },
                {"text": "Done."},
            ]
        }
    ]
}


def _database(folder: Path, name: str = "house") -> str:
    return f"sqlite:///{folder}/{name}.db"


def _helper(model: FakeOpenAI) -> dict[str, Any]:
    return {"id": "helper", "name": "Helper", "model": openai(model.base_url), "speaks": "text"}


@contextlib.asynccontextmanager
async def _opened(folder: Path, *agents: dict[str, Any], **more: Any) -> AsyncGenerator[Gateway]:
    settings = {"database": _database(folder), "secret_key": "a-secret-key-for-tests", **more}
    async with Gateway.opened(agents=agents, **settings) as gateway:
        yield gateway


def test_a_space_under_a_prefix_of_another_app_is_followed_live(tmp_path: Path) -> None:
    async def story() -> None:
        async with _opened(tmp_path, SHOP, tools=[price], scripts={"shop": SCRIPT}) as gateway:
            token = await gateway.person("ada", name="Ada")
            await gateway.space("team", "ada", "shop", name="Team")
            outer = Starlette(routes=[Mount("/rooms", gateway.app)])
            async with (
                served(outer) as url,
                Client(f"{url}/rooms/", token) as client,
                client.follow("team") as space,
            ):
                assert {one.entity_id: one.name for one in space.members.values()} == {
                    "ada": "Ada",
                    "shop": "Shop",
                }
                posted = await client.post("team", "What does it cost?")
                await until(space, ended(posted.runs[0].run_id))
                _, answer = space.messages()
                call = answer.parts[1]
                assert answer.text == "Let me look."
                assert isinstance(call, ToolCallPart)
                assert (call.status, call.args, call.result) == (
                    "complete",
                    {"product": "laptop"},
                    {"price": 6},
                )
                asked = [event async for event in client.ask("team", "And now?")]
                assert any(isinstance(one, RunChanged) and one.status in ENDED for one in asked)

    run(story())


def test_the_app_is_one_and_the_same(tmp_path: Path) -> None:
    async def story() -> None:
        async with _opened(tmp_path) as gateway:
            assert gateway.app is gateway.app

    run(story())


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"databse": "sqlite:///x.db"}, "there is no setting 'databse'; did you mean 'database'"),
        ({"colour": "red"}, "there is no setting 'colour': there are host, port, database"),
        ({"limit_posts": "many"}, "limit_posts"),
        ({"workers": 2}, "workers: start as many processes as you want"),
        ({"tools": [unmarked]}, "mark the function with @roomful.tool"),
        ({"tools": [price, another_price]}, "two of them have the name 'price'"),
        ({"agents": [{"id": "shop"}]}, r"agents\[0\].*name"),
        ({"agents": [{"id": "shop", "name": {1, 2}, "model": object()}]}, r"agents\[0\]: cannot be written"),
        ({"scripts": {"shop": {"turns": [{"txt": "a"}]}}}, "shop: turn 1: object contains unknown field"),
    ],
)
def test_what_cannot_be_is_refused_and_leaves_nothing_open(
    tmp_path: Path, given: dict[str, Any], why: str
) -> None:
    async def story() -> None:
        before = open_things()
        with pytest.raises(Invalid, match=why):
            async with Gateway.opened(**{"database": _database(tmp_path), **given}):
                pass
        assert open_things() == before

    run(story())


def test_nothing_is_read_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOMFUL_ADMIN_KEY", "from the environment")

    async def story() -> None:
        async with _opened(tmp_path) as gateway:
            assert gateway.new_admin_key

    run(story())


def test_agents_that_are_given_again_are_changed_in_place(tmp_path: Path) -> None:
    async def story() -> None:
        async with _opened(tmp_path, SHOP, tools=[price]) as gateway:
            first = await gateway.house.store.agent("shop")
        async with _opened(tmp_path, {**SHOP, "name": "Store"}, tools=[price]) as gateway:
            second = await gateway.house.store.agent("shop")
        assert first is not None
        assert second is not None
        assert (first.owner_id, first.name, second.name) == ("admin", "Shop", "Store")
        assert second.created_at == first.created_at

    run(story())


def test_two_gateways_in_one_program_share_nothing(tmp_path: Path) -> None:
    async def story() -> None:
        async with (
            _opened(tmp_path, SHOP, tools=[price], scripts={"shop": SCRIPT}) as one,
            _opened(tmp_path, database=_database(tmp_path, "other")) as other,
        ):
            here, there = await one.person("ada"), await other.person("ada")
            await one.space("team", "ada", "shop")
            await other.space("team", "ada")
            outer = Starlette(routes=[Mount("/one", one.app), Mount("/other", other.app)])
            async with (
                served(outer) as url,
                Client(f"{url}/one", here) as mine,
                Client(f"{url}/other", there) as theirs,
                Client(f"{url}/other", here) as stranger,
                mine.follow("team") as space,
            ):
                posted = await theirs.post("team", "only there")
                assert (posted.runs, await other.house.store.agents()) == ([], [])
                posted = await mine.post("team", "only here")
                await until(space, ended(posted.runs[0].run_id))
                assert [message.text for message in space.messages()] == ["only here", "Let me look."]
                page = await theirs.messages("team")
                assert [message.text for message in page.messages] == ["only there"]
                with pytest.raises(Unauthorized):
                    await stranger.me()

    run(story())


def test_closing_ends_streams_and_model_requests_and_the_run_goes_on_next_time(
    tmp_path: Path, model: FakeOpenAI
) -> None:
    model.answer(Answer([*text("One mo"), HANG]), Answer(text("Here I am.")))

    async def story() -> None:
        before = open_things()
        outer = Starlette()
        async with served(outer) as url, aiohttp.ClientSession() as session:
            async with _opened(tmp_path, _helper(model)) as gateway:
                token = await gateway.person("ada")
                await gateway.space("team", "ada", "helper")
                outer.mount("/rooms", gateway.app)
                headers = {"authorization": f"Bearer {token}"}
                stream = await session.get(f"{url}/rooms/api/spaces/team/stream", headers=headers)
                told = stream.content
                await session.post(
                    f"{url}/rooms/api/spaces/team/messages", json={"text": "Hello"}, headers=headers
                )
                while b"text-delta" not in await told.readline():
                    pass
            assert len(gateway.app.desk.readers) == 0
            assert b"event: draining" in await told.read()
            assert model.wait_for_requests(1)[0].gone.wait(10)
            late = await session.get(f"{url}/rooms/api/spaces", headers=headers)
            assert late.status == 503
            stream.close()
            late.close()
        assert open_things() == before

        async with (
            _opened(tmp_path, _helper(model)) as gateway,
            served(gateway.app) as url,
            Client(url, token) as client,
            client.follow("team") as space,
        ):
            if space.runs:
                await until(space, ended())
            assert [message.text for message in space.messages()] == ["Hello", "Here I am."]

    run(story())


def test_a_server_that_waits_for_its_connections_stops_once_the_gateway_drains(tmp_path: Path) -> None:
    async def story() -> None:
        before = open_things()
        async with _opened(tmp_path) as gateway, aiohttp.ClientSession() as session:
            headers = {"authorization": f"Bearer {await gateway.person('ada')}"}
            await gateway.space("team", "ada")
            async with served(gateway.app, gateway.drain) as url:
                stream = await session.get(f"{url}/api/spaces/team/stream", headers=headers)
                await stream.content.readline()
            assert b"event: draining" in await stream.content.read()
        assert open_things() == before

    run(story())


def test_the_store_stays_open_until_the_last_words_are_out(tmp_path: Path) -> None:
    async def story() -> None:
        sent: list[bytes] = []
        begun = asyncio.Event()
        async with _opened(tmp_path) as gateway:
            headers = [
                (b"host", b"localhost"),
                (b"authorization", f"Bearer {await gateway.person('ada')}".encode()),
            ]
            await gateway.space("team", "ada")

            async def send(message: Any) -> None:
                if b"draining" in message.get("body", b""):
                    for number in range(20):
                        await gateway.house.store.set_meta(f"last words {number}", "stored")
                sent.append(message.get("body", b""))
                begun.set()

            async def receive() -> Any:
                return await asyncio.Future()

            path = "/api/spaces/team/stream"
            scope = {"type": "http", "method": "GET", "scheme": "http", "path": path, "headers": headers}
            streaming = asyncio.create_task(gateway.app({**scope, "query_string": b""}, receive, send))
            await begun.wait()
        await streaming
        assert b"draining" in sent[-1]

    run(story())


def test_a_web_socket_is_refused(tmp_path: Path) -> None:
    async def story() -> None:
        async with _opened(tmp_path) as gateway:
            sent: list[Any] = []

            async def send(message: Any) -> None:
                sent.append(message)

            async def receive() -> Any:
                return {"type": "websocket.connect"}

            await gateway.app({"type": "websocket", "path": "/", "headers": []}, receive, send)
            assert sent == [{"type": "websocket.close"}]

    run(story())


def test_who_is_in_a_space_already_is_not_brought_in_again(tmp_path: Path) -> None:
    async def story() -> None:
        async with _opened(tmp_path) as gateway:
            for id in ("ada", "bob"):
                await gateway.person(id)
            told: list[tuple[str, str]] = []

            def hear(announcements: Sequence[Announcement]) -> None:
                members = [one.event.member for one in announcements if isinstance(one.event, MemberJoined)]
                told.extend((member.entity_id, member.role) for member in members)

            gateway.house.announcer.also_tell(hear)
            await gateway.space("team", "ada", "ada")
            await gateway.space("team", "ada", "bob")
            await gateway.space("team", "ada", role="owner")
            await gateway.space("team", "ada", role="owner")

            rows = await gateway.house.store.audit(AuditQuery(space_id="team"))
            assert [(row.action, row.entity_id, row.role) for row in rows[1:]] == [
                ("member.added", "ada", "member"),
                ("member.added", "bob", "member"),
                ("member.changed", "ada", "owner"),
            ]
            assert told == [("ada", "member"), ("bob", "member"), ("ada", "owner")]

    run(story())


def test_people_and_spaces_are_made_once_and_every_token_works(tmp_path: Path) -> None:
    async def story() -> None:
        async with _opened(tmp_path, SHOP, tools=[price]) as gateway:
            tokens = [await gateway.person("ada", name="Ada"), await gateway.person("ada")]
            await gateway.space("team", "ada", name="Team", role="owner")
            async with served(gateway.app, gateway.drain) as url:
                for token in tokens:
                    async with Client(url, token) as client:
                        assert (await client.me()).name == "Ada"
                async with Client(url, tokens[0]) as client, client.follow("team") as space:
                    await gateway.space("team", "shop")
                    [*_, joined] = await until(space, of(MemberJoined))
                    assert isinstance(joined, MemberJoined)
                    assert joined.member.entity_id == "shop"
                    assert {one.entity_id: one.role for one in space.members.values()} == {
                        "ada": "owner",
                        "shop": "member",
                    }
                    assert (await client.space("team")).name == "Team"
            for nobody in ("shop", "admin"):
                with pytest.raises(Conflict, match="is no person"):
                    await gateway.person(nobody)
            with pytest.raises(Invalid, match="there is no entity 'grace'"):
                await gateway.space("new", "grace")
            assert await gateway.house.store.space("new") is None
            with pytest.raises(Invalid, match="is not an id"):
                await gateway.space("a space")

    run(story())


def test_agents_can_be_a_folder_of_files(tmp_path: Path) -> None:
    folder = tmp_path / "agents"
    folder.mkdir()
    (folder / "shop.yaml").write_text("id: shop\nname: Shop\nmodel: scripted:shop\n")

    async def story() -> None:
        async with Gateway.opened(database=_database(tmp_path), agents=folder) as gateway:
            assert [agent.id for agent in await gateway.house.store.agents()] == ["shop"]

    run(story())


def test_the_public_names_are_there_and_importing_costs_nothing() -> None:
    assert roomful.__all__ == ["Client", "Gateway", "__version__", "testing", "tool"]
    assert all(getattr(roomful, name) for name in roomful.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = roomful.nothing
    script = "import sys, roomful; print([name for name in sys.modules if name.startswith('roomful')])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "['roomful']\n"


def test_the_page_about_embedding_works_as_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        exec(block, names)
    app, up = names["app"], asyncio.Event()

    class Server(names["Server"]):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            up.set()

    async def story() -> None:
        assert await names["hello"]() == 'It costs {"price":1299}.'
        server = Server(uvicorn.Config(app, log_config=None))
        with socket.create_server(("127.0.0.1", 0)) as listening:
            serving = asyncio.create_task(server.serve([listening]))
            await up.wait()
            token = await names["welcome"](app.state.gateway, "ada", "Ada")
            url = f"http://127.0.0.1:{listening.getsockname()[1]}/rooms"
            async with Client(url, token) as client, client.follow("team") as space:
                posted = await client.post("team", "How much is it?")
                await until(space, ended(posted.runs[0].run_id))
                assert space.messages()[-1].text == 'It costs {"price":1299}.'
                server.should_exit = True
                await serving
        assert (tmp_path / "shop.db").exists()

    run(story())
