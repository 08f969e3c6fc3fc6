"""Every other provider, through pydantic-ai (the extra `models`). Argument fragments pass one to one.

A `baseUrl` is refused here: vendor SDKs send whatever keys they find in the environment to whatever address
they are given. Servers at an address of one's own speak Chat Completions and are `openai:NAME`.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any, cast

from pydantic_ai import exceptions, messages, models
from pydantic_ai.direct import model_request_stream
from pydantic_ai.providers import Provider, infer_provider, infer_provider_class
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from roomful.domain.agents import ModelRef
from roomful.domain.deltas import (
    AssistantMessage,
    CallOpened,
    CallPiece,
    ModelDelta,
    ModelFailed,
    ModelMessage,
    ModelRequest,
    ReasoningPiece,
    SystemMessage,
    TextPiece,
    ToolMessage,
    UsageReport,
    UserMessage,
)
from roomful.domain.errors import Invalid
from roomful.domain.ports import Hear
from roomful.domain.shape import Json, clean_text, encode_json
from roomful.domain.usage import Usage
from roomful.models import faults
from roomful.models.chunks import json_object


def is_provider(name: str) -> bool:
    """Also one whose own package is not installed."""
    try:
        infer_provider_class(name)
    except ImportError:
        return True
    except ValueError:
        return False
    return True


def build(ref: ModelRef, key: str | None) -> "PydanticAIModel":
    """`key` is the one to use; without it the provider's SDK finds the operator's. Raises Invalid."""
    if ref.base_url is not None:
        raise Invalid(f"model {ref.name!r}: a baseUrl is for openai:NAME; {ref.provider} has its own address")

    def provider(name: str) -> Provider[Any]:
        make = cast(Callable[..., Provider[Any]], infer_provider_class(name))
        return make(api_key=key)

    try:
        model = models.infer_model(ref.name, provider_factory=provider if key else infer_provider)
    except ImportError as error:
        raise Invalid(f"model {ref.name!r}: {faults.excerpt(str(error), key or '')}") from None
    except (exceptions.UserError, ValueError, TypeError) as error:
        raise Invalid(f"model {ref.name!r} cannot be had: {faults.excerpt(str(error), key or '')}") from None
    return PydanticAIModel(model, key or "")


class PydanticAIModel:
    def __init__(self, model: models.Model, secret: str = "") -> None:
        self._model = model
        self._secret = secret
        self._entered = False

    async def ask(self, request: ModelRequest, hear: Hear) -> None:
        if not self._entered:
            self._entered = True
            await self._model.__aenter__()
        pieces = _Pieces(request.ref.name)
        seconds = request.silence_seconds
        opening = model_request_stream(
            self._model,
            _history(request.messages),
            model_settings=self._settings(request.ref),
            model_request_parameters=models.ModelRequestParameters(function_tools=_tools(request)),
            instrument=False,
        )
        try:
            async with contextlib.AsyncExitStack() as stack:
                async with asyncio.timeout(seconds):
                    stream = await stack.enter_async_context(opening)
                events = aiter(stream)
                while (event := await _next(events, seconds)) is not None:
                    if batch := list(pieces.of(event)):
                        hear(batch)
                if stream.get().state == "incomplete":
                    raise faults.cut(request.ref.name)
                usage = stream.usage
                if usage.input_tokens or usage.output_tokens:
                    hear([UsageReport(Usage(usage.input_tokens, usage.output_tokens))])
        except TimeoutError:
            raise faults.silent(request.ref.name, seconds) from None
        except (exceptions.AgentRunError, exceptions.UserError) as error:
            raise self._fault(request.ref.name, error) from None

    async def close(self) -> None:
        if self._entered:
            self._entered = False
            await self._model.__aexit__(None, None, None)

    def _settings(self, ref: ModelRef) -> ModelSettings:
        """The run decides about retries, not the SDK; Anthropic sends arguments piecewise only when asked."""
        settings: dict[str, Any] = {}
        if "max_retries" not in self._model.unsupported_settings:
            settings["max_retries"] = 0
        if "anthropic" in ref.name:
            settings["anthropic_eager_input_streaming"] = True
        return cast(ModelSettings, settings)

    def _fault(self, model: str, error: exceptions.AgentRunError | exceptions.UserError) -> ModelFailed:
        said = faults.excerpt(error.message, self._secret, model.partition(":")[2])
        match error:
            case exceptions.ModelHTTPError():
                return faults.status_fault(model, error.status_code, said)
            case exceptions.ModelConnectionError():
                return faults.cut(model) if error.phase == "read" else faults.unreachable(model, said)
            case exceptions.UnexpectedModelBehavior():
                return ModelFailed("model_garbage", f"{model} gave an answer that makes no sense: {said}")
            case exceptions.ModelAPIError():
                retry = isinstance(error, exceptions.ModelRateLimitError | exceptions.ModelUnavailableError)
                return ModelFailed("model_error", f"The provider of {model} broke off: {said}", retry=retry)
            case _:
                return ModelFailed("model_rejected", f"{model} cannot be asked: {said}")


async def _next(
    events: AsyncIterator[messages.ModelResponseStreamEvent], seconds: float
) -> messages.ModelResponseStreamEvent | None:
    async with asyncio.timeout(seconds):
        return await anext(events, None)


class _Pieces:
    """Turns a provider's parts into deltas. The calls are counted here: other parts have indexes too."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._calls: dict[int, int] = {}
        self._begun: set[int] = set()

    def of(self, event: messages.ModelResponseStreamEvent) -> Iterator[ModelDelta]:
        match event:
            case messages.PartStartEvent(part=messages.TextPart(content=text)) if text:
                yield TextPiece(clean_text(text))
            case messages.PartStartEvent(part=messages.ThinkingPart(content=text)) if text:
                yield ReasoningPiece(clean_text(text))
            case messages.PartStartEvent(index=at, part=messages.ToolCallPart() as part):
                if at not in self._calls:
                    self._calls[at] = len(self._calls)
                    yield CallOpened(
                        self._calls[at], clean_text(part.tool_name), clean_text(part.tool_call_id)
                    )
                    yield from self._arguments(at, part.args)
                elif at not in self._begun:
                    yield from self._arguments(at, part.args)
            case messages.PartDeltaEvent(delta=messages.TextPartDelta(content_delta=text)) if text:
                yield TextPiece(clean_text(text))
            case messages.PartDeltaEvent(delta=messages.ThinkingPartDelta(content_delta=text)) if text:
                yield ReasoningPiece(clean_text(text))
            case messages.PartDeltaEvent(index=at, delta=messages.ToolCallPartDelta(args_delta=arguments)):
                yield from self._arguments(at, arguments)
            case _:
                pass

    def _arguments(self, at: int, arguments: str | Mapping[str, Any] | None) -> Iterator[ModelDelta]:
        if arguments is None or arguments == "" or at not in self._calls:
            return
        if not isinstance(arguments, str):
            if at in self._begun:
                raise faults.garbage(self._model, "a tool call's arguments came whole and in pieces")
            arguments = encode_json(arguments).decode()
        self._begun.add(at)
        yield CallPiece(self._calls[at], clean_text(arguments))


def _tools(request: ModelRequest) -> list[ToolDefinition]:
    return [
        ToolDefinition(
            name=tool.name,
            description=tool.description,
            parameters_json_schema=deepcopy(tool.parameters),
            strict=False,
        )
        for tool in request.tools
    ]


def _history(asked: Sequence[ModelMessage]) -> list[messages.ModelMessage]:
    names = {
        call.id: call.name for each in asked if isinstance(each, AssistantMessage) for call in each.calls
    }
    history: list[messages.ModelMessage] = []
    for message in asked:
        if isinstance(message, AssistantMessage):
            history.append(messages.ModelResponse(parts=_response_parts(message)))
            continue
        part = _request_part(message, names)
        if history and isinstance(history[-1], messages.ModelRequest):
            history[-1].parts = [*history[-1].parts, part]
        else:
            history.append(messages.ModelRequest(parts=[part]))
    return history


def _response_parts(message: AssistantMessage) -> list[messages.ModelResponsePart]:
    said = [messages.TextPart(message.text)] if message.text else []
    calls = [
        messages.ToolCallPart(call.name, json_object(call.arguments), tool_call_id=call.id)
        for call in message.calls
    ]
    return [*said, *calls]


def _request_part(
    message: SystemMessage | UserMessage | ToolMessage, names: dict[str, str]
) -> messages.ModelRequestPart:
    match message:
        case SystemMessage(text=text):
            return messages.SystemPromptPart(text)
        case UserMessage(text=text, attachments=()):
            return messages.UserPromptPart(text)
        case UserMessage(text=text, attachments=attachments):
            return messages.UserPromptPart([text, *map(_content, attachments)])
        case ToolMessage(call_id=call_id, content=content):
            return messages.ToolReturnPart(names.get(call_id, "unknown"), content, tool_call_id=call_id)


def _content(attachment: Json) -> messages.UserContent:
    """A picture as the Chat Completions wire names it; of anything else the model is told in words."""
    match attachment:
        case {"type": "image_url", "image_url": {"url": str() as url}}:
            if url.startswith("data:"):
                return messages.BinaryContent.from_data_uri(url)
            return messages.ImageUrl(url)
        case {"type": "text", "text": str() as text}:
            return text
        case _:
            return f"[attachment {encode_json(attachment).decode()}]"
