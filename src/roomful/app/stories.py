"""Stories on their way to a file and back from one."""

import asyncio
import contextlib
import logging
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
    if path.exists() and not force:
        raise Conflict(f"{path} is there already: give another --out, or --force to write over it")
    story = asyncio.run(export_story(database, clock, space_id))
    try:
        with path.open("wb" if force else "xb") as file:
            file.write(write_story(story))
    except FileExistsError:
        raise Conflict(f"{path} is there already: give another --out, or --force to write over it") from None
    except OSError as error:
        raise Invalid(f"{path}: cannot be written: {error.strerror}") from None
    return story


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
        return asyncio.run(replay(story, show))


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


def in_words(difference: Difference) -> list[str]:
    lines = [f"different: {plain(difference.path)}"]
    if (difference.recorded, difference.replayed) != (UNSET, UNSET):
        lines += [f"  recorded: {_short(difference.recorded)}", f"  replayed: {_short(difference.replayed)}"]
    return lines


def _short(value: Json) -> str:
    text = "nothing" if value is UNSET else plain(encode_json(value).decode())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
