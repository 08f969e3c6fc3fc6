"""Stories of a test's house, written and told again by the commands a person would type."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roomful.cli import main
from tests.servers.roomful import Caller, Roomful


@dataclass
class Replayed:
    code: int
    out: str
    err: str

    @property
    def verdict(self) -> str:
        return self.out.splitlines()[-1]


@dataclass
class Shelf:
    folder: Path
    capsys: Any

    def export(self, house: Roomful, space_id: str, name: str = "") -> Path:
        path = self.folder / f"{name or space_id}.jsonl"
        told = self.type("export", space_id, "--database", house.database, "--out", str(path))
        assert told.code == 0, told
        return path

    def replay(self, path: Path, *flags: str) -> Replayed:
        return self.type("replay", str(path), *flags)

    def tell_again(self, house: Roomful, space_id: str, *, messages: int, runs: int) -> str:
        """The story of a space comes out equal; as it is printed."""
        told = self.replay(self.export(house, space_id))
        assert (told.code, told.verdict) == (0, f"equal: {messages} messages, {runs} runs"), told
        return told.out

    def type(self, *words: str) -> Replayed:
        self.capsys.readouterr()
        code = main(words)
        said = self.capsys.readouterr()
        return Replayed(code, said.out, said.err)


def typed(*words: str, folder: Path) -> Replayed:
    """The same in a process of its own, started in this folder."""
    done = subprocess.run(
        [sys.executable, "-m", "roomful.cli", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return Replayed(done.returncode, done.stdout, done.stderr)


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def rewrite(path: Path, lines: list[dict[str, Any]]) -> Path:
    edited = path.with_suffix(".edited.jsonl")
    edited.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return edited


def answer(who: Caller, run_id: str, call_id: str, **body: Any) -> Any:
    return who.post(f"/api/runs/{run_id}/tool-results", {"toolCallId": call_id, **body})
