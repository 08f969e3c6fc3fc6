"""One of several equal processes. The one that started it gave it a line, by which its settings come, and the
sockets to listen on. It says there when it serves, and when the line ends it stops."""

import socket
import sys
from collections.abc import Sequence

import msgspec
import uvloop

from roomful.app.gateway import Gateway
from roomful.app.logs import set_up_logs
from roomful.app.serving import serve
from roomful.settings import Settings

READY = b"!"


async def _serve(settings: Settings, line: socket.socket, sockets: list[socket.socket]) -> None:
    gateway = await Gateway.open(settings)
    await serve(gateway, settings, lambda: _say_ready(line), sockets=sockets, lifeline=line)


def _say_ready(line: socket.socket) -> None:
    try:
        line.sendall(READY)
    except OSError:
        """Nobody is there: the line's end stops this process in a moment."""


def main(argv: Sequence[str]) -> None:
    line, *sockets = (socket.socket(fileno=int(handle)) for handle in argv)
    with line.makefile("rb") as said:
        settings = msgspec.json.decode(said.readline(), type=Settings)
    set_up_logs(settings, "%(asctime)s [%(process)d] %(name)s %(message)s")
    uvloop.run(_serve(settings, line, sockets))


if __name__ == "__main__":
    main(sys.argv[1:])
