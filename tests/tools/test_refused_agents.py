"""Wrong agents, and how everything that is wrong is told."""

import copy
import time
from typing import Any

import pytest

from roomful.tools import ConfigRefused, configure
from tests.tools.written import FORM, HTTP, URL, V2, config, problems


def priced(**price: Any) -> dict[str, Any]:
    return {"model": {"name": "a:b", "price": price}}


AGENTS: list[tuple[str, dict[str, Any], str, str]] = [
    ("no id", {"id": None}, "id", "is missing"),
    ("bad id", {"id": "a b"}, "id", "is not an id"),
    ("no name", {"name": ""}, "name", "empty"),
    ("name of two lines", {"name": "a\nb"}, "name", "one line"),
    ("no model", {"model": None}, "model", "openai:gpt-5-mini"),
    ("model without provider", {"model": "gpt-5"}, "model", "openai:gpt-5-mini"),
    ("model is a list", {"model": []}, "model", "an object"),
    ("model object without name", {"model": {}}, "model.name", "missing"),
    ("model field", {"model": {"name": "a:b", "base_url": "x"}}, "model.base_url", 'Did you mean "baseUrl"'),
    ("model address", {"model": {"name": "a:b", "baseUrl": "localhost"}}, "model.baseUrl", "https://"),
    ("price field", priced(input=1, output=1, cached=1), "model.price.cached", "Known are input, output"),
    ("half a price", priced(input=1), "model.price.output", "is missing"),
    ("price below zero", priced(input=-1, output=0), "model.price.input", "of 0 or more"),
    ("price in words", priced(input="$1", output=0), "model.price.input", "dollars per million tokens"),
    ("price is a number", {"model": {"name": "a:b", "price": 2}}, "model.price", "an object"),
    ("instructions", {"instructions": ["a"]}, "instructions", "write a string"),
    ("dialect", {"dialect": "activ"}, "dialect", 'Did you mean "active"'),
    ("speaks", {"speaks": "loud"}, "speaks", '"tools", "text" or "both"'),
    ("onBusy", {"onBusy": "wait"}, "onBusy", '"parallel", "queue" or "steer"'),
    ("showReasoning", {"showReasoning": 1}, "showReasoning", "true or false"),
    ("limits field", {"limits": {"maxStep": 5}}, "limits.maxStep", 'Did you mean "maxSteps"'),
    ("limits zero", {"limits": {"depth": 0}}, "limits.depth", "above 0"),
    ("limits half", {"limits": {"maxSteps": 1.5}}, "limits.maxSteps", "whole number"),
    ("limits word", {"limits": {"runSeconds": "1h"}}, "limits.runSeconds", "number of seconds"),
    ("limits list", {"limits": []}, "limits", "write an object"),
    ("unknown field", {"systemPrompt": "x"}, "systemPrompt", 'write "instructions"'),
    ("tools object", {"tools": {}}, "tools", "write a list"),
    ("tool is a string", {"tools": ["search"]}, "tools[0]", "write an object"),
    ("too many tools", {"tools": [{**HTTP, "name": f"t{n}"} for n in range(257)]}, "tools", "at most 256"),
    ("number too large", {"limits": {"depth": 2**70}}, "limits.depth", "too large"),
    ("no number", {"limits": {"depth": float("nan")}}, "limits.depth", "finite"),
    ("half a character", {"instructions": "\ud800"}, "instructions", "cannot be stored"),
    ("a zero", {"name": "a\x00b"}, "name", "cannot be stored"),
    ("key is a number", {"limits": {1: 2}}, "limits", "key"),
    ("not JSON", {"instructions": {1, 2}}, "instructions", "JSON does not know"),
]


@pytest.mark.parametrize(
    ("fields", "field", "message"), [row[1:] for row in AGENTS], ids=[row[0] for row in AGENTS]
)
def test_a_wrong_agent_is_refused_at_its_field(fields: dict[str, Any], field: str, message: str) -> None:
    found = problems({**config(), **fields})
    assert [told for tool, place, told in found if (tool, place) == ("", field) and message in told], found


def test_tools_of_two_dialects_are_refused_with_both_fields() -> None:
    found = problems(config({**HTTP, "name": "a", "displayTool": True}, {**V2, "name": "b"}))
    (problem,) = found
    assert problem[:2] == ("b", "executionType")
    assert '"displayTool" of a' in problem[2]
    found = problems(config({**HTTP, "displayTool": True}, dialect="composite"))
    assert found[0][:2] == ("it", "displayTool")
    assert '"dialect" says composite' in found[0][2]


def test_two_tools_of_one_name_are_refused() -> None:
    assert problems(config(HTTP, {**FORM})) == [
        ("it", "name", '"it" names two tools: write another name for one of them')
    ]


def test_everything_that_is_wrong_is_told_at_once_with_its_source() -> None:
    given = config(
        {
            **HTTP,
            "execution": {"url": "x", "timeout": "y"},
            "visibility": "z",
            "inputSchema": {"type": "string"},
        },
        {**HTTP, "name": "b", "display": 5},
        speaks="x",
        limits={"depth": -1, "b": 1},
        mcp={"servers": [{"url": 5}]},
    )
    with pytest.raises(ConfigRefused) as caught:
        configure(given, source="shop.yaml")
    places = {(problem.tool, problem.field) for problem in caught.value.problems}
    assert places == {
        ("it", "execution.url"),
        ("it", "execution.timeout"),
        ("it", "visibility"),
        ("it", "inputSchema"),
        ("b", "display"),
        ("", "speaks"),
        ("", "limits.depth"),
        ("", "limits.b"),
        ("", "mcp.servers[0].name"),
        ("", "mcp.servers[0].url"),
    }
    lines = caught.value.detail.splitlines()
    assert lines[0] == "The configuration has 10 problems:"
    assert all(line.startswith("- shop.yaml: ") for line in lines[1:])


def test_a_single_problem_is_one_sentence() -> None:
    with pytest.raises(
        ConfigRefused,
        match=r"^a\.yaml: tool it: execution\.url: is missing: write a string, as in \"https:[^\"]+\"$",
    ):
        configure(config({**HTTP, "execution": {}}), source="a.yaml")


def test_the_id_may_be_given_by_the_caller_and_must_agree() -> None:
    without = {key: value for key, value in config().items() if key != "id"}
    assert configure(without, agent_id="agt_1").id == "agt_1"
    assert configure(config(), agent_id="shop").id == "shop"
    assert problems(config(), agent_id="other")[0][:2] == ("", "id")


def test_no_secret_is_told_in_a_problem() -> None:
    canary = "sk-canary-0123456789"
    given = config(
        {
            **HTTP,
            "execution": {
                "headers": {"Authorization": f"{canary}\r\n"},
                "url": f"https://u:{canary}@example.com/",
            },
        },
        {**V2, "name": "b", "executionType": "external", "execution": {"url": URL, "secret": [canary]}},
        model={"name": "a:b", "apiKey": {"key": canary}, "baseUrl": f"https://{canary}@x/"},
    )
    found = problems(given)
    assert len(found) >= 5
    assert canary not in str(found)


def test_a_large_or_endless_configuration_is_refused_and_not_walked() -> None:
    bomb: list[Any] = ["x"] * 10
    for _ in range(40):
        bomb = [bomb] * 10
    assert "values" in problems({**config(), "tools": bomb})[0][2]
    endless: list[Any] = []
    endless.append(endless)
    assert "deep" in problems({**config(), "tools": endless})[0][2]


def test_the_callers_configuration_is_not_kept() -> None:
    given = config(
        {**HTTP, "inputSchema": {"properties": {"a": {}}}, "execution": {"url": URL, "body": {"b": []}}}
    )
    before = copy.deepcopy(given)
    spec = configure(given)
    assert given == before
    kept = copy.deepcopy(spec)
    given["tools"][0]["inputSchema"]["properties"]["a"]["type"] = "number"
    given["tools"][0]["execution"]["body"]["b"].append(1)
    assert spec == kept


def test_a_thousand_problems_are_not_all_told() -> None:
    started = time.perf_counter()
    found = problems({**config(), **{f"field{number}": 1 for number in range(90_000)}})
    assert time.perf_counter() - started < 5
    assert len(found) == 200
