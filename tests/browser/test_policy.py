"""What the page allows itself, and what it weighs."""

import gzip
import re

import httpx
import pytest

from tests.browser.telling import try_this
from tests.browser.windows import Windows
from tests.servers.roomful import Roomful

SIZE_LIMIT = 250 * 1024


def _policy(answer: httpx.Response) -> dict[str, list[str]]:
    rules = [rule.split() for rule in answer.headers["content-security-policy"].split(";")]
    return {name: values for name, *values in rules}


@pytest.mark.parametrize("path", ["/", "/page.js", "/page.css", "/icon.svg"])
def test_the_policy_allows_only_what_is_ours(demo: Roomful, path: str) -> None:
    answer = httpx.get(demo.url + path)
    policy = _policy(answer)

    allowed = {value for values in policy.values() for value in values}
    assert allowed <= {"'self'", "'none'", "blob:", "data:", "'script'"}
    assert policy["default-src"] == ["'self'"]
    assert not {"script-src", "style-src", "connect-src", "frame-src", "worker-src"} & policy.keys()
    assert set(policy["img-src"]) <= {"'self'", "blob:", "data:"}
    for name in ("object-src", "base-uri", "frame-ancestors"):
        assert policy[name] == ["'none'"]
    assert policy["form-action"] == ["'self'"]
    assert policy["require-trusted-types-for"] == ["'script'"]
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert answer.headers["x-dns-prefetch-control"] == "off"
    assert "access-control-allow-origin" not in answer.headers
    assert "set-cookie" not in answer.headers


def test_the_page_has_nothing_inline_and_nothing_foreign(demo: Roomful) -> None:
    html = httpx.get(demo.url).text

    assert re.findall(r"<script[^>]*>(.*?)</script>", html, re.DOTALL) == [""]
    assert not re.search(r"<style|\sstyle=|\son\w+=|https?:|//\w|<base|http-equiv|prefetch|preconnect", html)
    css = httpx.get(f"{demo.url}/page.css").text
    assert not re.search(r"@import|url\((?!['\"]?data:image/)", css)


def test_the_page_is_light(demo: Roomful) -> None:
    parts = [httpx.get(f"{demo.url}/{name}").content for name in ("page.js", "page.css")]

    assert sum(len(gzip.compress(part, 6)) for part in parts) < SIZE_LIMIT


def test_a_policy_that_is_broken_would_be_told(window: Windows) -> None:
    page = window(
        "ada", "shopping", tolerates=("against the policy", "Trusted", "Content Security", "Refused")
    )
    for broken in ("eval('1')", "document.body.innerHTML = '<p>x'", "new Function('1')()"):
        with page.expect_console_message(lambda message: "against the policy" in message.text):
            page.evaluate(f"void setTimeout(() => {{ try {{ {broken} }} catch {{}} }})")


def test_a_whole_story_keeps_to_the_policy(window: Windows) -> None:
    """The rig tells every violation, also those that are only reported."""
    page = window("ada", "shopping")
    try_this(page, "Buy a laptop")
    page.get_by_role("group", name="MacBook Pro").get_by_role("button", name="Select").click()
    page.get_by_text("Selected by Ada").wait_for()

    assert page.evaluate("document.scripts.length") == 1
    assert page.evaluate("document.querySelectorAll('style, body link').length") == 0
