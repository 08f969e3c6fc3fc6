"""Expressions: what the language can do, what it cannot be made to do, and what the child may not do."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from roomful.domain.outcomes import Done, Failed, Outcome
from roomful.domain.tools import Compute
from roomful.executors.compute import ComputeExecutor
from tests.executors.contexts import call_of
from tests.executors.probes import CONTROLS, ESCAPES, INPUT, TOO_MUCH, growing


async def evaluated(
    executor: ComputeExecutor, expression: str, args: dict[str, Any] | None = None
) -> Outcome:
    """As a model gives it: the expression is an argument among the others."""
    given = {**(INPUT if args is None else args), "expression": expression}
    return await executor.execute(call_of(Compute(expression="{{input.expression}}"), given))


def outcomes(expressions: list[str], args: dict[str, Any] | None = None, **limits: Any) -> list[Outcome]:
    async def main() -> list[Outcome]:
        executor = ComputeExecutor(**limits)
        try:
            return [await evaluated(executor, expression, args) for expression in expressions]
        finally:
            await executor.close()

    return asyncio.run(main())


def test_the_language_does_what_it_says() -> None:
    found = outcomes([expression for expression, _ in CONTROLS])

    assert len(CONTROLS) >= 20
    assert [(e, o) for (e, _), o in zip(CONTROLS, found, strict=True)] == [(e, Done(v)) for e, v in CONTROLS]


def test_nothing_gets_out_of_the_language() -> None:
    probes = [*ESCAPES, *TOO_MUCH]

    found = outcomes(probes)

    assert len(probes) >= 60
    assert [
        probe[:60] for probe, outcome in zip(probes, found, strict=True) if not isinstance(outcome, Failed)
    ] == []
    told = [outcome.error for outcome in found if isinstance(outcome, Failed)]
    assert all(len(error) < 700 and "Traceback" not in error for error in told)
    assert not any("longer than 2 s" in error or "could not be evaluated" in error for error in told)


@pytest.mark.parametrize(("expression", "args"), [pytest.param(*case, id=case[0][:24]) for case in growing()])
def test_nothing_grows_beyond_its_bounds(expression: str, args: dict[str, Any]) -> None:
    (outcome,) = outcomes([expression], args)

    assert isinstance(outcome, Failed)
    assert "could not be evaluated" not in outcome.error
    assert " s" not in outcome.error[-3:]


def test_a_very_large_input_is_refused() -> None:
    (outcome,) = outcomes(["1"], {"t": "x" * 1_100_000})

    assert outcome == Failed("the expression's input is larger than 1024 KiB")


SLOW = "unique(xs)"
SLOW_INPUT = {"xs": [f"{'x' * 2}{n % 490}" for n in range(110_000)]}


def test_an_expression_that_takes_too_long_is_ended_and_the_next_one_works() -> None:
    async def main() -> None:
        executor = ComputeExecutor(children=1, seconds=0.2)
        try:
            assert await evaluated(executor, SLOW, SLOW_INPUT) == Failed(
                "the expression takes longer than 0.2 s"
            )
            assert await evaluated(executor, "1 + 1") == Done(2)
        finally:
            await executor.close()

    asyncio.run(main())


def test_an_expression_of_the_author_takes_values_by_template_or_by_name() -> None:
    async def main() -> None:
        executor = ComputeExecutor()
        try:
            for expression in ("{{a}} * {{input.b}}", "a * b", "input.a * input.b"):
                outcome = await executor.execute(call_of(Compute(expression=expression), {"a": 6, "b": 7}))
                assert outcome == Done(42)
            typed = await executor.execute(
                call_of(Compute(expression="{{a}}"), {"a": [1, None, {"x": True}]})
            )
            assert typed == Done([1, None, {"x": True}])
            secret = await executor.execute(call_of(Compute(expression="${env.KEY}"), {}))
            assert isinstance(secret, Failed)
        finally:
            await executor.close()

    asyncio.run(main())


class Started:
    """Notes every child that is started."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.processes: list[asyncio.subprocess.Process] = []
        start = asyncio.create_subprocess_exec

        async def noted(*command: str, **how: Any) -> asyncio.subprocess.Process:
            self.processes.append(await start(*command, **how))
            return self.processes[-1]

        monkeypatch.setattr("roomful.executors.children.asyncio.create_subprocess_exec", noted)


def test_children_are_few_warm_and_gone_after_close(monkeypatch: pytest.MonkeyPatch) -> None:
    started = Started(monkeypatch)

    async def main() -> None:
        executor = ComputeExecutor(children=2)
        many = await asyncio.gather(*(evaluated(executor, f"{n} + 1") for n in range(50)))
        assert many == [Done(n + 1) for n in range(50)]
        assert 1 <= len(started.processes) <= 2
        await executor.close()
        assert all(process.returncode is not None for process in started.processes)

    asyncio.run(main())


def test_a_child_that_died_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    started = Started(monkeypatch)

    async def main() -> None:
        executor = ComputeExecutor(children=1)
        assert await evaluated(executor, "1") == Done(1)
        started.processes[0].kill()
        await started.processes[0].wait()
        assert await evaluated(executor, "2") == Done(2)
        assert len(started.processes) == 2
        await executor.close()

    asyncio.run(main())


def test_a_canceled_call_takes_its_child_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    started = Started(monkeypatch)

    async def main() -> None:
        executor = ComputeExecutor(children=1, seconds=30)
        assert await evaluated(executor, "1") == Done(1)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await evaluated(executor, SLOW, SLOW_INPUT)
        assert started.processes[0].returncode is not None
        assert await evaluated(executor, "name") == Done("Ada")
        await executor.close()

    asyncio.run(main())


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_child_has_no_environment_no_files_and_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    started = Started(monkeypatch)
    monkeypatch.setenv("CANARY_SECRET", "sk-canary")

    async def main() -> None:
        executor = ComputeExecutor()
        assert await evaluated(executor, "1") == Done(1)
        proc = Path(f"/proc/{started.processes[0].pid}")
        limits = proc.joinpath("limits").read_text()
        assert proc.joinpath("environ").read_bytes() == b""
        assert sorted(fd.name for fd in proc.joinpath("fd").iterdir()) == ["0", "1", "2"]
        assert "Max address space         268435456            268435456" in limits
        assert "Max open files            0                    0" in limits
        assert "Max file size             0                    0" in limits
        await executor.close()

    asyncio.run(main())
