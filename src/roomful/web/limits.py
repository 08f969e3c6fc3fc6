"""How much one caller, one space and one address may ask for. 0 switches a limit off."""

from collections import Counter

from roomful.domain.errors import RateLimited

REMEMBERED = 10_000
MINUTE = 60.0
NOTED = 20
"""Failed sign-ins that are noted at once; then one in `NOTED_SECONDS`."""
NOTED_SECONDS = 10.0


class Buckets:
    """A rate for each name. A burst may come at once, then the rate holds. Only so many names are remembered:
    whoever has not come for the longest time begins anew."""

    def __init__(self, per_second: float, burst: float) -> None:
        self._rate = per_second
        self._burst = max(1.0, burst)
        self._left: dict[str, tuple[float, float]] = {}
        """What is left for each, and as of when; whoever came last stands last."""

    def __len__(self) -> int:
        return len(self._left)

    def wait(self, name: str, now: float) -> float:
        """How many seconds until there is one; 0 when there is."""
        left = self._now(name, now)
        return 0.0 if left >= 1 else (1 - left) / self._rate

    def take(self, name: str, now: float) -> float:
        """Takes one if there is one, and answers as `wait` did before."""
        left = self._now(name, now)
        self._left.pop(name, None)
        self._left[name] = (left - 1 if left >= 1 else left, now)
        if len(self._left) > REMEMBERED:
            del self._left[next(iter(self._left))]
        return 0.0 if left >= 1 else (1 - left) / self._rate

    def _now(self, name: str, now: float) -> float:
        left, at = self._left.get(name, (self._burst, now))
        return min(self._burst, left + max(0.0, now - at) * self._rate)


class Limits:
    def __init__(
        self,
        posts_per_second: float = 20,
        streams_per_principal: int = 100,
        *,
        space_posts_per_second: float = 0,
        wrong_tokens_per_minute: float = 0,
    ) -> None:
        self.posts_per_second = posts_per_second
        self.streams_per_principal = streams_per_principal
        self.space_posts_per_second = space_posts_per_second
        self.wrong_tokens_per_minute = wrong_tokens_per_minute
        self._posts = Buckets(posts_per_second, posts_per_second)
        self._spaces = Buckets(space_posts_per_second, space_posts_per_second)
        self._wrong = Buckets(wrong_tokens_per_minute / MINUTE, wrong_tokens_per_minute)
        self._noted = Buckets(1 / NOTED_SECONDS, NOTED)
        self._unnoted = 0
        self.refused = Counter[str]()
        """How often somebody was told to wait, by the limit that they were over."""

    def check_post(self, caller: str, now: float) -> None:
        if self.posts_per_second > 0 and (seconds := self._posts.take(caller, now)):
            rate = f"{self.posts_per_second:g}"
            raise self._over("posts", f"more than {rate} posts a second: wait a moment", seconds)

    def check_space(self, space_id: str, now: float) -> None:
        """For somebody who may post there: nobody else can use up what its members have."""
        if self.space_posts_per_second > 0 and (seconds := self._spaces.take(space_id, now)):
            rate = f"{self.space_posts_per_second:g}"
            told = f"more than {rate} posts a second in this space: wait a moment"
            raise self._over("space_posts", told, seconds)

    def check_guess(self, address: str, now: float) -> None:
        """Before a token is looked at that may be a guess."""
        if self.wrong_tokens_per_minute > 0 and (seconds := self._wrong.wait(address, now)):
            told = "too many wrong tokens came from where you are: wait a moment"
            raise self._over("wrong_tokens", told, seconds)

    def check_stream(self, count: int) -> None:
        """Before somebody opens a stream who has so many."""
        most = self.streams_per_principal
        if 0 < most <= count:
            raise self._over("streams", f"you have {most} streams open already: close one first", 1.0)

    def _over(self, limit: str, told: str, seconds: float) -> RateLimited:
        self.refused[limit] += 1
        return RateLimited(told, seconds)

    def guessed(self, address: str, now: float) -> int | None:
        """A wrong token came. None, or how many were not noted since the last one, if this one is to be."""
        if self.wrong_tokens_per_minute > 0:
            self._wrong.take(address, now)
        if self._noted.take("", now):
            self._unnoted += 1
            return None
        unnoted, self._unnoted = self._unnoted, 0
        return unnoted
