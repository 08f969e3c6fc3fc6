"""Whatever is written, the language answers with a JSON value or a sentence, and leaves its input alone."""

import copy
import random

import msgspec

from roomful.executors.expressions import ExpressionError, evaluate
from roomful.executors.expressions.functions import FUNCTIONS

ATOMS = [
    "1",
    "0",
    "-1",
    "2.5",
    "1e308",
    "'a'",
    "''",
    "true",
    "null",
    "[]",
    "{}",
    "[2, 1]",
    "['b', 'a']",
    "{a: 1}",
]
ATOMS += ["xs", "t", "o", "input", "pi", "o.a[0].b", "99999999999999999999", "[[]]", "[null]"]
OPERATORS = [
    "+",
    "-",
    "*",
    "/",
    "//",
    "%",
    "^",
    "==",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "in",
    "not in",
    "and",
    "or",
]
MARKS = [*OPERATORS, "(", ")", "[", "]", "{", "}", ",", ":", "?", ".", "not", "if", "else", "!", "sum("]
INPUT = {"xs": [1, 2, 3.5, -7, 10**300], "t": "héllo wörld", "o": {"a": [{"b": 1}], "n": None}}


def grown(chance: random.Random, depth: int) -> str:
    """An expression by the grammar, of any types."""
    if depth == 0:
        return chance.choice(ATOMS)
    inner = [grown(chance, chance.randrange(depth)) for _ in range(3)]
    name = chance.choice(list(FUNCTIONS))
    count = min(3, chance.randint(FUNCTIONS[name].least, FUNCTIONS[name].most))
    forms = [
        f"{inner[0]} {chance.choice(OPERATORS)} {inner[1]}",
        f"({inner[0]}) {chance.choice(OPERATORS)} -({inner[1]})",
        f"{name}({', '.join(inner[:count])})",
        f"({inner[0]})[{inner[1]}]",
        f"{inner[0]} ? {inner[1]} : {inner[2]}",
        f"not ({inner[0]})",
    ]
    return chance.choice(forms)


def test_no_expression_breaks_the_evaluator() -> None:
    chance = random.Random(7)
    fields, results, told = copy.deepcopy(INPUT), 0, set[str]()
    for _ in range(4000):
        soup = " ".join(chance.choices([*ATOMS, *MARKS], k=chance.randint(1, 9)))
        for source in (grown(chance, chance.randint(1, 4)), soup):
            try:
                msgspec.json.encode(evaluate(source, fields))
                results += 1
            except ExpressionError as error:
                told.add(str(error))

    assert fields == INPUT
    assert all(10 < len(sentence) < 700 for sentence in told)
    assert results > 1000
