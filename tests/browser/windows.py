"""Windows of a browser on a gateway, and what went wrong in them."""

import contextlib
from collections.abc import Iterator
from typing import Protocol

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, ViewportSize, WebError

from tests.servers.roomful import PATIENCE

DESK = ViewportSize(width=1280, height=800)
PHONE = ViewportSize(width=390, height=844)

# A console says only some of these, and a policy that only reports none.
_TELL_VIOLATIONS = """
addEventListener("securitypolicyviolation", (event) =>
  console.error(`against the policy: ${event.effectiveDirective} ${event.blockedURI}`));
"""


class Address(Protocol):
    @property
    def url(self) -> str: ...


class Windows:
    """`window("ada", "finance")` gives a page with Ada in it; `window()` one where nobody came in yet."""

    def __init__(self, browser: Browser, at: Address) -> None:
        self._browser = browser
        self._at = at
        self._opened: list[BrowserContext] = []
        self._problems: list[str] = []

    def __call__(
        self,
        person: str | None = None,
        space: str | None = None,
        *,
        at: Address | None = None,
        dark: bool = False,
        phone: bool = False,
        moving: bool = False,
        tolerates: tuple[str, ...] = (),
    ) -> Page:
        """Comes in as that person of the demo. A problem that has a word of `tolerates` in it is none."""
        context = self._browser.new_context(
            viewport=PHONE if phone else DESK,
            is_mobile=phone,
            has_touch=phone,
            device_scale_factor=2 if phone else 1,
            color_scheme="dark" if dark else "light",
            reduced_motion="no-preference" if moving else "reduce",
            locale="en-GB",
            timezone_id="UTC",
        )
        self._opened.append(context)
        context.set_default_timeout(PATIENCE * 1000)
        context.add_init_script(_TELL_VIOLATIONS)
        url = (at or self._at).url
        self._watch(context, url, tolerates)
        page = context.new_page()
        page.goto(url + (f"/?as={person}" if person else "/") + (f"#{space}" if space else ""))
        if space:
            page.get_by_role("log", name="Messages").wait_for()
        return page

    def close(self) -> list[str]:
        """What went wrong in any window."""
        for context in self._opened:
            context.close()
        return self._problems

    def _watch(self, context: BrowserContext, url: str, tolerates: tuple[str, ...]) -> None:
        def note(problem: str) -> None:
            if not any(word in problem for word in tolerates):
                self._problems.append(problem)

        def console(message: ConsoleMessage) -> None:
            if message.type == "error":
                note(f"console: {message.text} at {message.location['url']}")

        def error(raised: WebError) -> None:
            note(f"error: {raised.error.stack or raised.error}")

        def request(sent: Request) -> None:
            if not sent.url.startswith((f"{url}/", "data:", "blob:")):
                note(f"request to elsewhere: {sent.url}")

        context.on("console", console)
        context.on("weberror", error)
        context.on("request", request)


@contextlib.contextmanager
def offline(page: Page) -> Iterator[None]:
    """The browser has no network in the block, and tells the page; streams go on unless a Line is cut."""
    page.context.set_offline(True)
    yield
    page.context.set_offline(False)
