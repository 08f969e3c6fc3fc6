"""The stories of the documents, told from beginning to end with several people in several spaces."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.http.shopping import seen
from tests.http.test_routing_tables import answer
from tests.http.test_visibility import Scene, calling, of_calls, scene
from tests.requirements import requirement
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.roomful import Caller, Event, Listener, Roomful, fold, openai
from tests.tools.documents import document


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Roomful]:
    with Roomful(tmp_path_factory.mktemp("house")) as house:
        yield house


FORM = document("composite-client-tool")
BUDGET = {"amount": 50000, "description": "Q4 marketing"}
SENDING = "I'll send the budget for approval to finance."
APPROVED = "Budget approved by finance!"


def finance_story(house: Roomful, model: FakeOpenAI) -> Scene:
    """Space a is the CEO's, space b is Finance."""
    play = scene(house, model, FORM, dialect="composite")
    play.plays(
        [
            ("sendSpaceMessage", {"spaceId": play.a, "text": SENDING}),
            ("showApprovalForm", {"targetSpaceId": play.b, **BUDGET}),
        ],
        [("sendSpaceMessage", {"spaceId": play.a, "text": APPROVED})],
    )
    return play


def told_in_one_run(play: Scene, run_id: str, result: Any, by: Caller) -> None:
    """How the story stands in the two spaces when it is over."""
    [_, ceo] = play.ada.messages(play.a)
    [finance] = play.bob.messages(play.b)
    assert seen(ceo) == [SENDING, APPROVED]
    assert seen(finance) == [("showApprovalForm", BUDGET, result)]
    assert finance["parts"][0]["answeredBy"] == by.id
    assert {ceo["runId"], finance["runId"]} == {run_id}
    assert {ceo["status"], finance["status"]} == {"final"}
    assert play.ada.messages(play.c) == []
    assert play.house.admin.get(f"/api/runs/{run_id}")["status"] == "completed"
    assert len(play.house.admin.get("/api/runs", params={"agentId": play.agent})["runs"]) == 1


@requirement("C-14")
def test_finance_approves_in_its_own_space_and_the_ceo_reads_of_it(house: Roomful, model: FakeOpenAI) -> None:
    play = finance_story(house, model)
    with play.ada.listen(play.a) as ceo, play.bob.listen(play.b) as finance:
        run_id = play.begins()
        card_id = finance.wait_for("tool-call").data["toolCallId"]
        finance.wait_for("run.waiting_tool")
        ceo.wait_for("run.waiting_tool")
        assert seen(play.ada.messages(play.a)[1]) == [SENDING]

        answer(play.bob, run_id, card_id, {"approved": True})

        finance.wait_for("run.completed")
        ceo.wait_for("run.completed")
        assert fold(ceo.events) == play.ada.messages(play.a)
        assert fold(finance.events) == play.bob.messages(play.b)
        assert "tool-call.start" not in ceo.names()
        assert "text-start" not in finance.names()
        states = ["run.started", "run.waiting_tool", "run.started", "run.completed"]
        assert [name for name in ceo.names() if name.startswith("run.")] == states
    told_in_one_run(play, run_id, {"approved": True}, play.bob)
    [_, asked] = [m for m in model.requests[1].messages if m["role"] == "tool"]
    assert json.loads(asked["content"]) == {"approved": True}


@requirement("C-14")
@pytest.mark.parametrize("how", ["killed", "terminated"])
def test_the_form_outlives_a_restart_of_the_server(house: Roomful, model: FakeOpenAI, how: str) -> None:
    play = finance_story(house, model)
    with play.bob.listen(play.b) as finance:
        run_id = play.begins()
        finance.wait_for("run.waiting_tool")
        [waiting] = play.bob.messages(play.b)
        if how == "killed":
            house.kill()
        else:
            assert house.terminate() == 0
    house.start()
    [still] = play.bob.messages(play.b)
    assert still == waiting
    with play.ada.listen(play.a) as ceo, play.bob.listen(play.b) as finance:
        [pending] = finance.wait_for("snapshot").data["runs"]
        assert pending["status"] == "waiting_tool"

        answer(play.bob, run_id, waiting["parts"][0]["toolCallId"], {"approved": True})

        finance.wait_for("run.completed")
        ceo.wait_for("run.completed")
        assert fold(ceo.events) == play.ada.messages(play.a)
        assert fold(finance.events) == play.bob.messages(play.b)
    told_in_one_run(play, run_id, {"approved": True}, play.bob)
    assert len(model.requests) == 3


@requirement("C-14")
@pytest.mark.parametrize("attempt", range(3))
def test_of_two_people_who_click_at_once_one_wins_and_the_other_learns_who(
    house: Roomful, model: FakeOpenAI, attempt: int
) -> None:
    play = finance_story(house, model)
    with play.ada.listen(play.a) as ceo, play.bob.listen(play.b) as finance:
        run_id = play.begins()
        card_id = finance.wait_for("tool-call").data["toolCallId"]
        finance.wait_for("run.waiting_tool")

        answers = at_once(run_id, card_id, play.ada, play.bob)

        assert sorted(reply.status_code for reply in answers.values()) == [200, 409]
        [winner] = [one for one in (play.ada, play.bob) if answers[one.id].status_code == 200]
        [loser] = [one for one in (play.ada, play.bob) if one is not winner]
        refused = answers[loser.id].json()
        finance.wait_for("run.completed")
        ceo.wait_for("run.completed")
        [part] = play.bob.messages(play.b)[0]["parts"]
        assert refused["code"] == "conflict"
        assert refused["outcome"] == {
            "status": "complete",
            "result": {"approved": True, "by": winner.id},
            "answeredBy": winner.id,
            "answeredAt": part["answeredAt"],
        }
        assert finance.names().count("tool-call.complete") == 1
    told_in_one_run(play, run_id, {"approved": True, "by": winner.id}, winner)
    again = answer(loser, run_id, card_id, "too late", expect=409)
    assert again["outcome"] == refused["outcome"]


def at_once(run_id: str, card_id: str, *people: Caller) -> dict[str, httpx.Response]:
    """Everybody answers on a connection of their own, which is open before anybody begins."""
    ready = threading.Barrier(len(people))

    def click(one: Caller) -> httpx.Response:
        headers = {"authorization": f"Bearer {one.token}"}
        with httpx.Client(base_url=one.house.url, headers=headers, verify=False) as client:
            client.get("/healthz")
            ready.wait(10)
            body = {"toolCallId": card_id, "result": {"approved": True, "by": one.id}}
            return client.post(f"/api/runs/{run_id}/tool-results", json=body)

    with ThreadPoolExecutor(len(people)) as pool:
        return dict(zip([one.id for one in people], pool.map(click, people), strict=True))


BANNER = document("display-case-1-image") | {"execution": {"provider": "builtin", "quality": "hd"}}
APPROVAL = document("display-case-2-approval")


@requirement("D-12")
def test_three_spaces_one_run(house: Roomful, model: FakeOpenAI) -> None:
    husam, dora, fay = (house.person(name) for name in ("husam", "dora", "fay"))
    house.agent("campaigner", openai(model.base_url), BANNER, APPROVAL, dialect="display")
    house.space("husams-space", "husam", "campaigner")
    house.space("design-space", "dora", "campaigner")
    house.space("finance-space", "fay", "campaigner")
    budget = {"amount": 50000, "reason": "Campaign budget"}
    prompt = {"prompt": "campaign banner…"}
    done = "Done! Banner created and budget approved."
    model.answer(
        calling(("generateImage", {"targetSpaceId": "design-space", **prompt})),
        calling(("showApprovalForm", {"targetSpaceId": "finance-space", **budget})),
        calling(("sendSpaceMessage", {"spaceId": "husams-space", "text": done})),
        calling(),
    )
    with (
        husam.listen("husams-space") as husam_hears,
        dora.listen("design-space") as dora_hears,
        fay.listen("finance-space") as fay_hears,
    ):
        wish = "Create a campaign banner and get finance approval for $50K"
        run_id = husam.say("husams-space", wish)["runs"][0]["runId"]
        banner = dora_hears.wait_for("tool-call.complete").data["output"]
        card_id = fay_hears.wait_for("tool-call").data["toolCallId"]
        fay_hears.wait_for("run.waiting_tool")
        answer(fay, run_id, card_id, {"approved": True, "approvedBy": "Ahmad"})
        for ears in (husam_hears, dora_hears, fay_hears):
            ears.wait_for("run.completed", runId=run_id)

        approved = {"approved": True, "approvedBy": "Ahmad"}
        _holds(dora, "design-space", dora_hears, [("generateImage", prompt, banner)])
        _holds(fay, "finance-space", fay_hears, [("showApprovalForm", budget, approved)])
        _holds(husam, "husams-space", husam_hears, [done], before=1)
        assert _named(husam_hears.events, "tool-") == []
        assert {event.data["toolName"] for event in _named(dora_hears.events, "tool-call")} == {
            "generateImage"
        }
    [image] = banner["images"]
    assert dora.request("GET", image["url"]).headers["content-type"] == "image/png"
    assert fay.request("GET", image["url"]).status_code == 404
    for person, foreign in ((dora, "finance-space"), (fay, "design-space"), (fay, "husams-space")):
        person.get(f"/api/spaces/{foreign}/messages", expect=404)


def _holds(who: Caller, space_id: str, ears: Listener, expected: list[Any], before: int = 0) -> None:
    stored = who.messages(space_id)
    assert [seen(message) for message in stored[before:]] == [expected]
    assert fold(ears.events) == stored


def _named(events: list[Event], start: str) -> list[Event]:
    return [event for event in of_calls(events) if event.name.startswith(start)]
