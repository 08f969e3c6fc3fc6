"""Configuration files."""

import pytest

from roomful.tools import ConfigRefused, configure, parse_config

YAML = """
id: shop
name: Shop
model: scripted:shop
tools:
  - name: weather
    executionType: request
    inputSchema: {properties: {city: {type: string}}}
    execution:
      url: https://api.example.com/{{city}}
      headers: {Authorization: "Bearer ${env.KEY}"}
"""


def test_yaml_and_json_are_read_alike() -> None:
    as_json = (
        '{"id": "shop", "name": "Shop", "model": "scripted:shop", "tools": [{"name": "weather", '
        '"executionType": "request", "inputSchema": {"properties": {"city": {"type": "string"}}}, '
        '"execution": {"url": "https://api.example.com/{{city}}", '
        '"headers": {"Authorization": "Bearer ${env.KEY}"}}}]}'
    )
    assert parse_config(YAML) == parse_config(as_json)
    assert configure(parse_config(YAML)).tools[0].name == "weather"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not an agent"),
        ("- a", "is not an agent"),
        ("just words", "is not an agent"),
        ("{", "cannot be read"),
        ("id: [", "cannot be read: line"),
        ("id: a\nid: b", "'id' is written twice"),
        ("a: {b: 1, b: 2}", "'b' is written twice"),
        ('{"id": "a", "id": "b"}', "'id' is written twice"),
        ('{"a": NaN}', "NaN"),
        ("a: !!python/object:os.system {}", "cannot be read"),
        ("a: !!python/name:os.system", "cannot be read"),
        ('{"a":' * 100_000, "nested too deep"),
        ("[" * 1_000, "nested too deep"),
        ("x" * (1024 * 1024 + 1), "larger than"),
        ("? [a, b]\n: c", "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_with_its_name(text: str, said: str) -> None:
    with pytest.raises(ConfigRefused) as caught:
        parse_config(text, source="shop.yaml")
    assert caught.value.detail.startswith("shop.yaml: ")
    assert said in caught.value.detail


def test_a_date_or_a_number_as_a_key_is_refused_when_configured() -> None:
    for line in ("limits: {1: 2}", "instructions: 2026-01-01", "instructions: !!binary aGk="):
        with pytest.raises(ConfigRefused):
            configure(parse_config(f"id: a\nname: b\nmodel: c:d\n{line}"))


def test_an_error_does_not_show_the_line() -> None:
    with pytest.raises(ConfigRefused) as caught:
        parse_config('model: {apiKey: "sk-canary"\ntools: ]')
    assert "sk-canary" not in caught.value.detail


def test_aliases_are_no_bomb() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 40)]
    with pytest.raises(ConfigRefused):
        configure(parse_config("\n".join(lines)))
