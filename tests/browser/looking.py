"""What a page looks like to people: to those who use its roles and names, and on a picture."""

import os
from pathlib import Path

from playwright.sync_api import Page

_AXE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"
_RUN = """async () => {
  const {violations} = await axe.run({resultTypes: ["violations"]});
  const bad = violations.filter(({impact}) => impact === "serious" || impact === "critical");
  const tell = (rule, {target, html, failureSummary}) =>
    [`${rule.id} (${rule.impact})`, target.join(" "), html, failureSummary].join("\\n");
  return bad.flatMap((rule) => rule.nodes.map((node) => tell(rule, node)));
}"""


def axe(page: Page) -> list[str]:
    """What axe-core finds that is serious or critical: the rule, where, the element, what mends it."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(_AXE.read_text())
    return page.evaluate(_RUN)


def picture(page: Page, name: str) -> None:
    """Kept in the folder that ROOMFUL_SCREENSHOTS names, if it names one."""
    if folder := os.environ.get("ROOMFUL_SCREENSHOTS"):
        page.screenshot(path=Path(folder) / f"{name}.png", animations="disabled")
