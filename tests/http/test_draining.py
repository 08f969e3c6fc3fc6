"""SIGTERM: streams are told, runs are handed over, and the process ends with 0, whoever does not answer.

A lease lasts an hour here: a run that goes on in the next process was handed over, not found."""

import contextlib
import http.server
import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.servers.fake_openai import HANG, Answer, FakeOpenAI, call, text
from tests.servers.postgres import PostgresServer, postgres_server
from tests.servers.roomful import PATIENCE, Caller, Roomful, free_port, openai
from tests.servers.watched import ROOMFUL, Watched, wait_until

STUCK_TOOLS = '''
import asyncio
import pathlib
import time
import roomful

@roomful.tool
def sleep_in_a_thread() -> str:
    """Sleeps."""
    pathlib.Path("began").touch()
    time.sleep(3600)
    return "slept"

@roomful.tool
async def refuse_to_end() -> str:
    """Does not mind being canceled."""
    pathlib.Path("began").touch()
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            pass
'''


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def house(tmp_path: Path, postgres: PostgresServer, request: pytest.FixtureRequest) -> Iterator[Roomful]:
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "tools.py").write_text(STUCK_TOOLS)
    database = f"{postgres.url}&schema=draining_{abs(hash(request.node.name))}"
    environment = {"ROOMFUL_LEASE_SECONDS": "3600", "ROOMFUL_ALLOW_HOSTS": "127.0.0.1:1"}
    with Roomful(tmp_path, "--agents", "agents", database=database, **environment) as house:
        yield house


def _room(house: Roomful, model: FakeOpenAI, *tools: dict[str, object]) -> Caller:
    ada = house.person("ada")
    house.agent("helper", openai(model.base_url), *tools)
    house.space("room", "ada", "helper")
    return ada


def _ended(house: Roomful, run_id: str) -> str:
    def status() -> str | None:
        found = house.admin.get(f"/api/runs/{run_id}")["status"]
        return found if found in ("completed", "failed", "canceled") else None

    return wait_until(status)


def test_a_run_whose_model_is_silent_is_handed_over(house: Roomful, model: FakeOpenAI) -> None:
    ada = _room(house, model)
    model.answer(Answer([HANG]), Answer(text("Done.")))
    run_id = ada.say("room", "help")["runs"][0]["runId"]
    model.wait_for_requests(1)
    assert house.terminate() == 0
    house.start()
    assert _ended(house, run_id) == "completed"
    assert len(model.requests) == 2


@contextlib.contextmanager
def _silent_service() -> Iterator[tuple[int, threading.Event]]:
    """Takes requests and never answers."""
    asked, over = threading.Event(), threading.Event()

    class Silent(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.set()
            over.wait(PATIENCE)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Silent)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1], asked
    finally:
        over.set()
        server.shutdown()
        server.server_close()
        thread.join(PATIENCE)


def test_a_run_in_the_middle_of_an_http_call_is_handed_over(
    tmp_path: Path, postgres: PostgresServer, model: FakeOpenAI
) -> None:
    with _silent_service() as (port, asked):
        request: dict[str, object] = {
            "name": "ask",
            "description": "Ask.",
            "executionType": "request",
            "execution": {"url": f"http://127.0.0.1:{port}/ask", "method": "POST"},
            "inputSchema": {"type": "object", "properties": {}},
            "visibility": "full",
        }
        environment = {"ROOMFUL_LEASE_SECONDS": "3600", "ROOMFUL_ALLOW_HOSTS": f"127.0.0.1:{port}"}
        with Roomful(tmp_path, database=postgres.url, **environment) as house:
            ada = _room(house, model, request)
            model.answer(Answer(call("ask", {})), Answer(text("Done.")))
            run_id = ada.say("room", "ask")["runs"][0]["runId"]
            assert asked.wait(PATIENCE)
            assert house.terminate() == 0
            house.start()
            assert _ended(house, run_id) == "completed"
            assert ada.messages("room")[1]["parts"][0]["status"] == "unknown"


@pytest.mark.parametrize("name", ["sleep_in_a_thread", "refuse_to_end"])
def test_a_tool_that_does_not_end_holds_up_neither_its_run_nor_the_process(
    house: Roomful, model: FakeOpenAI, name: str
) -> None:
    tool: dict[str, object] = {"name": name, "executionType": "python", "execution": {"function": name}}
    ada = _room(house, model, {**tool, "description": "", "visibility": "full"})
    model.answer(Answer(call(name, {})), Answer(text("Done.")))
    run_id = ada.say("room", "sleep")["runs"][0]["runId"]
    wait_until((house.folder / "began").exists)
    began = time.monotonic()
    assert house.terminate() == 0
    assert time.monotonic() - began < 15
    house.start()
    assert _ended(house, run_id) == "completed"


def test_a_post_that_is_on_its_way_is_taken_and_its_run_is_left_to_the_next(
    house: Roomful, model: FakeOpenAI
) -> None:
    ada = _room(house, model)
    model.answer(Answer(text("Done.")))
    body = json.dumps({"text": "help"}).encode()
    with ada.listen("room") as listener, _posting(house, ada, len(body)) as connection:
        connection.sendall(body[:5])
        os.kill(house.pid, signal.SIGTERM)
        listener.wait_for("draining")
        connection.sendall(body[5:])
        answer = connection.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 201")
    [run] = json.loads(answer.partition(b"\r\n\r\n")[2])["runs"]
    assert house.terminate() == 0
    assert model.requests == []
    house.start()
    assert _ended(house, run["runId"]) == "completed"


@contextlib.contextmanager
def _posting(house: Roomful, who: Caller, length: int) -> Iterator[socket.socket]:
    """The head of a message's POST, taken by the house, which waits for the rest."""
    head = (
        f"POST /api/spaces/room/messages HTTP/1.1\r\nhost: 127.0.0.1:{house.port}\r\n"
        f"authorization: Bearer {who.token}\r\ncontent-type: application/json\r\n"
        f"content-length: {length}\r\nexpect: 100-continue\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", house.port), PATIENCE) as connection:
        connection.sendall(head.encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 100")
        yield connection


def test_the_runs_are_handed_over_before_the_last_client_has_gone(
    house: Roomful, tmp_path: Path, model: FakeOpenAI
) -> None:
    ada = _room(house, model)
    model.answer(Answer([HANG]), Answer(text("Done.")))
    run_id = ada.say("room", "help")["runs"][0]["runId"]
    model.wait_for_requests(1)
    (tmp_path / "next").mkdir()
    with (
        Roomful(tmp_path / "next", database=house.database, ROOMFUL_LEASE_SECONDS="2") as following,
        _posting(house, ada, 100) as connection,
    ):
        os.kill(house.pid, signal.SIGTERM)
        assert _ended(following, run_id) == "completed"
        connection.setblocking(False)
        with pytest.raises(BlockingIOError):
            connection.recv(1)


def test_clients_that_send_or_read_nothing_more_are_not_waited_for(house: Roomful, model: FakeOpenAI) -> None:
    ada = _room(house, model)
    with _posting(house, ada, 100), _posting(house, ada, 100):
        began = time.monotonic()
        assert house.terminate() == 0
        assert time.monotonic() - began < 15


def test_while_it_stops_nobody_new_is_let_in(house: Roomful, model: FakeOpenAI) -> None:
    ada = _room(house, model)
    with ada.listen("room") as listener, _posting(house, ada, 100):
        os.kill(house.pid, signal.SIGTERM)
        listener.wait_for("draining")
        wait_until(lambda: not _lets_in(house))
        assert house.terminate() == 0


def _lets_in(house: Roomful) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", house.port), PATIENCE):
            return True
    except ConnectionRefusedError:
        return False


def test_being_asked_again_and_again_changes_nothing(tmp_path: Path) -> None:
    with Watched([*ROOMFUL, "serve", "--port", str(free_port())], tmp_path) as running:
        running.said("Roomful is at")
        while running.process.poll() is None:
            running.process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                running.process.wait(0.002)
        assert running.process.returncode == 0


@pytest.mark.long
def test_a_database_that_does_not_answer_is_not_waited_for(house: Roomful, model: FakeOpenAI) -> None:
    ada = _room(house, model)
    model.answer(Answer([HANG]))
    ada.say("room", "help")
    model.wait_for_requests(1)
    with _frozen(house.database):
        began = time.monotonic()
        assert house.terminate() == 0
        assert time.monotonic() - began < 30


@contextlib.contextmanager
def _frozen(database: str) -> Iterator[None]:
    """Every connection stays open and says nothing."""
    with psycopg.connect(database.partition("&schema=")[0], autocommit=True) as operator:
        mine = "pid <> pg_backend_pid() AND backend_type = 'client backend'"
        pids = [pid for (pid,) in operator.execute(f"SELECT pid FROM pg_stat_activity WHERE {mine}")]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGCONT)
