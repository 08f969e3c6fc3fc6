"""A person executes this one: the call waits, or has been told already that it was shown."""

from roomful.domain.outcomes import Outcome, Waiting
from roomful.domain.ports import CallContext
from roomful.domain.tools import ToolSpec


class ClientExecutor:
    has_effects = False

    def can(self, spec: ToolSpec) -> bool:
        return True

    async def execute(self, context: CallContext) -> Outcome:
        return Waiting("answer")
