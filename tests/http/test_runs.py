"""A run's states: it starts, ends, fails, is stopped; a reader who leaves changes nothing."""

import time
from typing import Any

import pytest

from tests.http.shopping import LAPTOPS, PRODUCT_CARD, shop, story
from tests.requirements import requirement
from tests.servers.fake_openai import CUT, HANG, Answer, FakeOpenAI, call, html, status, text
from tests.servers.roomful import Caller, Roomful, free_port, openai


def _run(house: Roomful, run_id: str) -> dict[str, Any]:
    return house.admin.get(f"/api/runs/{run_id}")


@requirement("X-03")
def test_a_run_goes_from_running_to_completed(house: Roomful, model: FakeOpenAI) -> None:
    ada = shop(house, model)
    first, second = story()
    first.held = True
    model.answer(first, second)
    with ada.listen("shop-space") as listener:
        run_id = ada.say("shop-space", "laptops?")["runs"][0]["runId"]
        started = listener.wait_for("run.started")
        assert (started.data["runId"], started.data["status"]) == (run_id, "running")
        assert _run(house, run_id)["status"] == "running"
        model.release(times=1000)
        listener.wait_for("run.completed")
        run = _run(house, run_id)
        assert run["status"] == "completed"
        assert run["usage"] == {"inputTokens": 30, "outputTokens": 55}
        assert run["trigger"]["spaceId"] == "shop-space"
        assert run["trigger"]["entityId"] == "ada"
        assert run["endedAt"] >= run["createdAt"]
        assert [r["id"] for r in ada.get("/api/runs", params={"spaceId": "shop-space"})["runs"]] == [run_id]


@requirement("X-03")
def test_cancel_is_final_keeps_the_text_and_ends_the_model_request(house: Roomful, model: FakeOpenAI) -> None:
    ada = shop(house, model)
    pieces = [*call("sendSpaceMessage", {"spaceId": "shop-space", "text": LAPTOPS}, size=4)[:-2], HANG]
    model.answer(Answer(pieces))
    with ada.listen("shop-space") as listener:
        run_id = ada.say("shop-space", "laptops?")["runs"][0]["runId"]
        listener.wait_for("text-delta")
        before = time.monotonic()
        answer = ada.post(f"/api/runs/{run_id}/cancel")
        assert answer["status"] == "canceled"
        [asked] = model.wait_for_requests(1)
        assert asked.gone.wait(10)
        assert asked.gone_at - before < 5
        listener.wait_for("run.canceled")
        [_, bubble] = ada.messages("shop-space")
        assert bubble["status"] == "final"
        [part] = bubble["parts"]
        assert part["status"] == "canceled"
        assert LAPTOPS.startswith(part["text"])
        assert part["text"]
        assert ada.post(f"/api/runs/{run_id}/cancel")["status"] == "canceled"
        assert _run(house, run_id)["status"] == "canceled"


@requirement("X-03")
def test_a_reader_who_leaves_does_not_stop_the_run(house: Roomful, model: FakeOpenAI) -> None:
    ada = shop(house, model)
    first, second = story()
    first.held = True
    model.answer(first, second)
    with ada.listen("shop-space") as listener:
        run_id = ada.say("shop-space", "laptops?")["runs"][0]["runId"]
        model.release(times=45)
        listener.wait_for("text-delta")
    model.release(times=1000)
    with ada.listen("shop-space") as again:
        if _run(house, run_id)["status"] != "completed":
            again.wait_for("run.completed")
    assert _run(house, run_id)["status"] == "completed"


def _failed(house: Roomful, ada: Caller, text: str = "go") -> dict[str, Any]:
    with ada.listen("shop-space") as listener:
        run_id = ada.say("shop-space", text)["runs"][0]["runId"]
        event = listener.wait_for("run.failed")
        assert event.data["error"]["code"]
        assert "127.0.0.1" not in str(event.data["error"])
    run = _run(house, run_id)
    assert run["status"] == "failed"
    for message in ada.messages("shop-space"):
        assert message["status"] == "final"
        assert all(part["status"] not in ("streaming", "ready", "running") for part in message["parts"])
    return run


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (status(503), "The agent's model is in trouble."),
        (status(429), "The agent's model has too much to do."),
        (None, "The agent's model could not be reached."),
        (status(400), "The agent could not finish."),
    ],
)
def test_a_space_hears_in_general_why_a_model_did_not_answer(
    house: Roomful, model: FakeOpenAI, answer: Any, told: str
) -> None:
    ada = house.person("ada")
    nowhere = f"http://127.0.0.1:{free_port()}/v1"
    house.agent("bot", openai(model.base_url if answer is not None else nowhere))
    house.space("room", "ada", "bot")
    if answer is not None:
        model.answer(*[answer] * 3)
    with ada.listen("room") as listener:
        ada.say("room", "hello")
        assert listener.wait_for("run.failed").data["error"]["message"] == told


@requirement("X-03")
@pytest.mark.parametrize(
    "answers",
    [
        pytest.param([status(400)], id="http-400"),
        pytest.param([status(500)] * 3, id="http-500"),
        pytest.param([html()] * 3, id="html"),
        pytest.param([Answer([CUT])] * 3, id="cut-at-once"),
    ],
)
def test_a_model_that_cannot_answer_fails_the_run_with_a_reason(
    house: Roomful, model: FakeOpenAI, answers: list[Answer]
) -> None:
    ada = shop(house, model)
    model.answer(*answers)
    assert _failed(house, ada)["error"]["message"]


@requirement("X-03")
def test_a_model_that_hangs_fails_the_run_after_its_silence(house: Roomful, model: FakeOpenAI) -> None:
    ada = house.person("ada")
    house.agent("shop", openai(model.base_url), PRODUCT_CARD, limits={"modelSilenceSeconds": 0.3})
    house.space("shop-space", "ada", "shop")
    pieces = [*call("sendSpaceMessage", {"spaceId": "shop-space", "text": LAPTOPS})[:-2], HANG]
    model.answer(Answer(pieces))
    assert _failed(house, ada)["error"]["code"] == "model_silent"


@requirement("X-03")
@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        pytest.param("showProductCard", '{"name": "Mac", "price": 12', "cut off", id="truncated"),
        pytest.param("showProductCard", '{"name": "Mac" "price": 12}', "JSON", id="broken"),
        pytest.param("showProductCard", "[1, 2]", "object", id="array"),
        pytest.param("showProductCard", "null", "object", id="null"),
        pytest.param("showProductCard", '{"name": "Mac", "price": NaN}', "JSON", id="nan"),
        pytest.param("showProductCard", '{"name": "Mac", "price": "x"}', "price", id="schema"),
        pytest.param("noSuchTool", "{}", "no tool", id="unknown-tool"),
        pytest.param("showProductCard", '{"a":' * 5000, "nest", id="deep"),
    ],
)
def test_a_call_the_model_got_wrong_is_told_to_it_and_the_run_goes_on(
    house: Roomful, model: FakeOpenAI, name: str, arguments: str, words: str
) -> None:
    ada = shop(house, model)
    model.answer(Answer(call(name, arguments, size=9)), Answer(text("ok")))
    with ada.listen("shop-space") as listener:
        run_id = ada.say("shop-space", "go")["runs"][0]["runId"]
        listener.wait_for("run.completed")
    assert _run(house, run_id)["status"] == "completed"
    told = model.requests[1].messages[-1]
    assert told["role"] == "tool"
    assert told["content"].startswith("Error: ")
    assert words in told["content"]
    for message in ada.messages("shop-space"):
        assert all(part["status"] not in ("streaming", "ready", "running") for part in message["parts"])


def test_a_text_that_says_nothing_leaves_no_bubble(house: Roomful, model: FakeOpenAI) -> None:
    ada = shop(house, model)
    for text_value in ("", None, 7):
        model.answer(
            Answer(call("sendSpaceMessage", {"spaceId": "shop-space", "text": text_value})),
            Answer(text("ok")),
        )
        with ada.listen("shop-space") as listener:
            ada.say("shop-space", "go")
            listener.wait_for("run.completed")
    assert {message["role"] for message in ada.messages("shop-space")} == {"user"}


def test_a_model_that_never_stops_calling_ends_at_its_bound(house: Roomful, model: FakeOpenAI) -> None:
    ada = house.person("ada")
    house.agent("shop", openai(model.base_url), PRODUCT_CARD, limits={"maxSteps": 3})
    house.space("shop-space", "ada", "shop")
    model.answer(*[Answer(call("readSpaceMessages", {"spaceId": "shop-space"}))] * 10)
    run = _failed(house, ada)
    assert run["error"]["code"] == "limit"
    assert len(model.requests) == 3


def test_two_calls_with_the_same_provider_id_are_two_calls(house: Roomful, model: FakeOpenAI) -> None:
    ada = shop(house, model)
    twice = [
        *call("showProductCard", {"name": "A", "price": 1}, index=0, id="same"),
        *call("showProductCard", {"name": "B", "price": 2}, index=1, id="same"),
    ]
    model.answer(Answer(twice), Answer(text("ok")))
    with ada.listen("shop-space") as listener:
        ada.say("shop-space", "go")
        listener.wait_for("run.completed")
    [_, bubble] = ada.messages("shop-space")
    assert [part["args"]["name"] for part in bubble["parts"]] == ["A", "B"]
    assert len({part["toolCallId"] for part in bubble["parts"]}) == 2
