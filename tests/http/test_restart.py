"""A killed process loses nothing that was acknowledged, and nothing is left half said."""

from pathlib import Path
from typing import Any

import pytest

from tests.http.shopping import AS_SEEN, LAPTOPS, seen, shop, story
from tests.servers.fake_openai import HANG, Answer, FakeOpenAI, call, text
from tests.servers.roomful import Roomful


def _settled(messages: list[dict[str, Any]]) -> bool:
    statuses = {part["status"] for message in messages for part in message["parts"]}
    return not statuses & {"streaming", "ready", "running"}


def test_a_run_killed_before_anything_was_whole_runs_its_step_again(
    tmp_path: Path, model: FakeOpenAI
) -> None:
    with Roomful(tmp_path) as house:
        ada = shop(house, model)
        begun = [*call("sendSpaceMessage", {"spaceId": "shop-space", "text": LAPTOPS}, size=3)[:-3], HANG]
        model.answer(Answer(begun))
        with ada.listen("shop-space") as listener:
            run_id = ada.say("shop-space", "laptops?", clientMessageId="once")["runs"][0]["runId"]
            listener.wait_for("text-delta")
            house.kill()
        model.answer(*story())
        house.start()
        with ada.listen("shop-space") as listener:
            if house.admin.get(f"/api/runs/{run_id}")["status"] == "running":
                listener.wait_for("run.completed")
        assert house.admin.get(f"/api/runs/{run_id}")["status"] == "completed"
        [question, bubble] = ada.messages("shop-space")
        assert question["clientMessageId"] == "once"
        assert seen(bubble) == AS_SEEN
        assert _settled([question, bubble])


def test_a_run_killed_after_a_whole_call_keeps_it_and_cancels_the_tail(
    tmp_path: Path, model: FakeOpenAI
) -> None:
    with Roomful(tmp_path) as house:
        ada = shop(house, model)
        pieces = [
            *call("showProductCard", {"name": "Mac", "price": 1}, index=0, id="a"),
            *call("showProductCard", {"name": "Dell", "price": 2}, index=1, id="b")[:-2],
            HANG,
        ]
        model.answer(Answer(pieces))
        with ada.listen("shop-space") as listener:
            run_id = ada.say("shop-space", "laptops?")["runs"][0]["runId"]
            whole = listener.wait_for("tool-call")
            listener.wait_for("tool-call.start", 2)
            house.kill()
        model.answer(Answer(text("that is all")))
        house.start()
        with ada.listen("shop-space") as listener:
            if house.admin.get(f"/api/runs/{run_id}")["status"] == "running":
                listener.wait_for("run.completed")
        [_, bubble] = ada.messages("shop-space")
        kept = [part for part in bubble["parts"] if part["status"] == "waiting"]
        assert [part["toolCallId"] for part in kept] == [whole.data["toolCallId"]]
        assert all(part["status"] == "canceled" for part in bubble["parts"] if part not in kept)
        assert len(model.requests) == 2
        [asked] = model.requests[1].messages[-2]["tool_calls"]
        assert asked["id"] == whole.data["toolCallId"]


@pytest.mark.parametrize("cut", range(0, 60, 6))
def test_killed_anywhere_in_the_story_it_ends_in_a_clear_state(
    tmp_path: Path, model: FakeOpenAI, cut: int
) -> None:
    with Roomful(tmp_path) as house:
        ada = shop(house, model)
        model.answer(*story(held=True))
        run_id = ada.say("shop-space", "laptops?")["runs"][0]["runId"]
        model.wait_for_requests(1)
        model.release(times=2 * cut)
        house.kill()
        house.start()
        model.answer(*story())
        model.release(times=1000)
        with ada.listen("shop-space") as listener:
            if house.admin.get(f"/api/runs/{run_id}")["status"] not in ("completed", "failed"):
                listener.wait(lambda events: any(e.name in ("run.completed", "run.failed") for e in events))
        messages = ada.messages("shop-space")
        assert messages[0]["parts"][0]["text"] == "laptops?"
        assert [message["seq"] for message in messages] == list(range(1, len(messages) + 1))
        assert _settled(messages)


def test_sigterm_tells_the_streams_and_ends_with_zero(tmp_path: Path, model: FakeOpenAI) -> None:
    with Roomful(tmp_path) as house:
        ada = shop(house, model)
        model.answer(Answer([HANG]))
        with ada.listen("shop-space") as listener:
            ada.say("shop-space", "laptops?")
            listener.wait_for("run.started")
            assert house.terminate() == 0
            listener.wait_end()
            assert listener.events[-1].name == "draining"
            assert listener.events[-1].data["retryMs"] > 0
