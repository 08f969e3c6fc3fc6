"""Every target with inputs by chance: the same few thousand each time, and very many in the long test.

`ROOMFUL_FUZZ_TIMES=10` tries ten times as many, `ROOMFUL_FUZZ_SEED=7` others. What fails is had again with
`python -m tests.fuzz NAME SEED NUMBER`.
"""

import pytest

from tests.fuzz.engine import SEED, chance_of, check_words, fuzz
from tests.fuzz.targets import TARGETS

SHARES = 4
"""Into which the inputs of a target are cut in the long test, so that several processes take part."""


@pytest.mark.parametrize("name", TARGETS)
def test_a_few(name: str) -> None:
    of = TARGETS[name]
    tally = fuzz(of, of.short)

    check_words(of, tally)


@pytest.mark.long
@pytest.mark.parametrize("share", range(1, SHARES + 1))
@pytest.mark.parametrize("name", TARGETS)
def test_very_many(name: str, share: int) -> None:
    of = TARGETS[name]
    tally = fuzz(of, of.long // SHARES, SEED + share)

    print(f"{tally.total()} inputs of {name}: {dict(tally)}")
    check_words(of, tally)


def test_the_long_test_has_two_million_inputs() -> None:
    assert sum(of.long for of in TARGETS.values()) >= 2_000_000


def test_an_input_is_the_same_each_time() -> None:
    for of in TARGETS.values():
        made = {repr(of.make(chance_of(of.name, 1, 1))) for _ in range(2)}
        assert len(made) == 1
