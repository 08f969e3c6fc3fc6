"""The command line: `roomful serve`, `roomful demo` and the rest. Each command is one function."""

import argparse
import asyncio
import contextlib
import logging
import sys
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from roomful.domain.errors import Invalid, RoomfulError, Unauthorized
from roomful.settings import Settings, load_settings, split


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    try:
        return arguments.run(arguments)
    except RoomfulError as error:
        print(f"roomful: {error.detail}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="roomful",
        description="A gateway where people and AI agents share spaces. Start with: roomful demo",
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def command(name: str, run: Any, summary: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=summary, description=summary)
        made.set_defaults(run=run)
        return made

    serve = command("serve", _serve, "Serve the API and the page.")
    _serving(serve)
    serve.add_argument("--demo", action="store_true", default=None, help="add the demo world")
    demo = command("demo", _demo, "Serve with the demo world and open the page; no key is needed.")
    _serving(demo)
    demo.add_argument("--no-open", action="store_true", help="do not open a browser")
    validate = command("validate", _validate, "Check agent configuration files; exit 1 if one is wrong.")
    validate.add_argument("files", nargs="+", metavar="FILE", type=Path)
    token = command("token", _token, "Make a token for a person, agent or service and print it once.")
    token.add_argument("entity", metavar="ENTITY")
    _database(token)
    rotate = command(
        "rotate",
        _rotate,
        "Seal stored secrets with the first of ROOMFUL_SECRET_KEY=new,old; or replace a key.",
    )
    _rotating(rotate)
    migrate = command("migrate", _migrate, "Bring the database to this version's schema.")
    _database(migrate)
    doctor = command(
        "doctor", _doctor, "Check a database, also beside a running server; exit 1 if it is wrong."
    )
    _database(doctor)
    _stories(command)
    chat = command("chat", _chat, "Talk in a space from the terminal; through a pipe, in plain text.")
    _chatting(chat)
    _benching(command("bench", _bench, "Measure this machine's gateway against the least its work can cost."))
    imports = command("import", None, "Bring in a conversation that another system recorded.")
    systems = imports.add_subparsers(title="systems", required=True, metavar="SYSTEM")
    _importing(systems)
    return parser


def _rotating(rotate: argparse.ArgumentParser) -> None:
    which = rotate.add_mutually_exclusive_group()
    which.add_argument("--admin-key", action="store_true", help="make a new admin key and print it once")
    which.add_argument("--signing", action="store_true", help="make a new secret for signing")
    rotate.add_argument(
        "--grace", metavar="HOURS", type=float, default=168.0, help="how long the old one is good (168)"
    )
    _database(rotate)


def _chatting(chat: argparse.ArgumentParser) -> None:
    chat.add_argument("space", metavar="SPACE")
    chat.add_argument("--url", help="the gateway (default ROOMFUL_URL, else http://127.0.0.1:8000)")
    chat.add_argument("--token-file", metavar="FILE", type=Path, help="a file with the token in it")
    chat.add_argument(
        "--token", help="the token; others on this machine can see it: rather set ROOMFUL_TOKEN (default)"
    )


def _benching(bench: argparse.ArgumentParser) -> None:
    bench.add_argument("--quick", action="store_true", help="only see that all of it works")
    bench.add_argument("--only", metavar="NAME,…", default="", help="these scenarios alone")
    bench.add_argument("--repeats", metavar="N", type=int, help="how often each is measured (3)")
    bench.add_argument("--storm", metavar="N", type=int, help="readers who come back at once (5000)")
    bench.add_argument(
        "--out", metavar="FOLDER", type=Path, default=Path(), help="for the picture and the JSON"
    )
    bench.add_argument("--json", action="store_true", help="print JSON instead of the table")


def _importing(systems: Any) -> None:
    summary = "Import a recorded Mastra thread with its sub-agents' threads; again, it adds only what is new."
    mastra = systems.add_parser("mastra", help=summary, description=summary)
    mastra.set_defaults(run=_import_mastra)
    mastra.add_argument("file", metavar="FILE", type=Path)
    mastra.add_argument("--space", metavar="ID", required=True, help="where to; made if there is none")
    mastra.add_argument("--owner", metavar="ENTITY", required=True, help="whose the person's messages are")
    mastra.add_argument(
        "--agent", metavar="ID", default="mastra", help="whose the answers are; made if missing (mastra)"
    )
    _database(mastra)


def _stories(command: Any) -> None:
    export = command("export", _export, "Write a space's story to a file, also beside a running server.")
    export.add_argument("space", metavar="SPACE")
    export.add_argument("--out", metavar="FILE", type=Path, help="where to (default SPACE.story.jsonl)")
    export.add_argument("--force", action="store_true", help="write over a file that is there")
    _database(export)
    replay = command(
        "replay", _replay, "Tell a space's story again, offline; exit 1 if it comes out differently."
    )
    replay.add_argument("file", metavar="FILE", type=Path)
    replay.add_argument("--quiet", action="store_true", help="only say whether it is equal")


def _serving(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", help="address to listen on (default 127.0.0.1)")
    parser.add_argument("--port", type=int, help="port to listen on (default 8000)")
    _database(parser)
    parser.add_argument("--bus", metavar="URL", help="memory: (default) or redis://…")
    parser.add_argument("--workers", metavar="N", type=int, help="equal processes on this port (default 1)")
    parser.add_argument("--agents", metavar="DIR", help="folder of agent configurations to load")


def _database(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--database", metavar="URL", help="sqlite:///roomful.db (default) or postgresql://…")


def _settings(arguments: argparse.Namespace, **more: Any) -> Settings:
    names = set(Settings.__struct_fields__)
    return load_settings({name: value for name, value in vars(arguments).items() if name in names} | more)


def _serve(arguments: argparse.Namespace) -> int:
    return _run(_settings(arguments))


def _demo(arguments: argparse.Namespace) -> int:
    return _run(_settings(arguments, demo=True), opens=not arguments.no_open)


def _run(settings: Settings, *, opens: bool = False) -> int:
    import uvloop

    logging.basicConfig(level=settings.log_level.upper(), format="%(asctime)s %(name)s %(message)s")
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
    address = f"http://{settings.host}:{settings.port}"
    print(f"Roomful is at {address}", flush=True)
    if opens and sys.stdout.isatty():
        with contextlib.suppress(webbrowser.Error):
            webbrowser.open(address)


def _validate(arguments: argparse.Namespace) -> int:
    from roomful.app.configs import read_config
    from roomful.tools import configure

    wrong = 0
    for path in arguments.files:
        try:
            spec = configure(read_config(path), source=str(path), trusted=True)
            print(f"{path}: agent {spec.id!r} with {len(spec.tools)} tools is fine")
        except RoomfulError as error:
            wrong += 1
            print(error.detail, file=sys.stderr)
    return 1 if wrong else 0


def _token(arguments: argparse.Namespace) -> int:
    print(asyncio.run(_make_token(_settings(arguments), arguments.entity)))
    return 0


async def _make_token(settings: Settings, entity_id: str) -> str:
    from roomful.app.clock import RandomIds, SystemClock
    from roomful.domain.entities import OPERATOR
    from roomful.domain.errors import NotFound
    from roomful.spaces.auditing import AuditLog
    from roomful.store import open_store
    from roomful.web.auth import new_token

    clock = SystemClock()
    store = await open_store(settings.database, clock, exclusive=False)
    try:
        if await store.entity(entity_id) is None:
            raise NotFound(f"there is no entity {entity_id!r}: make it with POST /api/entities")
        secret, add_token = new_token(clock, RandomIds(), entity_id)
        audit = AuditLog(clock, RandomIds())
        told = audit(OPERATOR, "token.made", entity_id=entity_id, token_id=add_token.token.id)
        await store.commit([add_token, told])
        return secret
    finally:
        await store.close()


def _rotate(arguments: argparse.Namespace) -> int:
    which = {"admin_key": None, "grace": None}
    settings = _settings(argparse.Namespace(**{**vars(arguments), **which}))
    return asyncio.run(_rotate_one(settings, arguments))


async def _rotate_one(settings: Settings, arguments: argparse.Namespace) -> int:
    from roomful.app.clock import SystemClock
    from roomful.app.rotating import reseal, rotate_admin_key, rotate_signing
    from roomful.store import open_store

    clock = SystemClock()
    store = await open_store(settings.database, clock, exclusive=False)
    try:
        if arguments.admin_key:
            print(f"admin key, shown only now: {await rotate_admin_key(store, clock, settings)}")
            return 0
        if arguments.signing:
            await rotate_signing(store, clock, arguments.grace * 3600)
            print(f"a new secret signs; what the old one signed is good for {arguments.grace:g} more hours")
            return 0
        done = await reseal(store, clock, settings)
        print(f"{done.secrets} secrets of {done.agents} agents sealed anew, {done.current} were current")
        for place in done.lost:
            print(f"{place}: no key in ROOMFUL_SECRET_KEY opens this secret", file=sys.stderr)
        return 1 if done.lost else 0
    finally:
        await store.close()


def _migrate(arguments: argparse.Namespace) -> int:
    from roomful.store import migrate

    applied = migrate(_settings(arguments).database)
    print(f"applied: {', '.join(map(str, applied))}" if applied else "the database is up to date")
    return 0


def _doctor(arguments: argparse.Namespace) -> int:
    from roomful.store.doctor import check_up

    examined = asyncio.run(check_up(_settings(arguments).database))
    for finding in examined.findings:
        print(finding)
    looked_at = ", ".join(f"{count} {table}" for table, count in examined.counts.items())
    wrong = len(examined.findings)
    print(f"checked {looked_at or 'the file'}: {wrong or 'nothing'} wrong")
    return 1 if examined.findings else 0


def _chat(arguments: argparse.Namespace) -> int:
    from roomful.client.terminal import chat
    from roomful.settings import chat_settings

    set_here = chat_settings()
    token = arguments.token or _token_in(arguments.token_file) or set_here.token
    if not token:
        raise Unauthorized("who are you? Set ROOMFUL_TOKEN, or name a file with --token-file")
    url = arguments.url or set_here.url
    return asyncio.run(chat(url, token, arguments.space, has_colours=set_here.has_colours))


def _bench(arguments: argparse.Namespace) -> int:
    from roomful.bench.command import Wanted, bench

    wanted = Wanted(
        out=arguments.out,
        only=split(arguments.only),
        is_quick=arguments.quick,
        repeats=arguments.repeats,
        storm=arguments.storm,
        prints_json=arguments.json,
    )
    return bench(wanted)


def _token_in(file: Path | None) -> str:
    if file is None:
        return ""
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"the token cannot be read from {file}: {error}") from None


def _import_mastra(arguments: argparse.Namespace) -> int:
    from roomful.app.clock import SystemClock
    from roomful.app.importing import import_mastra

    report = asyncio.run(
        import_mastra(
            _settings(arguments).database,
            SystemClock(),
            arguments.file,
            space_id=arguments.space,
            owner_id=arguments.owner,
            agent_id=arguments.agent,
        )
    )
    for note in report.notes:
        print(note)
    print(f"{arguments.space}: {report.added} messages imported, {report.known} were there already")
    return 0


def _export(arguments: argparse.Namespace) -> int:
    from roomful.app.clock import SystemClock
    from roomful.app.stories import export_to

    path: Path = arguments.out or Path(f"{arguments.space}.story.jsonl")
    database = _settings(arguments).database
    story = export_to(path, database, SystemClock(), arguments.space, force=arguments.force)
    print(f"{path}: {len(story.messages)} messages, {len(story.runs)} runs")
    return 0


def _replay(arguments: argparse.Namespace) -> int:
    from roomful.app.stories import replay_file, verdict

    told = replay_file(arguments.file, lambda line: None if arguments.quiet else print(line, flush=True))
    print("\n".join(verdict(told)))
    return 0 if told.difference is None else 1


if __name__ == "__main__":
    sys.exit(main())
