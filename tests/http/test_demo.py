"""The demo is a world one can walk into: a page, people to be, and the Shopping story word for word."""

from pathlib import Path

import httpx

from tests.http.shopping import AS_SEEN, seen
from tests.servers.roomful import Caller, Roomful, fold


def test_the_demo_tells_the_shopping_story_on_screen(tmp_path: Path) -> None:
    with Roomful(tmp_path, "--demo") as house:
        page = httpx.get(house.url)
        assert page.status_code == 200
        assert page.headers["content-type"].startswith("text/html")
        assert "unsafe-inline" not in page.headers["content-security-policy"]
        people = {person["id"]: person for person in httpx.get(f"{house.url}/api/demo").json()}
        ada = Caller(house, people["ada"]["token"], "ada")
        spaces = {space["name"] for space in ada.get("/api/spaces")["spaces"]}
        assert {"Shopping", "Finance", "Design", "Research"} <= spaces
        with ada.listen("shopping") as listener:
            ada.say("shopping", "Show me some laptops")
            listener.wait_for("run.completed")
        bubble = ada.messages("shopping")[1]
        assert seen(bubble) == AS_SEEN
        card = bubble["parts"][1]
        with ada.listen("shopping") as listener:
            answer = {"toolCallId": card["toolCallId"], "result": {"selected": True}}
            accepted = ada.post(f"/api/runs/{bubble['runId']}/tool-results", answer)
            assert accepted == {"status": "accepted"}
            listener.wait_for("run.completed")
        assert seen(ada.messages("shopping")[2]) == ["Good choice! The MacBook Pro is in your cart."]
        house.kill()
        house.start()
        assert ada.messages("shopping")[1]["parts"][1]["result"] == {"selected": True}


def test_without_the_demo_nobody_gets_a_token_for_nothing(house: Roomful) -> None:
    assert httpx.get(f"{house.url}/api/demo").status_code == 404


def test_the_demos_researchers_call_and_check_each_other(tmp_path: Path) -> None:
    with Roomful(tmp_path, "--demo") as house:
        people = {person["id"]: person for person in httpx.get(f"{house.url}/api/demo").json()}
        ada = Caller(house, people["ada"]["token"], "ada")
        with ada.listen("research") as listener:
            run_id = ada.say("research", "Is a four-day week worth it?")["runs"][0]["runId"]
            listener.wait_for("run.completed", runId=run_id)
            assert fold(listener.events) == ada.messages("research")
        said = [
            (message["entityId"], message["parts"][-1].get("text")) for message in ada.messages("research")
        ]
        assert said == [
            ("ada", "Is a four-day week worth it?"),
            ("lead", "Two papers agree: 32 hours are worth about 34.6 old ones. Is that sound?"),
            ("critic", "Sound enough, but both papers looked at one year only."),
            ("lead", "Then that is our answer, with the Critic's reservation."),
        ]
        asked = ada.messages("research")[1]["parts"]
        assert [part["child"]["name"] for part in asked[:2]] == ["Librarian", "Statistician"]
        assert [len(part["child"]["calls"]) for part in asked[:2]] == [3, 1]
