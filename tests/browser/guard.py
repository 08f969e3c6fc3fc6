"""Notices what others' words do in a page: scripts that run, windows that open, strange elements."""

import json
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import BrowserContext, Dialog, Frame, Page, expect

# Before the page's own script. A hit is also told on the console, so that it counts in every window.
_NOTICE = """
window.__hits = [];
window.__hit = (number) => { __hits.push(number); console.error(`case ${number} ran a script`); };
"""
# Every element that could run, load, send or cover, with the message or card it stands in.
_SEARCH = r"""() => {
  const bad = [];
  const where = (element) => {
    const card = element.closest(".card, .call-line");
    const tool = card?.querySelector("[title^=case_]")?.title ?? card?.title;
    return tool ?? element.closest("article")?.dataset.id ?? "the page";
  };
  const tell = (element, why) => bad.push([where(element), `${why}: ${element.outerHTML.slice(0, 200)}`]);
  const FOREIGN = new Set(`script iframe frame frameset object embed applet base meta link style
    video audio source track math template portal foreignobject use image animate set marquee bgsound
    plaintext xmp isindex area map`.split(/\s+/));
  const LOADS = ["src", "srcset", "poster", "background", "data", "action", "formaction", "ping",
    "xlink:href", "srcdoc", "manifest", "lowsrc", "dynsrc", "longdesc", "codebase", "imagesrcset",
    "attributionsrc"];
  for (const element of document.body.querySelectorAll("*")) {
    if (FOREIGN.has(element.localName.toLowerCase())) tell(element, "element");
    for (const { name, value } of element.attributes) {
      if (/^on/i.test(name)) tell(element, `handler ${name}`);
      const isFile = name === "src" && value.startsWith(`blob:${location.origin}/`);
      if (LOADS.includes(name) && !isFile) tell(element, `loads by ${name}`);
      if (name === "style" && /url|image|expression|fixed/i.test(value)) tell(element, "style");
    }
    if (element.localName === "a" && element.hasAttribute("href")) {
      const url = new URL(element.href, "invalid:");
      const isOurs = url.origin === location.origin;
      if (!isOurs && !["http:", "https:", "mailto:"].includes(url.protocol)) tell(element, "link");
      const isApart = element.relList.contains("noopener") && element.target === "_blank";
      if (!isOurs && !isApart) tell(element, "link without noopener");
      if (isOurs && element.closest("article")) tell(element, "link of others to this page");
    }
    if (element.id && element.closest(".markdown")) tell(element, "id");
  }
  for (const link of document.head.querySelectorAll("link, script, base, meta[http-equiv]")) {
    const url = link.href || link.src;
    const isOurs = url && new URL(url).origin === location.origin;
    if (!isOurs || /prefetch|preconnect|preload/.test(link.rel)) tell(link, "head");
  }
  if ({}.polluted !== undefined) bad.push(["the page", "a prototype was changed"]);
  return bad;
}"""
# Presses every link of others with every button, and says which were followed instead of asked about.
_PRESS = r"""() => {
  const followed = [];
  for (const link of document.querySelectorAll("[role=log] a[href]")) {
    for (const [kind, init] of [["click", {}], ["click", {ctrlKey: true}], ["auxclick", {button: 1}]]) {
      const event = new MouseEvent(kind, {bubbles: true, cancelable: true, ...init});
      let wasStopped = false;
      const look = (last) => { wasStopped = last.defaultPrevented; last.preventDefault(); };
      addEventListener(kind, look, {once: true});
      link.dispatchEvent(event);
      if (!wasStopped) followed.push(link.outerHTML.slice(0, 200));
    }
  }
  return followed;
}"""
_UNFOLD = r"""() => {
  const log = document.querySelector("[role=log]");
  const folded = log.querySelectorAll("[aria-expanded=false]:not(:disabled), details:not([open]) > summary");
  for (const button of folded) button.click();
  return folded.length;
}"""


@dataclass
class Guard:
    """`Guard(page)` watches from its next load on."""

    page: Page
    noticed: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self.page.on("dialog", self._dialog)
        self.page.on("framenavigated", self._navigated)
        self.page.context.on("page", self._opened)

    def search(self) -> list[tuple[str, str]]:
        """(where, what) for everything that should not be in the page."""
        found = [(str(where), str(what)) for where, what in self.page.evaluate(_SEARCH)]
        found += [(f"case {number}", "ran a script") for number in self.page.evaluate("window.__hits")]
        found += [("the page", what) for what in self.noticed]
        title = self.page.title()
        return (
            found if title.removeprefix("(").endswith("Roomful") else [*found, ("the page", f"title {title}")]
        )

    def press_links(self) -> list[str]:
        """Links that were followed without being asked about."""
        followed: list[str] = self.page.evaluate(_PRESS)
        self.page.evaluate("document.querySelectorAll('dialog[open]').forEach((dialog) => dialog.close())")
        expect(self.page.locator("dialog.leaving")).to_have_count(0)
        return followed

    def unfold(self, times: int = 3) -> None:
        """Opens what is folded, and what is folded in there."""
        for _ in range(times):
            if not self.page.evaluate(_UNFOLD):
                return

    def still_works(self, words: str) -> None:
        """The composer takes a message, and it is shown."""
        self.page.get_by_role("textbox", name="Message").fill(words)
        self.page.get_by_role("button", name="Send", exact=True).click()
        mine = self.page.locator("article.mine[data-id]").filter(has_text=words)
        expect(mine.last).to_be_visible()

    def _dialog(self, dialog: Dialog) -> None:
        self.noticed.append(f"dialog {dialog.message!r}")
        dialog.dismiss()

    def _navigated(self, frame: Frame) -> None:
        if frame.parent_frame is not None or frame.url.partition("#")[0] != self.page.url.partition("#")[0]:
            self.noticed.append(f"went to {frame.url}")

    def _opened(self, page: Page) -> None:
        self.noticed.append(f"opened {page.url}")


def notice_hits(context: BrowserContext) -> None:
    context.add_init_script(_NOTICE)


def told(problems: list[tuple[str, Any]]) -> str:
    return "\n".join(
        f"{where}: {what if isinstance(what, str) else json.dumps(what)}" for where, what in problems
    )
