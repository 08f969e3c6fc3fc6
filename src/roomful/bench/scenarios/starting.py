"""From nothing to an answer, and how much has to be there for it."""

import asyncio
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

from roomful.bench.figures import Figure, below, median
from roomful.bench.house import House
from roomful.bench.stage import Stage

PACKAGE: Final = Path(__file__).parents[2]
_NAME: Final = re.compile(r"[\w.-]+")


async def start(stage: Stage) -> list[Figure]:
    took = list[float]()
    for _ in range(stage.sizes.starts):
        house = House(stage.new_folder(), stage.cores, stage.model_port)
        try:
            took.append(await house.start())
        finally:
            house.stop()
    loaded, bare = await stage.by_turns(
        ("import roomful", "pass"), lambda code: asyncio.to_thread(_ran, code)
    )
    importing = max(0.0, median(loaded) - median(bare)) * 1000
    return [
        Figure("from `roomful serve` to its first answer", "s", median(took), goal=below(1)),
        Figure("`import roomful`", "ms", importing, goal=below(150)),
        Figure("size of the installation", "MB", _installed_bytes() / 1e6, goal=below(60)),
    ]


def _ran(code: str) -> float:
    """Seconds; the least of some, for most of it is the interpreter's own start."""
    took = list[float]()
    for _ in range(5):
        began = time.monotonic()
        subprocess.run([sys.executable, "-c", code], check=True)
        took.append(time.monotonic() - began)
    return min(took)


def _installed_bytes() -> int:
    """The package itself, which may not be installed as one, and all that it needs without extras."""
    own = sum(path.stat().st_size for path in PACKAGE.rglob("*") if path.is_file())
    return own + sum(_size(needed) for needed in _needed("roomful", set()))


def _needed(name: str, known: set[str]) -> Iterator[Distribution]:
    for requirement in distribution(name).requires or ():
        found = _NAME.match(requirement)
        if found is None or "extra ==" in requirement or found[0].lower() in known:
            continue
        known.add(found[0].lower())
        try:
            yield distribution(found[0])
        except PackageNotFoundError:
            continue  # for another system or another Python
        yield from _needed(found[0], known)


def _size(installed: Distribution) -> int:
    files = [Path(str(file.locate())) for file in installed.files or ()]
    return sum(file.stat().st_size for file in files if file.is_file())
