"""What has to be there before anything is done: modules that are loaded, and megabytes that are installed."""

import json
import subprocess
import sys
import tomllib
from importlib.metadata import distribution, packages_distributions
from pathlib import Path

import httpx
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.servers.roomful import free_port
from tests.servers.watched import Watched

ROOT = Path(__file__).parent.parent.parent
MEGABYTES = 55
"""A validator and uvloop are more than half of the 53.2 that there are."""
MODULES = 740
"""Roomful's own, those that serve HTTP, and what they load of Python: 706 are loaded."""
TAKEN_ALONG = frozenset({"cython_runtime", "python_multipart", "sniffio"})
"""What a dependency makes, or loads only because something else had it installed."""

TELL = "import json, sys; print('loaded', json.dumps(sorted(sys.modules)), flush=True)"
HELP = f"""
from roomful.cli import main
try:
    main(["--help"])
except SystemExit:
    {TELL}
"""
SERVE = f"import sys; from roomful.cli import main; main(sys.argv[1:]); {TELL}"


def _loaded(line: str) -> set[str]:
    return set(json.loads(line.partition("loaded ")[2]))


def _after(script: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return _loaded(done.stdout.splitlines()[-1])


def _outside(modules: set[str]) -> set[str]:
    """The packages that are neither Roomful nor come with Python."""
    packages = {name.partition(".")[0] for name in modules} - {"roomful", "__main__"}
    return {name for name in packages - sys.stdlib_module_names if not name.startswith("_")}


@pytest.mark.parametrize(
    ("script", "most", "needs"),
    [
        pytest.param(f"import roomful; {TELL}", 15, set[str](), id="import roomful"),
        pytest.param(HELP, 150, {"msgspec", "typing_extensions"}, id="roomful --help"),
    ],
)
def test_a_command_loads_few_modules(script: str, most: int, needs: set[str]) -> None:
    """The rest of Roomful, and what it serves with, are loaded by the command that needs them."""
    loaded = _after(script) - _after(TELL)
    assert _outside(loaded) <= needs
    assert len(loaded) <= most, f"{len(loaded)}: {sorted(loaded)}"


def test_a_gateway_on_sqlite_loads_only_core_dependencies(tmp_path: Path) -> None:
    port = free_port()
    with Watched([sys.executable, "-c", SERVE, "serve", "--port", str(port)], tmp_path) as running:
        running.said("Roomful is at")
        httpx.get(f"http://127.0.0.1:{port}/readyz").raise_for_status()
        running.terminate()
        loaded = _loaded(running.said("loaded ")) - _after(TELL)
    installed = _installed()
    core = {name for name, owners in packages_distributions().items() if _names(owners) & installed}
    assert _outside(loaded) <= core | TAKEN_ALONG
    assert len(loaded) <= MODULES, f"{len(loaded)}: {sorted(loaded)}"


def test_what_connects_to_models_and_tools_is_not_loaded_by_a_start() -> None:
    loaded = _after(f"import roomful.app.serving; {TELL}")
    assert {"roomful.models", "roomful.egress"} <= loaded
    assert "aiohttp" not in loaded


def test_the_core_dependencies_are_small() -> None:
    sizes = {name: _size(name) / 10**6 for name in _installed()}
    total = sum(sizes.values())
    largest = ", ".join(f"{name} {sizes[name]:.1f}" for name in sorted(sizes, key=lambda name: -sizes[name]))
    assert total <= MEGABYTES, f"{total:.1f} MB: {largest}"


def _names(owners: list[str]) -> set[str]:
    return {canonicalize_name(owner) for owner in owners}


def _installed() -> set[str]:
    """The names of everything that comes with Roomful and no extra."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        wanted = tomllib.load(file)["project"]["dependencies"]
    found: set[str] = set()
    while wanted:
        need = Requirement(wanted.pop())
        name = canonicalize_name(need.name)
        if name not in found and (need.marker is None or need.marker.evaluate({"extra": ""})):
            found.add(name)
            wanted += distribution(name).requires or ()
    return found


def _size(name: str) -> int:
    """Without what Python compiles when it first loads a file."""
    held = distribution(name)
    files = [Path(str(held.locate_file(file))) for file in held.files or () if file.suffix != ".pyc"]
    return sum(file.stat().st_size for file in files if file.is_file())
