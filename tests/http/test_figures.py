"""What an operator sees of a gateway: every figure counts what it says."""

import re
from pathlib import Path
from typing import Any

import httpx

from tests.http.shopping import shop, story
from tests.servers.fake_openai import HANG, Answer, FakeOpenAI, call, status, usage
from tests.servers.figures import PARTS, Figures, read_figures
from tests.servers.roomful import Caller, Listener, Roomful, openai
from tests.servers.watched import wait_until

FORM: dict[str, Any] = {
    "name": "form",
    "description": "Ask.",
    "executionType": "basic",
    "execution": {"mode": "no-execution"},
    "inputSchema": {"type": "object", "properties": {}},
}
INWARDS: dict[str, Any] = {
    "name": "inwards",
    "description": "Reach where tools may not.",
    "executionType": "http",
    "execution": {"url": "http://127.0.0.1:9/", "method": "POST"},
    "inputSchema": {"type": "object", "properties": {}},
}
BOUNDED = {"status", "reason", "outcome", "kind", "executor", "limit", "le"}
"""All that figures are told apart by: never an id of anybody."""


def test_only_services_and_the_admin_read_figures(house: Roomful, model: FakeOpenAI) -> None:
    ada, service = shop(house, model), house.person("scraper", kind="service")
    assert httpx.get(f"{house.url}/metrics").status_code == 401
    assert ada.request("GET", "/metrics").status_code == 403
    before = read_figures(service)
    assert before("roomful_runs_active") == before("roomful_streams_open") == 0
    model.answer(Answer([HANG]))
    with ada.listen("shop-space") as ears:
        run_id = ada.say("shop-space", "hello")["runs"][0]["runId"]
        ears.wait_for("run.started")
        during = read_figures(house.admin)
        ada.post(f"/api/runs/{run_id}/cancel")
    assert during("roomful_runs_active") == during("roomful_streams_open") == 1
    assert during("roomful_messages_stored_total") == before("roomful_messages_stored_total") + 1
    assert during("roomful_store_commits_waiting") >= 0
    assert during("process_cpu_seconds_total") > 0
    assert during("process_resident_memory_bytes") > 2**20


def test_runs_models_tools_and_commits_are_counted(house: Roomful, model: FakeOpenAI) -> None:
    ada = shop(house, model)
    model.answer(*story())
    with ada.listen("shop-space") as ears:
        _run_ends(ada, ears, "completed")
        model.answer(status(400))
        _run_ends(ada, ears, "failed")
        model.answer(Answer([HANG]))
        run_id = ada.say("shop-space", "hello")["runs"][0]["runId"]
        ears.wait_for("run.started", count=3)
        ada.post(f"/api/runs/{run_id}/cancel")
    seen = _once(house, lambda now: now("roomful_run_seconds_count") == 3)
    assert seen("roomful_runs_ended_total", status="completed", reason="none") == 1
    assert seen("roomful_runs_ended_total", status="failed", reason="model_rejected") == 1
    assert seen("roomful_runs_ended_total", status="canceled", reason="none") == 1
    assert seen("roomful_model_steps_total", outcome="answered") == 2
    assert seen("roomful_model_steps_total", outcome="failed") == 1
    assert seen("roomful_model_first_seconds_count") == 2
    assert seen("roomful_tokens_total", kind="input") == 30
    assert seen("roomful_tokens_total", kind="output") == 55
    assert seen("roomful_tool_calls_total", executor="static", outcome="done") == 1
    assert seen("roomful_tool_calls_total", executor="client", outcome="waiting") == 2
    assert seen("roomful_tool_seconds_count", executor="static") == 1
    assert seen("roomful_store_batch_commits_count") == seen("roomful_store_batch_seconds_count") > 5
    assert seen("roomful_store_batch_commits_sum") >= seen("roomful_store_batch_commits_count")
    assert seen("roomful_http_requests_total", status="2xx") > 5
    assert seen("roomful_http_seconds_bucket", le="+Inf") == seen("roomful_http_seconds_count")


def test_waits_refusals_limits_and_cuts_are_counted(tmp_path: Path, model: FakeOpenAI) -> None:
    with Roomful(tmp_path, ROOMFUL_LIMIT_STREAMS="1") as house:
        ada = house.person("ada")
        house.agent("asker", openai(model.base_url), FORM, INWARDS)
        house.space("room", "ada:owner", "asker")
        model.answer(Answer(call("inwards", {})), Answer([*call("form", {}), usage(1, 1)]))
        with ada.listen("room") as ears:
            ada.say("room", "go")
            ears.wait_for("run.waiting_tool")
            assert ada.request("GET", "/api/spaces/room/stream").status_code == 429
            _revoke(house, "ada")
            ears.wait_end()
        seen = _once(house, lambda now: now("roomful_streams_cut_total", reason="revoked") == 1)
    assert seen("roomful_runs_waited_total", reason="tool") == 1
    assert seen("roomful_egress_refused_total") == 1
    assert seen("roomful_tool_calls_total", executor="http", outcome="failed") == 1
    assert seen("roomful_rate_limited_total", limit="streams") == 1
    assert seen("roomful_http_requests_total", status="4xx") == 1
    assert seen("roomful_runs_queued") == seen("roomful_leases_lost_total") == 0


def test_a_reader_who_leaves_was_not_cut(house: Roomful) -> None:
    ada = house.person("ada")
    house.space("room", "ada")
    with Listener(ada, "/api/spaces/room/stream") as ears:
        ears.wait_for("snapshot")
    seen = _once(house, lambda now: now("roomful_streams_open") == 0)
    assert not seen.labels("roomful_streams_cut_total")


def test_names_and_labels_follow_the_conventions(house: Roomful, model: FakeOpenAI) -> None:
    ada = shop(house, model)
    model.answer(*story())
    with ada.listen("shop-space") as ears:
        _run_ends(ada, ears, "completed")
    seen = read_figures(house.admin)
    for name, kind in seen.kinds.items():
        assert re.fullmatch(r"(roomful|process)_[a-z_]+", name)
        assert not name.endswith(PARTS)
        assert (kind == "counter") == name.endswith("_total")
    assert {label for name, _ in seen.samples for label in seen.labels(name)} <= BOUNDED
    values = {value for _, labels in seen.samples for _, value in labels}
    assert not values & {"ada", "shop", "shop-space", "showProductCard"}


def _run_ends(ada: Caller, ears: Listener, how: str) -> None:
    run_id = ada.say("shop-space", "hello")["runs"][0]["runId"]
    ears.wait_for(f"run.{how}", runId=run_id)


def _once(house: Roomful, is_so: Any) -> Figures:
    """A run is counted after its end was told."""
    seen: list[Figures] = []

    def look() -> bool:
        seen.append(read_figures(house.admin))
        return is_so(seen[-1])

    wait_until(look)
    return seen[-1]


def _revoke(house: Roomful, entity_id: str) -> None:
    for token in house.admin.get(f"/api/entities/{entity_id}/tokens")["tokens"]:
        house.admin.call("DELETE", f"/api/entities/{entity_id}/tokens/{token['id']}", expect=204)
