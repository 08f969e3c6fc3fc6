"""A page for every kind of tool: its fields are all that there are, and what it shows is what happens."""

import contextlib
import json
import re
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, get_args

import pytest

from roomful.domain.agents import Dialect
from roomful.domain.errors import Invalid
from roomful.domain.tools import ExecutorSpec
from roomful.executors.expressions.functions import FUNCTIONS
from roomful.executors.signing import signature
from roomful.tools import ConfigRefused, configure
from roomful.tools.builtins import builtin_tools
from roomful.tools.dialects import active, composite, v1
from tests.app.embedded import run
from tests.docs.pages import DOCS, Page, codes, fits, patched
from tests.docs.trying import Service, Trial, trial_of
from tests.requirements import requirement
from tests.servers.mcp_server import McpHttpServer

FOLDER = DOCS / "tools"
INDEX = Page(FOLDER / "README.md")
PAGES = {path.stem: Page(path) for path in sorted(FOLDER.glob("*.md")) if path.stem != "README"}
OF_KINDS = {
    "echo": "pass-through",
    "static": "static",
    "http": "request",
    "webhook": "webhook",
    "client": "form",
    "agent": "ai-agent",
    "image": "image-generator",
    "compute": "compute",
    "mcp": "mcp",
    "python": "python",
    "builtin": "built-in",
}
WITH_FIELDS = [name for name in PAGES if name != "built-in"]
_KNOWN = re.compile(r"Known are (.*)")


def agent_with(page: Page, config: Any) -> dict[str, Any]:
    agent: dict[str, Any] = {"id": "helper", "name": "Helper", "model": "scripted:helper"}
    return agent | ({"mcp": {"servers": [config]}} if page.data("server") else {"tools": [config]})


def refused_with(config: Any, page: Page, patch: Any) -> str:
    """What is told of the first thing that is wrong with the example after this change."""
    with pytest.raises(ConfigRefused) as refused:
        configure(agent_with(page, patched(config, patch)))
    problem = refused.value.problems[0]
    return f"{problem.field.removeprefix('mcp.servers[0].')}: {problem.message}"


@contextlib.asynccontextmanager
async def trying(page: Page, folder: Path) -> AsyncGenerator[tuple[Trial, Service]]:
    if page.data("server") is None:
        async with trial_of(page) as trial:
            yield trial
        return
    with McpHttpServer(folder) as server:
        async with trial_of(page, f"http://{server.authority}") as trial:
            yield trial


@requirement("D-18")
def test_every_kind_of_tool_has_a_page_and_the_index_names_it() -> None:
    kinds = {spec.__struct_config__.tag for spec in get_args(ExecutorSpec)}
    linked = set(re.findall(r"\]\((\w[\w-]*)\.md\)", INDEX.text))
    assert kinds == OF_KINDS.keys()
    assert {*OF_KINDS.values(), "common"} == PAGES.keys() == linked


@requirement("D-18")
def test_the_index_names_every_execution_type() -> None:
    named = {name for row in INDEX.table("what it does") for cell in row[1:3] for name in codes(cell)}
    assert {*v1.TYPES, *v1.MODES, *active.TYPES} <= named


@requirement("D-18")
@pytest.mark.parametrize("name", PAGES)
def test_an_example_gives_the_result_that_its_page_shows(name: str, tmp_path: Path) -> None:
    page = PAGES[name]

    async def story() -> None:
        async with trying(page, tmp_path) as (trial, service):
            told = await trial.told(answer=page.data("answer"))
            assert fits(page.data("result"), json.loads(told)), told
            assert page.data("request") is None or fits([page.data("request")], service.asked)

    run(story())


@requirement("D-18")
@pytest.mark.parametrize("name", PAGES)
def test_what_comes_of_other_calls_is_told_as_on_the_page(name: str, tmp_path: Path) -> None:
    page = PAGES[name]

    async def story() -> None:
        async with trying(page, tmp_path) as (trial, _):
            for shown, value in page.table("called with", "gives"):
                told = await trial.told(args=json.loads(codes(shown)[0]))
                assert json.loads(told) == json.loads(codes(value)[0]), told
            for shown, words in page.table("called with", "the model is told"):
                told = await trial.told(args=json.loads(codes(shown)[0]))
                assert fits(f"Error: {words}", told), told
            for shown, words in page.table("with this change", "the model is told"):
                told = await trial.told(patch=json.loads(codes(shown)[0]))
                assert fits(f"Error: {words}", told), told

    run(story())


@requirement("D-18")
@pytest.mark.parametrize("name", [name for name in PAGES if PAGES[name].data("answer")])
def test_an_answer_that_does_not_fit_is_refused_in_the_words_of_the_page(name: str, tmp_path: Path) -> None:
    page = PAGES[name]

    async def story() -> None:
        async with trying(page, tmp_path) as (trial, _):
            for shown, words in page.table("answered with", "refused with"):
                with pytest.raises(Invalid) as refused:
                    await trial.told(answer=json.loads(codes(shown)[0]))
                assert fits(words, refused.value.detail), refused.value.detail

    run(story())


@requirement("D-18")
@pytest.mark.parametrize("name", WITH_FIELDS)
def test_a_wrong_configuration_is_refused_in_the_words_of_the_page(name: str) -> None:
    page = PAGES[name]
    config = page.data("tool") or page.data("server")
    rows = page.table("written", "refused with")
    assert rows
    for shown, words in rows:
        assert refused_with(config, page, json.loads(codes(shown)[0])) == words


@requirement("D-18")
@pytest.mark.parametrize("name", WITH_FIELDS)
def test_a_page_has_every_field_that_its_kind_knows(name: str) -> None:
    page = PAGES[name]
    is_whole = name in ("common", "mcp")
    config = page.data("smallest") or page.data("tool")
    configure(agent_with(page, config))
    known = _known(page, config, is_whole=is_whole)
    if name == "common":
        known |= _known(page, {"name": "show", "displayTool": True}, is_whole=True)
    shown = page.names("field", "meaning", "default")
    assert sorted(shown) == sorted(known)


def _known(page: Page, config: Any, *, is_whole: bool) -> set[str]:
    """As the refusal of a field that is none lists them."""
    stray = {"q" * 40: 1}
    told = refused_with(config, page, stray if is_whole else {"execution": stray})
    found = _KNOWN.search(told)
    assert found, told
    return set(found[1].split(", "))


@requirement("D-18")
@pytest.mark.parametrize(("head", "dialect"), [("Composite and display", "composite"), ("Active", "active")])
def test_the_built_in_tools_are_those_of_the_page(head: str, dialect: Dialect) -> None:
    text = PAGES["built-in"].text.split(f"## {head}\n")[1].split("\n## ")[0]
    rows = [line.strip("|").split(" | ") for line in text.splitlines() if line.startswith("| `")]
    shown = {name: arguments for row in rows for name, arguments in _paired(row)}
    assert shown == {tool.name: [*tool.input_schema["properties"]] for tool in builtin_tools(dialect)}


def _paired(row: list[str]) -> list[tuple[str, list[str]]]:
    """Tools that share a row have their arguments split by semicolons."""
    return [
        (name, codes(arguments)) for name, arguments in zip(codes(row[0]), row[1].split(";"), strict=True)
    ]


def test_compute_calls_every_function_that_its_page_lists() -> None:
    assert sorted(PAGES["compute"].names("functions", "of")) == sorted(FUNCTIONS)


def test_the_words_for_visibility_are_those_of_the_dialects() -> None:
    rows = PAGES["common"].table("`visibility`", "in the active dialect")
    assert {name for row in rows for name in codes(row[0])} == composite.WORDS.keys()
    assert {name for row in rows for name in codes(row[1])} == active.WORDS.keys()


def test_a_receiver_can_tell_a_signature_as_the_page_shows() -> None:
    [shown] = PAGES["webhook"].blocks("check")
    names: dict[str, Any] = {}
    exec(shown, names)
    key, body = b"key", b'{"id":"call_1"}'
    headers = {
        "X-Roomful-Id": "call_1",
        "X-Roomful-Timestamp": "1700000000",
        "X-Roomful-Signature": f"v1=00,{signature(key, 'call_1', 1700000000, body)}",
    }
    assert names["is_ours"](key, headers, body)
    assert not names["is_ours"](b"other", headers, body)
