"""A copy of a whole database, as of one moment, made beside whoever writes it."""

import contextlib
import os
import sqlite3
from pathlib import Path
from urllib.parse import quote

from roomful.domain.errors import Conflict, Invalid
from roomful.store.database import CannotOpen
from roomful.store.sqlite import file_in, in_our_words

PATIENCE = 60.0


def back_up(url: str, copy: Path) -> int:
    """Answers with the bytes of the copy, which is there only when it is whole. Raises Conflict, Invalid,
    CannotOpen."""
    if url.startswith(("postgresql://", "postgres://")):
        raise Invalid(
            "Postgres has a command of its own for it: pg_dump --schema=roomful --file=FILE DATABASE"
        )
    path, _ = file_in(url)
    if path is None or not path.is_file():
        raise CannotOpen(f"There is no database {path or 'in memory'}: give the right one with --database.")
    if copy.exists():
        raise Conflict(f"{copy} is there already and was left as it is: name another file.")
    growing = copy.with_name(f"{copy.name}.{os.getpid()}.part")
    try:
        _copy(path, growing)
        os.link(growing, copy)
    except FileExistsError:
        raise Conflict(f"{copy} is there already and was left as it is: name another file.") from None
    except OSError as error:
        raise Invalid(f"{copy} cannot be written: {error.strerror}.") from None
    finally:
        growing.unlink(missing_ok=True)
    return copy.stat().st_size


def _copy(path: Path, growing: Path) -> None:
    """For its owner's eyes only, as secrets and words are in it, and on the disk when this returns."""
    handle = os.open(growing, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        source = sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True, timeout=PATIENCE)
        with contextlib.closing(source), contextlib.closing(sqlite3.connect(growing)) as target:
            source.backup(target)
        os.fsync(handle)
    except sqlite3.Error as error:
        raise in_our_words(error, path) from error
    finally:
        os.close(handle)
