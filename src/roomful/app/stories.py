"""Stories on their way to a file and back from one."""

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable, Generator
from pathlib import Path

from roomful.app.exporting import export_story
from roomful.app.replay.telling import Told, replay
from roomful.domain.errors import Conflict, Invalid
from roomful.domain.messages import Message
from roomful.domain.ports import Clock
from roomful.domain.shape import UNSET, Json, encode_json
from roomful.recall.story.comparing import Difference
from roomful.recall.story.printing import in_lines, plain
from roomful.recall.story.records import Story, read_story, write_story

LONGEST = 400


def export_to(path: Path, database: str, clock: Clock, space_id: str, *, force: bool) -> Story:
    """Writes the story. A file that is there is left as it is, unless `force`."""
    there_already = f"{path} is there already: give another --out, or --force to write over it"
    if path.exists() and not force:
        raise Conflict(there_already)
    story = asyncio.run(export_story(database, clock, space_id))
    try:
        _write(path, write_story(story), force=force)
    except FileExistsError as error:
        raise Conflict(f"{error.filename} is there already" if force else there_already) from None
    except OSError as error:
        raise Invalid(f"{path}: cannot be written: {error.strerror}") from None
    return story


def _write(path: Path, data: bytes, *, force: bool) -> None:
    """For its owner's eyes, whole or not at all."""
    beside = path.with_name(f"{path.name}.part") if force else path
    try:
        with open(beside, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(data)
    except FileExistsError:
        raise
    except OSError:
        beside.unlink(missing_ok=True)
        raise
    if force:
        beside.replace(path)


def replay_file(path: Path, say: Callable[[str], None]) -> Told:
    """Tells the story of a file again; `say` is given each line of it."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise Invalid(f"{path}: cannot be read: {error.strerror}") from None
    story = read_story(data, str(path))
    names = {entity.id: entity.name for entity in story.entities}

    def show(message: Message) -> None:
        for line in in_lines(message, names):
            say(line)

    with _quiet():
        told = asyncio.run(replay(story, show))
    for one in told.given:
        say(plain(f"as given: {one}"))
    return told


@contextlib.contextmanager
def _quiet() -> Generator[None]:
    """What the house warns of was in its log when it happened."""
    log = logging.getLogger("roomful")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(before)


def verdict(told: Told) -> list[str]:
    """The last words: whether it is equal, and what of it was not told again."""
    given = f" ({told.given_messages} messages, {told.given_runs} runs as given)" if told.given else ""
    if told.difference is not None:
        return in_words(told.difference)
    return [f"equal: {told.messages} messages, {told.runs} runs{given}"]


def in_words(difference: Difference) -> list[str]:
    lines = [f"different: {plain(difference.path)}"]
    if (difference.recorded, difference.replayed) != (UNSET, UNSET):
        lines += [f"  recorded: {_short(difference.recorded)}", f"  replayed: {_short(difference.replayed)}"]
    return lines


def _short(value: Json) -> str:
    text = "nothing" if value is UNSET else plain(encode_json(value).decode())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
