"""How values get into an address. Hostile probes come by class, with controls."""

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roomful.tools import TemplateError, expand_query, expand_url

SECRET = "canary-6f1d"
BASE = "https://api.example.com"
HOST = "api.example.com"
CLIMBING = [
    ".", "..", "../", "../../admin", "..\\..\\admin", "./", "a/../b", "a/./b", "/..", "..;", "..;a=b",
    "%2e%2e", "%2E%2E%2F", "%252e%252e", "%25252e%25252e", ".%2e", "..%2f..", "..%5c", "a\\..",
    "\uff0e\uff0e", "\u2024\u2024", "..\uff0fadmin",
]  # fmt: skip
ENDING_THE_PATH = [
    "?x=1", "a?admin=1&b", "#x", "a#b", "a/b", "//evil.example/", "/evil", "\\\\evil", "@evil.example", ":80",
    "a b", "http://evil.example/", "https:evil", "a&b=c", "a=b", "a;b", "a%2fb", "é", "日本", "\u202e", "+",
    "'\"<>",
]  # fmt: skip
CONTROL = ["a\r\nb", "\n", "\x00", "\x1f", "\x85", "a\tb"]


def env(name: str) -> str:
    assert name == "KEY"
    return SECRET


@pytest.mark.parametrize("probe", CLIMBING)
@pytest.mark.parametrize("template", ["/users/{{a}}/posts", "/users/{{a}}", "/{{a}}", "/v1/{{input.a}}?q=1"])
def test_a_value_that_would_climb_out_of_its_path_is_refused(probe: str, template: str) -> None:
    with pytest.raises(TemplateError, match="path"):
        expand_url(BASE + template, {"a": probe}, env)


@pytest.mark.parametrize(
    ("template", "args"),
    [
        ("/.{{a}}/x", {"a": "."}),
        ("/{{a}}{{b}}/x", {"a": ".", "b": "."}),
        ("/%2e{{a}}/x", {"a": "."}),
        ("/.{{a}}", {"a": None}),
        ("/..{{a}}/x", {}),
        ("/.{{a}}./x", {}),
    ],
)
def test_pieces_that_climb_together_are_refused(template: str, args: dict[str, Any]) -> None:
    with pytest.raises(TemplateError):
        expand_url(BASE + template, args, env)


@pytest.mark.parametrize("probe", ENDING_THE_PATH)
def test_a_value_is_one_segment_and_one_pair(probe: str) -> None:
    url = expand_url(f"{BASE}/users/{{{{a}}}}/posts?q={{{{a}}}}&r=1", {"a": probe}, env)
    parts = urlsplit(url)
    assert (parts.scheme, parts.netloc, parts.fragment) == ("https", HOST, "")
    assert [unquote(step) for step in parts.path.split("/")] == ["", "users", probe, "posts"]
    assert parse_qsl(parts.query) == [("q", probe), ("r", "1")]
    assert url.isascii()


@pytest.mark.parametrize("probe", CONTROL)
def test_control_characters_are_refused_in_a_path_and_encoded_in_a_query(probe: str) -> None:
    with pytest.raises(TemplateError, match="control character"):
        expand_url(BASE + "/{{a}}", {"a": probe}, env)
    url = expand_url(BASE + "/?q={{a}}", {"a": probe}, env)
    assert parse_qsl(urlsplit(url).query) == [("q", probe)]


@pytest.mark.parametrize(
    "template",
    [
        "https://{{a}}/", "https://{{a}}.example.com/", "https://example.com{{a}}/", "https://example.com:{{a}}/",
        "{{a}}://example.com/", "https:{{a}}", "{{a}}", "https://u:{{a}}@example.com/", "https://${env.KEY}/",
        "//{{a}}/", "https:///{{a}}", "ftp://example.com/{{a}}", "https://exa mple.com/{{a}}", "https://[{{a}}]/",
    ],
)  # fmt: skip
def test_no_value_reaches_the_host(template: str) -> None:
    with pytest.raises(TemplateError):
        expand_url(template, {"a": "evil.example"}, env)


def test_half_a_character_is_refused_in_an_address() -> None:
    for template in ("/{{a}}", "/?q={{a}}"):
        with pytest.raises(TemplateError):
            expand_url(BASE + template, {"a": "\ud800"}, env)


def test_a_query_repeats_its_key_for_a_list() -> None:
    query = {
        "tag": "{{tags}}",
        "n": "{{n}}",
        "f": "{{f}}",
        "k": "${env.KEY}",
        "o": {"a": "{{n}}"},
        "l": ["{{n}}", "x"],
    }
    got = expand_query(query, {"tags": ["a b", "c&d"], "n": 5, "f": False}, env)
    assert parse_qsl(got) == [
        ("tag", "a b"), ("tag", "c&d"), ("n", "5"), ("f", "false"), ("k", SECRET), ("o", '{"a":5}'),
        ("l", "5"), ("l", "x"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("template", "url"),
    [
        (BASE + "/v1/current?city={{city}}", BASE + "/v1/current?city=New%20York"),
        (BASE + "/{{city}}.json", BASE + "/New%20York.json"),
        (BASE + "/..a/{{n}}/.well-known", BASE + "/..a/7/.well-known"),
        (BASE + "?n={{n}}", BASE + "?n=7"),
        (BASE, BASE),
        ("HTTP://Example.com:8080/a?b={{input.n}}", "HTTP://Example.com:8080/a?b=7"),
        ("http://[::1]:8080/{{n}}", "http://[::1]:8080/7"),
        (BASE + "/?key=${env.KEY}", f"{BASE}/?key={SECRET}"),
    ],
)
def test_addresses_that_are_filled_in(template: str, url: str) -> None:
    assert expand_url(template, {"city": "New York", "n": 7}, env) == url


@given(value=st.text())
def test_any_text_stays_inside_its_place_in_an_address_or_is_refused(value: str) -> None:
    try:
        url = expand_url(f"{BASE}/a/{{{{v}}}}/b?q={{{{v}}}}&z=1", {"v": value}, env)
    except TemplateError:
        return
    parts = urlsplit(url)
    assert parts.netloc == HOST
    assert unquote(parts.path) == f"/a/{value}/b"
    assert len(parts.path.split("/")) == 4
    assert parse_qsl(parts.query, keep_blank_values=True) == [("q", value), ("z", "1")]
