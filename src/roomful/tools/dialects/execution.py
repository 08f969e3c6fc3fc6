"""The `execution` of a tool, kind by kind. The dialects agree on these and differ in their names."""

import re
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from roomful.domain.outbound import OWN_HEADERS
from roomful.domain.shape import UNSET, Json
from roomful.domain.tools import (
    Client,
    Compute,
    Echo,
    ExecutorSpec,
    Http,
    Image,
    PythonFunction,
    Static,
    SubAgent,
    Webhook,
)
from roomful.tools.reading import Fields
from roomful.tools.templates import arguments_in
from roomful.tools.urls import EXAMPLE, wrong_url

Inline: TypeAlias = Callable[[Fields], Json]
"""Checks an agent written inside a tool and gives it back complete."""


class Execution(NamedTuple):
    executor: ExecutorSpec
    timeout: float | None = None
    custom_ui: str | None = None
    """The client component, when it is named in here."""


Reader: TypeAlias = Callable[[Fields, Inline], Execution | None]

LONGEST_TIMEOUT_MS = 24 * 3600 * 1000
IMAGE_SECONDS = 120.0
"""Drawing takes longer than what other tools do."""

_METHODS = {name: name for name in ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD")}
_SENDING = {name: name for name in ("POST", "PUT", "PATCH")}
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}")
_SIZE = re.compile(r"auto|[1-9]\d{1,4}x[1-9]\d{1,4}")
_FUNCTION = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


def read_http(execution: Fields, inline: Inline) -> Execution | None:
    execution.only(("url", "method", "headers", "query", "body", "timeout"), {"webhookUrl": 'write "url"'})
    url = execution.text(
        "url", required=True, longest=8192, check=lambda text: wrong_url(text, filled=True), example=EXAMPLE
    )
    method = _method(execution, _METHODS)
    query = execution.inner("query")
    headers = read_headers(execution)
    timeout = read_timeout(execution)
    if url is None:
        return None
    return Execution(
        Http(
            url=url,
            method=method or "GET",
            headers=headers,
            query=dict(query.values) if query else {},
            body=execution.raw("body") if execution.has("body") else UNSET,
        ),
        timeout,
    )


def read_webhook(execution: Fields, inline: Inline) -> Execution | None:
    execution.only(
        ("webhookUrl", "url", "method", "headers", "secret", "timeout"),
        {"body": "leave it out, the call itself is sent"},
    )
    if execution.has("webhookUrl") and execution.has("url"):
        execution.refuse("webhookUrl", 'says the same as "url": write one of them')
    key = "url" if execution.has("url") else "webhookUrl"
    url = execution.text(key, required=True, longest=8192, check=wrong_url, example=EXAMPLE)
    method = _method(execution, _SENDING)
    headers = read_headers(execution)
    secret = execution.text("secret")
    timeout = read_timeout(execution)
    if url is None:
        return None
    return Execution(Webhook(url=url, method=method or "POST", headers=headers, secret=secret), timeout)


def read_agent(execution: Fields, inline: Inline) -> Execution | None:
    execution.only(
        ("agentId", "agentConfig", "includeContext", "timeout"),
        {"agent": 'write "agentId" for an existing one, or "agentConfig"'},
    )
    agent_id = execution.identifier("agentId")
    config = execution.inner("agentConfig")
    if config is not None and execution.has("agentId"):
        return execution.refuse("agentId", 'and "agentConfig" both name the agent: write one of them')
    if not execution.has("agentConfig") and not execution.has("agentId"):
        return execution.refuse(
            "agentConfig", 'is missing: write the agent here, or "agentId" for an existing one'
        )
    include_context = execution.flag("includeContext") or False
    timeout = read_timeout(execution)
    checked = inline(config) if config is not None else None
    return Execution(SubAgent(agent_id=agent_id, config=checked, include_context=include_context), timeout)


def read_image(execution: Fields, inline: Inline) -> Execution | None:
    execution.only(("provider", "model", "size", "quality", "timeout"))
    image = Image(
        provider=execution.identifier("provider") or "builtin",
        model=execution.text("model", longest=200),
        size=execution.text("size", check=_wrong_size),
        quality=execution.identifier("quality"),
    )
    return Execution(image, read_timeout(execution) or IMAGE_SECONDS)


def read_compute(execution: Fields, inline: Inline) -> Execution | None:
    execution.only(("operation", "expression", "timeout"))
    execution.choice("operation", {"evaluate": "evaluate"})
    expression = execution.text("expression", required=True, longest=10_000, example="{{a}} + 1")
    timeout = read_timeout(execution)
    return Execution(Compute(expression=expression), timeout) if expression is not None else None


def read_python(execution: Fields, inline: Inline) -> Execution | None:
    execution.only(("function", "timeout"), {"name": 'write "function"'})
    name = execution.text("function", required=True, longest=200, check=_wrong_function, example="price")
    timeout = read_timeout(execution)
    return Execution(PythonFunction(name=name), timeout) if name is not None else None


def read_client(execution: Fields, inline: Inline) -> Execution | None:
    execution.only(("mode", "wait", "answers"), CLIENT_INSTEAD)
    return Execution(client(execution))


def client(execution: Fields) -> Client:
    answers = execution.choice("answers", {"one": "one", "each": "each"})
    wait = execution.flag("wait")
    return Client(wait=wait is not False, answers="each" if answers == "each" else "one")


CLIENT_INSTEAD = {
    "timeout": 'write "answerSeconds" beside "execution": a person has a deadline in seconds',
    "output": 'a person gives the result; write "mode": "static" for a fixed one',
}


def read_static(execution: Fields, inline: Inline) -> Execution | None:
    execution.only(("mode", "output", "template"))
    if "output" not in execution.values:
        return execution.refuse("output", "is missing: write the result that the tool always gives")
    return Execution(static(execution))


def static(execution: Fields) -> Static:
    """Placeholders in the output are filled in unless `template` is false."""
    output = execution.raw("output")
    as_written = execution.flag("template") is False
    return Static(output=output, template=not as_written and bool(arguments_in(output)))


def read_echo(execution: Fields, inline: Inline) -> Execution | None:
    execution.only(("mode",), {"output": 'the input is the result; write "mode": "static" for a fixed one'})
    return Execution(Echo())


def read_timeout(execution: Fields) -> float | None:
    """Milliseconds in, seconds out."""
    milliseconds = execution.number("timeout", most=LONGEST_TIMEOUT_MS, unit="milliseconds")
    return milliseconds / 1000 if milliseconds is not None else None


def read_headers(fields: Fields) -> dict[str, str]:
    headers = fields.text_map("headers")
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name):
            fields.refuse(f"headers.{name}", "is not the name of a header: write letters, digits and -")
        elif name.lower() in OWN_HEADERS:
            fields.refuse(f"headers.{name}", "is set by the sender itself: leave it out")
        elif "\n" in value or "\r" in value:
            fields.refuse(f"headers.{name}", "has a line break in it: write one line")
    return headers


def _method(execution: Fields, methods: dict[str, str]) -> str | None:
    value = execution.raw("method")
    if isinstance(value, str) and value.upper() in methods:
        return value.upper()
    return execution.choice("method", methods)


def _wrong_size(size: str) -> str | None:
    return None if _SIZE.fullmatch(size) else 'is not a size: write width and height, as in "1024x1024"'


def _wrong_function(name: str) -> str | None:
    if _FUNCTION.fullmatch(name):
        return None
    return 'is not the name of a function: write one that is marked with @roomful.tool, as in "price"'
