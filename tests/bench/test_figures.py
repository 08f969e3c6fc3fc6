"""What becomes of figures: a verdict, a table, a picture, a bar; and where they come from."""

import io
import os
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

from roomful.bench import gauge
from roomful.bench.figures import Figure, at_least, at_most, below
from roomful.bench.marks import Watch, delta
from roomful.bench.picture import picture
from roomful.bench.progress import Progress
from roomful.bench.report import Machine, Measured, note, table

FIGURES = [
    Figure("slow & steady", "ms", 6.0, 2.0, at_most(2.5)),
    Figure("many", "1/s", 1200.0, 2000.0, at_least(0.4)),
    Figure("small", "KB", 12.34, goal=below(45)),
    Figure("only told", "s", 0.5, 0.25),
    Figure("against nothing", "%", 0.2, 0.0, below(1)),
]


def test_the_table_says_what_is_over() -> None:
    told = table([Measured("first", FIGURES), Measured("second", failed="it was too dark")])
    assert told.splitlines() == [
        "what              measured      limit   ratio     goal",
        "───────────────  ─────────  ─────────  ──────  ───────  ────",
        "slow & steady      6.00 ms    2.00 ms  3.00 ×  ≤ 2.5 ×  over",
        "many             1,200 1/s  2,000 1/s  0.60 ×  ≥ 0.4 ×  ok",
        "small              12.3 KB                     ≤ 45 KB  ok",
        "only told           0.50 s     0.25 s  2.00 ×",
        "against nothing     0.20 %     0.00 %            ≤ 1 %  ok",
        "second: could not be measured: it was too dark",
    ]


def test_the_picture_has_a_bar_for_each_goal_as_long_as_the_goal_is_used() -> None:
    root = ElementTree.fromstring(picture(FIGURES, "2 cores <here>"))
    bars = [
        (bar.get("class"), bar.get("width"))
        for bar in root.iter("{http://www.w3.org/2000/svg}rect")
        if bar.get("class") != "track"
    ]
    assert bars == [("over", "360.0"), ("ok", "200.0"), ("ok", "82.3"), ("ok", "60.0")]
    words = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"slow & steady", "3.00 ×  (≤ 2.5 ×)", "2 cores <here>"} <= set(words)


@pytest.mark.parametrize(
    ("load", "more"), [(0.4, "."), (2.5, ". Others were at work: measure again when it is quiet.")]
)
def test_a_machine_that_was_busy_is_told_of(load: float, more: str) -> None:
    said = note(Machine("Linux x86", 4, "3.11.7", load), is_quick=False)
    assert said == f"4 cores, Linux x86, Python 3.11.7, load {load} when it began{more}"


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_somebody_who_watches_sees_a_bar_and_a_log_gets_lines() -> None:
    screen, log = Screen(), io.StringIO()
    for out in (screen, log):
        progress = Progress(["runs", "delay"], 1, out)
        progress.begin("runs")
        progress.tick()
        progress.begin("delay")
        progress.end()
    drawn = [line.split(" (")[0] for line in screen.getvalue().split("\r\x1b[K")]
    assert drawn == [
        "",
        f"{'░' * 30}   0% runs",
        f"{'█' * 8}{'░' * 22}  25% runs",
        f"{'█' * 15}{'░' * 15}  50% delay",
        "",
    ]
    assert log.getvalue() == "1/2 runs\n2/2 delay\n"


def test_a_delta_counts_when_it_is_first_seen_also_if_it_came_in_two_pieces() -> None:
    watch = Watch()
    told = "".join(delta(number) for number in range(3)).encode()
    for piece in (told[:30], told[30:], told):
        watch.see(piece)
    assert len(watch.milliseconds) == 3


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere ps is asked")
def test_a_process_has_used_what_it_says_itself() -> None:
    before = time.process_time()
    told = gauge.cpu_seconds(os.getpid())
    assert told is not None
    assert before <= told <= time.process_time()


def test_where_there_is_no_proc_ps_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert (gauge.cpu_seconds(1), gauge.resident(1)) == (None, None)
    ps = tmp_path / "ps"
    ps.write_text('#!/bin/sh\n[ "$2" = rss= ] && echo 2048 || echo 1-02:03:04.50\n')
    ps.chmod(0o755)
    assert (gauge.cpu_seconds(1), gauge.resident(1)) == (93_784.5, 2048 * 1024)
