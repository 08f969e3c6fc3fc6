"""Questions to all other processes, each answered by all of them, or given up after a moment."""

import asyncio
import contextlib
from collections.abc import Sequence

from roomful.domain.news import Asks
from roomful.spaces.telling import Telling

ANSWER_SECONDS = 0.5
"""How long an answer is waited for; one who is slower is out of step until it comes."""


class Asking:
    def __init__(self, telling: Telling) -> None:
        self._telling = telling
        self._questions: dict[int, _Question] = {}
        self._asked = 0

    async def ask(self, space_ids: Sequence[str], run_ids: Sequence[str]) -> None:
        """Returns when everybody has answered, or soon."""
        self._asked += 1
        number = self._asked
        question = self._questions[number] = _Question()
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(ANSWER_SECONDS):
                    asks = Asks(number, list(space_ids), list(run_ids))
                    question.expect(await self._telling.ask(asks))
                    await question.is_answered.wait()
        finally:
            del self._questions[number]

    def answered(self, number: int) -> None:
        if (question := self._questions.get(number)) is not None:
            question.answer()


class _Question:
    def __init__(self) -> None:
        self.is_answered = asyncio.Event()
        self._answers = 0
        self._expected: int | None = None

    def expect(self, answers: int) -> None:
        self._expected = answers
        self._look()

    def answer(self) -> None:
        self._answers += 1
        self._look()

    def _look(self) -> None:
        if self._expected is not None and self._answers >= self._expected:
            self.is_answered.set()
