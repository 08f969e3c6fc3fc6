"""`roomful bench`, on as little as shows that all of it works. Nothing here looks at how fast it was."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.bench.commands import begin, is_under_way, started_in
from tests.servers.cluster import eventually

SVG = "{http://www.w3.org/2000/svg}"
ROWS = {
    "runs": [
        "CPU for a run, 16 at once",
        "runs a second, 16 at once",
        "runs a second, 64 at once",
        "bytes on the wire for a run",
    ],
    "delay": ["delay of a delta, 1 stream, p50"],
    "streams": ["delay, 4 streams of 200/s, p50", "delay, 4 streams of 200/s, p99"],
    "routing": ["CPU for a run into 3 spaces"],
    "parallel": ["CPU for a run of 5 parallel calls"],
    "pause": ["CPU for a run that waits for an answer", "from the answer to the end of the run"],
    "fanout": ["CPU for a delta to one of 5 readers"],
    "crowd": ["CPU for a delta to one of 20 readers, 200/s", "delay to 20 readers, 200/s, p99"],
    "idle": ["memory of a reader who waits, of 20", "CPU while 20 readers wait"],
    "storm": ["all 40 readers back with what they missed", "CPU for a reader who comes back"],
    "arguments": [
        "arguments of 10 KB followed as they grow",
        "one text of 10 KB followed as it grows",
        "a character of 10 KB against one of 1",
    ],
    "store": ["a message stored by one of 64 writers"],
    "history": [
        "the last 50 of 2,000 messages",
        "the same against the raw server over HTTP",
        "the same against of 1,000",
    ],
    "recall": ["10 delegations recalled, just started", "10 delegations recalled again"],
    "start": ["from `roomful serve` to its first answer", "`import roomful`", "size of the installation"],
}
needs_proc = pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="there is no /proc to look into")


def measured(folder: Path, *names: str) -> None:
    """Each row is in the table, in the JSON and, if it has a goal, in the picture; nothing else is left."""
    bench = begin(folder, "--quick", "--only", ",".join(names))
    table, told = bench.communicate(timeout=110)
    assert bench.returncode == 0, table + told
    assert told.splitlines() == [f"{number}/{len(names)} {name}" for number, name in enumerate(names, 1)]
    rows = [row for name in names for row in ROWS[name]]
    *lines, empty, note = table.splitlines()
    assert [line.split("  ")[0] for line in lines[2:]] == rows
    assert (empty, note.endswith("Quick: too little was measured for figures.")) == ("", True)

    report = json.loads((folder / "roomful-bench.json").read_text())
    assert [row["what"] for row in report["rows"]] == rows
    assert (report["failed"], report["quick"], report["repeats"]) == ({}, True, 1)

    picture = ElementTree.parse(folder / "roomful-bench.svg").getroot()
    shown = [text.text for text in picture.iter(f"{SVG}text") if text.get("text-anchor") == "end"]
    assert shown == [row["what"] for row in report["rows"] if row["ok"] is not None]

    assert {path.name for path in folder.iterdir()} == {"scratch", "roomful-bench.json", "roomful-bench.svg"}
    assert list((folder / "scratch").iterdir()) == []
    assert started_in(folder) == []


@needs_proc
def test_what_was_measured_is_told_and_nothing_is_left_behind(tmp_path: Path) -> None:
    measured(tmp_path, "runs", "pause", "fanout", "storm")


@needs_proc
@pytest.mark.long
def test_every_scenario_is_measured(tmp_path: Path) -> None:
    measured(tmp_path, *ROWS)


@needs_proc
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_whoever_is_stopped_stops_those_it_started(tmp_path: Path, sent: signal.Signals, code: int) -> None:
    bench = begin(tmp_path, "--only", "streams", "--repeats", "100")
    try:
        eventually(lambda: is_under_way(tmp_path), "a run of the gateway")
        assert len(started_in(tmp_path)) == 3, "the model, the raw server and the gateway"
        bench.send_signal(sent)
        table, _ = bench.communicate(timeout=30)
        assert (bench.returncode, table) == (code, "")
        assert started_in(tmp_path) == []
        assert list((tmp_path / "scratch").iterdir()) == []
    finally:
        bench.kill()
        bench.communicate()


def test_json_can_be_had_in_place_of_the_table(tmp_path: Path) -> None:
    bench = begin(tmp_path, "--quick", "--only", "arguments", "--repeats", "2", "--json")
    told, _ = bench.communicate(timeout=60)
    assert json.loads(told) == json.loads((tmp_path / "roomful-bench.json").read_text())
    assert json.loads(told)["repeats"] == 2


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--only", "runs,speed"], f"--only: there is no 'speed'; there are {', '.join(ROWS)}"),
        (["--repeats", "0"], "--repeats and --storm: at least 1"),
        (["--out", "nowhere"], "--out: nowhere is no folder"),
    ],
)
def test_what_cannot_be_wanted_is_refused_in_words(tmp_path: Path, words: list[str], told: str) -> None:
    bench = begin(tmp_path, *words)
    assert bench.communicate(timeout=60) == ("", f"roomful: {told}\n")
    assert bench.returncode == 1


def test_nobody_else_loads_it() -> None:
    code = """
import contextlib, io, sys
import roomful
from roomful.cli import main
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()) as said:
    main(["--help"])
assert "bench" in said.getvalue()
assert [name for name in sys.modules if name.startswith("roomful.bench")] == []
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
