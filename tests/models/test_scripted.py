"""A script is chosen by what was said and what happened since, and streams as it is told."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from roomful.domain.deltas import (
    AskedCall,
    AssistantMessage,
    CallOpened,
    CallPiece,
    ModelDelta,
    ModelFailed,
    ModelMessage,
    ReasoningPiece,
    SystemMessage,
    TextPiece,
    ToolMessage,
    UsageReport,
    UserMessage,
)
from roomful.domain.errors import Invalid
from roomful.domain.runs import Usage
from roomful.models import ScriptedModel, load_script
from roomful.models import script as script_format
from tests.models.asking import Said, gather, joined, request_to

SHOP = """
turns:
  - when: {text: "budget for (?P<year>[0-9]{4})"}
    steps:
      - thinking: Finance knows that.
        calls:
          - tool: sendSpaceMessage
            args: {targetSpaceId: finance, text: "The budget for {{year}}, please. ({{message}})"}
          - tool: showCard
            args: {list: ["{{year}}", 1, null], a: {b: "{{ year }}"}}
      - text: "They said {{result}}"
  - when: {contains: SHOES, step: 1}
    text: No more shoes.
  - when: {contains: SHOES}
    calls: [{tool: approve, args: {}}]
  - when: {tool: approve, result: '"approved": *false, "why": "(?P<why>[^"]*)"'}
    text: "Then not: {{why}}"
  - when: {tool: approve}
    text: "Bought."
  - text: "You said: {{message}}"
"""


def answer_to(text: str, *messages: ModelMessage) -> Said:
    return joined(*heard(text, *messages))


def heard(
    text: str, *messages: ModelMessage, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
) -> tuple[list[ModelDelta], str]:
    model = ScriptedModel(load_script(text), sleep)
    batches, fault = asyncio.run(gather(model, request_to(None, *messages, name="scripted:x")))
    return [delta for batch in batches for delta in batch], fault.code if fault else ""


def called(call_id: str, tool: str, result: str) -> tuple[ModelMessage, ModelMessage]:
    return AssistantMessage("", (AskedCall(call_id, tool, "{}"),)), ToolMessage(call_id, result)


def test_words_choose_a_turn_and_give_values() -> None:
    assert answer_to(SHOP, SystemMessage("x"), UserMessage("The Budget for 2031?")) == Said(
        reasoning="Finance knows that.",
        calls={
            0: (
                "sendSpaceMessage",
                '{"targetSpaceId":"finance","text":"The budget for 2031, please. (The Budget for 2031?)"}',
            ),
            1: ("showCard", '{"list":["2031",1,null],"a":{"b":"2031"}}'),
        },
    )


def test_steps_follow_from_the_messages_alone() -> None:
    asked = UserMessage("budget for 2031")
    first = called("1", "sendSpaceMessage", "5 €")

    assert answer_to(SHOP, UserMessage("hello"), AssistantMessage("x"), asked, *first) == Said(
        text="They said 5 €"
    )
    assert answer_to(SHOP, asked, *first, AssistantMessage("They said 5 €")) == Said()


def test_results_choose_a_turn() -> None:
    asked = UserMessage("buy it")

    refused = called("1", "approve", '{"approved": false, "why": "too red"}')
    assert answer_to(SHOP, asked, *refused) == Said(text="Then not: too red")
    assert answer_to(SHOP, asked, *called("1", "approve", '{"approved": true}')) == Said(text="Bought.")
    assert answer_to(SHOP, asked, *called("1", "other", '{"approved": true}')) == Said()


def test_one_of_several_results_is_enough() -> None:
    calls = AssistantMessage("", (AskedCall("1", "approve", "{}"), AskedCall("2", "other", "{}")))
    messages = (UserMessage("buy it"), calls, ToolMessage("1", "yes"), ToolMessage("2", "done"))

    assert answer_to(SHOP, *messages) == Said(text="Bought.")


def test_a_step_number_chooses_a_turn() -> None:
    asked = UserMessage("shoes")

    assert answer_to(SHOP, asked) == Said(calls={0: ("approve", "{}")})
    assert answer_to(SHOP, asked, *called("1", "approve", "yes")) == Said(text="No more shoes.")


def test_the_turn_without_a_condition_is_for_everything_else() -> None:
    assert answer_to(SHOP, UserMessage("{{year}} {{message}}")) == Said(text="You said: {{year}} {{message}}")
    assert answer_to("turns: []", UserMessage("hello")) == Said()


def test_a_loop_never_ends() -> None:
    text = "turns: [{loop: true, steps: [{text: first}, {calls: [{tool: again}]}]}]"
    messages: list[ModelMessage] = [UserMessage("go")]

    assert answer_to(text, *messages) == Said(text="first")
    for _ in range(3):
        messages += called("1", "again", "ok")
        assert answer_to(text, *messages) == Said(calls={0: ("again", "{}")})


def test_chunks_are_as_large_as_the_nearest_word_says() -> None:
    text = """
      chunk: 3
      turns:
        - {when: {contains: step}, chunk: 5, steps: [{text: abcdefgh, chunk: 7}]}
        - {when: {contains: turn}, chunk: 5, steps: [{text: abcdefgh}]}
        - {text: abcdefgh}
    """

    def pieces(message: str) -> list[str]:
        return [delta.text for delta in heard(text, UserMessage(message))[0] if isinstance(delta, TextPiece)]

    assert pieces("step") == ["abcdefg", "h"]
    assert pieces("turn") == ["abcde", "fgh"]
    assert pieces("top") == ["abc", "def", "gh"]


def test_everything_streams_in_its_order() -> None:
    text = """
      turns:
        - thinking: Hmm
          text: Ja
          calls: [{tool: a, arguments: '{"x": '}, {tool: b, repeat: 2}]
          usage: {input: 3, output: 4}
    """

    assert heard(text, UserMessage("x")) == (
        [
            ReasoningPiece("Hmm"),
            TextPiece("Ja"),
            CallOpened(0, "a"),
            CallPiece(0, '{"x"'),
            CallPiece(0, ": "),
            CallOpened(1, "b"),
            CallPiece(1, "{}"),
            CallOpened(2, "b"),
            CallPiece(2, "{}"),
            UsageReport(Usage(3, 4)),
        ],
        "",
    )


def test_calls_can_interleave_and_repeat() -> None:
    text = "turns: [{interleave: true, repeat: 2, chunk: 1, text: ab, calls: [{tool: a}]}]"

    assert heard(text, UserMessage("x"))[0][4:] == [
        CallOpened(0, "a"),
        CallOpened(1, "a"),
        CallPiece(0, "{"),
        CallPiece(1, "{"),
        CallPiece(0, "}"),
        CallPiece(1, "}"),
    ]


def test_delays_are_slept_between_chunks() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    heard("delay: 250\nturns: [{text: abcdefgh}]", UserMessage("x"), sleep=sleep)
    heard("delay: 250\nturns: [{text: abcd, delay: 0}]", UserMessage("x"), sleep=sleep)

    assert slept == [0.25, 0.25, 0]


def test_a_script_can_fail_after_it_said_something() -> None:
    async def run() -> ModelFailed | None:
        model = ScriptedModel(
            load_script("turns: [{text: ab, error: {code: model_cut, message: Oh, retry: true}}]")
        )
        return (await gather(model, request_to(None)))[1]

    fault = asyncio.run(run())

    assert fault is not None
    assert (fault.code, fault.message, fault.retry) == ("model_cut", "Oh", True)


def test_a_hanging_script_is_silent_as_long_as_the_request_allows() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    assert joined(*heard("turns: [{text: ab, hang: true}]", UserMessage("x"), sleep=sleep)) == Said(
        text="ab", fault="model_silent"
    )
    assert slept == [0, 20]


def test_a_hanging_script_can_be_canceled() -> None:
    async def run() -> None:
        model = ScriptedModel(load_script("turns: [{hang: true}]"))
        task = asyncio.create_task(gather(model, request_to(None)))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task}, timeout=5)
        assert task.cancelled()

    asyncio.run(run())


def test_json_is_a_script_too(tmp_path: Path) -> None:
    path = tmp_path / "hello.json"
    path.write_text('{"turns": [{"text": "Hällo"}]}', encoding="utf-8")

    assert load_script(path) == load_script("turns: [{text: Hällo}]")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("turns: [", "bad.yaml: is neither YAML nor JSON: while parsing"),
        ("- x", "bad.yaml: expected `object`, got `array`"),
        ("{}", "bad.yaml: object missing required field `turns`"),
        ("turns: [{text: a}, {txt: b}]", "bad.yaml: turn 2: object contains unknown field `txt`"),
        (
            "turns: [{steps: [{}, {calls: [{args: {}}]}]}]",
            "bad.yaml: turn 1, steps[1].calls[0]: object missing",
        ),
        ("turns: [{text: 5}]", "bad.yaml: turn 1, text: expected `str`, got `int`"),
        ("turns: [{when: {text: '('}}]", "bad.yaml: turn 1, when.text: is no regular expression"),
        ("turns: [{text: '{{who}}'}]", "bad.yaml: turn 1, text: nothing gives a value to {{who}}"),
        (
            "turns: [{steps: [{calls: [{tool: a, args: {b: [{c: '{{who}}'}]}}]}]}]",
            "bad.yaml: turn 1, steps[0].calls[0].args: nothing gives a value to {{who}}",
        ),
        ("turns: [{text: a, steps: [{text: b}]}]", "bad.yaml: turn 1, text: stands beside steps"),
        (
            "turns: [{when: {tool: a}, steps: [{text: b}]}]",
            "bad.yaml: turn 1, steps: cannot be with when.tool",
        ),
        (
            "turns: [{calls: [{tool: a, args: {}, arguments: ''}]}]",
            "bad.yaml: turn 1, calls[0].arguments: stands beside args",
        ),
        ("turns: [{calls: [{tool: a, repeat: 0}]}]", "bad.yaml: turn 1, calls[0].repeat: must be 1 or more"),
        ("turns: [{repeat: 0}]", "bad.yaml: turn 1, repeat: must be 1 or more"),
        ("chunk: 0\nturns: []", "bad.yaml: chunk: must be 1 or more"),
        ("turns: [{delay: -1}]", "bad.yaml: turn 1, delay: must be 0 to 600000 milliseconds"),
    ],
)
def test_a_mistake_is_named_by_file_turn_and_field(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(Invalid, match=re.escape(problem)):
        load_script(path)


def test_the_described_example_is_a_script() -> None:
    description = script_format.__doc__ or ""
    example = description.split("\n\n")[1]

    assert len(load_script(example).turns) == 3


def test_the_document_shows_scripts_that_work() -> None:
    page = Path(__file__).parents[2] / "docs" / "scripted-models.md"
    examples = re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)

    assert len(examples) > 1
    for example in examples:
        load_script(example, "docs/scripted-models.md")
