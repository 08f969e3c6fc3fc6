"""What a model is told of an agent's tools, and what it says back, checked."""

from collections.abc import Mapping

from roomful.domain.agents import AgentSpec
from roomful.domain.shape import Json, decode_json, encode_json
from roomful.domain.tools import ModelTool, ToolSpec
from roomful.tools.checking import errors_of
from roomful.tools.dialects import RULES
from roomful.tools.reading import as_object, kind_of
from roomful.tools.schemas import as_object_schema

LONGEST_MESSAGE = 1500


def model_tools(spec: AgentSpec) -> tuple[ModelTool, ...]:
    """Every tool with its routing arguments in front of the author's. The author's schema is not touched."""
    return tuple(_model_tool(tool, spec) for tool in spec.tools)


def _model_tool(tool: ToolSpec, spec: AgentSpec) -> ModelTool:
    schema: dict[str, Json] = decode_json(encode_json(as_object_schema(tool.input_schema)))
    properties = as_object(schema.get("properties")) or {}
    added = RULES[spec.dialect].parameters(tool.route) if tool.route.injected else {}
    schema["properties"] = {**added, **properties}
    return ModelTool(name=tool.name, description=tool.description, parameters=schema)


def strip_routing(spec: ToolSpec, args: Mapping[str, Json]) -> dict[str, Json]:
    """The arguments without those that we added to the schema."""
    if not spec.route.injected:
        return dict(args)
    ours = {*spec.route.args, spec.route.entity_arg}
    return {name: value for name, value in args.items() if name not in ours}


def check_arguments(spec: ToolSpec, args: Json) -> str | None:
    """What is wrong with arguments whose routing is stripped, in words a model can act on, or None."""
    if as_object(args) is None:
        return f"The arguments are {kind_of(args)}: give a JSON object."
    errors = errors_of(as_object_schema(spec.input_schema), args)
    if not errors:
        return None
    message = (
        "The arguments do not fit the tool's schema: "
        + "; ".join(errors)
        + ". Call it again with all mended."
    )
    return message if len(message) <= LONGEST_MESSAGE else message[: LONGEST_MESSAGE - 1] + "…"


def check_result(spec: ToolSpec, result: Json) -> str | None:
    """The same for a result, where the author said what it should be like."""
    if spec.result_schema is None:
        return None
    errors = errors_of(spec.result_schema, result)
    if not errors:
        return None
    message = "The result does not fit the tool's schema: " + "; ".join(errors) + "."
    return message if len(message) <= LONGEST_MESSAGE else message[: LONGEST_MESSAGE - 1] + "…"
