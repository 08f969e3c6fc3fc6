"""A tool that needs consent waits for it: approved, denied, edited, remembered; by those who may."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.servers.fake_openai import Answer, FakeOpenAI, call, text
from tests.servers.roomful import Caller, Event, Roomful, openai

PAY: dict[str, Any] = {
    "name": "pay",
    "description": "Pay an invoice.",
    "executionType": "basic",
    "execution": {"mode": "pass-through"},
    "approval": True,
    "inputSchema": {
        "type": "object",
        "properties": {"amount": {"type": "number"}, "to": {"type": "string"}},
        "required": ["amount", "to"],
    },
}
ARGS = {"amount": 50, "to": "ACME"}


def _world(house: Roomful, model: FakeOpenAI, **tool: Any) -> tuple[Caller, Caller]:
    ada, grace = house.person("ada"), house.person("grace")
    house.agent("payer", openai(model.base_url), {**PAY, **tool})
    house.space("room", "ada", "grace:owner", "payer")
    return ada, grace


def _ask(model: FakeOpenAI, **args: Any) -> None:
    model.answer(Answer(call("pay", args or ARGS)), Answer(text("ok")))


def _waiting(ada: Caller) -> Iterator[Event]:
    with ada.listen("room") as listener:
        ada.say("room", "pay it")
        yield listener.wait_for("run.waiting_tool")


def _pause(ada: Caller) -> dict[str, Any]:
    [event] = _waiting(ada)
    return event.data


def _answer(who: Caller, waiting: dict[str, Any], result: Any) -> Any:
    [pending] = waiting["pendingToolCalls"]
    body = {"toolCallId": pending["toolCallId"], "result": result}
    return who.request("POST", f"/api/runs/{waiting['runId']}/tool-results", body)


def _finish(ada: Caller, waiting: dict[str, Any], who: Caller, result: Any) -> dict[str, Any]:
    with ada.listen("room") as listener:
        assert _answer(who, waiting, result).status_code == 200
        listener.wait_for("run.completed")
    return ada.messages("room")[-1]["parts"][0]


def test_a_call_runs_only_after_it_was_approved(house: Roomful, model: FakeOpenAI) -> None:
    ada, grace = _world(house, model)
    _ask(model)
    waiting = _pause(ada)
    card = ada.messages("room")[1]["parts"][0]
    assert (card["status"], card["args"], card["result"]) == ("waiting", ARGS, None)
    assert card["approval"]["agentId"] == "payer"
    assert card["approval"]["triggerEntityId"] == "ada"
    assert len(card["approval"]["argsHash"]) == 64
    assert len(model.requests) == 1
    part = _finish(ada, waiting, grace, {"approved": True})
    assert (part["status"], part["result"], part["answeredBy"]) == ("complete", ARGS, "grace")
    assert model.requests[1].messages[-1]["content"] == '{"amount":50,"to":"ACME"}'
    again = _answer(ada, waiting, {"approved": False})
    assert again.status_code == 409
    assert again.json()["outcome"]["answeredBy"] == "grace"


def test_a_refusal_and_its_reason_are_told_to_the_model_and_nothing_runs(
    house: Roomful, model: FakeOpenAI
) -> None:
    ada, grace = _world(house, model)
    _ask(model)
    part = _finish(ada, _pause(ada), grace, {"approved": False, "reason": "too much"})
    assert (part["status"], part["result"]) == ("error", None)
    assert "too much" in part["error"]
    told = model.requests[1].messages[-1]["content"]
    assert told == "Error: grace did not approve this call: too much"


def test_edited_arguments_replace_the_models_and_must_fit(house: Roomful, model: FakeOpenAI) -> None:
    ada, grace = _world(house, model)
    _ask(model)
    waiting = _pause(ada)
    wrong = _answer(grace, waiting, {"approved": True, "args": {"amount": "lots", "to": "ACME"}})
    assert wrong.status_code == 422
    assert "amount" in wrong.json()["detail"]
    for odd in [
        True,
        {},
        {"approved": "yes"},
        {"approved": True, "extra": 1},
        {"approved": False, "args": {}},
    ]:
        assert _answer(grace, waiting, odd).status_code == 422, odd
    part = _finish(ada, waiting, grace, {"approved": True, "args": {"amount": 5, "to": "ACME"}})
    assert part["args"] == part["result"] == {"amount": 5, "to": "ACME"}


def test_who_may_answer_is_a_rule_of_its_own(house: Roomful, model: FakeOpenAI) -> None:
    ada, grace = _world(house, model, approval={"approvers": {"roles": ["owner"]}})
    rita, eve = house.person("rita"), house.person("eve")
    house.admin.post("/api/spaces/room/members", {"entityId": "rita", "role": "reader"}, expect=201)
    _ask(model)
    waiting = _pause(ada)
    shown = ada.messages("room")[-1]["parts"][-1]
    assert (shown["status"], shown["approvers"]) == ("waiting", {"roles": ["owner"], "entities": []})
    for who, status in [(eve, 404), (rita, 403), (ada, 403)]:
        assert _answer(who, waiting, {"approved": True}).status_code == status
    assert "approver" in _answer(ada, waiting, {"approved": True}).json()["detail"]
    assert len(model.requests) == 1
    assert _finish(ada, waiting, grace, {"approved": True})["answeredBy"] == "grace"


def test_what_one_space_agreed_to_for_good_is_asked_in_another(house: Roomful, model: FakeOpenAI) -> None:
    ada, grace = _world(house, model)
    house.space("other", "ada", "payer")
    _ask(model)
    _finish(ada, _pause(ada), grace, {"approved": True, "remember": "tool"})
    _ask(model)
    with ada.listen("other") as listener:
        ada.say("other", "pay it")
        listener.wait_for("run.waiting_tool")


@pytest.mark.parametrize("remember", ["tool", "arguments"])
def test_a_remembered_approval_is_listed_used_and_revocable(
    house: Roomful, model: FakeOpenAI, remember: str
) -> None:
    ada, grace = _world(house, model)
    _ask(model)
    _finish(ada, _pause(ada), grace, {"approved": True, "remember": remember})
    [grant] = ada.get("/api/spaces/room/grants")["grants"]
    assert (grant["toolName"], grant["agentId"], grant["grantedBy"]) == ("pay", "payer", "grace")
    assert ("argsHash" in grant) == (remember == "arguments")
    _ask(model)
    with ada.listen("room") as listener:
        ada.say("room", "pay it again")
        listener.wait_for("run.completed")
        assert "run.waiting_tool" not in listener.names()
    model.answer(Answer(call("pay", {"amount": 51, "to": "ACME"})))
    if remember == "tool":
        model.answer(Answer(text("ok")))
    with ada.listen("room") as listener:
        run_id = ada.say("room", "pay more")["runs"][0]["runId"]
        listener.wait_for("run.completed" if remember == "tool" else "run.waiting_tool")
        ada.post(f"/api/runs/{run_id}/cancel")
    ada.call("DELETE", f"/api/spaces/room/grants/{grant['id']}", expect=204)
    model.answer(Answer(call("pay", ARGS)))
    assert _pause(ada)["status"] == "waiting_tool"


def test_of_fifty_who_answer_at_once_one_wins(house: Roomful, model: FakeOpenAI) -> None:
    ada, grace = _world(house, model)
    _ask(model)
    waiting = _pause(ada)
    gate = threading.Barrier(20)
    answers: list[Any] = []

    def one(who: Caller) -> None:
        gate.wait()
        answers.append(_answer(who, waiting, {"approved": True}))

    with ada.listen("room") as listener:
        threads = [threading.Thread(target=one, args=(who,)) for who in (ada, grace) for _ in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        listener.wait_for("run.completed")
    statuses = sorted(answer.status_code for answer in answers)
    assert statuses == [200, *[409] * 19]
    winner = ada.messages("room")[-1]["parts"][0]["answeredBy"]
    lost = [answer.json()["outcome"]["answeredBy"] for answer in answers if answer.status_code == 409]
    assert set(lost) == {winner}
    assert len(model.requests) == 2


def test_nobody_answers_in_time_and_the_run_goes_on(tmp_path: Any, model: FakeOpenAI) -> None:
    with Roomful(tmp_path, ROOMFUL_LEASE_SECONDS="0.4") as house:
        ada, _ = _world(house, model, answerSeconds=0.2)
        _ask(model)
        with ada.listen("room") as listener:
            ada.say("room", "pay it")
            listener.wait_for("run.completed")
        part = ada.messages("room")[-1]["parts"][0]
        assert (part["status"], part["error"]) == ("error", "nobody answered in time")
        assert "nobody answered in time" in model.requests[1].messages[-1]["content"]


def test_an_approval_survives_a_restart(tmp_path: Any, model: FakeOpenAI) -> None:
    with Roomful(tmp_path) as house:
        ada, grace = _world(house, model)
        _ask(model)
        waiting = _pause(ada)
        house.kill()
        house.start()
        part = _finish(ada, waiting, grace, {"approved": True})
        assert part["result"] == ARGS
        assert len(model.requests) == 2
