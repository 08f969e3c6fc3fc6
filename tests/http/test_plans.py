"""Plans: an agent says what it wants to do later, and a run does it then, once, however late it is."""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.http.test_visibility import calling
from tests.requirements import requirement
from tests.servers.fake_openai import Answer, Asked, FakeOpenAI, status, text
from tests.servers.inhouse import InHouse, MovableClock
from tests.servers.postgres import postgres_server
from tests.servers.roomful import PATIENCE, Listener, openai

SOON = {"name": "Tea", "instruction": "Ask whether the tea is ready.", "runAfter": "in 2 hours"}
DAILY = {
    "name": "Report",
    "instruction": "Write the daily report.",
    "cron": "0 9 * * *",
    "timezone": "Europe/Vienna",
}
"""On March 2nd, when the house opens, this is due in the minute of the start: 08:00 UTC."""


@pytest.fixture
def house(tmp_path: Path, model: FakeOpenAI) -> Iterator[InHouse]:
    with InHouse(tmp_path) as house:
        settle(house, model)
        yield house


def settle(house: InHouse, model: FakeOpenAI) -> None:
    house.person("ada")
    house.agent("bot", openai(model.base_url), dialect="active")
    house.space("office", "ada", "bot")


def does(house: InHouse, model: FakeOpenAI, name: str, args: Any) -> Any:
    """The agent calls this tool in a run of its own, and this is what it is told."""
    before = len(model.requests)
    model.answer(calling((name, args)), Answer(text("ok")))
    house.admin.request(
        "POST",
        "/api/spaces/office/messages",
        {"text": "go"},
        headers={"x-roomful-as": "ada"},
    )
    told = model.wait_for_requests(before + 2, PATIENCE)[before + 1].messages[-1]
    assert told["role"] == "tool"
    rest(house)
    content = told["content"]
    return json.loads(content) if content.startswith("{") else content


def plans(house: InHouse) -> list[dict[str, Any]]:
    return house.admin.get("/api/agents/bot/plans")["plans"]


def planned(house: InHouse) -> list[dict[str, Any]]:
    """The runs that plans started, oldest first."""
    runs = house.admin.get("/api/runs", params={"agentId": "bot"})["runs"]
    return [run for run in reversed(runs) if run["trigger"]["type"] == "plan"]


def ended(house: InHouse, count: int) -> list[dict[str, Any]]:
    """Plans have started so many runs, and all of them have ended when this returns."""
    rest(house)
    found = planned(house)
    assert len(found) == count
    return found


def rest(house: InHouse) -> None:
    """Waits until no run is at work."""
    for run in house.admin.get("/api/runs", params={"agentId": "bot"})["runs"]:
        with Listener(house.admin, f"/api/runs/{run['id']}/stream") as ears:
            ears.wait_end()


def words(asked: Asked) -> str:
    return asked.messages[-1]["content"]


def seconds_between(early: str, late: str) -> float:
    return (datetime.fromisoformat(late) - datetime.fromisoformat(early)).total_seconds()


@requirement("X-02", "T-12")
def test_a_plan_in_two_hours_starts_one_run_then(house: InHouse, model: FakeOpenAI) -> None:
    made = does(house, model, "set_plans", {"plans": [SOON]})
    [plan] = plans(house)
    [short] = made["plans"]
    assert short == {"id": plan["id"], "name": "Tea", "nextAt": plan["nextAt"]}
    assert seconds_between(plan["createdAt"], plan["nextAt"]) == pytest.approx(7200, abs=0.1)
    assert plan == SOON | {
        "id": plan["id"],
        "agentId": "bot",
        "status": "active",
        "nextAt": plan["nextAt"],
        "spaceId": "office",
        "createdAt": plan["createdAt"],
        "updatedAt": plan["createdAt"],
    }

    house.clock.move(hours=1, minutes=59)
    assert planned(house) == []

    model.answer(Answer(text("ok")))
    house.clock.move(minutes=1)
    [run] = ended(house, 1)
    assert run["status"] == "completed"
    assert "spaceId" not in run["trigger"]
    assert run["trigger"]["payload"] == {
        "planId": plan["id"],
        "name": "Tea",
        "instruction": SOON["instruction"],
        "scheduledFor": plan["nextAt"],
        "spaceId": "office",
    }
    assert words(model.requests[-1]) == (
        f'Your plan "Tea" ({plan["id"]}) is due. Its instruction:\n\n{SOON["instruction"]}\n\n'
        f"You made it in the space office. It was scheduled for {plan['nextAt']}."
    )
    [done] = plans(house)
    assert done["status"] == "completed"
    assert "nextAt" not in done
    assert done["lastRunAt"] >= plan["nextAt"]

    house.clock.move(days=30)
    assert len(planned(house)) == 1


@requirement("X-02")
def test_a_recurring_plan_starts_again_and_again_whatever_becomes_of_its_runs(
    house: InHouse, model: FakeOpenAI
) -> None:
    made = does(house, model, "set_plans", {"plans": [DAILY]})
    assert made["plans"][0]["nextAt"] == "2026-03-03T08:00:00.000Z"

    model.answer(status(401))
    house.clock.move_to("2026-03-03T08:00:00Z")
    [failed] = ended(house, 1)
    assert failed["status"] == "failed"
    assert plans(house)[0]["nextAt"] == "2026-03-04T08:00:00.000Z"

    model.answer(Answer(text("ok")))
    house.clock.move_to("2026-03-04T08:00:00Z")
    [_, second] = ended(house, 2)
    assert second["status"] == "completed"
    assert second["trigger"]["payload"] == {
        "planId": made["plans"][0]["id"],
        "name": "Report",
        "instruction": DAILY["instruction"],
        "scheduledFor": "2026-03-04T08:00:00.000Z",
        "nextAt": "2026-03-05T08:00:00.000Z",
        "spaceId": "office",
    }
    assert "It is due again at 2026-03-05T08:00:00.000Z." in words(model.requests[-1])

    model.answer(Answer(text("ok")))
    house.clock.move_to("2026-03-29T07:00:00Z")
    [*_, summer] = ended(house, 3)
    assert summer["trigger"]["payload"]["missed"] == 24
    assert plans(house)[0]["nextAt"] == "2026-03-30T07:00:00.000Z"


@requirement("X-02")
def test_what_came_due_while_the_house_was_closed_is_done_once_and_told_as_late(
    tmp_path: Path, model: FakeOpenAI
) -> None:
    with InHouse(tmp_path, clock=MovableClock("2026-03-02T10:00:00Z")) as house:
        settle(house, model)
        does(house, model, "set_plans", {"plans": [DAILY, SOON]})
        daily, soon = plans(house)
        if daily["name"] != "Report":
            daily, soon = soon, daily
        house.terminate()
        house.clock.move_to("2026-03-07T09:00:00Z")
        model.answer(Answer(text("ok")), Answer(text("ok")))
        house.start()
        ended(house, 2)
        told = {run["trigger"]["payload"]["name"]: run["trigger"]["payload"] for run in planned(house)}
        assert told["Report"] | {"late": 0} == {
            "planId": daily["id"],
            "name": "Report",
            "instruction": DAILY["instruction"],
            "scheduledFor": "2026-03-03T08:00:00.000Z",
            "late": 0,
            "missed": 4,
            "nextAt": "2026-03-08T08:00:00.000Z",
            "spaceId": "office",
        }
        late = timedelta(days=4, hours=1).total_seconds()
        assert told["Report"]["late"] == pytest.approx(late, abs=PATIENCE)
        assert "missed" not in told["Tea"]
        assert told["Tea"]["late"] > timedelta(days=4).total_seconds()
        said = next(words(asked) for asked in model.requests[-2:] if 'plan "Report"' in words(asked))
        assert "It begins 4 days, 1:00:0" in said
        assert "4 later times were missed meanwhile" in said
        assert [plan["status"] for plan in sorted(plans(house), key=lambda plan: plan["name"])] == [
            "active",
            "completed",
        ]
        house.terminate()
        house.start()
        assert len(planned(house)) == 2


@requirement("X-02")
def test_a_plan_is_fired_once_by_two_houses_on_one_postgres(tmp_path: Path, model: FakeOpenAI) -> None:
    clock = MovableClock()
    with (
        postgres_server() as server,
        InHouse(tmp_path, clock=clock, database=server.url) as house,
        InHouse(tmp_path, clock=clock, database=server.url),
    ):
        settle(house, model)
        does(house, model, "set_plans", {"plans": [SOON | {"name": f"Tea {n}"} for n in range(10)]})
        model.answer(*(Answer(text("ok")) for _ in range(20)))
        clock.move(hours=2)
        runs = ended(house, 10)
        assert len({run["trigger"]["payload"]["planId"] for run in runs}) == 10


@requirement("T-12")
def test_a_deleted_plan_starts_nothing(house: InHouse, model: FakeOpenAI) -> None:
    made = does(house, model, "set_plans", {"plans": [SOON, DAILY]})
    tea, report = (plan["id"] for plan in made["plans"])

    assert does(house, model, "delete_plans", {"ids": [tea, "nothing"]}) == {
        "deleted": [tea],
        "unknown": ["nothing"],
    }
    assert "you have no plan 'nothing'" in does(house, model, "delete_plans", {"ids": ["nothing"]})
    assert [plan["id"] for plan in plans(house)] == [report]
    assert does(house, model, "delete_plans", {"ids": [report, report]}) == {"deleted": [report]}

    house.clock.move(days=2)
    assert planned(house) == []


@requirement("T-12")
def test_an_agent_reads_its_plans_by_their_state(house: InHouse, model: FakeOpenAI) -> None:
    does(house, model, "set_plans", {"plans": [SOON, DAILY]})
    model.answer(Answer(text("ok")))
    house.clock.move(hours=2)
    ended(house, 1)

    [active] = does(house, model, "get_plans", {"status": "active"})["plans"]
    [completed] = does(house, model, "get_plans", {"status": "completed"})["plans"]
    everything = does(house, model, "get_plans", {})["plans"]
    assert (active["name"], active["cron"], active["timezone"]) == ("Report", "0 9 * * *", "Europe/Vienna")
    assert (completed["name"], completed["status"]) == ("Tea", "completed")
    assert sorted(plan["id"] for plan in everything) == sorted([active["id"], completed["id"]])
    assert everything == [{k: v for k, v in plan.items() if k != "agentId"} for plan in plans(house)]
    assert "status" in does(house, model, "get_plans", {"status": "open"})

    [system, user, *_] = [message["content"] for message in model.requests[-1].messages]
    [line] = [line for line in user.splitlines() if line.startswith("plan ")]
    assert json.loads(line.removeprefix("plan ")) == {
        "id": active["id"],
        "name": "Report",
        "nextAt": "2026-03-03T08:00:00.000Z",
        "cron": "0 9 * * *",
        "timezone": "Europe/Vienna",
        "instruction": DAILY["instruction"],
    }
    assert "Report" not in system


@requirement("T-12")
def test_a_plan_is_changed_by_its_id_and_keeps_its_time_unless_it_is_given_another(
    house: InHouse, model: FakeOpenAI
) -> None:
    [made] = does(house, model, "set_plans", {"plans": [DAILY]})["plans"]
    other = {"id": made["id"], "name": "Summary", "instruction": "Only the summary."}

    assert does(house, model, "set_plans", {"plans": [other]})["plans"] == [made | {"name": "Summary"}]
    [plan] = plans(house)
    assert (plan["instruction"], plan["cron"]) == ("Only the summary.", "0 9 * * *")

    [moved] = does(house, model, "set_plans", {"plans": [other | {"timezone": "UTC"}]})["plans"]
    assert moved["nextAt"] == "2026-03-02T09:00:00.000Z"

    [timed] = does(house, model, "set_plans", {"plans": [other | {"scheduledAt": "2026-04-01T09:00"}]})[
        "plans"
    ]
    assert timed["nextAt"] == "2026-04-01T09:00:00.000Z"
    [plan] = plans(house)
    assert "cron" not in plan
    assert "timezone" not in plan

    refused = does(house, model, "set_plans", {"plans": [other | {"timezone": "Europe/Vienna"}]})
    assert "give the time again" in refused
    model.answer(Answer(text("ok")))
    house.clock.move_to("2026-04-01T09:00:00Z")
    ended(house, 1)
    assert "is completed: give it a new time" in does(house, model, "set_plans", {"plans": [other]})
    [again] = does(house, model, "set_plans", {"plans": [other | {"runAfter": 60}]})["plans"]
    assert again["id"] == made["id"]
    assert plans(house)[0]["status"] == "active"


@requirement("T-12")
@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"runAfter": "soon"}, "plans[1]: runAfter: 'soon' is no duration"),
        ({"scheduledAt": "2026-03-01T09:00"}, "is in the past: it is 2026-03-02T08:00:"),
        ({"cron": "0 0 31 2 *"}, "never comes"),
        ({"cron": "0 9 * * *", "timezone": "Mars/Base"}, "there is no zone 'Mars/Base'"),
        ({"cron": "0 9 * * *", "runAfter": "1h"}, "give exactly one of them"),
        ({}, "give one of runAfter, scheduledAt and cron"),
        ({"id": "nothing", "runAfter": "1h"}, "you have no plan 'nothing'"),
        ({"name": "x" * 201, "runAfter": "1h"}, "plans[1]: "),
    ],
)
def test_one_wrong_plan_and_none_is_set(
    house: InHouse, model: FakeOpenAI, wrong: dict[str, Any], told: str
) -> None:
    plan = {"name": "Wrong", "instruction": "Do it.", **wrong}

    refused = does(house, model, "set_plans", {"plans": [SOON, plan]})

    assert told in refused
    assert "nothing was set" in refused
    assert plans(house) == []


@requirement("T-12")
def test_an_agent_has_at_most_a_hundred_active_plans(house: InHouse, model: FakeOpenAI) -> None:
    def some(count: int) -> dict[str, Any]:
        return {"plans": [{"name": f"{n}", "instruction": "Go.", "runAfter": "1 day"} for n in range(count)]}

    assert len(does(house, model, "set_plans", some(99))["plans"]) == 99
    assert "100 active plans" in does(house, model, "set_plans", some(2))
    assert len(plans(house)) == 99
    assert len(does(house, model, "set_plans", some(1))["plans"]) == 1


def test_the_owner_and_nobody_else_sees_and_removes_plans(house: InHouse, model: FakeOpenAI) -> None:
    ada, eve = house.person("owner"), house.person("eve")
    config = {"id": "mine", "name": "Mine", "model": openai(model.base_url), "dialect": "active"}
    ada.post("/api/agents", config, expect=201)
    house.space("den", "owner", "mine")
    model.answer(calling(("set_plans", {"plans": [SOON, DAILY]})), Answer(text("ok")))
    with ada.listen("den") as ears:
        ada.say("den", "go")
        ears.wait_for("run.completed")

    listed = ada.get("/api/agents/mine/plans")["plans"]
    assert [plan["name"] for plan in listed] == [
        plan["name"] for plan in house.admin.get("/api/agents/mine/plans")["plans"]
    ]
    path = f"/api/agents/mine/plans/{listed[0]['id']}"
    for method, where in (("GET", "/api/agents/mine/plans"), ("DELETE", path)):
        refused = eve.request(method, where)
        assert refused.status_code in (403, 404)
    assert ada.request("DELETE", "/api/agents/mine/plans/nothing").status_code == 404
    assert house.admin.request("DELETE", path.replace("mine", "bot", 1)).status_code == 404
    assert ada.request("DELETE", path).status_code == 204
    assert ada.get("/api/agents/mine/plans")["plans"] == listed[1:]


def test_plans_end_with_their_agent(house: InHouse, model: FakeOpenAI) -> None:
    does(house, model, "set_plans", {"plans": [SOON]})
    house.admin.call("DELETE", "/api/agents/bot", expect=204)
    house.clock.move(hours=3)

    assert house.admin.get("/healthz")
    assert planned(house) == []
    assert house.admin.request("GET", "/api/agents/bot/plans").status_code == 404


def test_a_run_at_work_stays_its_drivers_when_the_clock_jumps(house: InHouse, model: FakeOpenAI) -> None:
    """Its lease is over then by the clock, but whoever drives it is here and goes on."""
    model.answer(Answer(text("Well", size=1), held=True))
    ada = house.admin
    ada.request("POST", "/api/spaces/office/messages", {"text": "go"}, headers={"x-roomful-as": "ada"})
    model.wait_for_requests(1)
    house.clock.move(days=1)
    model.release(times=100)
    rest(house)

    [run] = ada.get("/api/runs", params={"agentId": "bot"})["runs"]
    assert run["status"] == "completed"
    assert len(model.requests) == 1
