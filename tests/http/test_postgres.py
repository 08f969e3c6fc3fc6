"""The same house on Postgres: nothing else changes."""

import random
from pathlib import Path

from tests.http.shopping import AS_SEEN, seen, shop, story
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.postgres import postgres_server
from tests.servers.roomful import Roomful, fold


def test_the_shopping_story_on_postgres_streams_reloads_and_survives_a_kill(
    tmp_path: Path, model: FakeOpenAI
) -> None:
    with postgres_server() as server, Roomful(tmp_path, database=server.url) as house:
        ada = shop(house, model)
        model.answer(*story(random.Random(5)))
        with ada.listen("shop-space") as listener:
            ada.say("shop-space", "Show me laptops", clientMessageId="once")
            listener.wait_for("run.completed")
            assert fold(listener.events) == ada.messages("shop-space")
        assert seen(ada.messages("shop-space")[1]) == AS_SEEN
        before = ada.messages("shop-space")
        house.kill()
        house.start()
        assert ada.messages("shop-space") == before
        again = ada.say("shop-space", "Show me laptops", clientMessageId="once")
        assert again["message"]["id"] == before[0]["id"]
