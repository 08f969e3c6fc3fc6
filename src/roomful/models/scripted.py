"""A model that needs no key: it answers as its script says. The format is described in `script`."""

import asyncio
import itertools
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from roomful.domain.deltas import (
    AssistantMessage,
    CallOpened,
    CallPiece,
    ModelDelta,
    ModelFailed,
    ModelMessage,
    ModelRequest,
    ReasoningPiece,
    TextPiece,
    ToolMessage,
    UsageReport,
    UserMessage,
)
from roomful.domain.ports import Hear
from roomful.domain.shape import Json, encode_json
from roomful.domain.usage import Usage
from roomful.models import faults
from roomful.models.script import NAME, Call, Script, Step, Turn, When

Sleep = Callable[[float], Awaitable[Any]]


class ScriptedModel:
    """Without a state of its own: the same request gets the same answer. One batch is one chunk."""

    def __init__(self, script: Script, sleep: Sleep = asyncio.sleep) -> None:
        self._script = script
        self._sleep = sleep

    async def ask(self, request: ModelRequest, hear: Hear) -> None:
        chosen = _choose(self._script, _Moment(request.messages))
        if chosen is None:
            return
        turn, step, values = chosen
        chunk = step.chunk or turn.chunk or self._script.chunk
        delays = (step.delay, turn.delay, self._script.delay)
        delay = next(each for each in delays if each is not None) / 1000
        for delta in _deltas(step, values, chunk):
            hear([delta])
            await self._sleep(delay)
        if step.usage is not None:
            hear([UsageReport(Usage(step.usage.input, step.usage.output))])
        if step.hang:
            await self._sleep(request.silence_seconds)
            raise faults.silent(request.ref.name, request.silence_seconds)
        if step.error is not None:
            raise ModelFailed(step.error.code, step.error.message, retry=step.error.retry)


class _Moment:
    """What a script can look at: the last user message and what happened since."""

    def __init__(self, messages: Sequence[ModelMessage]) -> None:
        asked = [at for at, message in enumerate(messages) if isinstance(message, UserMessage)]
        last = messages[asked[-1]] if asked else None
        self.text = last.text if isinstance(last, UserMessage) else ""
        since = messages[asked[-1] + 1 :] if asked else messages
        self.step = sum(isinstance(message, AssistantMessage) for message in since)
        names = {
            call.id: call.name
            for message in since
            if isinstance(message, AssistantMessage)
            for call in message.calls
        }
        fresh = itertools.takewhile(lambda message: isinstance(message, ToolMessage), reversed(since))
        self.results = [
            (names.get(message.call_id, ""), message.content)
            for message in reversed(list(fresh))
            if isinstance(message, ToolMessage)
        ]


def _choose(script: Script, moment: _Moment) -> tuple[Turn, Step, dict[str, str]] | None:
    for turn in script.turns:
        step = _step_of(turn, moment.step)
        if step is not None and (values := _fits(turn.when, moment)) is not None:
            return turn, step, values
    return None


def _step_of(turn: Turn, number: int) -> Step | None:
    answers = turn.answers()
    if turn.when.picks_its_step:
        return answers[0]
    if number < len(answers):
        return answers[number]
    return answers[-1] if turn.loop else None


def _fits(when: When, moment: _Moment) -> dict[str, str] | None:
    """What the turn's texts can name, or nothing when a condition does not hold."""
    values = {"message": moment.text, "result": moment.results[-1][1] if moment.results else ""}
    if when.step is not None and when.step != moment.step:
        return None
    if when.contains is not None and when.contains.casefold() not in moment.text.casefold():
        return None
    if when.text is not None:
        found = re.search(when.text, moment.text, re.IGNORECASE)
        if found is None:
            return None
        values |= found.groupdict("")
    if when.tool is not None or when.result is not None:
        for tool, content in moment.results:
            found = re.search(when.result or "", content, re.IGNORECASE)
            if found is not None and when.tool in (None, tool):
                return values | {"result": content} | found.groupdict("")
        return None
    return values


def _deltas(step: Step, values: Mapping[str, str], chunk: int) -> Iterator[ModelDelta]:
    yield from (ReasoningPiece(piece) for piece in _pieces(_filled(step.thinking, values), chunk))
    text = _filled(step.text, values) * step.repeat
    yield from (TextPiece(piece) for piece in _pieces(text, chunk))
    calls = [call for call in step.calls * step.repeat for _ in range(call.repeat)]
    streams = [_call(index, call, values, chunk) for index, call in enumerate(calls)]
    if step.interleave:
        rounds = itertools.zip_longest(*streams)
        yield from (delta for deltas in rounds for delta in deltas if delta is not None)
    else:
        yield from itertools.chain(*streams)


def _call(index: int, call: Call, values: Mapping[str, str], chunk: int) -> Iterator[ModelDelta]:
    yield CallOpened(index, call.tool)
    arguments = call.arguments
    if arguments is None:
        arguments = encode_json(_expand(call.args or {}, values)).decode()
    yield from (CallPiece(index, piece) for piece in _pieces(arguments, chunk))


def _pieces(text: str, size: int) -> Iterator[str]:
    return (text[at : at + size] for at in range(0, len(text), size))


def _filled(text: str, values: Mapping[str, str]) -> str:
    return NAME.sub(lambda found: values[found[1]], text)


def _expand(value: Json, values: Mapping[str, str]) -> Json:
    if isinstance(value, str):
        return _filled(value, values)
    if isinstance(value, list):
        return [_expand(item, values) for item in cast(list[Json], value)]
    if isinstance(value, dict):
        return {key: _expand(item, values) for key, item in cast(dict[str, Json], value).items()}
    return value
