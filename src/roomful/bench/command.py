"""`roomful bench`, from the first process to the last file."""

import asyncio
import signal
import sys
import tempfile
from pathlib import Path
from typing import Final

import msgspec
import uvloop

from roomful.app.clock import SystemClock
from roomful.bench.gauge import raise_file_limit
from roomful.bench.picture import picture
from roomful.bench.processes import CannotMeasure, Cores
from roomful.bench.progress import Progress
from roomful.bench.report import Machine, Measured, as_json, note, table, this_machine
from roomful.bench.scenarios import SCENARIOS
from roomful.bench.sizes import QUICK, Sizes
from roomful.bench.stage import Stage
from roomful.domain.errors import Invalid

TERMINATED: Final = 128 + signal.SIGTERM
SPARE_FILES: Final = 200


class Wanted(msgspec.Struct, frozen=True):
    out: Path
    only: list[str] = []
    is_quick: bool = False
    repeats: int | None = None
    storm: int | None = None
    prints_json: bool = False


def bench(wanted: Wanted) -> int:
    """0, also when a goal is missed; 1 when something could not be measured. No process is left behind."""
    names, sizes = _names(wanted.only), _sizes(wanted)
    if not wanted.out.is_dir():
        raise Invalid(f"--out: {wanted.out} is no folder")
    machine = this_machine()
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            measured = runner.run(_measure_all(names, sizes))
    except asyncio.CancelledError:
        return TERMINATED
    _tell(measured, machine, wanted, sizes)
    return 1 if any(each.failed for each in measured) else 0


def _names(only: list[str]) -> list[str]:
    for name in only:
        if name not in SCENARIOS:
            raise Invalid(f"--only: there is no {name!r}; there are {', '.join(SCENARIOS)}")
    return [name for name in SCENARIOS if not only or name in only]


def _sizes(wanted: Wanted) -> Sizes:
    sizes = QUICK if wanted.is_quick else Sizes()
    repeats = sizes.repeats if wanted.repeats is None else wanted.repeats
    storm = sizes.storm if wanted.storm is None else wanted.storm
    if repeats < 1 or storm < 1:
        raise Invalid("--repeats and --storm: at least 1")
    return msgspec.structs.replace(sizes, repeats=repeats, storm=min(storm, raise_file_limit() - SPARE_FILES))


async def _measure_all(names: list[str], sizes: Sizes) -> list[Measured]:
    own = asyncio.current_task()
    assert own is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, own.cancel)
    progress, cores = Progress(names, sizes.repeats, sys.stderr), Cores()
    measured: list[Measured] = []
    try:
        with cores.apart():
            for name in names:
                progress.begin(name)
                measured.append(await _measure(name, cores, sizes, progress))
    finally:
        progress.end()
    return measured


async def _measure(name: str, cores: Cores, sizes: Sizes, progress: Progress) -> Measured:
    with tempfile.TemporaryDirectory(prefix="roomful-bench-") as folder:
        try:
            async with Stage(Path(folder), cores, sizes, progress.tick) as stage:
                return Measured(name, await SCENARIOS[name](stage))
        except (CannotMeasure, OSError) as error:
            return Measured(name, failed=str(error) or type(error).__name__)


def _tell(measured: list[Measured], machine: Machine, wanted: Wanted, sizes: Sizes) -> None:
    at, said = SystemClock().iso(), note(machine, is_quick=wanted.is_quick)
    told = as_json(measured, machine, at=at, repeats=sizes.repeats, is_quick=wanted.is_quick)
    figures = [figure for each in measured for figure in each.figures]
    (wanted.out / "roomful-bench.json").write_bytes(told)
    (wanted.out / "roomful-bench.svg").write_text(picture(figures, f"{at[:10]}: {said}"), encoding="utf-8")
    print(told.decode() if wanted.prints_json else f"{table(measured)}\n\n{said}", flush=True)
