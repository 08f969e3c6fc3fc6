"""A service outside of all processes under test, which counts what was done to it, by key."""

import contextlib
import http.server
import threading
import time
from collections import Counter
from typing import Any, Self

from tests.servers.roomful import PATIENCE


class World:
    """A service of somebody else, in which every call has an effect that cannot be taken back."""

    def __init__(self, *, seconds: float = 0.0) -> None:
        """It takes `seconds` to answer, counted from the effect."""
        self.effects: Counter[str] = Counter()
        self.begun = threading.Semaphore(0)
        """Released with each effect."""
        self.answers = threading.Event()
        self.answers.set()
        lock = threading.Lock()
        world = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                with lock:
                    world.effects[self.path.removeprefix("/")] += 1
                world.begun.release()
                time.sleep(seconds)
                world.answers.wait(PATIENCE)
                with contextlib.suppress(OSError):
                    self.send_response(200)
                    self.send_header("content-type", "application/json")
                    self.send_header("content-length", "11")
                    self.end_headers()
                    self.wfile.write(b'{"ok":true}')

            def log_request(self, *_: object, **__: object) -> None:
                """Quiet."""

        class Server(http.server.ThreadingHTTPServer):
            request_queue_size = 500
            daemon_threads = True

        self._server = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def host(self) -> str:
        """For ROOMFUL_ALLOW_HOSTS."""
        return f"127.0.0.1:{self._server.server_address[1]}"

    def tool(self, name: str, **more: Any) -> dict[str, Any]:
        """A tool that has one effect, under the key it is called with."""
        return {
            "name": name,
            "description": "Do it.",
            "executionType": "http",
            "visibility": "full",
            "execution": {"url": f"http://{self.host}/{{{{key}}}}", "method": "POST"},
            "inputSchema": {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]},
            **more,
        }

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.answers.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(PATIENCE)
