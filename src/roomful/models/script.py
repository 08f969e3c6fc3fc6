"""The file behind a scripted model: turns, each with what it matches and what it streams.

    turns:
      - when: {text: "budget for (?P<year>[0-9]{4})"}
        steps:
          - thinking: Finance knows that.
            calls:
              - tool: sendSpaceMessage
                args: {spaceId: finance, text: "The budget for {{year}}, please."}
          - text: Asked them.
      - when: {tool: approve, result: '"approved": *false'}
        text: Then not.
      - text: "You said: {{message}}"

The first turn that fits answers. `when` (every condition given must hold; without it the turn always fits):
    text      a regular expression, found somewhere in the last user message, in any case
    contains  words found there, in any case
    tool      one of the results that were just given is this tool's
    result    a regular expression found in that result (without `tool`: in one of the results)
    step      how many answers the model has given since the last user message
A turn either streams one answer, or has `steps`: its first answer, the one after the tools' results, and so
on. It fits only as long as it has a step left; `loop: true` gives its last step for ever. A turn without
`steps` whose `when` has `tool`, `result` or `step` fits whenever those hold, any other only as the first
answer. When nothing fits, the model says nothing, which ends the run. What was answered before is counted in
the request, not remembered: a run that goes on after a restart goes on right.

What a step streams, in this order:
    thinking  reasoning
    text      plain text
    calls     [{tool, args}]; `args` is a mapping, streamed as JSON with its keys in the order given, or
              `arguments` is a string that is streamed as it stands; `repeat: 3` makes the call three times
    usage     {input, output}: tokens to report
    error     {code, message, retry}: the answer ends with this fault
    hang      true: the model says nothing more
and how: `chunk` characters at a time (4), `delay` milliseconds between them (0), `interleave: true` for the
calls' pieces in turn, `repeat: 5` for the text and the calls five times over. `chunk` and `delay` may also
stand in a turn, or at the top beside `turns`.

`{{message}}` (the last user message), `{{result}}` and the named groups of the expressions are filled in,
once.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import msgspec
import yaml

from roomful.domain.errors import Invalid
from roomful.domain.shape import Json, clean_json

NAME = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_GIVEN = frozenset({"message", "result"})
_PLACE = re.compile(r"(?s)(.*) - at `\$(.*)`")
_TURN = re.compile(r"\.turns\[(\d+)\]\.?(.*)")
_STEP_FIELDS = ("thinking", "text", "calls", "usage", "error", "hang", "interleave", "repeat")


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    pass


class When(_Part, frozen=True):
    text: str | None = None
    contains: str | None = None
    tool: str | None = None
    result: str | None = None
    step: int | None = None

    @property
    def picks_its_step(self) -> bool:
        return self.tool is not None or self.result is not None or self.step is not None


class Call(_Part, frozen=True):
    tool: str
    args: dict[str, Json] | None = None
    arguments: str | None = None
    repeat: int = 1


class Fault(_Part, frozen=True):
    code: str = "model_error"
    message: str = "The script says so."
    retry: bool = False


class Tokens(_Part, frozen=True):
    input: int = 0
    output: int = 0


class Step(_Part, frozen=True):
    thinking: str = ""
    text: str = ""
    calls: tuple[Call, ...] = ()
    usage: Tokens | None = None
    error: Fault | None = None
    hang: bool = False
    interleave: bool = False
    repeat: int = 1
    chunk: int | None = None
    delay: float | None = None


class Turn(Step, frozen=True):
    when: When = When()
    steps: tuple[Step, ...] = ()
    loop: bool = False

    def answers(self) -> tuple[Step, ...]:
        return self.steps or (self,)


class Script(_Part, frozen=True):
    turns: tuple[Turn, ...]
    chunk: int = 4
    delay: float = 0


def load_script(source: Path | str | Mapping[str, Json], name: str = "script") -> Script:
    """From a file, the text of one, or what is in it. Raises Invalid, which names file, turn and field."""
    if isinstance(source, Path):
        name = source.name
        try:
            source = source.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise Invalid(f"{name}: cannot be read ({error})") from None
    try:
        content = clean_json(yaml.safe_load(source) if isinstance(source, str) else dict(source))
    except yaml.YAMLError as error:
        raise Invalid(f"{name}: is neither YAML nor JSON: {' '.join(str(error).split())}") from None
    try:
        script = msgspec.convert(content, Script)
    except msgspec.ValidationError as error:
        raise Invalid(f"{name}: {_in_words(str(error))}") from None
    if problem := next(_problems(script), None):
        raise Invalid(f"{name}: {problem}")
    return script


def _in_words(message: str) -> str:
    """`Expected ... - at $.turns[0].calls[1]` as `turn 1, calls[1]: expected ...`."""
    found = _PLACE.fullmatch(message)
    what, place = (found[1], found[2]) if found else (message, "")
    turn = _TURN.fullmatch(place)
    where = place.lstrip(".")
    if turn:
        where = f"turn {int(turn[1]) + 1}" + (f", {turn[2]}" if turn[2] else "")
    what = what[:1].lower() + what[1:]
    return f"{where}: {what}" if where else what


def _problems(script: Script) -> Iterator[str]:
    yield from _number_problems("", script.chunk, script.delay)
    for number, turn in enumerate(script.turns, 1):
        for problem in _turn_problems(turn):
            yield f"turn {number}, {problem}"


def _turn_problems(turn: Turn) -> Iterator[str]:
    groups: set[str] = set()
    for field, expression in (("text", turn.when.text), ("result", turn.when.result)):
        try:
            groups |= set(re.compile(expression or "").groupindex)
        except re.error as error:
            yield f"when.{field}: is no regular expression: {error}"
    if turn.steps:
        for field in _STEP_FIELDS:
            if getattr(turn, field) != getattr(Step(), field):
                yield f"{field}: stands beside steps; put it into one of them"
        if turn.when.picks_its_step:
            yield "steps: cannot be with when.tool, when.result or when.step; make a turn of each step"
    yield from _number_problems("", turn.chunk, turn.delay)
    for number, step in enumerate(turn.answers()):
        place = f"steps[{number}]." if turn.steps else ""
        yield from _step_problems(place, step, groups | _GIVEN)


def _step_problems(place: str, step: Step, names: set[str]) -> Iterator[str]:
    yield from _number_problems(place, step.chunk, step.delay)
    if step.repeat < 1:
        yield f"{place}repeat: must be 1 or more"
    texts: list[tuple[str, Json]] = [("thinking", step.thinking), ("text", step.text)]
    for number, call in enumerate(step.calls):
        field = f"calls[{number}]"
        if call.args is not None and call.arguments is not None:
            yield f"{place}{field}.arguments: stands beside args; only one of them can be streamed"
        if call.repeat < 1:
            yield f"{place}{field}.repeat: must be 1 or more"
        texts.append((f"{field}.args", call.args))
    for field, value in texts:
        for unknown in sorted(_names(value) - names):
            yield f"{place}{field}: nothing gives a value to {{{{{unknown}}}}}"


def _number_problems(place: str, chunk: int | None, delay: float | None) -> Iterator[str]:
    if chunk is not None and chunk < 1:
        yield f"{place}chunk: must be 1 or more"
    if delay is not None and not 0 <= delay <= 600_000:
        yield f"{place}delay: must be 0 to 600000 milliseconds"


def _names(value: Json) -> set[str]:
    if isinstance(value, str):
        return set(NAME.findall(value))
    if isinstance(value, dict):
        value = list(cast(dict[str, Json], value).values())
    if isinstance(value, list):
        return set[str]().union(*(_names(item) for item in cast(list[Any], value)))
    return set()
