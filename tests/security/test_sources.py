"""What no line of the product may do, read from its source; and what it is built from, from its locks."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

import roomful
from roomful.tools import parsing
from tests.egress.test_only_way_out import imported

ROOT = Path(__file__).parent.parent.parent
HOUSE = Path(roomful.__file__).parent
SOURCES = {str(path.relative_to(HOUSE)): path.read_text() for path in HOUSE.rglob("*.py")}
FILES = {name: ast.parse(source) for name, source in SOURCES.items()}
WAYS_OUT = {
    "egress/client.py": "the one for tools",
    "egress/connecting.py": "its part",
    "egress/faults.py": "its part",
    "executors/mcp_http.py": "the official client of MCP, with the one for tools below it",
    "executors/mcp_session.py": "likewise",
    "models/connections.py": "a model's address is the operator's word",
    "client/connection.py": "it runs where its user is, not in the gateway",
    "app/demo/outside.py": "a server, not a client",
}
OTHERS = {"aiohappyeyeballs", "httpx2", "websockets", "pycurl", "niquests"}
DIALS = {"open_connection", "open_unix_connection", "create_connection", "create_unix_connection", "urlopen"}
REVIVING = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "jsonpickle", "msgpack", "copyreg", "code"}
CALLED = {"eval", "exec", "compile", "__import__", "breakpoint"}
SECRETS = re.compile(r"token|secret|signature|password|hmac|admin_key")
"""A digest is none: who sends something else cannot choose what its hash begins with."""
HARMLESS = {("web/routes/agents.py", "secret == MASK"): "a constant that everybody sees"}


def test_only_the_guard_and_the_operators_models_reach_out() -> None:
    clients = {name for name, source in SOURCES.items() if imported(source)}
    found = clients | {name for name, tree in FILES.items() if _names_in(tree) & OTHERS}
    assert found == WAYS_OUT.keys()
    assert _names_in(ast.parse("import httpx2.x\nloop.create_connection(p)")) == {
        "httpx2",
        "create_connection",
    }
    gateway = {name: tree for name, tree in FILES.items() if not name.startswith("bench/")}
    assert {name for name, tree in gateway.items() if _names_in(tree) & DIALS} == {"models/connections.py"}


def test_what_is_measured_is_dialled_on_this_machine_and_by_no_gateway() -> None:
    """`roomful bench` is a command of its own: it dials the processes that it started, and nothing else."""
    users = {name for name, source in SOURCES.items() if "from roomful.bench" in source}
    assert {name for name in users if not name.startswith("bench/")} == {"cli/measuring.py"}
    dials = [
        (name, ast.unparse(node))
        for name, tree in FILES.items()
        if name.startswith("bench/")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in DIALS
    ]
    assert len(dials) >= 4
    assert [dial for dial in dials if "'127.0.0.1'" not in dial[1]] == []


def _names_in(tree: ast.AST) -> set[str]:
    """The packages that are imported and the methods that are called."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Import(names):
                found.update(each.name.partition(".")[0] for each in names)
            case ast.ImportFrom(module=str(module)):
                found.add(module.partition(".")[0])
            case ast.Call(ast.Attribute(attr=name)):
                found.add(name)
            case _:
                pass
    return found


def test_nothing_is_revived_from_data_and_no_text_is_run() -> None:
    assert list(
        _revivals(ast.parse("import pickle\nfrom marshal import loads\neval('1')\nyaml.load(x)"))
    ) == [
        "pickle",
        "marshal",
        "eval",
        "yaml.load",
    ]
    assert {name: found for name, tree in FILES.items() if (found := list(_revivals(tree)))} == {}
    assert issubclass(parsing._Loader, yaml.SafeLoader)  # pyright: ignore[reportPrivateUsage]


def _revivals(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names):
                yield from (each.name for each in names if each.name.partition(".")[0] in REVIVING)
            case ast.ImportFrom(module=str(module)) if module.partition(".")[0] in REVIVING:
                yield module
            case ast.Call(ast.Name(id)) if id in CALLED:
                yield id
            case ast.Call(ast.Attribute(ast.Name("yaml"), "load" | "load_all" | "unsafe_load")):
                if "Loader=_Loader" not in ast.unparse(node):
                    yield ast.unparse(node.func)
            case _:
                pass


def test_secrets_are_compared_by_the_library_alone() -> None:
    assert list(_comparisons(ast.parse("token == other\nif a is None or kept != my.secret: pass"))) == [
        "token == other",
        "kept != my.secret",
    ]
    found = {(name, each) for name, tree in FILES.items() for each in _comparisons(tree)}
    assert found == HARMLESS.keys()


def _comparisons(tree: ast.AST) -> Iterator[str]:
    """Of one value with another, where a name says that it is a secret. What only looks at an id or at a
    constant of the language compares nothing."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], ast.Eq | ast.NotEq):
            continue
        sides = [node.left, *node.comparators]
        names = [side.attr if isinstance(side, ast.Attribute) else getattr(side, "id", "") for side in sides]
        if any(isinstance(side, ast.Constant) for side in sides) or any(n.endswith("_id") for n in names):
            continue
        if any(SECRETS.search(name) for name in names):
            yield ast.unparse(node)


@pytest.mark.parametrize("lock", ["runtime", "dev", "uv"])
def test_every_package_of_python_is_pinned_with_its_hash(lock: str) -> None:
    text = (ROOT / f"requirements/{lock}.txt").read_text()
    entries = re.split(r"\n(?=[a-z0-9])", re.sub(r"(?m)^\s*#.*\n?", "", text).strip())
    assert len(entries) >= 1
    assert [entry for entry in entries if not re.match(r"[\w.-]+(\[[\w,-]+\])?==\S+", entry)] == []
    assert [entry.partition(" ")[0] for entry in entries if "--hash=sha256:" not in entry] == []
    assert "--require-hashes" in (ROOT / "Makefile").read_text()


@pytest.mark.parametrize("folder", ["web", "tests/clients", "tests/browser"])
def test_every_package_of_node_has_its_hash_and_runs_no_script(folder: str) -> None:
    packages = json.loads((ROOT / folder / "package-lock.json").read_text())["packages"]
    fetched = {
        name: each for name, each in packages.items() if "node_modules/" in name and not each.get("link")
    }
    assert len(fetched) > 10
    assert [name for name, each in fetched.items() if not each["integrity"].startswith("sha512-")] == []
    assert "ignore-scripts=true" in (ROOT / folder / ".npmrc").read_text().split()
    own = [ROOT / folder / "package.json", *(ROOT / folder).glob("*/package.json")]
    hooks = {"preinstall", "install", "postinstall", "prepare"}
    assert [path for path in own if hooks & json.loads(path.read_text()).get("scripts", {}).keys()] == []


def test_the_packages_that_run_beside_ours_are_few() -> None:
    text = (ROOT / "requirements/runtime.txt").read_text()
    direct = re.search(r"(?s)\ndependencies = \[(.*?)\n\]", (ROOT / "pyproject.toml").read_text())
    assert direct is not None
    assert len(direct[1].strip().splitlines()) <= 12
    assert len(re.findall(r"(?m)^[a-z0-9][\w.-]*(\[[\w,-]+\])?==", text)) <= 80
