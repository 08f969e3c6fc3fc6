"""A guard that is missing on one path guards nothing: tools have no other way out than egress."""

import ast
from pathlib import Path

import roomful.egress

ROOMS = ("executors", "tools", "runs", "routing", "recall", "spaces", "web", "store", "domain")
CLIENTS = {"aiohttp", "httpx", "requests", "urllib3", "urllib.request", "http.client", "ftplib", "telnetlib"}
HOUSE = Path(roomful.egress.__file__).parent.parent


def imported(source: str) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found.update(name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.update({node.module, *(f"{node.module}.{name.name}" for name in node.names)})
    return {name for name in found if name in CLIENTS or name.partition(".")[0] in CLIENTS}


def test_no_room_of_tools_imports_a_client_of_its_own() -> None:
    files = [path for room in ROOMS for path in (HOUSE / room).rglob("*.py")]

    assert len(files) > 20
    assert {
        str(path.relative_to(HOUSE)): names for path in files if (names := imported(path.read_text()))
    } == {}


def test_an_import_of_a_client_would_be_seen() -> None:
    source = (
        "import aiohttp\nfrom urllib import request, parse\nfrom http import HTTPStatus\nimport httpx._client"
    )

    assert imported(source) == {"aiohttp", "urllib.request", "httpx._client"}
