"""How smoothly a page draws: the tasks that held it up, and the frames it drew meanwhile."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from playwright.sync_api import Page

_BEGIN = """() => {
  const seen = {tasks: [], gaps: []};
  const note = (list) => seen.tasks.push(...list.getEntries().map((task) => task.duration));
  seen.observer = new PerformanceObserver(note);
  seen.observer.observe({type: "longtask"});
  let last = performance.now();
  const frame = (now) => {
    seen.gaps.push(now - last);
    last = now;
    seen.next = requestAnimationFrame(frame);
  };
  seen.next = requestAnimationFrame(frame);
  window.smoothness = seen;
}"""
_END = """() => {
  const {tasks, gaps, observer, next} = window.smoothness;
  tasks.push(...observer.takeRecords().map((task) => task.duration));
  observer.disconnect();
  cancelAnimationFrame(next);
  return [tasks, gaps];
}"""


@dataclass
class Smoothness:
    """All in milliseconds; filled when the block ends."""

    long_tasks: list[float] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)

    @property
    def longest_task(self) -> float:
        return max(self.long_tasks, default=0.0)

    @property
    def longest_gap(self) -> float:
        return max(self.gaps, default=0.0)

    @property
    def frames_per_second(self) -> float:
        return 1000 * len(self.gaps) / sum(self.gaps) if self.gaps else 0.0


@contextlib.contextmanager
def smoothness(page: Page) -> Iterator[Smoothness]:
    """with smoothness(page) as seen: ...; then seen.longest_task, a task being long from 50 ms on."""
    seen = Smoothness()
    page.evaluate(_BEGIN)
    yield seen
    seen.long_tasks, seen.gaps = page.evaluate(_END)
