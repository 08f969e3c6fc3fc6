"""The author's words are the result, with the input filled in where the tool says so."""

from roomful.domain.errors import RoomfulError
from roomful.domain.outcomes import Done, Failed, Outcome
from roomful.domain.ports import CallContext
from roomful.domain.tools import Static, ToolSpec
from roomful.tools.templates import TemplateError, expand


class StaticExecutor:
    has_effects = False

    def can(self, spec: ToolSpec) -> bool:
        return True

    async def execute(self, context: CallContext) -> Outcome:
        spec = context.spec.executor
        assert isinstance(spec, Static)
        if not spec.template:
            return Done(spec.output)
        try:
            return Done(expand(spec.output, context.args, no_secrets))
        except RoomfulError as error:
            return Failed(error.detail)


def no_secrets(name: str) -> str:
    """For templates whose result is shown."""
    raise TemplateError(f"${{env.{name}}} cannot be used here: it would be shown")
