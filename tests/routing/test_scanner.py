"""Whatever the cuts, the tokens of a call's arguments add up to what a full parse gives."""

from collections.abc import Iterator
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roomful.routing.scanner import (
    MAX_CHARACTERS,
    MAX_DEPTH,
    MAX_DIGITS,
    MAX_KEYS,
    ArgumentScanner,
    Broken,
    Closed,
    Key,
    Piece,
    TextEnd,
    Value,
)
from tests.routing.counting import SHAPES, Counter
from tests.routing.second_opinion import assert_same, expected, joined, parsed, pieces_of, scan


def every_cut_in_two_and_three(text: str) -> Iterator[list[str]]:
    inner = range(1, len(text))
    for cuts in [*((at,) for at in inner), *combinations(inner, 2)]:
        yield pieces_of(text, cuts)


# Texts that are valid, with everything JSON allows in how they are written.

SHORT = ['\\"', "\\\\", "\\/", "\\b", "\\f", "\\n", "\\r", "\\t"]
LONG = ["\\u0061", "\\u0022", "\\u005C", "\\u0000", "\\u00e9", "\\ud83d\\ude00", "\\uD800\\uDC00"]
HALVES = ["\\ud83d", "\\ude00", "\\uDBFF", "\\uDC00"]
RAW = list("ab/{}[]:,u0d8 \n\t\r\x7fé\u2028\ufeff😀𐀀")
WRITTEN = st.sampled_from(SHORT + LONG + HALVES + RAW) | st.characters(
    codec="utf-8", exclude_categories=["Cc"], exclude_characters='"\\'
)
STRINGS = st.lists(WRITTEN, max_size=8).map(lambda written: '"' + "".join(written) + '"')
KEYS = st.sampled_from(['"a"', '"b"', '"\\u0061"', '"__proto__"', '""']) | STRINGS
COLONS = st.sampled_from([":", ":", " : ", "\n:\t", ":\r"])
COMMAS = st.sampled_from([",", ",", " , ", "\n,\t", ",\r"])
SCALARS = st.one_of(
    st.sampled_from(["true", "false", "null", "0", "-0", "-0.0", "50000", "1e5", "1E-7", "1e-999", "9" * 30]),
    st.integers().map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
)


def lists(items: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    written = st.tuples(st.lists(items, max_size=4), COMMAS)
    return written.map(lambda parts: "[" + parts[1].join(parts[0]) + "]")


def objects(items: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    written = st.tuples(st.lists(st.tuples(KEYS, COLONS, items).map("".join), max_size=5), COMMAS)
    return written.map(lambda parts: "{" + parts[1].join(parts[0]) + "}")


VALUES = st.recursive(STRINGS | SCALARS, lambda items: lists(items) | objects(items), max_leaves=10)
OBJECTS = objects(VALUES)


@st.composite
def fragments_of(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> tuple[str, list[str]]:
    text = draw(texts)
    cuts = draw(st.sets(st.integers(0, len(text)), max_size=12) | st.just(set(range(len(text)))))
    return text, pieces_of(text, cuts)


@settings(max_examples=200, deadline=None)
@given(fragments_of(OBJECTS))
def test_any_object_cut_anywhere_reads_like_a_full_parse(case: tuple[str, list[str]]) -> None:
    text, fragments = case
    pairs = parsed(text)
    assert pairs is not None
    scanner = ArgumentScanner()
    tokens = [token for fragment in fragments for token in scanner.feed(fragment)] + scanner.finish()

    assert_same(joined(tokens), expected(pairs))
    assert_same(scanner.result(), dict(pairs))


@st.composite
def damaged(draw: st.DrawFn) -> str:
    text = draw(OBJECTS)
    at = draw(st.integers(0, len(text)))
    inserted = draw(
        st.text(st.sampled_from(list('{}[]",:\\ux0dD8e.-+ \n\x00\x01ntNI\ufeff')), max_size=3)
        | st.sampled_from(["NaN", "-Infinity", "1e999", "\\ud800", "\\u00", "tru", ",,", "}}", "[{"])
    )
    return text[:at] + inserted + text[at + draw(st.integers(0, 3)) :]


@settings(max_examples=300, deadline=None)
@given(fragments_of(damaged()))
def test_what_a_full_parse_refuses_is_broken_and_nothing_else_is(case: tuple[str, list[str]]) -> None:
    text, fragments = case
    pairs = parsed(text)
    tokens = joined(scan(fragments))

    if pairs is None:
        assert isinstance(tokens[-1], Broken)
        assert sum(isinstance(token, Broken) for token in tokens) == 1
    else:
        assert_same(tokens, expected(pairs))


RAGGED = st.text(st.sampled_from(list('ab\\ud8"\n\x00\x01\ud83d\ude00é')) | st.characters(), max_size=30)


@settings(max_examples=150, deadline=None)
@given(
    fragments_of(damaged() | RAGGED | RAGGED.map('{{"a":"{}"}}'.format) | RAGGED.map('{{"a":["{}"]}}'.format))
)
def test_the_cuts_never_matter(case: tuple[str, list[str]]) -> None:
    text, fragments = case

    assert_same(joined(scan(fragments)), joined(scan([text])))


CORPUS = [
    '{"targetSpaceId":"space-1","targetSpaceId":"space-12"}',
    '{"target\\u0053paceId":"a","x":50000,"y":-1.5e+3}',
    '{"x":{"targetSpaceId":"b"},"t":"\\"targetSpaceId\\":\\"b\\""}',
    '{"a":"\\ud83d\\ude00\\ud83d\\ud83d\\ude00\\ude00\\\\ud83d"}',
    '{"a":[{"b":"]}\\\\"},"\\"",[[],{}]],"c":true}',
    ' {"" : "" ,\n"a":[ ] , "b":{ } , "c":null}\n',
    '{"a":"line\nbreak\\n\\u0000","b":["\\ud800"]}',
    '{"a":"\\ud83d\\u0041\\ud83d\\n\\ud83dx\\ud83d"}',
]


@pytest.mark.parametrize("text", CORPUS)
def test_every_cut_in_two_and_three_reads_the_same(text: str) -> None:
    pairs = parsed(text)
    assert pairs is not None
    whole = expected(pairs)

    for fragments in every_cut_in_two_and_three(text):
        assert joined(scan(fragments)) == whole, fragments


@pytest.mark.parametrize(
    "text",
    ['{"a":"one\x00two"}', '{"a":"one \ud83d\ude00\ude00 two"}', '{"a":"one\\ud83d\\x two"}', '{"a":[1,}]}'],
)
def test_every_cut_in_two_and_three_of_a_ragged_text_reads_like_the_whole(text: str) -> None:
    whole = joined(scan([text]))

    for fragments in every_cut_in_two_and_three(text):
        assert joined(scan(fragments)) == whole, fragments


# One fragment after the other.


def test_tokens_come_with_the_fragment_that_completes_them() -> None:
    scanner = ArgumentScanner()

    assert [scanner.feed(fragment) for fragment in ('{"a"', ' : "x', "y", "z\\", 'n", "n":50', "0", "}")] == [
        [],
        [Key("a"), Piece("a", "x")],
        [Piece("a", "y")],
        [Piece("a", "z")],
        [Piece("a", "\n"), TextEnd("a", "xyz\n"), Key("n")],
        [],
        [Value("n", 500), Closed()],
    ]
    assert scanner.finish() == []
    assert scanner.result() == {"a": "xyz\n", "n": 500}


def test_the_text_of_one_fragment_is_one_piece() -> None:
    assert scan(['{"a":"one\\ntwo\\u00e9 \\ud83d\\ude00 three"}']) == [
        Key("a"),
        Piece("a", "one\ntwoé 😀 three"),
        TextEnd("a", "one\ntwoé 😀 three"),
        Closed(),
    ]


def test_an_empty_fragment_says_nothing() -> None:
    assert [ArgumentScanner().feed(""), scan(["", '{"a":"', "", "b", "", '"', "", "}", ""])] == [
        [],
        [Key("a"), Piece("a", "b"), TextEnd("a", "b"), Closed()],
    ]


@pytest.mark.parametrize("text", ["", " \n", "\ufeff", "{}", " { } ", "\ufeff{}", "\ufeff {}\n"])
def test_no_text_and_an_empty_object_are_no_arguments(text: str) -> None:
    scanner = ArgumentScanner()
    tokens = scanner.feed(text) + scanner.finish()

    assert tokens == [Closed()]
    assert scanner.result() == {}


def test_a_number_is_complete_only_when_something_follows() -> None:
    scanner = ArgumentScanner()
    seen = [scanner.feed(character) for character in '{"n":50000 ']

    assert seen == [[]] * 4 + [[Key("n")]] + [[]] * 5 + [[Value("n", 50000)]]


def test_a_character_cut_into_raw_halves_is_joined_and_a_half_alone_is_replaced() -> None:
    assert joined(
        scan(['{"a\ud83d', '\ude00":"\ud83d', '\ude00\ude00\ud83d"', ',"n":["\ud83d', '\ude00\ud83d"]}'])
    ) == [
        Key("a😀"),
        Piece("a😀", "😀\ufffd\ufffd"),
        TextEnd("a😀", "😀\ufffd\ufffd"),
        Key("n"),
        Value("n", ["😀\ufffd"]),
        Closed(),
    ]


def test_keys_are_compared_decoded_and_the_last_value_wins() -> None:
    scanner = ArgumentScanner()
    scanner.feed('{"target\\u0053paceId":"a","b":1,"targetSpaceId":["c"],"__proto__":{"x":1}}')

    assert scanner.result() == {"targetSpaceId": ["c"], "b": 1, "__proto__": {"x": 1}}


# Faults.

NO_OBJECT = "arguments must be a JSON object"
CUT_OFF = "the text is cut off before its end"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("[]", NO_OBJECT, id="list"),
        pytest.param("null", NO_OBJECT, id="null"),
        pytest.param("12", NO_OBJECT, id="number"),
        pytest.param('"{}"', NO_OBJECT, id="string"),
        pytest.param("NaN", NO_OBJECT, id="NaN"),
        pytest.param("\ufeff\ufeff{}", NO_OBJECT, id="two BOMs"),
        pytest.param('{"a":"b', CUT_OFF, id="cut in a string"),
        pytest.param('{"a":[1,2', CUT_OFF, id="cut in a list"),
        pytest.param('{"a":12', CUT_OFF, id="cut in a number"),
        pytest.param('{"a":"\\ud83d', CUT_OFF, id="cut in a pair"),
        pytest.param('{"a":["\\', CUT_OFF, id="cut in a nested escape"),
        pytest.param("{}\ud83d", CUT_OFF, id="half a character after the end"),
        pytest.param("\ud83d", CUT_OFF, id="half a character alone"),
        pytest.param("{} x", "expected nothing after the object, found 'x'", id="text after the end"),
        pytest.param("{}{}", "expected nothing after the object, found '{'", id="second object"),
        pytest.param("{,}", "expected a key in double quotes or '}', found ','", id="comma first"),
        pytest.param('{"a":1,}', "expected a key in double quotes, found '}'", id="comma last"),
        pytest.param('{"a" 1}', "expected ':' after the key, found '1'", id="no colon"),
        pytest.param('{"a":"b" "c"}', "expected ',' or '}' after the value, found '\"'", id="no comma"),
        pytest.param('{"a":NaN}', "NaN is not JSON", id="NaN value"),
        pytest.param('{"a":[-Infinity]}', "-Infinity is not JSON", id="nested infinity"),
        pytest.param('{"a":1e999}', "a number is too large", id="overflow"),
        pytest.param('{"a":[1e999]}', "a number is too large", id="nested overflow"),
        pytest.param('{"a":' + "9" * 5000 + "}", "a number has more than 4300 digits", id="digits"),
        pytest.param('{"a":[-' + "9" * 5000 + "]}", "a number has more than 4300 digits", id="nested digits"),
        pytest.param('{"a":01}', "in a value: Extra data: line 1 column 2 (char 1)", id="leading zero"),
        pytest.param('{"a":1]', "']' cannot stand in a value", id="wrong bracket"),
        pytest.param("{\"a\":'b'}", '"\'" cannot stand in a value', id="single quotes"),
        pytest.param('{"a":"\\x"}', "'\\\\x' cannot stand in a string", id="escape"),
        pytest.param('{"a":"\\u12g4"}', "'\\\\u' cannot stand in a string", id="unicode escape"),
        pytest.param('{"a":"\x00"}', "'\\x00' cannot stand in a string", id="raw NUL"),
        pytest.param('{"a":["\x01"]}', "control characters must be escaped", id="nested control"),
        pytest.param('{"a":' + "[" * 100_000, "values are nested deeper than 64 levels", id="depth"),
        pytest.param('{"a":' * 100_000, "values are nested deeper than 64 levels", id="depth of objects"),
    ],
)
def test_what_is_no_object_of_json_is_broken_once(text: str, reason: str) -> None:
    scanner = ArgumentScanner()
    tokens = scanner.feed(text) + scanner.finish() + scanner.feed('{"a":1}') + scanner.finish()

    assert [token for token in tokens if isinstance(token, Broken)] == [Broken(reason)]
    assert tokens[-1] == Broken(reason)
    assert joined(scan(pieces_of(text, range(0, len(text), 7)))) == joined(tokens)


def test_a_fragment_after_the_end_breaks_a_closed_call() -> None:
    scanner = ArgumentScanner()

    assert [scanner.feed('{"a":1}'), scanner.finish(), scanner.feed(" \n"), scanner.feed('"')] == [
        [Key("a"), Value("a", 1), Closed()],
        [],
        [],
        [Broken("expected nothing after the object, found '\"'")],
    ]


def test_what_is_as_large_as_allowed_passes() -> None:
    digits = "9" * MAX_DIGITS
    deep = "[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1)
    keys = ",".join(f'"{n}":1' for n in range(MAX_KEYS - 2))
    scanner = ArgumentScanner()
    scanner.feed(f'{{"n":-{digits},"d":{deep},{keys}}}')

    assert len(scanner.result()) == MAX_KEYS
    assert scanner.result()["n"] == -int(digits)


def test_one_level_or_one_key_too_many_is_broken() -> None:
    deep = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    keys = ",".join(f'"{n}":1' for n in range(MAX_KEYS + 1))

    assert scan([f'{{"d":{deep}}}'])[-1] == Broken("values are nested deeper than 64 levels")
    assert scan([f"{{{keys}}}"])[-1] == Broken("there are more than 1000 keys")


@pytest.mark.parametrize("opening", ['{"a":"', '{"a":["', '{"', '{"a":', ""])
def test_too_much_text_is_broken_wherever_it_comes(opening: str) -> None:
    filler = "0" if opening.endswith(":") else " " if not opening else "x"
    scanner = ArgumentScanner()
    scanner.feed(opening)
    scanner.feed(filler * (MAX_CHARACTERS - len(opening)))

    assert scanner.feed(filler) == [Broken("there are more than 10485760 characters")]
    assert scanner.feed('"}') == scanner.finish() == []


# The cost, counted in characters that are looked at.


@pytest.mark.parametrize("size", [1, 20, 4096])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_cost_grows_with_the_text(shape: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    counter = Counter(monkeypatch)
    for length in (2_000, 20_000, 80_000):
        text = SHAPES[shape](length)
        fragments = pieces_of(text, range(size, len(text), size))
        counter.begin()

        assert scan(fragments)[-1] == Closed()
        counter.check(len(text), len(fragments))
