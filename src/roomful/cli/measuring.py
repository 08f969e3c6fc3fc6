"""`roomful bench`."""

import argparse
from pathlib import Path

from roomful.cli.parsing import Commands
from roomful.settings import split


def add_commands(commands: Commands) -> None:
    bench = commands.add(
        "bench",
        _bench,
        "Measure this machine's gateway against the least its work can cost.",
        examples=("roomful bench --quick", "roomful bench --out figures --json"),
    )
    bench.add_argument("--quick", action="store_true", help="only see that all of it works")
    bench.add_argument("--only", metavar="NAME,…", default="", help="these scenarios alone")
    bench.add_argument("--repeats", metavar="N", type=int, help="how often each is measured (3)")
    bench.add_argument("--storm", metavar="N", type=int, help="readers who come back at once (5000)")
    bench.add_argument(
        "--out", metavar="FOLDER", type=Path, default=Path(), help="for the picture and the JSON"
    )
    bench.add_argument("--json", action="store_true", help="print JSON instead of the table")


def _bench(arguments: argparse.Namespace) -> int:
    from roomful.bench.command import Wanted, bench

    wanted = Wanted(
        out=arguments.out,
        only=split(arguments.only),
        is_quick=arguments.quick,
        repeats=arguments.repeats,
        storm=arguments.storm,
        prints_json=arguments.json,
    )
    return bench(wanted)
