"""Templates and expressions of authors, filled with what a model says."""

import json
import re
from random import Random
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from roomful.domain.errors import Invalid
from roomful.executors.expressions import ExpressionError, evaluate
from roomful.executors.expressions.evaluating import MAX_RESULT
from roomful.executors.expressions.functions import FUNCTIONS
from roomful.tools import TemplateError, expand, expand_headers, expand_query, expand_text, expand_url
from roomful.tools.templates import as_text
from tests.fuzz import grammar
from tests.fuzz.engine import refused, target

NAMES = ("a", "b", "query", "input")
SECRETS = {"KEY": "s3cret{{a}}", "TOKEN": "t0ken${env.KEY}"}
HOSTILE = (
    "{{b}}", "${env.KEY}", "{{input.b}}", "{{", "}}", "..", ".", "%2e%2e", "../x", "a/b?c#d", "a&b=c",
    "a\r\nX: y", "\\", "\x00", "é", "😀", "a;b", "%", "%25", "\uff0e\uff0e", "\u2024", " ", "", "a" * 50,
    "https://evil.example/",
)  # fmt: skip


class Filled(NamedTuple):
    pieces: list[tuple[str, str]]
    """`text`, `argument` or `secret`, and which."""
    args: dict[str, Any]

    @property
    def template(self) -> str:
        written = {"text": "{}", "argument": "{{{{{}}}}}", "secret": "${{env.{}}}"}
        return "".join(written[kind].format(what) for kind, what in self.pieces)


def _argument(chance: Random) -> Any:
    return chance.choice(HOSTILE) if chance.random() < 0.7 else grammar.value(chance)


def filled(chance: Random) -> Filled:
    args = {name: _argument(chance) for name in ("a", "b") if chance.random() < 0.9}
    pieces: list[tuple[str, str]] = []
    for _ in range(chance.randint(0, 5)):
        draw = chance.random()
        if draw < 0.4:
            pieces.append(("text", "".join(chance.choices("ab/ -._~é", k=chance.randint(1, 4)))))
        elif draw < 0.85:
            pieces.append(("argument", chance.choice(("a", "b", "input.a", "a.b", "a.0", "gone"))))
        else:
            pieces.append(("secret", chance.choice(list(SECRETS))))
    return Filled(pieces, args)


def _find(path: str, args: dict[str, Any]) -> Any:
    found: Any = args
    for step in path.removeprefix("input.").split("."):
        if isinstance(found, dict):
            found = found.get(step)
        elif isinstance(found, list) and step.isdecimal():
            found = found[int(step)] if int(step) < len(found) else None
        else:
            return None
    return found


def _texts(given: Filled, none: str) -> list[str]:
    """Of every piece, once: what is filled in is not read again."""
    found: list[str] = []
    for kind, what in given.pieces:
        value = what if kind == "text" else SECRETS[what] if kind == "secret" else _find(what, given.args)
        found.append(none if value is None else value if isinstance(value, str) else as_text(value))
    return found


def check_template(given: Filled) -> str:
    template, args = given.template, given.args
    text = "".join(_texts(given, ""))
    assert expand_text(template, args, SECRETS.__getitem__) == text
    body = expand({"deep": [template]}, args, SECRETS.__getitem__)["deep"][0]
    if len(given.pieces) == 1 and given.pieces[0][0] == "argument":
        assert repr(body) == repr(_find(given.pieces[0][1], args))
    else:
        assert body == "".join(_texts(given, "null"))
    try:
        headers = expand_headers({"x-a": template}, args, SECRETS.__getitem__)
    except TemplateError as error:
        assert re.search("[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]", text)
        return _refused(error)
    assert headers == {"x-a": text.strip(" \t")}
    assert not re.search("[\r\n\x00]", headers["x-a"])
    return "filled"


def _refused(error: TemplateError) -> str:
    assert not any(secret[:5] in error.detail for secret in SECRETS.values()), "tells a secret"
    return refused(error.detail)


class Address(NamedTuple):
    path: list[Filled]
    query: list[Filled]
    args: dict[str, Any]


def address(chance: Random) -> Address:
    one = filled(chance)
    plain = [[piece for piece in filled(chance).pieces if piece[0] != "text"] for _ in range(3)]
    segments = [
        Filled([("text", "p"), *pieces] if chance.random() < 0.5 else pieces, one.args) for pieces in plain
    ]
    pairs = [Filled(filled(chance).pieces[:2], one.args) for _ in range(chance.randint(0, 2))]
    pairs = [Filled([piece for piece in pair.pieces if piece[0] != "text"], one.args) for pair in pairs]
    return Address(segments, pairs, one.args)


def check_address(given: Address) -> str:
    """A value fills its place and nothing else: the host, the segments and the pairs are the author's."""
    template = "https://api.example.com:8443/" + "/".join(each.template for each in given.path)
    if given.query:
        template += "?" + "&".join(f"k{at}={each.template}" for at, each in enumerate(given.query))
    try:
        url = expand_url(template, given.args, SECRETS.__getitem__)
    except TemplateError as error:
        return _refused(error)
    assert url.isascii()
    read = urlsplit(url)
    assert (read.scheme, read.netloc, read.fragment) == ("https", "api.example.com:8443", "")
    segments = read.path.split("/")[1:]
    assert [unquote(segment, errors="strict") for segment in segments] == [
        "".join(_texts(each, "")) for each in given.path
    ]
    assert not any(unquote(unquote(segment)) in (".", "..") for segment in segments)
    pairs = parse_qsl(read.query, keep_blank_values=True, errors="strict")
    assert [value for _, value in pairs] == ["".join(_texts(each, "")) for each in given.query]
    query = {f"k{at}": each.template for at, each in enumerate(given.query)}
    again = expand_query(query, given.args, SECRETS.__getitem__)
    assert not re.search(r"[#\s]", again)
    return "filled"


def wild_template(chance: Random) -> tuple[str, dict[str, Any]]:
    tokens = (
        "{{",
        "}}",
        "{{a}}",
        "{{ a }}",
        "{{input.b}}",
        "${env.KEY}",
        "${",
        "}",
        "{{a.b.0}}",
        "{{a..b}}",
        "{{é}}",
    )
    text = "https://x.example/" + "".join(chance.choices(tokens, k=chance.randint(0, 4)))
    return grammar.damaged(chance, text, tokens), {"a": _argument(chance), "b": _argument(chance)}


def check_wild_template(given: tuple[str, dict[str, Any]]) -> str:
    """Only what the author wrote is ever looked up."""
    template, args = given
    asked: list[str] = []

    def env(name: str) -> str:
        asked.append(name)
        if name not in SECRETS:
            raise Invalid(f"{name} is not listed")
        return SECRETS[name]

    word = "filled"
    for fill in (
        expand_text,
        expand,
        expand_url,
        lambda text, args, env: expand_query({"q": text}, args, env),
    ):
        try:
            fill(template, args, env)
        except Invalid as error:
            word = refused(error.detail)
    written = re.findall(r"\$\{env\.([A-Za-z_][A-Za-z0-9_]*)\}", template)
    assert set(asked) <= set(written)
    return word


# Expressions.

WORDS = (
    "input", "a", "b", "order", "pi", "true", "null", "__class__", "__import__", "constructor", "Math",
    "self", *FUNCTIONS,
)  # fmt: skip
MARKS = (
    "+", "-", "*", "/", "//", "%", "^", "**", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "!", "?", ":",
    ".", ",", "(", ")", "[", "]", "{", "}", " and ", " or ", " not ", " in ", " not in ", " if ", " else ",
    "×", "÷",
)  # fmt: skip
FIELDS: dict[str, Any] = {
    "a": 3,
    "b": "text",
    "order": {"lines": [{"price": 2.5, "n": 2}, {"price": 1, "n": 0}], "__class__": "mine"},
    "big": 2**1000,
    "list": list(range(50)),
    "deep": [[[[[[1]]]]]],
}


def expression(chance: Random, depth: int = 4) -> str:
    draw = chance.random()
    if depth == 0 or draw < 0.25:
        return chance.choice(
            ("1", "2.5", "1e308", "0", '"x"', "'y'", "a", "b", "input.order", "big", "list", "deep")
        )
    inner = [expression(chance, depth - 1) for _ in range(3)]
    if draw < 0.5:
        return f"{inner[0]} {chance.choice(MARKS[:16])} {inner[1]}"
    if draw < 0.7:
        return f"{chance.choice(list(FUNCTIONS))}({', '.join(inner[: chance.randint(0, 3)])})"
    shapes = (
        "({0})",
        "[{0}, {1}]",
        "{{'k': {0}}}",
        "-{0}",
        "not {0}",
        "{0} ? {1} : {2}",
        "{0}[{1}]",
        "{0}.price",
        "{0} in {1}",
    )
    return chance.choice(shapes).format(*inner)


def written_expression(chance: Random) -> str:
    draw = chance.random()
    if draw < 0.6:
        text = expression(chance)
        return grammar.damaged(chance, text, (*MARKS, *WORDS)) if chance.random() < 0.3 else text
    if draw < 0.9:
        return "".join(
            chance.choice((*MARKS, *WORDS, "1", "'x'", "9" * 20)) for _ in range(chance.randint(1, 12))
        )
    return chance.choice(("(", "[", "-", "not ", "1+", "a?", "{'a':", "1**", "x[", "!")) * chance.choice(
        (3, 49, 51, 2000)
    )


def check_expression(given: str) -> str:
    before = json.dumps(FIELDS)
    try:
        value = evaluate(given, FIELDS)
    except ExpressionError as error:
        return refused(str(error))
    finally:
        assert json.dumps(FIELDS) == before, "the input was changed"
    assert len(json.dumps(value, allow_nan=False)) < 8 * MAX_RESULT
    _check_kinds(value)
    return "value"


def _check_kinds(value: Any) -> None:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        assert type(one) in (type(None), bool, int, float, str, list, dict), type(one)
        waiting += list(one.values()) if isinstance(one, dict) else one if isinstance(one, list) else []


def sum_of(chance: Random, depth: int = 4) -> str:
    """What Python reads and calculates alike."""
    if depth == 0 or chance.random() < 0.2:
        return str(chance.randint(0, 99))
    one, two = sum_of(chance, depth - 1), sum_of(chance, depth - 1)
    shape = chance.choice(
        ("{0} + {1}", "{0} - {1}", "{0} * {1}", "({0})", "-{0}", "{0} // {1}", "{0} % {1}", "({0}) < ({1})")
    )
    return shape.format(one, two)


def check_sum(given: str) -> str:
    try:
        expected = eval(given, {"__builtins__": {}})
    except ZeroDivisionError:
        expected = None
    try:
        found = evaluate(given, {})
    except ExpressionError as error:
        assert expected is None or "<" in given, "Python calculates it"
        return refused(str(error))
    assert found == expected
    return "value"


TARGETS = (
    target("template", filled, check_template, ("filled", "refused"), short=1500, long=150_000),
    target("address", address, check_address, ("filled", "refused"), short=600, long=40_000),
    target("wild", wild_template, check_wild_template, ("filled", "refused"), short=800, long=60_000),
    target(
        "expression", written_expression, check_expression, ("value", "refused"), short=2000, long=200_000
    ),
    target("sum", sum_of, check_sum, ("value",), short=500, long=150_000),
)
