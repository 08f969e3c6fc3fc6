"""Models that say what was recorded, a piece at a time, each when its moment has come."""

from collections.abc import Callable, Mapping

from roomful.app.replay.cast import Cast
from roomful.app.replay.gates import RUN, Gates, expect
from roomful.domain.agents import ModelRef
from roomful.domain.deltas import (
    CallOpened,
    CallPiece,
    ModelDelta,
    ModelFailed,
    ModelRequest,
    ReasoningPiece,
    TextPiece,
    UsageReport,
)
from roomful.domain.errors import OverBound
from roomful.domain.messages import ReasoningPart, ToolCallPart
from roomful.domain.ports import Hear, Model
from roomful.domain.runs import Call, Run
from roomful.domain.shape import UNSET, Json, encode_json
from roomful.domain.tools import TextShape, ToolSpec
from roomful.recall.story.plot import Plot
from roomful.recall.story.records import Asked, CutOff, Said, Thought, ToldRun, ToldStep, Words
from roomful.spaces.voice import Voice


class RecordedModels:
    """One for all agents: who asks is known by the run in whose task it is asked."""

    def __init__(
        self,
        plot: Plot,
        cast: Cast,
        gates: Gates,
        *,
        voice: Callable[[str], Voice | None],
        text_tools: Mapping[str, ToolSpec],
    ) -> None:
        """`text_tools` are the tools with which agents speak, by agent."""
        self._plot = plot
        self._cast = cast
        self._gates = gates
        self._voice = voice
        self._text_tools = text_tools
        self._asked: dict[str, int] = {}
        self._begun: set[str] = set()
        self.strays: list[str] = []
        """What a run did that it had not done in the story."""

    def find(self, ref: ModelRef) -> Model:
        return self

    async def ask(self, request: ModelRequest, hear: Hear) -> None:
        run_id = RUN.get()
        told = await self._cast.of(run_id)
        if told is None or told.run.id in self._plot.given_runs:
            await self._say_nothing(run_id, told)
            return
        number = self._asked[run_id] = self._asked.get(run_id, -1) + 1
        if number >= len(told.steps):
            await self._end(run_id, told)
            return
        step = told.steps[number]
        for at, said in enumerate(step.said):
            await self._turn(run_id, told, step, at)
            hear(self._deltas(told.run, at, said))
            expect()
        await self._turn(run_id, told, step, len(step.said))
        hear([UsageReport(step.usage)])
        if not step.is_whole:
            await self._end(run_id, told)
        elif any(isinstance(said, CutOff) for said in step.said):
            raise ModelFailed("model_error", "the answer was cut")

    async def _turn(self, run_id: str, told: ToldRun, step: ToldStep, at: int) -> None:
        """Stands until the story has come here, with all stored that was said before."""
        if (voice := self._voice(run_id)) is not None:
            await voice.settled()
        awaits: list[str] = []
        if at < len(step.said):
            message = self._plot.begins(step, at)
            when = (message.created_at, message.seq) if message is not None else ("", 0)
        else:
            when = (self._plot.end_of(told, step), 0)
            awaits = self._plot.awaits(told, step)
        await self._gates.wait(run_id, *when, awaits)

    async def _say_nothing(self, run_id: str, told: ToldRun | None) -> None:
        if told is not None and told.run.ended:
            await self._gates.wait(run_id, told.run.ended_at or "")
        else:
            await self._gates.stay(run_id)

    async def _end(self, run_id: str, told: ToldRun) -> None:
        """The story has no more words for this run."""
        run = told.run
        if (voice := self._voice(run_id)) is not None:
            voice.keep_trail()
            await voice.settled()
        if run.status == "canceled":
            await self._gates.stay(run_id)
        if run.error is not UNSET:
            await self._gates.wait(run_id, run.ended_at or "")
            if run.error.code == OverBound.code:
                raise OverBound(self._bound(run), run.error.message)
            raise ModelFailed(run.error.code, run.error.message)
        self.strays.append(f"run {run.id} of {run.agent_id} asks its model once more than in the story")

    def _bound(self, run: Run) -> str:
        """Which limit it was, as the space was told."""
        for message in self._plot.story.messages:
            for part in message.parts if message.run_id == run.id else ():
                if isinstance(part, ToolCallPart) and part.tool_name == OverBound.code and part.args:
                    return str(part.args.get("limit"))
        return "runSeconds"

    def _deltas(self, run: Run, index: int, said: Said) -> list[ModelDelta]:
        match said:
            case Words() | Thought():
                shown = said.part_id or None
                expect(prt=[shown] if shown else [], msg=self._new_messages(shown))
                return [TextPiece(said.text) if isinstance(said, Words) else ReasoningPiece(said.text)]
            case Asked():
                call = self._plot.calls[said.call_id]
                messages = dict.fromkeys(place.message_id for place in call.places)
                fresh = [one for one in messages if one not in self._begun]
                self._begun.update(fresh)
                expect(call=[call.id], prt=[place.part_id for place in call.places], msg=fresh)
                name, arguments = call.tool_name, self._cast.renamed(_arguments(call))
            case CutOff():
                part = said.part
                call_ids = [] if isinstance(part, ReasoningPart) else [part.tool_call_id or ""]
                expect(call=call_ids, prt=[part.id], msg=self._new_messages(part.id))
                name, arguments = self._cut(run, said)
        provider_id = self._plot.calls[said.call_id].provider_id if isinstance(said, Asked) else ""
        return [CallOpened(index, name, provider_id), CallPiece(index, arguments)]

    def _new_messages(self, part_id: str | None) -> list[str]:
        message = self._plot.first_parts.get(part_id or "")
        return [message.id] if message is not None else []

    def _cut(self, run: Run, said: CutOff) -> tuple[str, str]:
        """The beginning of a call that shows as much of it as was seen."""
        part = said.part
        if isinstance(part, ToolCallPart):
            return part.tool_name, _beginning(part.args or {})
        spec = self._text_tools.get(run.agent_id)
        if spec is None or not isinstance(spec.shape, TextShape):
            return "", ""
        args: dict[str, Json] = dict.fromkeys(spec.route.args[:1], self._plot.story.space_id)
        return spec.name, _beginning({**args, spec.shape.from_arg: part.text})


def _arguments(call: Call) -> str:
    return encode_json(call.args).decode() if call.raw_args is UNSET else call.raw_args


def _beginning(args: dict[str, Json]) -> str:
    """The object without its end, nor that of a text which it ends with."""
    whole = encode_json(args).decode()[:-1]
    return whole[:-1] if args and isinstance(list(args.values())[-1], str) else whole
