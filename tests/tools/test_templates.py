"""Templates are filled in once, with values that stay values. Hostile probes come by class, with controls."""

import json
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roomful.tools import TemplateError, expand, expand_headers, expand_query, expand_text, expand_url

SECRET = "canary-6f1d"
BASE = "https://api.example.com"
HOST = "api.example.com"


class NotAllowed(Exception):
    pass


def env(name: str) -> str:
    if name != "KEY":
        raise NotAllowed(name)
    return SECRET


class Lively:
    """A value whose attributes would tell something."""

    secret = SECRET


# Values that try to be more than values: none may be looked at again.
REEXPANSION = [
    "{{b}}", "{{input.b}}", "{{input}}", "${env.KEY}", "${env.HOME}", "{{{{b}}}}", "{{b", "b}}", "${env.",
    "}}{{b}}{{", "{{a}}", "$${env.KEY}", "{{ b }}", "%7B%7Bb%7D%7D", "{% b %}", "#{b}", "<%= b %>",
    "\\{\\{b}}", "{{b}}${env.KEY}", "{0}", "%(b)s", "${b}", "$b", "`b`", "$(b)",
    "{{constructor}}", "{{__proto__}}",
]  # fmt: skip
HEADER_ENDINGS = [
    "a\r\nX-Evil: 1", "a\nX-Evil: 1", "a\rX-Evil: 1", "\r\n\r\nbody", "a\x00b", "a\x0bb", "a\x0cb", "\x1b[2J",
    "a\x7f", "a\ud800",
]  # fmt: skip


@pytest.mark.parametrize("probe", REEXPANSION)
def test_a_value_is_never_expanded(probe: str) -> None:
    args = {"a": probe, "b": "should-not-appear"}
    assert expand("{{a}}", args, env) == probe
    assert expand("x{{a}}y", args, env) == f"x{probe}y"
    assert expand({"k": ["{{a}}", "-{{input.a}}-"]}, args, env) == {"k": [probe, f"-{probe}-"]}
    assert expand_text("{{a}}{{a}}", args, env) == probe * 2
    assert expand_headers({"X": "v={{a}}"}, args, env) == {"X": f"v={probe}"}
    url = expand_url(f"{BASE}/p/{{{{a}}}}?q={{{{a}}}}", args, env)
    assert unquote(urlsplit(url).path) == f"/p/{probe}"
    assert parse_qsl(urlsplit(url).query) == [("q", probe)]
    assert SECRET not in url
    assert "should-not-appear" not in url


@pytest.mark.parametrize("probe", HEADER_ENDINGS)
def test_a_value_that_would_end_a_header_is_refused(probe: str) -> None:
    with pytest.raises(TemplateError, match="X-Name") as caught:
        expand_headers({"X-Name": "v={{a}}"}, {"a": probe}, env)
    assert "Evil" not in caught.value.detail
    with pytest.raises(TemplateError):
        expand_headers({"X-Name": "${env.KEY}"}, {}, lambda name: probe)


@pytest.mark.parametrize(
    "path",
    ["__class__", "a.__class__", "a.__dict__.secret", "a.secret", "b.keys", "c.append", "c.-1", "c.99"],
)
def test_a_path_walks_keys_and_never_attributes(path: str) -> None:
    args = {"a": Lively(), "b": {"x": 1}, "c": [1]}
    assert expand(f"{{{{{path}}}}}", args, env) is None
    assert expand_text(f"<{{{{input.{path}}}}}>", args, env) == "<>"


def test_keys_that_look_like_attributes_are_just_keys() -> None:
    assert expand("{{__class__}}", {"__class__": 5}, env) == 5


@pytest.mark.parametrize("name", ["HOME", "PATH", "key", "KEY2", "ROOMFUL_ADMIN_KEY"])
def test_a_name_that_is_not_allowed_is_not_read(name: str) -> None:
    for fill in (
        lambda text: expand(text, {}, env),
        lambda text: expand_headers({"X": text}, {}, env),
        lambda text: expand_url(BASE + "/" + text, {}, env),
        lambda text: expand_query({"q": text}, {}, env),
    ):
        with pytest.raises(NotAllowed):
            fill(f"${{env.{name}}}")


@pytest.mark.parametrize(
    "text",
    ["${env.}", "${env}", "${KEY}", "$env.KEY", "${env.KEY", "${ env.KEY }", "${env.KEY-x}", "{{env.KEY}}"],
)
def test_what_is_not_a_reference_is_left_alone(text: str) -> None:
    assert SECRET not in json.dumps(expand(f"a{text}", {}, env))


def test_a_secret_is_put_in_as_it_is_and_not_looked_at() -> None:
    assert expand("Bearer ${env.KEY}", {}, lambda name: "{{a}}${env.OTHER}") == "Bearer {{a}}${env.OTHER}"


def test_huge_values_are_refused_before_they_multiply() -> None:
    value = "x" * (1024 * 1024)
    for template in ("{{a}}" * 11, ["{{a}}"] * 11, {"k": ["-{{a}}-"] * 11}, {"k": ["{{b}}"] * 11}):
        with pytest.raises(TemplateError, match="MiB"):
            expand(template, {"a": value, "b": {"deep": [value]}}, env)
    with pytest.raises(TemplateError, match="longer"):
        expand_url(BASE + "/{{a}}", {"a": value}, env)
    with pytest.raises(TemplateError, match="longer"):
        expand_query({"q": "{{a}}"}, {"a": value}, env)
    with pytest.raises(TemplateError, match="longer"):
        expand_headers({"X": "{{a}}"}, {"a": value}, env)
    assert expand({"k": ["{{a}}"] * 9}, {"a": value}, env) == {"k": [value] * 9}


def test_a_value_that_is_no_json_is_refused_inside_a_text() -> None:
    for value in (float("nan"), float("inf"), 10**5000, Lively(), {"a": Lively()}, [float("nan")]):
        with pytest.raises(TemplateError):
            expand("a {{a}}", {"a": value}, env)


def test_a_value_nested_without_end_is_refused() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    for template in ("{{a}}", "x{{a}}"):
        with pytest.raises(TemplateError):
            expand(template, {"a": deep}, env)


# Controls: what must work.


@pytest.mark.parametrize(
    "value", [1, 1.5, True, False, None, "text", "", [], [1, {"a": None}], {"b": [1]}, 2**60]
)
def test_a_placeholder_alone_keeps_the_value_and_its_type(value: Any) -> None:
    for template in ("{{a}}", "{{input.a}}", "{{ a }}", "{{\ta }}"):
        got = expand(template, {"a": value}, env)
        assert got == value
        assert type(got) is type(value)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (1, "1"), (1.5, "1.5"), (True, "true"), (False, "false"), (None, "null"), ("t", "t"),
        ([1, "é"], '[1,"é"]'), ({"b": None}, '{"b":null}'),
    ],
)  # fmt: skip
def test_inside_a_longer_text_a_value_is_written_out(value: Any, written: str) -> None:
    assert expand("<{{a}}>", {"a": value}, env) == f"<{written}>"


def test_what_is_missing() -> None:
    assert expand({"a": "{{a}}", "b": "x{{input.a.b}}"}, {}, env) == {"a": None, "b": "xnull"}
    assert expand_headers({"X": "a{{a}}"}, {}, env) == {"X": "a"}
    assert expand_url(BASE + "/a/{{a}}?q={{a}}&r=1", {"a": None}, env) == BASE + "/a/?q=&r=1"
    assert expand_query({"q": "{{a}}", "r": "x{{a}}", "s": 1}, {}, env) == "r=x&s=1"


def test_nested_braces_and_plain_braces() -> None:
    args = {"x": 5}
    assert expand('{"a":{"b":{{x}}}}', args, env) == '{"a":{"b":5}}'
    assert expand("{{{x}}}", args, env) == "{5}"
    assert expand("{ {x} }", args, env) == "{ {x} }"


def test_paths_through_objects_and_lists() -> None:
    args = {"a": {"b": [{"c-d": 1}, 2]}, "größe": 3}
    assert expand("{{a.b.0.c-d}}", args, env) == 1
    assert expand("{{input.a.b.1}}", args, env) == 2
    assert expand("{{größe}}", args, env) == 3
    assert expand("{{input}}", args, env) == args


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(value=json_values)
def test_any_value_goes_through_a_body_unchanged(value: Any) -> None:
    body = expand({"a": "{{a}}", "b": [{"c": "{{input.a}}"}]}, {"a": value}, env)
    assert body == {"a": value, "b": [{"c": value}]}


@given(template=st.text(alphabet='{}$env. abinput"%/\\', max_size=60), value=st.text(max_size=20))
def test_any_template_is_filled_in_without_an_accident(template: str, value: str) -> None:
    try:
        expand({"k": template}, {"a": value, "b": 1, "input": {}}, env)
        expand_headers({"X": template}, {"a": value}, env)
        expand_url(BASE + "/" + template, {"a": value}, env)
    except (TemplateError, NotAllowed):
        pass
