"""Functions of the operator's own, as tools: `@roomful.tool` makes a schema of the type hints."""

import asyncio
import inspect
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, cast, get_type_hints, overload

import msgspec

from roomful.domain.errors import Invalid
from roomful.domain.outcomes import Done, Failed, Outcome
from roomful.domain.ports import CallContext
from roomful.domain.shape import Json, clean_json
from roomful.domain.tools import PythonFunction, ToolSpec

log = logging.getLogger("roomful.executors")
_MARK = "__roomful_tool__"
F = TypeVar("F", bound=Callable[..., Any])


class PythonTool(msgspec.Struct, frozen=True):
    name: str
    description: str
    schema: dict[str, Json]
    arguments: type[msgspec.Struct]
    function: Callable[..., Any]
    idempotent: bool


@overload
def tool(function: F) -> F: ...
@overload
def tool(*, name: str | None = None, idempotent: bool = False) -> Callable[[F], F]: ...
def tool(
    function: Callable[..., Any] | None = None, *, name: str | None = None, idempotent: bool = False
) -> Any:
    """Marks a function, sync or async, as a tool. Its docstring tells the model what it is for."""

    def mark(marked: Callable[..., Any]) -> Callable[..., Any]:
        setattr(marked, _MARK, _describe(marked, name or marked.__name__, idempotent))
        return marked

    return mark if function is None else mark(function)


def tools_in(namespace: Mapping[str, Any]) -> dict[str, PythonTool]:
    """The marked functions of a module, by name."""
    found = [getattr(value, _MARK, None) for value in namespace.values() if callable(value)]
    return {one.name: one for one in found if isinstance(one, PythonTool)}


def tools_of(functions: Iterable[Callable[..., Any]]) -> dict[str, PythonTool]:
    """These functions, by name. Raises Invalid for one that is not marked, and for two of one name."""
    named: dict[str, PythonTool] = {}
    for function in functions:
        marked = getattr(function, _MARK, None)
        if not isinstance(marked, PythonTool):
            raise Invalid(f"tools: {function!r} is no tool: mark the function with @roomful.tool")
        if marked.name in named:
            raise Invalid(f"tools: two of them have the name {marked.name!r}")
        named[marked.name] = marked
    return named


class PythonExecutor:
    has_effects = True

    def __init__(self, functions: Mapping[str, PythonTool]) -> None:
        self._functions = functions

    def can(self, spec: ToolSpec) -> bool:
        return isinstance(spec.executor, PythonFunction) and spec.executor.name in self._functions

    def complete(self, spec: ToolSpec) -> ToolSpec:
        """The tool with what its function says of itself, where the author said nothing."""
        if not isinstance(spec.executor, PythonFunction) or spec.executor.name not in self._functions:
            return spec
        known = self._functions[spec.executor.name]
        schema = spec.input_schema if spec.input_schema.get("properties") else known.schema
        return msgspec.structs.replace(
            spec,
            input_schema=schema,
            description=spec.description or known.description,
            idempotent=spec.idempotent or known.idempotent,
        )

    async def execute(self, context: CallContext) -> Outcome:
        assert isinstance(context.spec.executor, PythonFunction)
        known = self._functions[context.spec.executor.name]
        try:
            given = msgspec.convert(dict(context.args), known.arguments)
        except msgspec.ValidationError as error:
            return Failed(f"the arguments do not fit {known.name}: {error}")
        arguments = {field: getattr(given, field) for field in known.arguments.__struct_fields__}
        try:
            return Done(clean_json(msgspec.to_builtins(await _run(known.function, arguments))))
        except Exception as error:
            log.exception("the function of tool %s failed", known.name)
            return Failed(f"{type(error).__name__}: {error}")


async def _run(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    if inspect.iscoroutinefunction(function):
        return await function(**arguments)
    return await asyncio.to_thread(function, **arguments)


def _describe(function: Callable[..., Any], name: str, idempotent: bool) -> PythonTool:
    hints = get_type_hints(function)
    fields: list[Any] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise Invalid(f"tool {name!r}: {parameter.name} must be a plain parameter with a type hint")
        if parameter.name not in hints:
            raise Invalid(f"tool {name!r}: give {parameter.name} a type hint")
        field = (parameter.name, hints[parameter.name])
        fields.append(field if parameter.default is parameter.empty else (*field, parameter.default))
    arguments = msgspec.defstruct(f"{name}_arguments", fields, kw_only=True, forbid_unknown_fields=True)
    made = msgspec.json.schema_components([arguments], ref_template="#/$defs/{name}")
    components = cast("dict[str, dict[str, Json]]", made[1])
    own = components.pop(str(made[0][0]["$ref"]).rpartition("/")[2])
    if components:
        own["$defs"] = components
    own.pop("title", None)
    return PythonTool(name, inspect.getdoc(function) or "", own, arguments, function, idempotent)
