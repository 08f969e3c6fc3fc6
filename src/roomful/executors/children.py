"""A few warm child processes that answer line by line. One that is late or breaks is killed and replaced."""

import asyncio
import contextlib
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Sequence
from typing import Final

LONGEST_LINE: Final = 8 * 1024 * 1024
_START_SECONDS: Final = 20.0
_QUESTIONS: Final = 1000
"""After so many a child is replaced, so that nothing can pile up in it."""


class ChildFailed(Exception):
    """The child could not be started, was late, or ended without an answer."""


class _Child:
    def __init__(self, process: Process) -> None:
        self.process = process
        self.asked = 0

    async def ask(self, line: bytes) -> bytes:
        writer, reader = self.process.stdin, self.process.stdout
        assert writer
        assert reader
        self.asked += 1
        writer.write(line + b"\n")
        await writer.drain()
        return await reader.readuntil(b"\n")

    async def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        with contextlib.suppress(ConnectionError):
            await self.process.communicate()


class Children:
    """At most `count` at a time, started when they are needed. They see no environment and no open files."""

    def __init__(self, command: Sequence[str], count: int) -> None:
        self._command = command
        self._slots = asyncio.Semaphore(count)
        self._idle: list[_Child] = []

    async def ask(self, line: bytes, seconds: float) -> bytes:
        """Raises ChildFailed, and TimeoutError when no answer came in time: the child is dead by then."""
        async with self._slots:
            child = await self._idle_or_new()
            try:
                async with asyncio.timeout(seconds):
                    answer = await child.ask(line)
            except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError) as broken:
                await child.end()
                raise ChildFailed("it ended without an answer") from broken
            except BaseException:
                await child.end()
                raise
            if child.asked < _QUESTIONS:
                self._idle.append(child)
            else:
                await child.end()
            return answer

    async def close(self) -> None:
        while self._idle:
            await self._idle.pop().end()

    async def _idle_or_new(self) -> _Child:
        while self._idle:
            child = self._idle.pop()
            if child.process.returncode is None:
                return child
            await child.end()
        return await self._started()

    async def _started(self) -> _Child:
        process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            env={},
            cwd="/",
            start_new_session=True,
            limit=LONGEST_LINE,
        )
        child = _Child(process)
        try:
            async with asyncio.timeout(_START_SECONDS):
                assert process.stdout
                if await process.stdout.readline() != b"ready\n":
                    raise ChildFailed("it did not start")
        except BaseException:
            await child.end()
            raise
        return child
