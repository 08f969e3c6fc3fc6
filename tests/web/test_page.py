"""The page's files: served without node, compressed and only when they are new, under a strict policy."""

import gzip
import re

from tests.web.visiting import Visit, story

NAMES = ["/", "/page.js", "/page.css", "/icon.svg"]


@story()
async def test_a_file_that_is_known_is_not_sent_again(house: Visit) -> None:
    for name in NAMES:
        plain = await house.ask("GET", name)
        zipped = await house.ask("GET", name, headers={"accept-encoding": "br, gzip"})
        known = await house.ask("GET", name, headers={"if-none-match": plain.headers["etag"]})
        other = await house.ask("GET", name, headers={"if-none-match": '"another"'})

        assert (plain.status, other.status, known.status, known.body) == (200, 200, 304, b"")
        assert zipped.headers["content-encoding"] == "gzip"
        assert gzip.decompress(zipped.body) == plain.body
        assert plain.headers["vary"] == "accept-encoding"


@story()
async def test_the_page_is_small_and_has_nothing_inline(house: Visit) -> None:
    zipped = [await house.ask("GET", name, headers={"accept-encoding": "gzip"}) for name in NAMES]
    page = (await house.ask("GET", "/?as=ada")).body.decode()

    assert sum(len(each.body) for each in zipped) < 250_000
    assert re.findall(r"<script[^>]*>(.*?)</script>", page, re.DOTALL) == [""]
    assert not re.search(r"<style|style=|\son\w+=|https?:", page)


@story()
async def test_the_policy_lets_nothing_in_from_elsewhere(house: Visit) -> None:
    policy = (await house.ask("GET", "/")).headers["content-security-policy"]

    assert policy.startswith("default-src 'self'; ")
    assert not re.search(r"unsafe|https?:|\*|data:", policy)
    assert "require-trusted-types-for 'script'" in policy
