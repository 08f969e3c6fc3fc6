"""A question at the door of a guarded space: in every face, after a restart, and between two gateways."""

import json
from pathlib import Path

import pytest

from tests.http.guarding import UNSHOWN, Guarded
from tests.servers.cluster import Cluster
from tests.servers.fake_openai import Answer, FakeOpenAI, text
from tests.servers.mcp_guest import McpGuest
from tests.servers.roomful import Roomful

END = Answer(text(""))


def test_no_face_of_the_room_knows_what_is_held(house: Roomful, model: FakeOpenAI) -> None:
    play = Guarded(house, model)
    play.grace.say(play.vault, play.secret)
    model.answer(play.reads(), play.shows("text"), play.shows("show"), END)
    guest = McpGuest(play.ada)

    def faces() -> str:
        uri = f"roomful://spaces/{play.room}"
        chat = play.ada.get("/api/chat", params={"threadId": play.room, "sdk": 6})
        resource = guest.ask(lambda client: client.read_resource(uri)).model_dump(mode="json")
        read = guest.data("read_messages", spaceId=play.room)
        return json.dumps([chat, resource, read])

    with play.watching() as watch:
        run_id = play.begins()
        for number in (1, 2):
            card = watch.card(number)
            assert play.secret not in faces()
            play.answers(play.grace, card, {"approved": False})
        watch.ends(run_id)
        replay = play.ada.request("GET", f"/ag-ui/{play.room}/replay").text
    assert UNSHOWN in replay
    assert play.secret not in replay + faces()


@pytest.mark.parametrize("approved", [True, False])
def test_a_question_outlives_the_process(tmp_path: Path, model: FakeOpenAI, approved: bool) -> None:
    with Roomful(tmp_path) as house:
        play = Guarded(house, model)
        play.grace.say(play.vault, play.secret)
        model.answer(play.reads(), play.shows("text"), END)
        with play.watching() as watch:
            run_id = play.begins()
            card = watch.card()
            watch.room.wait_for("run.waiting_tool", runId=run_id)
        house.kill()
        house.start()
        with play.watching() as watch:
            assert play.secret not in watch.everything(run_id)
            play.answers(play.grace, card, {"approved": approved})
            watch.ends(run_id)
            assert (play.secret in watch.everything(run_id)) is approved


def test_asked_at_one_gateway_and_answered_at_another(cluster: Cluster, model: FakeOpenAI) -> None:
    play = Guarded(cluster.one, model)
    play.grace.say(play.vault, play.secret)
    model.answer(play.reads(), play.shows("text"), play.shows("show"), END)
    with play.watching() as watch, play.ada.at(cluster.two).listen(play.room) as there:
        run_id = play.begins()
        play.answers(play.grace.at(cluster.two), watch.card(1), {"approved": False})
        card = watch.card(2)
        assert play.secret not in watch.everything(run_id)
        play.answers(play.grace.at(cluster.two), card, {"approved": True})
        watch.ends(run_id)
        there.wait_for("run.completed", runId=run_id)
    shown = [part.get("args", part.get("error")) for part in play.parts()]
    assert shown == [UNSHOWN, {"note": play.secret}]
