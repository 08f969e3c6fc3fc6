"""A call as an executor is given it."""

from collections.abc import Mapping
from typing import Any

from roomful.domain.errors import Forbidden
from roomful.domain.ports import CallContext
from roomful.domain.runs import Call, Run, Trigger
from roomful.domain.tools import ExecutorSpec, RouteRule, ToolSpec, Visibility
from roomful.tools import Env


def call_of(executor: ExecutorSpec, args: Mapping[str, Any], *, seconds: float | None = None) -> CallContext:
    spec = ToolSpec(
        name="fetchWeather",
        description="",
        input_schema={"type": "object"},
        executor=executor,
        visibility=Visibility.HIDDEN,
        route=RouteRule(),
        timeout=seconds,
    )
    run = Run(
        id="run_1",
        agent_id="shop",
        status="running",
        trigger=Trigger("service"),
        root_run_id="run_1",
        created_at="",
    )
    call = Call(
        id="call_1", run_id=run.id, step=0, index=0, tool_name=spec.name, args=dict(args), status="running"
    )
    return CallContext(call=call, spec=spec, run=run, agent_id="shop", args=args)


def secrets(**values: str) -> Env:
    def read(name: str) -> str:
        if name not in values:
            raise Forbidden(f"${{env.{name}}} is not listed for tools")
        return values[name]

    return read
