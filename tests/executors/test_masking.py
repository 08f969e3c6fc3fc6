"""A secret that was read is hidden in whatever comes back, however it is spelled."""

import base64
import html
import json
import random
import string
from urllib.parse import quote, quote_plus

import pytest

from roomful.executors.masking import MASK, Masker

SECRETS = ["sk-proj-abc123XYZ", "pässwörd/with?chars&=", 'say "hi" <b>', "a+b/c==", "0123456789", "x" * 200]


def masker(secret: str) -> Masker:
    made = Masker(lambda _name: secret)
    made.read("KEY")
    return made


@pytest.mark.parametrize("secret", SECRETS)
def test_every_spelling_is_hidden(secret: str) -> None:
    raw = secret.encode()
    spellings = [
        secret,
        quote(secret, safe=""),
        quote(secret),
        quote_plus(secret),
        quote(secret, safe="").replace("%C3", "%c3").replace("%2F", "%2f"),
        json.dumps(secret)[1:-1],
        html.escape(secret),
        raw.hex(),
        raw.hex().upper(),
        base64.b64encode(raw).decode().rstrip("="),
        base64.urlsafe_b64encode(raw).decode().rstrip("="),
    ]

    for spelling in spellings:
        masked = masker(secret).text(f"before {spelling} after")
        assert masked.startswith("before ")
        assert MASK in masked, spelling
        assert spelling[1:-2] not in masked


@pytest.mark.parametrize("before", range(7))
@pytest.mark.parametrize("after", range(4))
def test_a_secret_inside_longer_base64_is_hidden(before: int, after: int) -> None:
    chance = random.Random(before * 10 + after)
    secret = "".join(chance.choices(string.ascii_letters, k=24))
    whole = base64.b64encode(b"u" * before + secret.encode() + b":" * after).decode()

    masked = masker(secret).text(whole)

    assert MASK in masked
    assert len(masked) < len(whole) - 20


def test_values_keys_and_numbers_of_a_result_are_masked() -> None:
    result = {"a": ["key is 123456789", {"123456789": 123456789}], "b": 12, "c": True, "d": None, "e": 1.5}

    assert masker("123456789").json(result) == {
        "a": [f"key is {MASK}", {MASK: MASK}],
        "b": 12,
        "c": True,
        "d": None,
        "e": 1.5,
    }


def test_a_longer_secret_is_hidden_before_a_shorter_one_within_it() -> None:
    made = Masker({"A": "secret", "B": "secretive-longer"}.__getitem__)
    made.read("A")
    made.read("B")

    assert made.text("secretive-longer and secret") == f"{MASK} and {MASK}"


@pytest.mark.parametrize("value", ["", "a", "eu", "443"])
def test_a_value_too_short_to_be_a_secret_is_left(value: str) -> None:
    assert masker(value).text("a value in eu at 443") == "a value in eu at 443"


def test_without_secrets_nothing_changes() -> None:
    assert Masker(lambda name: name).json({"a": [1, "b"]}) == {"a": [1, "b"]}
