"""A disk whose power can be cut and that fails at will, under a gateway on SQLite (see disk.c)."""

import contextlib
import errno
import mmap
import random
import shutil
import struct
import subprocess
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Literal

import pytest

NUMBERS = (
    *("writes", "syncs", "die_at", "fail_write_at", "write_error", "fail_sync_of", "short_at", "lies"),
    *("hold_at", "is_held"),
)
SOURCE = Path(__file__).with_name("disk.c")
SECTOR = 512


def built_disk(folder: Path) -> Path:
    """The library, or the test is skipped where nothing can compile it."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler (cc), so no disk can be put under SQLite")
    library = folder / "disk.so"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", library, SOURCE, "-ldl", "-lpthread"],
        check=True,
    )
    return library


class Disk:
    """Of one database file and its journal. Counts and faults hold across restarts of the gateway."""

    def __init__(self, folder: Path, library: Path, file: Path) -> None:
        self._file = file
        self._kept = folder / "kept"
        self._kept.mkdir()
        control = folder / "control"
        control.write_bytes(bytes(8 * len(NUMBERS)))
        with control.open("r+b") as opened:
            self._control = mmap.mmap(opened.fileno(), 0)
        self.environment = {
            "LD_PRELOAD": str(library),
            "DISK_FILE": str(file),
            "DISK_KEPT": str(self._kept),
            "DISK_CONTROL": str(control),
        }

    @property
    def operations(self) -> int:
        """Writes and syncs so far."""
        return self._get("writes") + self._get("syncs")

    def die_in(self, operations: int) -> None:
        """The gateway is killed at its so-manieth write or sync from now on, before that takes place."""
        self._set("die_at", self.operations + operations)

    @contextlib.contextmanager
    def held(self, operations: int) -> Generator[None]:
        """The gateway stands still at its so-manieth write or sync from now on, before that takes place."""
        self._set("hold_at", self.operations + operations)
        try:
            deadline = time.monotonic() + 30
            while not self._get("is_held"):
                assert time.monotonic() < deadline, "nothing was written"
                time.sleep(0.001)
            yield
        finally:
            self._set("hold_at", 0)

    def fail_writes(self, error: int = errno.ENOSPC, after: int = 0) -> None:
        """All of them, until `heal`, but for the next few."""
        self._set("write_error", error)
        self._set("fail_write_at", self._get("writes") + 1 + after)

    def fail_sync(self, file: Literal["main", "wal"]) -> None:
        """The next one of this file."""
        self._set("fail_sync_of", ("main", "wal").index(file) + 1)

    @property
    def has_failed(self) -> bool:
        """Whether that sync was."""
        return not self._get("fail_sync_of")

    def shorten_writes(self) -> None:
        """Every write takes half of what it was given."""
        self._set("short_at", 1)

    def lie(self) -> None:
        """Syncs do nothing and say that all is well."""
        self._set("lies", 1)

    def heal(self) -> None:
        for name in NUMBERS[2:]:
            self._set(name, 0)

    def lose_power(self, luck: random.Random | None = None) -> None:
        """For a gateway that is dead: the file and its journal are as the disk has them. What was not synced
        is gone; with `luck` some of it came through, whole or torn."""
        self.picture(self._file, luck)
        self._file.with_name(f"{self._file.name}-shm").unlink(missing_ok=True)
        for file in self._kept.iterdir():
            file.unlink()
        self.heal()

    def picture(self, file: Path, luck: random.Random | None = None) -> None:
        """What a power cut would leave now, as another file. For a gateway that is held or dead."""
        for path, name in ((file, "main"), (file.with_name(f"{file.name}-wal"), "wal")):
            if (self._kept / name).exists():
                path.write_bytes(_content(self._kept / name, luck))

    def _get(self, name: str) -> int:
        return struct.unpack_from("q", self._control, 8 * NUMBERS.index(name))[0]

    def _set(self, name: str, value: int) -> None:
        struct.pack_into("q", self._control, 8 * NUMBERS.index(name), value)


def _content(kept: Path, luck: random.Random | None) -> bytes:
    content = bytearray(kept.read_bytes())
    for offset, data in _unsynced(kept.with_name(f"{kept.name}.new")):
        if luck is None or luck.random() < 0.5:
            continue
        if data is None:
            del content[offset:]
            continue
        came = data if luck.random() < 0.7 else data[: luck.randrange(len(data) // SECTOR + 1) * SECTOR]
        content.extend(bytes(max(0, offset + len(came) - len(content))))
        content[offset : offset + len(came)] = came
    return bytes(content)


def _unsynced(file: Path) -> Iterator[tuple[int, bytes | None]]:
    """Where and what was written; None is an end of the file."""
    notes = file.read_bytes()
    at = 0
    while at < len(notes):
        offset, length = struct.unpack_from("qq", notes, at)
        at += 16
        yield offset, None if length < 0 else notes[at : at + length]
        at += max(0, length)
