"""The doctor finds nothing where real stories were told, processes killed, and the house is at work."""

import subprocess
import sys
from pathlib import Path

from roomful.store.doctor import check_up
from tests.http.playing import Demo, Play
from tests.http.shopping import shop
from tests.servers.fake_openai import HANG, Answer, FakeOpenAI, call, text
from tests.servers.postgres import PostgresServer
from tests.servers.roomful import Roomful
from tests.store.whole_house import Spoiler


def doctor(house: Roomful) -> tuple[int, str]:
    command = [sys.executable, "-m", "roomful.cli", "doctor", "--database", house.database]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return ran.returncode, ran.stdout + ran.stderr


def tell_stories(demo: Demo) -> None:
    with Play(demo, "laptops") as play:
        play.ended()
        [_, shelf] = play.messages("shopping")
        play.answer(shelf["parts"][1], "ada", result={"selected": True})
        play.in_space("shopping").wait_for("run.completed", 2)
    with Play(demo, "campaign") as play:
        play.answer(play.asked("finance", "showApprovalForm"), "grace", result={"approved": True})
        play.ended()
    with Play(demo, "approval") as play:
        play.asked("finance", "showApprovalForm")


async def test_the_demo_world_is_whole_beside_its_gateway_and_after_a_kill(tmp_path: Path) -> None:
    with Roomful(tmp_path, "--demo") as house:
        tell_stories(Demo(house))
        code, said = doctor(house)
        assert (code, said.endswith(": nothing wrong\n")) == (0, True), said
        house.kill()
        assert [one for one in (await check_up(house.database)).findings if one.check != "no_owner"] == []
        house.start()
        with Play(Demo(house), "campaign") as play:
            play.answer(play.asked("finance", "showApprovalForm"), "grace", result={"approved": False})
            play.ended()
        assert house.terminate() == 0
    examined = await check_up(house.database)

    assert examined.findings == []
    assert examined.counts["runs"] >= 4


async def test_a_run_without_its_gateway_is_found_and_healed(
    tmp_path: Path, model: FakeOpenAI, postgres: PostgresServer
) -> None:
    words = {"spaceId": "shop-space", "text": "Hello, here I am again."}
    with Roomful(tmp_path, database=postgres.new_url()) as house:
        ada = shop(house, model)
        model.answer(Answer([*call("sendSpaceMessage", words, size=3)[:-3], HANG]))
        with ada.listen("shop-space") as listener:
            [run] = ada.say("shop-space", "hello?")["runs"]
            listener.wait_for("text-delta")
            house.kill()
        _leases_are_over(house)
        [found] = (await check_up(house.database)).findings
        assert (found.check, found.table, found.row) == ("no_owner", "runs", run["runId"])
        model.answer(Answer(text("All is well.")))
        house.start()
        with ada.listen("shop-space") as listener:
            if house.admin.get(f"/api/runs/{run['runId']}")["status"] == "running":
                listener.wait_for("run.completed")
        assert (await check_up(house.database)).findings == []


def _leases_are_over(house: Roomful) -> None:
    spoiler = Spoiler(house.database)
    spoiler("UPDATE workers SET until = 0")
    spoiler.close()
