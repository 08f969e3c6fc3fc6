"""How things are drawn: a function of what is drawn and of the width."""

import unicodedata

import hypothesis
import hypothesis.strategies as st
import pytest

from roomful.client.terminal.drawing import MOST_LINES, Ink, draw_card, draw_message
from roomful.client.terminal.forms import Form
from roomful.client.terminal.harmless import fitted, harmless, one_line, width, wrap
from roomful.client.terminal.line import Keys, Line, draw_line
from roomful.domain.messages import (
    ApprovalCard,
    MemberAnswer,
    Message,
    ReasoningPart,
    TextPart,
    ToolCallPart,
)
from roomful.domain.shape import UNSET, Json
from roomful.domain.trails import Child, ChildCall

PLAIN = Ink(has_colours=False)
WHEN = "2026-01-01T09:30:00Z"
ODD = st.text(st.characters(codec=None), max_size=60)


def _is_shown(character: str) -> bool:
    kind = unicodedata.category(character)
    return character in "\u200c\u200d" or kind not in ("Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp")


@hypothesis.given(ODD)
def test_nothing_that_is_shown_is_a_code(text: str) -> None:
    shown = harmless(text)
    assert all(character == "\n" or _is_shown(character) for character in shown)
    assert "\n" not in one_line(text)


@hypothesis.given(ODD, st.integers(4, 40))
def test_lines_fit_and_lose_nothing_but_spaces(text: str, columns: int) -> None:
    shown = harmless(text)
    lines = wrap(shown, columns)
    assert all(width(line) <= columns for line in lines)
    assert "".join("".join(lines).split()) == "".join(shown.split())
    assert width(fitted(one_line(text), columns)) == columns


def test_words_are_kept_whole_and_wide_characters_count_twice() -> None:
    assert wrap("the quick brown fox", 10) == ["the quick", "brown fox"]
    assert wrap("你好世界再见", 6) == ["你好世", "界再见"]
    assert wrap("  two\n\nparagraphs", 20) == ["  two", "", "paragraphs"]
    assert wrap("a" * 9, 4) == ["aaaa", "aaaa", "a"]
    assert (width("e\u0301"), fitted("你好", 3)) == (1, "你…")


def card(**more: Json) -> ToolCallPart:
    fields: dict[str, Json] = {
        "id": "p",
        "tool_call_id": "c",
        "tool_name": "pay",
        "status": "running",
        **more,
    }
    return ToolCallPart(**fields)


@pytest.mark.parametrize(
    ("part", "lines"),
    [
        (
            card(status="streaming", args={"amount": 5}),
            [
                "╭─ pay ──────────── writing…╮",
                "│ amount: 5                 │",
                "╰───────────────────────────╯",
            ],
        ),
        (
            card(status="complete", args={"to": "ACME"}, result={"ok": True, "list": [1, {"a": None}]}),
            [
                "╭─ pay ──────────────── done╮",
                "│ to: ACME                  │",
                "├───────────────────────────┤",
                "│ ok: true                  │",
                '│ list: [1,{"a":null}]      │',
                "╰───────────────────────────╯",
            ],
        ),
        (
            card(status="running"),
            [
                "╭─ pay ──────────── running…╮",
                "╰───────────────────────────╯",
            ],
        ),
        (
            card(status="error", args={}, error="grace did not approve this call"),
            [
                "╭─ pay ────────────── failed╮",
                "│ ! grace did not approve   │",
                "│ this call                 │",
                "╰───────────────────────────╯",
            ],
        ),
        (
            card(status="waiting", args={"q": "?"}, answers=[MemberAnswer("ada", "yes", WHEN)]),
            [
                "╭─ pay ─ waits for an answer╮",
                "│ q: ?                      │",
                "├───────────────────────────┤",
                "│ Ada: yes                  │",
                "╰───────────────────────────╯",
            ],
        ),
    ],
    ids=["writing", "done", "nothing to see", "failed", "poll"],
)
def test_a_card_is_a_box(part: ToolCallPart, lines: list[str]) -> None:
    assert draw_card(part, {"ada": "Ada"}, 29, PLAIN) == lines


def test_what_a_sub_agent_does_is_drawn_further_in() -> None:
    inner = Child("r3", "c", "Carl", "running", "hm")
    calls = [
        ChildCall("c1", "look", "complete", args={"q": 1}, result={"n": 2}),
        ChildCall("c2", "ask_carl", "running", child=inner),
    ]
    part = card(
        status="waiting", args={}, result=None, child=Child("r2", "b", "Bob", "running", "Well.", calls)
    )
    assert draw_card(part, {}, 31, PLAIN) == [
        "╭─ pay ────────────── at work…╮",
        "│ Bob: running                │",
        "│   · look done               │",
        '│     {"q":1}                 │',
        '│     → {"n":2}               │',
        "│   · ask_carl running…       │",
        "│     Carl: running           │",
        "│       hm                    │",
        "│   Well.                     │",
        "╰─────────────────────────────╯",
    ]


def test_a_message_has_its_author_above_its_parts() -> None:
    parts = [ReasoningPart("p0", "hm"), TextPart("p1", "One\ntwo", "canceled"), card(status="complete")]
    message = Message("m", "room", "helper", 1, "final", "assistant", parts, WHEN, WHEN)
    lines = draw_message(message, {"helper": "Helper"}, 30, PLAIN)
    assert lines[:5] == ["Helper 09:30", "  hm", "  One", "  two", "  (stopped)"]
    assert (
        "\x1b[36mHelper\x1b[0m" in draw_message(message, {"helper": "Helper"}, 30, Ink(has_colours=True))[0]
    )
    message.deleted = True
    assert draw_message(message, {}, 30, PLAIN) == ["helper 09:30", "  (deleted)"]


def test_a_long_value_is_cut() -> None:
    lines = draw_card(card(args={"text": "line\n" * 100}), {}, 40, PLAIN)
    assert len(lines) == MOST_LINES + 3
    assert "85 more lines" in lines[-2]


@hypothesis.given(ODD, st.dictionaries(ODD, ODD | st.lists(ODD, max_size=2), max_size=3), st.integers(1, 70))
def test_a_box_has_straight_sides_whatever_is_in_it(name: str, args: dict[str, Json], columns: int) -> None:
    clean = {
        key.encode(errors="replace").decode(): "".join(value).encode(errors="replace").decode()
        for key, value in args.items()
    }
    part = card(tool_name=name, status="waiting", args=clean, approval=ApprovalCard(name, ""))
    message = Message("m", "room", name, 1, "open", "assistant", [part], WHEN, WHEN)
    lines = draw_message(message, {name: name}, columns, PLAIN)
    assert len({width(line) for line in lines[1:]}) == 1
    assert all(width(line) <= max(columns, 24) for line in lines)
    assert all(map(_is_shown, "".join(lines)))


def fill(part: ToolCallPart, *said: str) -> Json:
    form = Form(part)
    for words in said:
        assert form.question is not None
        form.answer(words)
    assert form.question is None
    return form.result


SCHEMA = {
    "type": "object",
    "properties": {
        "n": {"type": "integer"},
        "on": {"type": "boolean", "default": True},
        "x": {"type": "number"},
    },
    "required": ["n"],
}


@pytest.mark.parametrize(
    ("part", "said", "result"),
    [
        (card(approval=ApprovalCard("a", "")), ["maybe", "y"], {"approved": True}),
        (card(approval=ApprovalCard("a", "")), ["no", ""], {"approved": False}),
        (card(approval=ApprovalCard("a", "")), ["n", "why"], {"approved": False, "reason": "why"}),
        (
            card(args={"options": ["red", {"id": 7, "label": "blue"}]}),
            ["3", "2"],
            {"choice": {"id": 7, "label": "blue"}},
        ),
        (card(args={"choices": ["red", "blue"]}), ["RED"], {"choice": "red"}),
        (card(args={"schema": SCHEMA}), ["", "x", "5", "", "1.5"], {"n": 5, "on": True, "x": 1.5}),
        (card(args={"fields": {"tags": {"type": "array"}}}), ["a b", '["a"]'], {"tags": ["a"]}),
        (card(args={"q": "Pizza?"}), ["", "yes"], {"text": "yes"}),
        (card(args=UNSET), ['{"a": 1}'], {"a": 1}),
        (card(args={"q": "?"}), ["true"], True),
        (
            card(question={"requests": {"k": {"message": "Book?", "schema": SCHEMA}}}),
            ["accept", "2", "n", ""],
            {"k": {"action": "accept", "content": {"n": 2, "on": False}}},
        ),
        (
            card(question={"requests": {"k": {"message": "Book?", "schema": SCHEMA}}}),
            ["2"],
            {"k": {"action": "decline"}},
        ),
    ],
)
def test_answers_make_a_result(part: ToolCallPart, said: list[str], result: Json) -> None:
    assert fill(part, *said) == result


def test_keys_are_found_wherever_the_bytes_are_cut() -> None:
    typed = "aü你\x1b[D\x1b[3~\x1bOA\x1b[1;5C\x7f\r".encode()
    whole = Keys().feed(typed)
    assert whole == ["a", "ü", "你", "left", "delete", "up", "rub", "enter"]
    for at in range(len(typed)):
        keys = Keys()
        assert keys.feed(typed[:at]) + keys.feed(typed[at:]) == whole


def test_a_line_longer_than_the_terminal_shows_where_it_is_written() -> None:
    line = Line()
    for key in "0123456789" * 5:
        line.press(key)
    shown, cursor = draw_line("room> ", line, 24)
    assert shown == "room> " + ("0123456789" * 5)[-17:]
    assert cursor == 23
    line.press("home")
    assert draw_line("room> ", line, 24) == ("room> 01234567890123456", 6)
