"""The log as a machine reads it: one object a line, whatever happened, and whose doing it was."""

import json
import logging
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from roomful.app.logs import JsonLines
from tests.servers.fake_openai import Answer, FakeOpenAI, call, text
from tests.servers.roomful import Roomful

TOOLS = """
import roomful

@roomful.tool
def broken() -> None:
    raise RuntimeError("out of order")
"""
AGENT = """
id: helper
name: Helper
model: {{name: "openai:fake", baseUrl: "{url}", apiKey: x}}
tools:
  - {{name: broken, description: Breaks., executionType: python, execution: {{function: broken}}}}
"""


def _log_of_a_broken_tool(folder: Path, model: FakeOpenAI, **environment: str) -> tuple[str, str]:
    """The log, and the run that the tool broke in."""
    agents = folder / "agents"
    agents.mkdir()
    (agents / "tools.py").write_text(TOOLS)
    (agents / "helper.yaml").write_text(AGENT.format(url=model.base_url))
    model.answer(Answer(call("broken", {})), Answer(text("ok")))
    with Roomful(folder, "--agents", str(agents), **environment) as house:
        ada = house.person("ada")
        house.space("room", "ada", "helper")
        with ada.listen("room") as listener:
            run_id = ada.say("room", "go")["runs"][0]["runId"]
            listener.wait_for("run.completed")
    return house.log.read_text(), run_id


def test_every_line_is_an_object_that_names_the_run(tmp_path: Path, model: FakeOpenAI) -> None:
    log, run_id = _log_of_a_broken_tool(tmp_path, model, ROOMFUL_LOG_FORMAT="json")
    lines = [json.loads(line) for line in log.splitlines() if not line.startswith("Roomful is at")]
    assert len(lines) > 2
    for line in lines:
        assert {"time", "level", "logger", "message", "process"} <= line.keys()
        assert datetime.fromisoformat(line["time"]).utcoffset() is not None
    [broke] = [line for line in lines if line["level"] == "error"]
    exception = broke.pop("exception")
    assert exception.startswith("Traceback")
    assert exception.endswith("RuntimeError: out of order")
    del broke["time"], broke["process"]
    assert broke == {
        "level": "error",
        "logger": "roomful.executors",
        "message": "the function of tool broken failed",
        "run": run_id,
        "agent": "helper",
        "space": "room",
    }


def test_the_log_is_plain_if_nothing_else_is_said(tmp_path: Path, model: FakeOpenAI) -> None:
    log, _ = _log_of_a_broken_tool(tmp_path, model)
    assert "roomful.executors the function of tool broken failed\nTraceback" in log


@pytest.mark.parametrize("said", ["two\nlines", 'a "quote"', "a lone \ud800 surrogate", "\x00\x1b[31m", "é"])
def test_whatever_is_said_is_one_line(said: str) -> None:
    record = logging.LogRecord("roomful", logging.WARNING, "", 0, "said: %s", (said,), None)
    line = JsonLines().format(record)
    assert "\n" not in line
    assert "\x1b" not in line
    told: dict[str, Any] = json.loads(line)
    assert told["message"].startswith("said: ")
    assert told["level"] == "warning"
    assert "run" not in told
