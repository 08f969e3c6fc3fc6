"""Entities and their tokens, spaces and their members."""

import asyncio
from typing import Any

import pytest

from tests.web.visiting import ADMIN_KEY, Visit, story


@story()
async def test_an_entity_is_made_with_a_token_that_works(house: Visit) -> None:
    body = {"id": "ada", "name": " Ada  Lovelace ", "kind": "human"}
    made = await house.ask("POST", "/api/entities", body, token=ADMIN_KEY)

    assert made.status == 201
    entity = {"id": "ada", "name": "Ada Lovelace", "kind": "human"}
    assert entity.items() <= made.json["entity"].items()
    assert (await house.ask("GET", "/api/session", token=made.json["token"])).json == made.json["entity"]
    assert (await house.ask("POST", "/api/entities", body, token=ADMIN_KEY)).status == 409


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"id": "admin", "name": "Me"}, "admin"),
        ({"id": "a b", "name": "Me"}, "id"),
        ({"name": "  "}, "name"),
        ({"name": "x" * 201}, "name"),
        ({"name": "Me", "kind": "god"}, "kind"),
    ],
)
@story()
async def test_an_entity_is_refused_by_name(house: Visit, body: Any, words: str) -> None:
    answer = await house.ask("POST", "/api/entities", body, token=ADMIN_KEY)

    assert answer.status == 422
    assert words in answer.json["detail"]


@story()
async def test_a_key_asked_again_is_answered_again_but_the_token_is_shown_once(house: Visit) -> None:
    key = {"idempotency-key": "k1"}
    first = await house.ask("POST", "/api/entities", {"name": "Ada"}, token=ADMIN_KEY, headers=key)
    again = await house.ask("POST", "/api/entities", {"name": "Ada"}, token=ADMIN_KEY, headers=key)
    other = await house.ask("POST", "/api/entities", {"name": "Bob"}, token=ADMIN_KEY, headers=key)
    elsewhere = await house.ask("POST", "/api/spaces", {"name": "Ada"}, token=ADMIN_KEY, headers=key)

    assert (first.status, again.status) == (201, 201)
    assert again.json == {"entity": first.json["entity"]}
    assert again.headers["idempotent-replay"] == "true"
    assert "idempotent-replay" not in first.headers
    assert (other.status, elsewhere.status) == (409, 409)
    assert len(await house.house.store.entities()) == 1


@story()
async def test_the_same_key_at_the_same_time_is_one_space(house: Visit) -> None:
    ada = await house.person("ada")
    asked = [
        house.ask("POST", "/api/spaces", {"name": "S"}, token=ada, headers={"idempotency-key": "k"})
        for _ in range(5)
    ]
    answers = await asyncio.gather(*asked)

    assert {answer.status for answer in answers} == {201}
    assert len({answer.body for answer in answers}) == 1
    assert len(await house.house.store.all_spaces()) == 1


@story()
async def test_one_makes_and_revokes_one_s_own_tokens_only(house: Visit) -> None:
    ada, eve = await house.person("ada"), await house.person("eve")
    made = await house.ask("POST", "/api/entities/ada/tokens", token=ada)
    path = f"/api/entities/ada/tokens/{made.json['id']}"

    assert made.status == 201
    assert (await house.ask("GET", "/api/entities/ada/tokens", token=made.json["token"])).status == 200
    for method, where in [("GET", "ada/tokens"), ("POST", "ada/tokens"), ("DELETE", "ada/tokens")]:
        assert (await house.ask(method, f"/api/entities/{where}", token=eve)).status == 404
    assert (await house.ask("DELETE", path, token=eve)).status == 404
    assert (await house.ask("DELETE", path, token=ADMIN_KEY)).status == 204
    assert (await house.ask("DELETE", path, token=ADMIN_KEY)).status == 404
    tokens = (await house.ask("GET", "/api/entities/ada/tokens", token=ada)).json["tokens"]
    assert [token["id"] for token in tokens] == ["tok_ada"]
    assert (await house.ask("DELETE", "/api/entities/ada/tokens", token=ada)).status == 204
    assert (await house.ask("GET", "/api/spaces", token=ada)).status == 401


@story()
async def test_whoever_makes_a_space_owns_it(house: Visit) -> None:
    ada = await house.person("ada")
    body = {"id": "room", "name": "Room", "wake": "all", "adminAgentId": "shop"}
    made = await house.ask("POST", "/api/spaces", body, token=ada)
    mine = await house.ask("GET", "/api/spaces", token=ada)

    assert made.status == 201
    assert body.items() <= made.json.items()
    assert mine.json["spaces"] == [made.json | {"role": "owner", "unread": 0, "lastSeq": 0}]
    everything = await house.ask("GET", "/api/spaces", token=ADMIN_KEY)
    assert everything.json["spaces"] == [made.json]


@story()
async def test_a_space_is_changed_field_by_field(house: Visit) -> None:
    ada = await house.person("ada")
    await house.space("room", ada="owner")
    await house.ask("PATCH", "/api/spaces/room", {"adminAgentId": "shop", "wake": "all"}, token=ada)
    changed = await house.ask("PATCH", "/api/spaces/room", {"adminAgentId": None, "name": "New"}, token=ada)

    assert (changed.json["name"], changed.json["wake"]) == ("New", "all")
    assert "adminAgentId" not in changed.json
    assert (await house.ask("GET", "/api/spaces/room", token=ada)).json == changed.json


@story()
async def test_agents_make_neither_spaces_nor_agents(house: Visit) -> None:
    robot = await house.person("robot", kind="agent")

    assert (await house.ask("POST", "/api/spaces", {"name": "S"}, token=robot)).status == 403
    assert (await house.ask("POST", "/api/agents", {"name": "A"}, token=robot)).status == 403


@story()
async def test_members_come_change_and_go(house: Visit) -> None:
    ada, bob = await house.person("ada"), await house.person("bob")
    await house.space("room", ada="owner")
    members = "/api/spaces/room/members"
    come = await house.ask("POST", members, {"entityId": "bob"}, token=ada)
    change = await house.ask("POST", members, {"entityId": "bob", "role": "reader"}, token=ada)

    assert (come.status, change.status) == (201, 200)
    assert change.json == {"entityId": "bob", "name": "Bob", "kind": "human", "role": "reader"}
    assert (await house.ask("POST", members, {"entityId": "bob", "role": "owner"}, token=bob)).status == 403
    assert (await house.ask("DELETE", f"{members}/ada", token=bob)).status == 403
    assert (await house.ask("POST", members, {"entityId": "nobody"}, token=ada)).status == 422
    assert (await house.ask("DELETE", f"{members}/bob", token=bob)).status == 204
    assert (await house.ask("GET", members, token=bob)).status == 404
    assert (await house.ask("DELETE", f"{members}/bob", token=ada)).status == 404


@story()
async def test_the_last_owner_stays(house: Visit) -> None:
    ada = await house.person("ada")
    await house.person("bob")
    await house.space("room", ada="owner", bob="member")
    members = "/api/spaces/room/members"

    assert (await house.ask("DELETE", f"{members}/ada", token=ada)).status == 409
    assert (await house.ask("POST", members, {"entityId": "ada", "role": "member"}, token=ada)).status == 409
    assert (await house.ask("POST", members, {"entityId": "bob", "role": "owner"}, token=ada)).status == 200
    assert (await house.ask("DELETE", f"{members}/ada", token=ada)).status == 204


@story()
async def test_two_last_owners_cannot_go_at_once(house: Visit) -> None:
    ada, bob = await house.person("ada"), await house.person("bob")
    await house.space("room", ada="owner", bob="owner")
    members = "/api/spaces/room/members"
    answers = await asyncio.gather(
        house.ask("DELETE", f"{members}/ada", token=ada), house.ask("DELETE", f"{members}/bob", token=bob)
    )

    assert sorted(answer.status for answer in answers) == [204, 409]


@story()
async def test_an_agent_is_brought_in_by_its_owner(house: Visit) -> None:
    ada, eve = await house.person("ada"), await house.person("eve")
    await house.person("robot", kind="agent")
    await house.ask("POST", "/api/agents", {"id": "shop", "name": "Shop"}, token=ada)
    for space_id, token in [("hers", ada), ("eves", eve)]:
        await house.ask("POST", "/api/spaces", {"id": space_id, "name": "S"}, token=token)

    async def bring(agent_id: str, space_id: str, token: str) -> int:
        path = f"/api/spaces/{space_id}/members"
        return (await house.ask("POST", path, {"entityId": agent_id}, token=token)).status

    assert await bring("shop", "hers", ada) == 201
    assert await bring("shop", "eves", eve) == 403
    assert await bring("shop", "eves", ada) == 404
    assert await bring("robot", "hers", ada) == 403
    assert await bring("robot", "hers", ADMIN_KEY) == 201


@story()
async def test_an_erased_person_leaves_places_without_words(house: Visit) -> None:
    ada, bob = await house.person("ada"), await house.person("bob")
    await house.space("room", ada="owner", bob="member")
    await house.ask("POST", "/api/spaces/room/messages", {"text": "my secret"}, token=bob)
    stream = house.open("GET", "/api/spaces/room/stream", token=ada)
    await stream.event("snapshot")
    assert (await house.ask("DELETE", "/api/entities/bob", token=bob)).status == 403
    assert (await house.ask("DELETE", "/api/entities/bob", token=ADMIN_KEY)).status == 204
    left = await stream.event("member.left")
    heard = await stream.event("smartSpace.message")
    page = await house.ask("GET", "/api/spaces/room/messages", token=ada)

    assert left.data["member"]["entityId"] == "bob"
    assert "Bob" not in str(left.data)
    assert [heard.data["message"]] == page.json["messages"]
    assert "my secret" not in page.body.decode()
    assert page.json["messages"][0]["seq"] == 1
    assert (await house.ask("GET", "/api/spaces", token=bob)).status == 401
    assert (await house.ask("DELETE", "/api/entities/nobody", token=ADMIN_KEY)).status == 404


@story()
async def test_a_removed_space_is_gone_and_its_streams_end(house: Visit) -> None:
    ada, bob = await house.person("ada"), await house.person("bob")
    await house.space("room", ada="owner", bob="member")
    streams = [house.open("GET", "/api/spaces/room/stream", token=token) for token in (ada, bob, ADMIN_KEY)]
    for stream in streams:
        await stream.event("snapshot")
    assert (await house.ask("DELETE", "/api/spaces/room", token=bob)).status == 403
    assert (await house.ask("DELETE", "/api/spaces/room", token=ada)).status == 204
    for stream in streams:
        await stream.over()
    assert (await house.ask("GET", "/api/spaces/room", token=ada)).status == 404
