"""Keys are replaced without losing what the old ones sealed or signed, and the old ones stop working."""

import asyncio
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from roomful.app.callbacks import Callbacks
from roomful.app.keys import SECRET, Keys
from roomful.app.rotating import rotate_signing
from roomful.domain.runs import Call
from roomful.executors.signing import signature, verify_signature
from roomful.settings import Settings
from roomful.store import open_store
from tests.http.test_waiting import _receiver, _webhook_world
from tests.servers.cluster import eventually
from tests.servers.fake_openai import Answer, FakeOpenAI, text
from tests.servers.inhouse import MovableClock
from tests.servers.postgres import PostgresServer
from tests.servers.roomful import Caller, Roomful, openai

HOUR = 3600.0


def rotate(house: Roomful, *flags: str, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("ROOMFUL_")}
    command = [sys.executable, "-m", "roomful.cli", "rotate", *flags, "--database", house.database]
    return subprocess.run(
        command,
        cwd=house.folder,
        env=clean | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def with_key(folder: Path, key: str, url: str | None) -> Roomful:
    return Roomful(folder, database=url, ROOMFUL_SECRET_KEY=key)


def used(house: Roomful, ada: Caller, model: FakeOpenAI) -> str:
    """The key that the model was shown."""
    before = len(model.requests)
    model.answer(Answer(text("ok")))
    here = ada.at(house)
    with here.listen("room") as listener:
        here.say("room", "hello")
        listener.wait_for("run.completed")
    return model.wait_for_requests(before + 1)[before].headers["authorization"]


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_stored_secrets_are_sealed_anew_beside_a_running_server(
    tmp_path: Path, model: FakeOpenAI, engine: str, request: pytest.FixtureRequest
) -> None:
    url = None
    if engine == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres")
        url = server.new_url()
    with with_key(tmp_path, "old", url) as house:
        ada = house.person("ada")
        house.agent("helper", openai(model.base_url))
        house.space("room", "ada", "helper")
    with with_key(tmp_path, "new,old", url) as house:
        assert used(house, ada, model) == "Bearer key-of-the-fake"
        lost = rotate(house, ROOMFUL_SECRET_KEY="new")
        assert (lost.returncode, lost.stdout) == (1, "0 secrets of 0 agents sealed anew, 0 were current\n")
        assert lost.stderr == "agent helper: model.apiKey: no key in ROOMFUL_SECRET_KEY opens this secret\n"
        before = ada.at(house).get("/api/agents/helper")
        done = [rotate(house, ROOMFUL_SECRET_KEY="new,old") for _ in range(2)]
        assert [(one.returncode, one.stdout, one.stderr) for one in done] == [
            (0, "1 secrets of 1 agents sealed anew, 0 were current\n", ""),
            (0, "0 secrets of 0 agents sealed anew, 1 were current\n", ""),
        ]
        assert ada.at(house).get("/api/agents/helper") == before
        assert used(house, ada, model) == "Bearer key-of-the-fake"
    with with_key(tmp_path, "new", url) as house:
        assert used(house, ada, model) == "Bearer key-of-the-fake"
        rows = house.admin.get("/api/audit", params={"action": "keys.rotated"})["rows"]
        assert [row["detail"] for row in rows] == [{"agentId": "helper", "secrets": 1}]
    assert rotate(house).returncode == 1


def status(house: Roomful, key: str) -> int:
    return Caller(house, key).request("GET", "/api/agents").status_code


def _is_taken(house: Roomful, key: str) -> bool:
    return status(house, key) == 200


def test_an_admin_key_that_was_replaced_never_comes_back(tmp_path: Path) -> None:
    for key, then in [("one", [200, 401]), ("two", [401, 200]), ("", [401, 200])]:
        with Roomful(tmp_path, ROOMFUL_ADMIN_KEY=key, ROOMFUL_LEASE_SECONDS="1") as house:
            assert [status(house, "one"), status(house, "two")] == then
            if key:
                refused = rotate(house, "--admin-key", ROOMFUL_ADMIN_KEY=key)
                assert (refused.returncode, refused.stdout) == (1, "")
                continue
            made = rotate(house, "--admin-key").stdout
            fresh = made.removeprefix("admin key, shown only now: ").strip()
            eventually(partial(_is_taken, house, fresh), "the new key is taken")
            assert status(house, "two") == 401


def test_a_callback_that_is_on_its_way_is_taken_after_a_rotation(tmp_path: Path, model: FakeOpenAI) -> None:
    with _receiver(202, {}) as receiver:
        allowed = f"127.0.0.1:{receiver.port}"
        with Roomful(tmp_path, ROOMFUL_ALLOW_HOSTS=allowed) as house:
            ada = _webhook_world(house, model, receiver)
            with ada.listen("room") as listener:
                ada.say("room", "go")
                listener.wait_for("run.waiting_tool")
            [(_, sent)] = receiver.got
            assert rotate(house, "--signing").returncode == 0
            house.kill()
            house.start()
            with ada.listen("room") as listener:
                assert httpx.post(sent["callbackUrl"], json={"result": 7}).status_code == 200
                listener.wait_for("run.completed")


def test_what_was_signed_is_good_at_every_gateway_until_the_grace_time_is_over() -> None:
    async def main() -> dict[str, Any]:
        clock = MovableClock()
        store = await open_store("sqlite://:memory:", clock)
        await store.set_meta(SECRET, "first")
        gateways = [Keys(Settings(), store, clock, "first") for _ in range(2)]
        one, two = (Callbacks(Settings(), keys) for keys in gateways)
        call = Call(id="c1", run_id="r", step=0, index=0, tool_name="t", args={}, status="waiting")

        def key(callbacks: Callbacks) -> str:
            return callbacks.url(call).rpartition("/")[2]

        old = key(one)
        await rotate_signing(store, clock, HOUR)
        await gateways[1].refresh()
        new = key(two)
        seen: dict[str, Any] = {"changed": old != new}
        seen["during"] = [await each.check("c1", sign) for each in (one, two) for sign in (old, new)]
        seen["others"] = [await one.check("c2", new), await one.check("c1", "0" * 64)]
        body, at = b"{}", int(clock.now())
        sent = ",".join(signature(each, "c1", at, body) for each in gateways[1].webhooks())
        seen["receivers"] = [
            verify_signature(
                [known], message_id="c1", timestamp=str(at), signatures=sent, body=body, now=clock.now()
            )
            for known in (*gateways[1].webhooks(), b"another")
        ]
        clock.move(seconds=HOUR + 1)
        seen["after"] = [await each.check("c1", sign) for each in (one, two) for sign in (old, new)]
        await store.close()
        return seen

    assert asyncio.run(main()) == {
        "changed": True,
        "during": [True] * 4,
        "others": [False, False],
        "receivers": [True, True, False],
        "after": [False, True, False, True],
    }
