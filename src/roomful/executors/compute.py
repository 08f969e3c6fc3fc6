"""Expressions of an author or a model, evaluated in a child process with its own bounds."""

import sys
from pathlib import Path
from typing import Final

import msgspec

from roomful.domain.errors import RoomfulError
from roomful.domain.outcomes import Done, Failed, Outcome
from roomful.domain.ports import CallContext
from roomful.domain.shape import Json, clean_json, clean_text, encode_json
from roomful.domain.tools import Compute, ToolSpec
from roomful.executors.children import ChildFailed, Children
from roomful.executors.static import no_secrets
from roomful.tools.templates import as_text, expand

LARGEST_INPUT: Final = 1024 * 1024


class _Answer(msgspec.Struct):
    value: Json = None
    error: str | None = None


_decode = msgspec.json.Decoder(_Answer).decode


class ComputeExecutor:
    """`close` it when done: it keeps a few warm children."""

    has_effects = False

    def __init__(self, *, children: int = 2, seconds: float = 2.0, memory: int = 256 * 1024 * 1024) -> None:
        script = str(Path(__file__).with_name("compute_child.py"))
        command = [sys.executable, "-I", "-S", "-B", script, str(memory), str(seconds)]
        self._children = Children(command, children)
        self._seconds = seconds

    def can(self, spec: ToolSpec) -> bool:
        return True

    async def close(self) -> None:
        await self._children.close()

    async def execute(self, context: CallContext) -> Outcome:
        spec = context.spec.executor
        assert isinstance(spec, Compute)
        try:
            expression = as_text(expand(spec.expression, context.args, no_secrets), "the expression")
            question = encode_json({"expression": expression, "input": dict(context.args)})
        except RoomfulError as error:
            return Failed(error.detail)
        if len(question) > LARGEST_INPUT:
            return Failed(f"the expression's input is larger than {LARGEST_INPUT // 1024} KiB")
        return await self._evaluated(question)

    async def _evaluated(self, question: bytes) -> Outcome:
        try:
            answer = _decode(await self._children.ask(question, self._seconds))
        except TimeoutError:
            return Failed(f"the expression takes longer than {self._seconds:g} s")
        except (ChildFailed, msgspec.MsgspecError):
            return Failed(
                "the expression could not be evaluated: it needs too much memory, or its result is too large"
            )
        if answer.error is not None:
            return Failed(clean_text(answer.error))
        return Done(clean_json(answer.value))
