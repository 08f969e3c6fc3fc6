"""`roomful chat SPACE`: at a terminal a session that is drawn, through pipes plain text."""

import asyncio
import os
import signal
import sys
import termios
import tty
from collections.abc import Generator
from contextlib import contextmanager
from typing import BinaryIO

from roomful.client.client import Client
from roomful.client.terminal.drawing import Ink
from roomful.client.terminal.plain import talk
from roomful.client.terminal.screen import Screen
from roomful.client.terminal.session import Session

_USUAL = os.terminal_size((80, 24))


async def chat(url: str, token: str, space_id: str, *, has_colours: bool) -> int:
    """The exit code. Raises a RoomfulError when there is no such gateway, token or space."""
    async with Client(url, token, patience=0.0) as first:
        me = await first.me()
        await first.space(space_id)
    async with Client(url, token) as client:
        if sys.stdin.isatty() and sys.stdout.isatty():
            return await _at_a_terminal(client, space_id, me.id, Ink(has_colours=has_colours))
        try:
            return await talk(client, space_id, _lines_in(), _write, _warn)
        except BrokenPipeError:
            _read_by_nobody()
            return 1


def _lines_in() -> BinaryIO:
    """Standard input by another name: Python cannot end while somebody still reads `sys.stdin`."""
    return open(sys.stdin.fileno(), "rb", closefd=False)


def _read_by_nobody() -> None:
    """What is left to be written when the program ends has to go somewhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


async def _at_a_terminal(client: Client, space_id: str, me: str, ink: Ink) -> int:
    loop = asyncio.get_running_loop()
    keyboard = sys.stdin.fileno()
    session = Session(client, space_id, me, Screen(_write, _size), ink)
    with _raw(keyboard):
        loop.add_reader(keyboard, lambda: session.type(_read(keyboard)))
        loop.add_signal_handler(signal.SIGWINCH, session.redraw)
        for stop in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(stop, session.leave)
        try:
            return await session.run()
        finally:
            loop.remove_reader(keyboard)


@contextmanager
def _raw(keyboard: int) -> Generator[None]:
    """Keys come one by one, and none of them is a signal."""
    before = termios.tcgetattr(keyboard)
    tty.setraw(keyboard, termios.TCSADRAIN)
    try:
        yield
    finally:
        termios.tcsetattr(keyboard, termios.TCSADRAIN, before)


def _read(keyboard: int) -> bytes:
    try:
        return os.read(keyboard, 4096)
    except OSError:
        return b""  # the terminal is gone


def _size() -> os.terminal_size:
    """What the terminal says; some say nothing."""
    try:
        size = os.get_terminal_size(sys.stdout.fileno())
    except OSError:
        return _USUAL
    return size if size.columns and size.lines else _USUAL


def _write(text: str) -> None:
    sys.stdout.buffer.write(text.encode(errors="replace"))
    sys.stdout.buffer.flush()


def _warn(text: str) -> None:
    sys.stderr.buffer.write(text.encode(errors="replace"))
    sys.stderr.buffer.flush()
