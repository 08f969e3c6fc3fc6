"""What is done at two gateways at once is done once, and what is decided at one holds at the other."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.http.pairing import WORDS, Room, grown
from tests.http.test_stories import at_once
from tests.http.test_visibility import calling
from tests.http.test_waiting import FORM
from tests.requirements import requirement
from tests.servers.cluster import Cluster, eventually
from tests.servers.fake_openai import HANG, Answer, FakeOpenAI, call, hold, text
from tests.servers.roomful import PATIENCE
from tests.servers.world import World


@requirement("X-08")
def test_votes_at_both_gateways_are_all_counted(cluster: Cluster, model: FakeOpenAI) -> None:
    poll = {**FORM, "execution": {"mode": "no-execution", "answers": "each"}}
    room = Room(cluster, model, poll)
    voters = [cluster.person(f"{room.id}-voter-{number}") for number in range(10)]
    for voter in voters:
        cluster.admin.post(f"/api/spaces/{room.id}/members", {"entityId": voter.id}, expect=201)
    model.answer(Answer(call("form", {"q": "Pizza?"})), Answer([]))
    with room.reading() as (ada, bob):
        run_id = room.begin()
        [pending] = ada.wait_for("run.waiting_tool").data["pendingToolCalls"]
        people = [voter.at(cluster.gateways[at % 2]) for at, voter in enumerate(voters)]
        answers = at_once(run_id, pending["toolCallId"], *people)
        assert {answer.status_code for answer in answers.values()} == {200}
        for reader in (ada, bob):
            reader.wait(lambda _, one=reader: one.state()[1]["parts"][0].get("answers", [])[9:], "all votes")
        [_, message] = room.alike(ada, bob)
        assert {vote["entityId"] for vote in message["parts"][0]["answers"]} == {one.id for one in voters}
        closing = {"toolCallId": pending["toolCallId"], "close": True}
        room.bob.post(f"/api/runs/{run_id}/tool-results", closing)
        for reader in (ada, bob):
            reader.wait_for("run.completed")
        [_, message] = room.alike(ada, bob)
        assert len(message["parts"][0]["result"]["answers"]) == len(voters)


@requirement("X-08", "X-03")
def test_a_run_is_stopped_for_good_at_the_other_gateway(cluster: Cluster, model: FakeOpenAI) -> None:
    room = Room(cluster, model)
    model.answer(Answer([*text("These words stand."), hold(), *text(" These come too late."), HANG]))
    with room.reading() as (ada, bob):
        run_id = room.begin()
        for reader in (ada, bob):
            reader.wait(lambda _, one=reader: "stand." in str(one.state()), "the words")
        canceled = room.bob.post(f"/api/runs/{run_id}/cancel")
        model.release()
        assert canceled["status"] == "canceled"
        for reader in (ada, bob):
            reader.wait_for("run.canceled", runId=run_id)
        [_, message] = room.alike(ada, bob)
        assert [part["status"] for part in message["parts"]] == ["canceled"]
        for reader in (ada, bob):
            names = [event.name for event in reader.events]
            assert "text-delta" not in names[names.index("run.canceled") :]
        assert room.status(run_id) == "canceled"
        assert model.requests[0].gone.wait(PATIENCE / 2), "the model is still being listened to"


@requirement("X-08", "C-14")
def test_of_answers_at_both_gateways_one_wins(cluster: Cluster, model: FakeOpenAI) -> None:
    room = Room(cluster, model, FORM)
    for _ in range(5):
        model.answer(Answer(call("form", {"q": "Which?"})), Answer([]))
        with room.reading() as (ada, bob):
            run_id = room.begin()
            [pending] = bob.wait_for("run.waiting_tool").data["pendingToolCalls"]
            answers = at_once(run_id, pending["toolCallId"], room.ada, room.bob)
            statuses = {who: answer.status_code for who, answer in answers.items()}
            assert sorted(statuses.values()) == [200, 409]
            [winner] = [who for who, status in statuses.items() if status == 200]
            [loser] = [who for who, status in statuses.items() if status == 409]
            assert answers[loser].json()["outcome"]["answeredBy"] == winner
            for reader in (ada, bob):
                reader.wait_for("run.completed", runId=run_id)
            [part] = room.alike(ada, bob)[-1]["parts"]
            assert part["answeredBy"] == winner
            assert [e.name for e in bob.events].count("tool-call.complete") == 1


@requirement("X-08")
def test_an_answer_at_the_other_gateway_counts_while_the_run_is_still_at_work(
    cluster: Cluster, model: FakeOpenAI, world: World
) -> None:
    room = Room(cluster, model, FORM, world.tool("pay"))
    pieces = [*call("form", {"q": "Fine?"}, id="a"), *call("pay", {"key": room.id}, index=1, id="b")]
    model.answer(Answer(pieces), Answer(text("Done.")))
    world.answers.clear()
    with room.reading() as (ada, bob):
        try:
            run_id = room.begin()
            eventually(lambda: world.effects[room.id], "the payment")
            form_id = bob.wait_for("tool-call", toolName="form").data["toolCallId"]
            body = {"toolCallId": form_id, "result": {"fine": True}}
            room.bob.post(f"/api/runs/{run_id}/tool-results", body)
        finally:
            world.answers.set()
        for reader in (ada, bob):
            reader.wait_for("run.completed", runId=run_id)
        [_, message] = room.alike(ada, bob)
        form, pay, done = message["parts"]
        assert (form["status"], form["result"]) == ("complete", {"fine": True})
        assert (pay["status"], done["text"]) == ("complete", "Done.")
        assert world.effects[room.id] == 1


@requirement("X-08")
def test_the_same_message_sent_to_both_gateways_at_once_is_one(cluster: Cluster, model: FakeOpenAI) -> None:
    room = Room(cluster, model)
    model.answer(*[Answer(text("Yes."))] * 5)
    with room.reading() as (ada, bob):
        for number in range(5):
            ready = threading.Barrier(6)

            def send(at: int, number: int = number, ready: threading.Barrier = ready) -> Any:
                who = room.ada.at(cluster.gateways[at % 2])
                ready.wait(PATIENCE)
                return who.say(room.id, f"message {number}", clientMessageId=f"key-{number}")

            with ThreadPoolExecutor(6) as pool:
                answers = list(pool.map(send, range(6)))
            assert len({answer["message"]["id"] for answer in answers}) == 1
            [[run]] = {tuple(run["runId"] for run in answer["runs"]) for answer in answers}
            ada.wait_for("run.completed", runId=run)
        assert [message["seq"] for message in room.alike(ada, bob)] == list(range(1, 11))
    assert len(model.requests) == 5


@requirement("X-08", "X-02")
def test_a_plan_is_carried_out_by_one_gateway(cluster: Cluster, model: FakeOpenAI) -> None:
    """The second plan comes long enough after the first for everybody to have looked for what is due."""
    room = Room(cluster, model, dialect="active")
    plans = [
        {"name": name, "instruction": f"Do {name}.", "runAfter": f"in {seconds} seconds"}
        for name, seconds in (("first", 1), ("second", 3))
    ]
    model.answer(calling(("set_plans", {"plans": plans})), *[Answer(text("ok"))] * 5)
    with room.ada.listen(room.id) as ears:
        room.begin()
        ears.wait_for("run.completed")

    def planned() -> list[dict[str, Any]]:
        runs = cluster.two.admin.get("/api/runs", params={"agentId": room.agent})["runs"]
        return [run for run in runs if run["trigger"]["type"] == "plan" and "endedAt" in run]

    eventually(lambda: len(planned()) >= 2, "both plans are carried out")
    assert len(planned()) == 2
    assert [run["status"] for run in planned()] == ["completed", "completed"]


@requirement("X-08", "X-05")
@pytest.mark.parametrize("gateway", ["the same", "the other"])
def test_a_card_answered_while_the_agent_goes_on_speaking_costs_no_word(
    cluster: Cluster, model: FakeOpenAI, gateway: str
) -> None:
    """The answer changes one part of a message whose other part still grows."""
    room = Room(cluster, model, FORM, speaks="tools")
    speaks = call("sendSpaceMessage", {"spaceId": room.id, "text": WORDS}, id="call_c", index=1, size=1)
    held = [piece for each in speaks for piece in (hold(), each)]
    model.answer(Answer([*call("form", {"q": "?"}, id="call_f"), *held]), Answer([]))
    who = room.ada if gateway == "the same" else room.bob
    with room.reading() as (ada, bob):
        run_id = room.begin()
        ready = ada.wait_for("tool-call")
        model.release(times=len(held) // 2 - len(WORDS))
        for count in range(1, 4):
            before = grown(bob.events)
            model.release(times=12)
            bob.wait(lambda events, before=before: grown(events) > before, "words as they come")
            body = {"toolCallId": ready.data["toolCallId"], "result": "yes"}
            answer = who.request("POST", f"/api/runs/{run_id}/tool-results", body)
            assert answer.status_code == (200 if count == 1 else 409)
        model.release(times=len(held))
        for reader in (ada, bob):
            reader.wait_for("run.completed")
        [_, message] = room.alike(ada, bob)
    assert [part["text"] for part in message["parts"] if part["type"] == "text"] == [WORDS]
