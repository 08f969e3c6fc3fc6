"""How much one caller may ask for. 0 switches a limit off."""

from roomful.domain.errors import RateLimited

REMEMBERED = 10_000


class Limits:
    def __init__(self, posts_per_second: float = 20, streams_per_principal: int = 100) -> None:
        self.posts_per_second = posts_per_second
        self.streams_per_principal = streams_per_principal
        self._buckets: dict[str, tuple[float, float]] = {}
        """What is left for each caller, and as of when; whoever came last stands last."""

    def check_post(self, caller: str, now: float) -> None:
        """A second's worth may come at once, then the rate holds."""
        rate = self.posts_per_second
        if rate <= 0:
            return
        burst = max(1.0, rate)
        left, at = self._buckets.pop(caller, (burst, now))
        left = min(burst, left + max(0.0, now - at) * rate)
        allowed = left >= 1
        self._buckets[caller] = (left - 1 if allowed else left, now)
        if len(self._buckets) > REMEMBERED:
            del self._buckets[next(iter(self._buckets))]
        if not allowed:
            raise RateLimited(f"more than {rate:g} posts a second: wait a moment", (1 - left) / rate)
