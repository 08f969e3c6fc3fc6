"""Tools that go nowhere: the input echoed, the author's own words."""

import asyncio
from typing import Any

import pytest

from roomful.domain.outcomes import Done, Failed
from roomful.domain.tools import Echo, Static
from roomful.executors.echo import EchoExecutor
from roomful.executors.static import StaticExecutor
from tests.executors.contexts import call_of


def test_an_echo_gives_the_input_back() -> None:
    args = {"type": "bar", "data": [1, 2], "title": "Q4"}

    assert asyncio.run(EchoExecutor().execute(call_of(Echo(), args))) == Done(args)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (Static({"status": "ok"}), {"status": "ok"}),
        (Static({"said": "{{input.x}}"}), {"said": "{{input.x}}"}),
        (Static({"said": "{{input.x}}", "more": "x is {{x}}"}, template=True), {"said": 7, "more": "x is 7"}),
        (Static(["{{input.y}}"], template=True), ["{{input.x}} ${env.HOME}"]),
        (Static(None), None),
    ],
)
def test_a_static_output_is_the_result(spec: Static, expected: Any) -> None:
    args = {"x": 7, "y": "{{input.x}} ${env.HOME}"}

    assert asyncio.run(StaticExecutor().execute(call_of(spec, args))) == Done(expected)


def test_a_static_output_never_holds_a_secret() -> None:
    outcome = asyncio.run(StaticExecutor().execute(call_of(Static("${env.API_KEY}", template=True), {})))

    assert outcome == Failed("${env.API_KEY} cannot be used here: it would be shown")
