"""Messages, read marks, agents and runs over HTTP."""

from typing import Any

import pytest

from roomful.domain.events import TextDelta, TextStarted
from roomful.domain.run_changes import AddRun
from roomful.domain.runs import PendingCall, Run, RunError, Trigger, Usage
from tests.web.visiting import ADMIN_KEY, Visit, story

MESSAGES = "/api/spaces/room/messages"


async def furnish(house: Visit) -> tuple[str, str]:
    ada, bob = await house.person("ada"), await house.person("bob")
    await house.space("room", ada="owner", bob="member")
    return ada, bob


@story()
async def test_a_message_is_stored_told_and_found(house: Visit) -> None:
    ada, bob = await furnish(house)
    stream = house.open("GET", "/api/spaces/room/stream", token=bob)
    await stream.event("snapshot")
    posted = await house.ask("POST", MESSAGES, {"text": "hi @bob", "clientMessageId": "c1"}, token=ada)
    heard = await stream.event("smartSpace.message")
    page = await house.ask("GET", MESSAGES, token=bob)
    one = await house.ask("GET", f"{MESSAGES}/{posted.json['message']['id']}", token=bob)

    assert (posted.status, posted.json["runs"]) == (201, [])
    assert posted.json["message"]["mentions"] == ["bob"]
    assert page.json == {"messages": [posted.json["message"]], "position": heard.id, "hasMore": False}
    assert heard.data["message"] == one.json == posted.json["message"]


@story()
async def test_the_same_client_id_is_the_same_message_and_in_another_space_another(house: Visit) -> None:
    ada, _ = await furnish(house)
    await house.space("other", ada="member")
    body = {"text": "hi", "clientMessageId": "1"}
    first = await house.ask("POST", MESSAGES, body, token=ada)
    again = await house.ask("POST", MESSAGES, body, token=ada)
    changed = await house.ask("POST", MESSAGES, {**body, "text": "ho"}, token=ada)
    elsewhere = await house.ask("POST", "/api/spaces/other/messages", body, token=ada)

    assert (first.status, again.status, changed.status, elsewhere.status) == (201, 201, 409, 201)
    assert again.json == first.json
    assert again.headers["idempotent-replay"] == "true"
    assert elsewhere.json["message"]["id"] != first.json["message"]["id"]


@story()
async def test_pages_go_both_ways(house: Visit) -> None:
    ada, _ = await furnish(house)
    for number in range(1, 6):
        await house.ask("POST", MESSAGES, {"text": f"number {number}"}, token=ada)

    async def page(query: str) -> tuple[list[int], bool]:
        answer = await house.ask("GET", f"{MESSAGES}?{query}", token=ada)
        return [message["seq"] for message in answer.json["messages"]], answer.json["hasMore"]

    assert await page("limit=2") == ([4, 5], True)
    assert await page("before=4&limit=2") == ([2, 3], True)
    assert await page("after=3") == ([4, 5], False)
    assert await page("q=NUMBER+3") == ([3], False)


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=201",
        "limit=x",
        "before=-1",
        "after=1.5",
        "after=" + "9" * 40,
        "colour=red",
        "limit=1&limit=2",
        "q=",
    ],
)
@story()
async def test_a_wrong_address_is_refused_by_name(house: Visit, query: str) -> None:
    ada, _ = await furnish(house)
    answer = await house.ask("GET", f"{MESSAGES}?{query}", token=ada)

    assert answer.status == 422
    assert query.partition("=")[0] in answer.json["detail"]


@story()
async def test_a_text_is_changed_and_deleted_by_who_wrote_it(house: Visit) -> None:
    ada, bob = await furnish(house)
    said = (await house.ask("POST", MESSAGES, {"text": "tpyo"}, token=ada)).json["message"]
    path = f"{MESSAGES}/{said['id']}"
    stream = house.open("GET", "/api/spaces/room/stream", token=bob)
    await stream.event("snapshot")

    assert (await house.ask("PATCH", path, {"text": "mine"}, token=bob)).status == 403
    assert (await house.ask("DELETE", path, token=bob)).status == 403
    changed = await house.ask("PATCH", path, {"text": "typo"}, token=ada)
    assert changed.json["parts"] == [said["parts"][0] | {"text": "typo"}]
    assert (await stream.event("smartSpace.message")).data["message"] == changed.json
    assert (await house.ask("DELETE", path, token=ada)).status == 204
    gone = (await stream.event("smartSpace.message", 2)).data["message"]
    assert (gone["deleted"], gone["parts"], gone["seq"]) == (True, [], 1)
    assert (await house.ask("GET", path, token=bob)).json == gone
    assert (await house.ask("PATCH", path, {"text": "again"}, token=ada)).status == 409
    assert (await house.ask("DELETE", path, token=ada)).status == 204
    assert (await house.ask("DELETE", f"{MESSAGES}/msg_x", token=ada)).status == 404


@story()
async def test_reading_takes_away_the_unread(house: Visit) -> None:
    ada, bob = await furnish(house)
    posted = [await house.ask("POST", MESSAGES, {"text": "hi"}, token=ada) for _ in range(3)]
    stream = house.open("GET", "/api/spaces/room/stream", token=ada)
    await stream.event("snapshot")
    message_id = posted[1].json["message"]["id"]
    read = await house.ask("POST", "/api/spaces/room/read", {"messageId": message_id}, token=bob)
    mine = await house.ask("GET", "/api/spaces", token=bob)

    assert read.status == 204
    assert (mine.json["spaces"][0]["unread"], mine.json["spaces"][0]["lastSeq"]) == (1, 3)
    assert (await stream.event("read")).data == {
        "spaceId": "room",
        "entityId": "bob",
        "messageId": message_id,
    }
    for token, status in [(ADMIN_KEY, 403), (bob, 404)]:
        answer = await house.ask("POST", "/api/spaces/room/read", {"messageId": "msg_x"}, token=token)
        assert answer.status == status


@story()
async def test_one_message_is_shown_as_it_stands_while_it_grows(house: Visit) -> None:
    ada, _ = await furnish(house)
    posted = await house.ask("POST", MESSAGES, {"text": "hi"}, token=ada)
    started = TextStarted(
        space_id="room",
        message_id=posted.json["message"]["id"],
        part_id="prt_1",
        run_id="run_1",
        entity_id="shop",
        seq=1,
        created_at="",
    )
    house.announce("room", started)
    house.announce("room", TextDelta(part_id="prt_1", delta="Hello", offset=0))
    one = await house.ask("GET", f"{MESSAGES}/{posted.json['message']['id']}", token=ada)

    assert one.json["parts"] == [{"type": "text", "id": "prt_1", "text": "Hello", "status": "streaming"}]


CONFIG = {
    "id": "shop",
    "name": "Shop",
    "model": {"name": "openai:x", "apiKey": "sk-secret"},
    "tools": [
        {"name": "t", "headers": {"Authorization": "Bearer sk-other", "Accept": "text/html"}},
        {"name": "u", "headers": {"X-Api-Key": "${env.KEY}"}},
    ],
}


@story()
async def test_an_agent_is_an_entity_and_its_secrets_are_masked(house: Visit) -> None:
    ada, bob = await furnish(house)
    made = await house.ask("POST", "/api/agents", CONFIG, token=ada)
    entity = await house.house.store.entity("shop")

    assert made.status == 201
    assert made.json["ownerId"] == "ada"
    assert made.json["config"]["model"] == {"name": "openai:x", "apiKey": "***"}
    assert made.json["config"]["tools"][0]["headers"] == {"Authorization": "***", "Accept": "text/html"}
    assert made.json["config"]["tools"][1]["headers"] == {"X-Api-Key": "${env.KEY}"}
    assert entity is not None
    assert (entity.kind, entity.name) == ("agent", "Shop")
    assert (await house.ask("GET", "/api/agents/shop", token=ada)).json == made.json
    assert (await house.ask("GET", "/api/agents", token=bob)).json == {
        "agents": [{"id": "shop", "name": "Shop"}]
    }
    assert (await house.ask("POST", "/api/agents", CONFIG, token=ada)).status == 409


@story()
async def test_an_agent_is_changed_and_removed_by_its_owner(house: Visit) -> None:
    ada, bob = await furnish(house)
    shown = (await house.ask("POST", "/api/agents", CONFIG, token=ada)).json["config"]
    await house.ask("POST", "/api/spaces/room/members", {"entityId": "shop"}, token=ada)
    stream = house.open("GET", "/api/spaces/room/stream", token=bob)
    await stream.event("snapshot")

    assert (await house.ask("PUT", "/api/agents/shop", CONFIG, token=bob)).status == 404
    masked = await house.ask("PUT", "/api/agents/shop", shown, token=ada)
    assert (masked.status, "secret" in masked.json["detail"]) == (422, True)
    assert (await house.ask("PUT", "/api/agents/shop", CONFIG | {"id": "x"}, token=ada)).status == 422
    changed = await house.ask("PUT", "/api/agents/shop", CONFIG | {"name": "Shopper"}, token=ada)
    assert changed.json["name"] == "Shopper"
    assert (await house.ask("DELETE", "/api/agents/shop", token=bob)).status == 404
    assert (await house.ask("DELETE", "/api/agents/shop", token=ada)).status == 204
    assert (await stream.event("member.left")).data["member"]["entityId"] == "shop"
    assert (await house.ask("GET", "/api/agents/shop", token=ada)).status == 404
    assert (await house.ask("POST", "/api/agents", CONFIG, token=bob)).status == 409


async def a_run(house: Visit, **changes: Any) -> None:
    run: dict[str, Any] = {
        "id": "run_1",
        "agent_id": "shop",
        "status": "waiting_tool",
        "trigger": Trigger(type="message", space_id="secret", message_id="msg_1", entity_id="ada"),
        "root_run_id": "run_1",
        "created_at": house.house.clock.iso(),
        "active_space_id": "secret",
        "error": RunError(code="model", message="the key sk-1 was refused"),
        "usage": Usage(1, 2),
        "shown_in": ["secret", "room"],
        "pending_tool_calls": [
            PendingCall(tool_call_id="call_1", tool_name="ask", args={"a": 1}, space_ids=["room"]),
            PendingCall(tool_call_id="call_2", tool_name="ask", args={"b": 2}, space_ids=["secret"]),
        ],
    }
    await house.house.store.commit([AddRun(Run(**run | changes))])


@story()
async def test_a_run_shows_through_a_space_only_what_the_space_shows(house: Visit) -> None:
    ada, bob = await furnish(house)
    eve = await house.person("eve")
    await house.space("secret", ada="owner")
    await house.ask("POST", "/api/agents", CONFIG, token=ada)
    await a_run(house)
    whole = await house.ask("GET", "/api/runs/run_1", token=ada)
    part = await house.ask("GET", "/api/runs/run_1", token=bob)

    assert whole.json["usage"] == {"inputTokens": 1, "outputTokens": 2}
    assert [call["toolCallId"] for call in part.json["pendingToolCalls"]] == ["call_1"]
    assert part.json["trigger"] == {"type": "message"}
    assert part.json["shownIn"] == ["room"]
    assert "secret" not in part.body.decode()
    assert "sk-1" not in part.body.decode()
    assert "usage" not in part.json
    assert (await house.ask("GET", "/api/runs/run_1", token=eve)).status == 404
    for token, runs in [(ada, [whole.json]), (ADMIN_KEY, [whole.json]), (bob, [part.json]), (eve, [])]:
        assert (await house.ask("GET", "/api/runs?agentId=shop", token=token)).json == {"runs": runs}
    assert (await house.ask("GET", "/api/runs?spaceId=secret", token=bob)).status == 404
    assert (await house.ask("GET", "/api/runs?status=failed,queued", token=ada)).json == {"runs": []}
    assert (await house.ask("GET", "/api/runs?status=waiting_tool", token=bob)).json == {"runs": [part.json]}
    assert (await house.ask("GET", "/api/runs?status=happy", token=ada)).status == 422


@story()
async def test_a_run_is_stopped_by_members_who_may_write(house: Visit) -> None:
    _, bob = await furnish(house)
    rita, eve = await house.person("rita"), await house.person("eve")
    await house.ask(
        "POST", "/api/spaces/room/members", {"entityId": "rita", "role": "reader"}, token=ADMIN_KEY
    )
    await a_run(house)
    cancel = "/api/runs/run_1/cancel"

    assert (await house.ask("POST", cancel, token=eve)).status == 404
    assert (await house.ask("POST", cancel, token=rita)).status == 403
    assert (await house.ask("POST", cancel, token=bob)).json["status"] == "canceled"


@story()
async def test_a_card_is_answered_once(house: Visit) -> None:
    _, bob = await furnish(house)
    eve = await house.person("eve")
    await a_run(house)
    results = "/api/runs/run_1/tool-results"
    body = {"toolCallId": "call_1", "result": {"approved": True}}
    key = {"idempotency-key": "k"}

    assert (await house.ask("POST", results, body, token=eve)).status == 404
    assert (await house.ask("POST", results, body, token=ADMIN_KEY)).status == 403
    assert (await house.ask("POST", results, {"result": 1}, token=bob)).status == 422
    assert (await house.ask("POST", results, {"toolCallId": "call_1"}, token=bob)).status == 422
    twice = {"toolCallId": "a", "callId": "b", "result": 1}
    assert (await house.ask("POST", results, twice, token=bob)).status == 422
    assert (await house.ask("POST", results, body, token=bob, headers=key)).json == {"status": "accepted"}
    replay = await house.ask("POST", results, body, token=bob, headers=key)
    assert (replay.json, replay.headers["idempotent-replay"]) == ({"status": "accepted"}, "true")
    late = await house.ask("POST", results, {"callId": "call_1", "result": None}, token=bob)
    assert (late.status, late.json["outcome"]) == (409, {"result": {"approved": True}})
    assert house.answers.given == {"call_1": {"approved": True}}
