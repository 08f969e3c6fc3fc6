"""Who may do what through the MCP server, and what nobody sees there; two gateways, and one that stops."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from mcp import MCPError

from tests.http.mcp_scene import scene
from tests.http.pairing import Room
from tests.http.test_approvals import ARGS, PAY
from tests.http.test_waiting import FORM
from tests.servers.cluster import Cluster
from tests.servers.fake_openai import Answer, FakeOpenAI, call, hold, text
from tests.servers.mcp_guest import ERAS, McpGuest, text_of
from tests.servers.roomful import Roomful, read_events


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Roomful]:
    with Roomful(tmp_path_factory.mktemp("house")) as house:
        yield house


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    return request.param


def refusal(guest: McpGuest, uri: str) -> tuple[int, str]:
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - the client wraps it in a group
        guest.ask(lambda client: client.read_resource(uri))
    error: BaseException = caught.value
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, MCPError)
    return error.code, error.message


def test_a_stranger_finds_nothing_and_cannot_tell_it_from_what_is_not_there(
    house: Roomful, model: FakeOpenAI, era: str
) -> None:
    play = scene(house, model, era, PAY)
    run_id, card = play.waiting("pay", ARGS)
    guest = play.guest(house.person(f"eve-{play.room}"))
    assert guest.data("list_spaces") == {"spaces": [], "hasMore": False}
    assert guest.data("list_cards") == {"cards": [], "hasMore": False}
    assert guest.ask(lambda client: client.list_resources()).resources == []
    asked = [
        ("read_messages", {"spaceId": play.room}),
        ("post_message", {"spaceId": play.room, "text": "hi"}),
        ("list_cards", {"spaceId": play.room}),
        ("wait_for_runs", {"spaceId": play.room, "runIds": [run_id]}),
        ("stop_run", {"runId": run_id}),
        ("answer_card", {"runId": run_id, "callId": card["callId"], "approved": True}),
    ]
    for name, arguments in asked:
        forbidden = guest.refused(name, **arguments)
        known = json.dumps(arguments)
        unknown = guest.refused(name, **json.loads(known.replace(play.room, "no").replace(run_id, "run_no")))
        assert forbidden["code"] == unknown["code"] == "not_found", name
        told = forbidden["detail"].replace(play.room, "no").replace(run_id, "run_no")
        assert told == unknown["detail"], name
    code, message = refusal(guest, f"roomful://spaces/{play.room}")
    assert (code, message.replace(play.room, "no")) == refusal(guest, "roomful://spaces/no")
    assert play.ada.get(f"/api/runs/{run_id}")["status"] == "waiting_tool"


def test_a_run_is_waited_for_only_where_it_shows_itself(house: Roomful, model: FakeOpenAI, era: str) -> None:
    play = scene(house, model, era, PAY)
    run_id, _ = play.waiting("pay", ARGS)
    other = house.space(f"{play.room}-other", play.ada.id)
    refused = play.guest().refused("wait_for_runs", spaceId=other, runIds=[run_id])
    assert refused["code"] == "not_found"


def test_a_reader_looks_and_does_nothing(house: Roomful, model: FakeOpenAI, era: str) -> None:
    play = scene(house, model, era, PAY)
    run_id, card = play.waiting("pay", ARGS)
    rita = house.person(f"rita-{play.room}")
    house.admin.post(f"/api/spaces/{play.room}/members", {"entityId": rita.id, "role": "reader"}, expect=201)
    guest = play.guest(rita)
    assert len(guest.data("read_messages", spaceId=play.room)["messages"]) == 2
    assert guest.data("list_cards")["cards"] == [card]
    for name, arguments in [
        ("post_message", {"spaceId": play.room, "text": "hi"}),
        ("answer_card", {"runId": run_id, "callId": card["callId"], "approved": True}),
        ("stop_run", {"runId": run_id}),
    ]:
        assert guest.refused(name, **arguments)["code"] == "forbidden"


def test_the_admin_key_answers_as_somebody(house: Roomful, model: FakeOpenAI, era: str) -> None:
    play = scene(house, model, era, PAY)
    run_id, card = play.waiting("pay", ARGS)
    answer = {"runId": run_id, "callId": card["callId"], "approved": True}
    alone = play.guest(house.admin).refused("answer_card", **answer)
    assert (alone["code"], "X-Roomful-As" in alone["detail"]) == ("forbidden", True)
    play.guest(house.admin, **{"X-Roomful-As": play.grace.id}).data("answer_card", **answer)
    assert play.finished(run_id)[0]["parts"][0]["answeredBy"] == play.grace.id


CANARY = "c4n4ry-5e1f"


def test_what_a_space_does_not_see_no_client_sees(house: Roomful, model: FakeOpenAI, era: str) -> None:
    def tool(name: str, visibility: str) -> dict[str, Any]:
        secret = {"secret": f"{CANARY} of {name}"}
        return {
            "name": name,
            "description": "Look it up.",
            "executionType": "basic",
            "execution": {"mode": "static", "output": secret},
            "visibility": visibility,
            "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}},
        }

    tools = [tool("unseen", "hidden"), tool("busy", "minimal"), {**FORM, "name": "ask"}]
    play = scene(house, model, era, *tools)
    args = {"q": f"{CANARY} in"}
    model.answer(
        Answer(call("unseen", args)),
        Answer(call("busy", args)),
        Answer(call("ask", {"targetEntityId": play.grace.id} | args)),
        Answer(text("Thank you.")),
    )
    guest = play.guest()
    posted = guest.data("post_message", spaceId=play.room, text="go", waitSeconds=30)
    [run] = posted["runs"]
    assert run["status"] == "waiting_tool"
    seen = [
        posted,
        text_of(guest.call("read_messages", spaceId=play.room)),
        guest.data("list_cards"),
        text_of(guest.call("wait_for_runs", spaceId=play.room, runIds=[run["runId"]])),
        guest.data("search_messages", query="in"),
        guest.ask(lambda client: client.read_resource(f"roomful://spaces/{play.room}")).model_dump(),
        *(
            guest.ask(
                lambda client, id=one["id"]: client.read_resource(
                    f"roomful://spaces/{play.room}/messages/{id}"
                )
            ).model_dump()
            for one in play.ada.messages(play.room)
        ),
        guest.progress,
    ]
    assert CANARY not in json.dumps(seen, default=str)
    assert "unseen" not in json.dumps(seen, default=str)
    assert "* busy is complete" in seen[1]
    [card] = play.guest(play.grace).data("list_cards")["cards"]
    assert (card["args"], card["answerableBy"]) == (args, [play.grace.id])
    mine = {"runId": card["runId"], "callId": card["callId"], "result": 1}
    assert guest.refused("answer_card", **mine)["code"] == "not_found"


def test_a_revoked_token_is_refused(house: Roomful, model: FakeOpenAI) -> None:
    play = scene(house, model, "legacy")
    [token] = house.admin.get(f"/api/entities/{play.ada.id}/tokens")["tokens"]
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert play.ada.post("/mcp", body) == {"jsonrpc": "2.0", "id": 1, "result": {}}
    house.admin.call("DELETE", f"/api/entities/{play.ada.id}/tokens/{token['id']}", expect=204)
    refused = play.ada.request("POST", "/mcp", body)
    assert refused.status_code == 401
    address = refused.headers["www-authenticate"].partition('resource_metadata="')[2].strip('"')
    assert httpx.get(address).json()["resource"] == f"{house.url}/mcp"


def test_the_operator_names_who_gives_out_tokens(tmp_path: Any) -> None:
    told = {
        "ROOMFUL_OAUTH_ISSUERS": "https://login.example, https://id.example",
        "ROOMFUL_PUBLIC_URL": "https://rooms.example",
    }
    with Roomful(tmp_path, **told) as house:
        document = httpx.get(f"{house.url}/.well-known/oauth-protected-resource").json()
    assert document == {
        "resource": "https://rooms.example/mcp",
        "resource_name": "Roomful",
        "bearer_methods_supported": ["header"],
        "authorization_servers": ["https://login.example", "https://id.example"],
    }


def test_a_gateway_that_stops_tells_who_waits(tmp_path: Any, model: FakeOpenAI) -> None:
    with Roomful(tmp_path) as house:
        play = scene(house, model, "legacy")
        model.answer(Answer([hold()]))
        arguments = {"spaceId": play.room, "text": "go", "waitSeconds": 300}
        with (
            httpx.Client(timeout=30) as client,
            client.stream(
                "POST",
                f"{house.url}/mcp",
                headers={"authorization": f"Bearer {play.ada.token}", "accept": "text/event-stream"},
                json={
                    "jsonrpc": "2.0",
                    "id": 1,
                    "method": "tools/call",
                    "params": {"name": "post_message", "arguments": arguments},
                },
            ) as stream,
        ):
            model.wait_for_requests(1)
            assert house.terminate() == 0
            [answer] = read_events(stream.iter_lines())
        told = answer.data["result"]["structuredContent"]
        assert (told["isOver"], told["message"]["seq"]) == (False, 1)


def test_any_gateway_serves_any_request(cluster: Cluster, model: FakeOpenAI, era: str) -> None:
    room = Room(cluster, model, PAY)
    model.answer(Answer(call("pay", ARGS)), Answer([hold(), *text("Paid.")]))
    posted = McpGuest(room.ada, era).data("post_message", spaceId=room.id, text="go", waitSeconds=30)
    [card] = posted["cards"]
    answer = {"runId": card["runId"], "callId": card["callId"], "approved": True}
    there = McpGuest(room.bob, era)
    there.data("answer_card", **answer)
    model.wait_for_requests(2)
    model.release()
    outcome = there.data("wait_for_runs", spaceId=room.id, runIds=[card["runId"]], timeoutSeconds=30)
    assert outcome["messages"] == room.ada.messages(room.id)[1:]
    assert outcome["messages"][0]["parts"][-1]["text"] == "Paid."
    assert McpGuest(room.ada, era).refused("answer_card", **answer)["code"] == "conflict"
