"""The OpenAPI 3.1 document, made of the route table: what is not in the table is not served."""

import re
from collections.abc import Sequence
from typing import Any, TypeAlias

import msgspec

from roomful.domain.shape import ID_PATTERN, Json
from roomful.web.ask import Also, AnyRoute
from roomful.web.problems import Problem

Object: TypeAlias = dict[str, Json]

_REF = "#/components/schemas/{name}"
_ID = {"type": "string", "pattern": ID_PATTERN}
_STREAM: Object = {"text/event-stream": {"schema": {"type": "string"}}}
_PARAM = re.compile(r"{(\w+)}")


def describe(routes: Sequence[AnyRoute]) -> Object:
    types = {each: None for route in routes for each in (route.body, route.answer) if _has_schema(each)}
    wanted = [Problem, *types]
    found, components = msgspec.json.schema_components(wanted, ref_template=_REF)
    schemas: dict[Any, Object] = dict(zip(wanted, found, strict=True))
    paths: Object = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Roomful", "version": "1", "description": "Spaces where people and agents meet."},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def _has_schema(type: Any) -> bool:
    return type is not None and type is not bytes


def _operation(route: AnyRoute, schemas: dict[Any, Object]) -> Object:
    operation: Object = {
        "operationId": f"{route.handler.__name__}{'' if route.answer is not bytes else route.path}",
        "summary": route.summary,
        "description": f"For {route.access.says}.",
        "parameters": [*_path_parameters(route), *_query_parameters(route)],
        "responses": {
            str(route.status): _success(route, schemas),
            **{str(also.status): _also(route, also, schemas) for also in route.also},
            "default": {
                "description": "What went wrong",
                "content": {"application/problem+json": {"schema": schemas[Problem]}},
            },
        },
    }
    if not route.access.needs_token:
        operation["security"] = []
    if route.keeps_key or route.reads_key:
        operation["parameters"].append(
            {"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}}
        )
    if route.body is not None:
        content = {"application/json": {"schema": schemas[route.body]}}
        operation["requestBody"] = {"required": True, "content": content}
    elif route.takes_bytes:
        operation["requestBody"] = {"required": True, "content": {"*/*": {}}}
    return operation


def _success(route: AnyRoute, schemas: dict[Any, Object]) -> Object:
    success: Object = {"description": route.summary}
    if route.streams:
        success["content"] = _STREAM
    elif route.answer is bytes:
        success["content"] = {"*/*": {}}
    elif route.answer is not None:
        success["content"] = {"application/json": {"schema": schemas[route.answer]}}
    return success


def _also(route: AnyRoute, also: Also, schemas: dict[Any, Object]) -> Object:
    answer: Object = {"description": also.summary}
    if also.holds == "a stream":
        answer["content"] = _STREAM
    elif also.holds == "the same":
        answer["content"] = _success(route, schemas)["content"]
    return answer


def _path_parameters(route: AnyRoute) -> list[Object]:
    schemas = {
        name: {"type": "string"} if name in route.texts else _ID for name in _PARAM.findall(route.path)
    }
    return [
        {"name": name, "in": "path", "required": True, "schema": schema} for name, schema in schemas.items()
    ]


def _query_parameters(route: AnyRoute) -> list[Object]:
    [_], components = msgspec.json.schema_components([route.query], ref_template=_REF)
    properties: Object = components[route.query.__name__]["properties"]
    return [{"name": name, "in": "query", "schema": schema} for name, schema in properties.items()]
