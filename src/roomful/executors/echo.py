"""The input is the result."""

from roomful.domain.outcomes import Done, Outcome
from roomful.domain.ports import CallContext
from roomful.domain.tools import ToolSpec


class EchoExecutor:
    has_effects = False

    def can(self, spec: ToolSpec) -> bool:
        return True

    async def execute(self, context: CallContext) -> Outcome:
        return Done(dict(context.args))
