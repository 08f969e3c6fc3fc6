"""What a model said, step by step and in its order. The rows keep a step's words in one piece beside its
calls; where they stood among the calls is seen in the messages that show them."""

from collections.abc import Sequence

import msgspec

from roomful.domain.messages import (
    BOUND_PART,
    Message,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    plain_step,
)
from roomful.domain.runs import Call, Run, Step
from roomful.domain.tools import Visibility
from roomful.recall.story.records import Asked, CutOff, Said, Thought, ToldStep, Words


class _Shown(msgspec.Struct, frozen=True):
    step: int
    said: Said
    index: int | None = None
    """Of a call."""


def told_steps(
    run: Run, steps: Sequence[Step], calls: Sequence[Call], messages: Sequence[Message]
) -> list[ToldStep]:
    """`messages` are those of the run in the space whose story it is, in their order."""
    whole = {step.number: step for step in steps if not step.is_open}
    shown = _shown(run, whole, calls, messages)
    numbers = {*(one.number for one in steps), *(one.step for one in calls), *(one.step for one in shown)}
    told: list[ToldStep] = []
    for number in sorted(numbers):
        seen = [one for one in shown if one.step == number]
        made = [call for call in calls if call.step == number]
        text = whole[number].text if number in whole else _open_text(steps, number)
        step = ToldStep(number=number, said=_with_words(_with_calls(seen, made), text))
        if number in whole:
            step.usage = whole[number].usage
            is_cut = any(isinstance(one.said, CutOff) for one in seen)
            step.is_repeated = len(text) < sum(map(_words_in, seen)) or (is_cut and not made)
        else:
            step.is_whole = False
        told.append(step)
    return told


def _words_in(shown: _Shown) -> int:
    return len(shown.said.text) if isinstance(shown.said, Words) else 0


def _open_text(steps: Sequence[Step], number: int) -> str:
    return next((step.text for step in steps if step.number == number), "")


def _shown(
    run: Run, whole: dict[int, Step], calls: Sequence[Call], messages: Sequence[Message]
) -> list[_Shown]:
    """The parts of the run's messages that show something while the model says it."""
    by_id = {call.id: call for call in calls}
    parts = [part for message in messages for part in message.parts]
    unfinished = _unfinished_step(whole, calls, parts)
    found: list[_Shown] = []
    for at, part in enumerate(parts):
        if isinstance(part, ToolCallPart) and part.tool_name == BOUND_PART and part.tool_call_id not in by_id:
            continue
        plain = plain_step(part)
        call = by_id.get(part.tool_call_id or "") if not isinstance(part, ReasoningPart) else None
        if plain is not None and isinstance(part, TextPart):
            found.append(_Shown(plain, Words(text=part.text, part_id=part.id)))
        elif plain is not None and isinstance(part, ReasoningPart):
            found.append(_Shown(plain, Thought(text=part.text, part_id=part.id)))
        elif call is not None and call.visibility is not Visibility.RESULT and call.places:
            found.append(_Shown(call.step, Asked(call_id=call.id), call.index))
        elif call is None:
            is_last = at == len(parts) - 1 and run.status in ("failed", "canceled")
            before = found[-1].step if found else 0
            found.append(_Shown(unfinished if is_last else before, CutOff(part=part)))
    return found


def _unfinished_step(whole: dict[int, Step], calls: Sequence[Call], parts: Sequence[Part]) -> int:
    begun = [call.step for call in calls] + [step for part in parts if (step := plain_step(part)) is not None]
    return next((step for step in begun if step not in whole), max(whole, default=-1) + 1)


def _with_calls(shown: Sequence[_Shown], calls: Sequence[Call]) -> list[_Shown]:
    """The calls that this space does not see are put where their numbers say, and where two texts stand side
    by side, between these: something was there."""
    order = list(shown)
    seen = {one.said.call_id for one in shown if isinstance(one.said, Asked)}
    for call in sorted(calls, key=lambda call: call.index):
        if call.id not in seen:
            order.insert(_place(order, call.index), _Shown(call.step, Asked(call_id=call.id), call.index))
    return order


def _place(order: Sequence[_Shown], index: int) -> int:
    first, last = 0, len(order)
    for at, one in enumerate(order):
        if one.index is not None and one.index < index:
            first = at + 1
        elif one.index is not None:
            last = min(last, at)
    last = max(first, last)
    for at in range(first + 1, last):
        if isinstance(order[at].said, Words) and isinstance(order[at - 1].said, Words):
            return at
    return last


def _with_words(order: Sequence[_Shown], text: str) -> list[Said]:
    """Words that this space did not see come before those that follow them in the text, or before all."""
    said: list[Said] = []
    position = 0
    for one in order:
        if isinstance(one.said, Words) and (at := text.find(one.said.text, position)) >= 0:
            if at > position:
                said.append(Words(text=text[position:at]))
            position = at + len(one.said.text)
        said.append(one.said)
    if rest := text[position:]:
        said.insert(0 if position == 0 else len(said), Words(text=rest))
    return said
