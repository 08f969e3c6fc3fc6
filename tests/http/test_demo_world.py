"""The demo as data: everybody and everything that a story names is there, and stays from start to start."""

import asyncio
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from roomful.app import Gateway
from roomful.app.configs import config_files
from roomful.app.demo.outside import ADDRESS, Outside, weather_in
from roomful.app.demo.world import AGENTS, FOLDER, read_world
from roomful.app.surroundings import Surroundings
from roomful.cli import main
from roomful.domain.outbound import EgressRefused, OutboundRequest, OutboundResponse, OutboundStream
from roomful.domain.shape import decode_json
from roomful.egress import HttpEgress
from roomful.models import load_script
from roomful.settings import Settings
from roomful.testing import OpenHouse
from tests.http.playing import Demo, Play
from tests.servers.roomful import PATIENCE, Caller, Roomful

WORLD = read_world()
PEOPLE = {person.id for person in WORLD.people}
ROLES = {place.id: place.members for place in WORLD.spaces}
STORIES = [pytest.param(story, id=story.id) for story in WORLD.stories]


@pytest.mark.parametrize("story", STORIES)
def test_whoever_a_story_names_can_take_part(story: Any) -> None:
    assert ROLES[story.space_id][story.as_] in ("owner", "member")
    for part in story.watch:
        assert part.person in PEOPLE & ROLES[part.space_id].keys()
        assert not part.says or ROLES[part.space_id][part.person] != "reader"
    assert story.about.endswith(".")
    assert not story.title.endswith(".")


def test_the_page_about_the_demo_lists_every_story() -> None:
    page = (Path(__file__).parents[2] / "docs/demo.md").read_text(encoding="utf-8")
    names = {one.id: one.name for one in (*WORLD.people, *WORLD.spaces)}
    rows = [f"| {names[story.as_]} | {names[story.space_id]} | {story.text} |" for story in WORLD.stories]
    assert [row for row in rows if row not in page] == []


def test_every_story_is_played_in_a_test() -> None:
    played = (Path(__file__).parent / "test_demo_stories.py").read_text(encoding="utf-8")
    assert [story.id for story in WORLD.stories if f'"{story.id}"' not in played] == []


def test_a_story_is_found_by_its_id() -> None:
    assert len({story.id for story in WORLD.stories}) == len(WORLD.stories)


def test_everybody_in_the_world_is_known_and_has_something_to_look_at() -> None:
    agents = {path.stem for path in config_files(AGENTS)}
    assert {who for members in ROLES.values() for who in members} <= PEOPLE | agents
    assert {place.admin_agent_id for place in WORLD.spaces if place.admin_agent_id} <= agents
    assert all(sum(person in members for members in ROLES.values()) >= 3 for person in PEOPLE)
    assert all("owner" in members.values() for members in ROLES.values())
    assert WORLD.owner in PEOPLE


def test_agents_and_scripts_are_fine(capsys: pytest.CaptureFixture[str]) -> None:
    files = config_files(AGENTS)
    assert main(["validate", *map(str, files)]) == 0
    fine = capsys.readouterr().out
    assert [path.stem for path in files if f"agent '{path.stem}' with" not in fine] == []
    scripts = {path.stem: load_script(path) for path in (FOLDER / "scripts").iterdir()}
    assert {path.stem for path in files} <= scripts.keys()


def test_what_people_did_stays_and_what_is_new_is_added(tmp_path: Path) -> None:
    with Roomful(tmp_path) as house:
        ada = house.person("ada")
        house.agent("shop", "scripted:shop")
        house.space("finance", "ada:owner")
        ada.say("finance", "before")
    with Roomful(tmp_path, "--demo") as house:
        demo = Demo(house)
        ada, noa = demo.people["ada"], demo.people["noa"]
        assert [one["parts"][0]["text"] for one in ada.messages("finance")] == ["before"]
        assert _roles(ada, "finance") == {**ROLES["finance"], "ada": "owner"}
        assert {agent["ownerId"] for agent in ada.get("/api/agents")["agents"]} == {"ada"}
        noa.call("DELETE", "/api/spaces/team/members/noa", expect=204)
        house.kill()
        house.start()
        assert _roles(ada, "team") == {who: role for who, role in ROLES["team"].items() if who != "noa"}


def _roles(who: Caller, space_id: str) -> dict[str, str]:
    members = who.get(f"/api/spaces/{space_id}/members")["members"]
    return {member["entityId"]: member["role"] for member in members}


def test_the_weather_is_there_after_a_restart_and_the_owner_sees_every_run(tmp_path: Path) -> None:
    with Roomful(tmp_path, "--demo") as house:
        for _ in range(2):
            with Play(Demo(house), "weather") as play:
                play.ended()
                assert play.messages("ops")[-1]["parts"][1]["status"] == "complete"
            assert house.terminate() == 0
            house.start()
        demo = Demo(house)
        with Play(demo, "campaign") as play:
            play.asked("finance", "showApprovalForm")
            assert demo.people["ada"].get(f"/api/runs/{play.run_id}")["agentId"] == "campaigner"
            assert demo.people["omar"].request("GET", f"/api/runs/{play.run_id}").status_code == 404


def test_the_stories_are_told_to_anybody_but_only_in_the_demo(tmp_path: Path) -> None:
    with Roomful(tmp_path, "--demo") as house:
        told = httpx.get(f"{house.url}/api/demo/stories")
        assert told.json() == {"stories": msgspec.to_builtins(WORLD.stories)}
        people = {one["id"]: one["about"] for one in httpx.get(f"{house.url}/api/demo").json()}
        assert people == {person.id: person.about for person in WORLD.people}
    with Roomful(tmp_path) as house:
        assert httpx.get(f"{house.url}/api/demo/stories").status_code == 404


def test_the_demos_tools_take_the_way_out_that_all_tools_take() -> None:
    asked: list[str] = []

    class Noted:
        async def send(self, request: OutboundRequest) -> OutboundResponse:
            asked.append(request.url)
            return OutboundResponse(200, {"content-type": "application/json"}, b"{}")

        def stream(self, request: OutboundRequest) -> AbstractAsyncContextManager[OutboundStream]:
            raise NotImplementedError

    async def tell() -> None:
        tool = {
            "name": "look",
            "description": "Look.",
            "executionType": "http",
            "execution": {"url": "http://elsewhere.example/", "method": "GET"},
        }
        gateway = await Gateway.open(
            Settings(database="sqlite:///:memory:", demo=True),
            around=Surroundings(egress=Noted()),
            agents=[{"id": "scout", "name": "Scout", "model": "scripted:scout", "tools": [tool]}],
            scripts={"scout": "turns: [{calls: [{tool: look}]}]"},
        )
        try:
            await gateway.start()
            house = OpenHouse(gateway, PATIENCE)
            await house.space("camp", "scout", "ada")
            await house.say("ada", "camp", "What is there?")
        finally:
            await gateway.close()

    asyncio.run(tell())
    assert asked == ["http://elsewhere.example/"]


def test_the_demos_name_leads_to_its_service_and_no_other_name_does() -> None:
    async def asked() -> tuple[int, Any, int]:
        door = HttpEgress()
        outside = Outside(door)
        try:
            fine = await outside.send(OutboundRequest("GET", f"{ADDRESS}v1/current?city=Haifa"))
            wrong = await outside.send(OutboundRequest("GET", f"{ADDRESS}v1/current"))
            with pytest.raises(EgressRefused):
                await outside.send(OutboundRequest("GET", "http://127.0.0.1:8000/v1/current?city=Haifa"))
            return fine.status, decode_json(fine.body), wrong.status
        finally:
            await outside.close()
            door.close()

    assert asyncio.run(asked()) == (200, weather_in("Haifa"), 400)
