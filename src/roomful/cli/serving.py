"""`roomful serve` and `roomful demo`."""

import argparse
import asyncio
import contextlib
import sys
import webbrowser

from roomful.cli.parsing import Commands, Parser, add_database, settings_of
from roomful.settings import FILE, Settings, address, variables

_EXITS = {"0": "it was stopped", "1": "it cannot be served; standard error says why"}


def add_commands(commands: Commands) -> None:
    serve = commands.add(
        "serve",
        _serve,
        "Serve the API and the page.",
        examples=(
            "roomful serve --agents agents",
            "OPENAI_API_KEY=… roomful serve --agents agents --port 9000",
            "roomful serve --workers 4 --database postgresql://db/roomful --bus redis://cache",
        ),
        exits=_EXITS,
        more=_environment(),
    )
    _add_serving(serve)
    serve.add_argument("--demo", action="store_true", default=None, help="add the demo world")
    demo = commands.add(
        "demo",
        _demo,
        "Serve with the demo world and open the page; no key is needed.",
        examples=("roomful demo", "roomful demo --port 9000 --no-open"),
        exits=_EXITS,
        more="It reads what `roomful serve` reads: roomful serve --help\n",
    )
    _add_serving(demo)
    demo.add_argument("--no-open", action="store_true", help="do not open a browser")


def _add_serving(parser: Parser) -> None:
    parser.add_argument("--host", help="address to listen on (default 127.0.0.1)")
    parser.add_argument("--port", type=int, help="port to listen on (default 8000)")
    add_database(parser)
    parser.add_argument("--bus", metavar="URL", help="memory: (default) or redis://…")
    parser.add_argument("--workers", metavar="N", type=int, help="equal processes on this port (default 1)")
    parser.add_argument("--agents", metavar="DIR", help="folder of agent configurations to load")


def _environment() -> str:
    lines = [f"environment (what is typed goes before it, {FILE} after it), with defaults:"]
    for each in variables():
        lines += [f"  {each.name}={each.default}", f"      {each.about}"]
    return "\n".join([*lines, ""])


def _serve(arguments: argparse.Namespace) -> int:
    return _run(settings_of(arguments))


def _demo(arguments: argparse.Namespace) -> int:
    return _run(settings_of(arguments, demo=True), opens=not arguments.no_open)


def _run(settings: Settings, *, opens: bool = False) -> int:
    import uvloop

    from roomful.app.logs import set_up_logs

    set_up_logs(settings, "%(asctime)s %(name)s %(message)s")
    if settings.workers > 1:
        return asyncio.run(_supervise_until_stopped(settings, opens=opens))
    uvloop.run(_serve_until_stopped(settings, opens=opens))
    return 0


async def _serve_until_stopped(settings: Settings, *, opens: bool) -> None:
    from roomful.app import Gateway
    from roomful.app.serving import serve

    gateway = await Gateway.open(settings)
    _show_key(gateway.new_admin_key)
    await serve(gateway, settings, lambda: _say_where(settings, opens))


async def _supervise_until_stopped(settings: Settings, *, opens: bool) -> int:
    from roomful.app.supervisor import prepare, supervise

    _show_key(await prepare(settings))
    return await supervise(settings, lambda: _say_where(settings, opens))


def _show_key(new_admin_key: str | None) -> None:
    if new_admin_key is not None:
        print(f"admin key, shown only now: {new_admin_key}", flush=True)


def _say_where(settings: Settings, opens: bool) -> None:
    url = address(settings.host, settings.port)
    print(f"Roomful is at {url}", flush=True)
    if opens and sys.stdout.isatty():
        with contextlib.suppress(webbrowser.Error):
            webbrowser.open(url)
