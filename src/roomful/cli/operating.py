"""`roomful space`, `token`, `rotate`, `migrate`, `backup` and `doctor`: what the operator does with the
database."""

import argparse
import asyncio
import sys
from pathlib import Path

from roomful.cli.parsing import Commands, add_database, settings_of
from roomful.settings import Settings


def add_commands(commands: Commands) -> None:
    _add_space(commands)
    token = commands.add(
        "token",
        _token,
        "Make a token for a person, agent or service and print it once.",
        examples=("roomful token ada", "roomful token ada > token.txt"),
    )
    token.add_argument("entity", metavar="ENTITY")
    add_database(token)
    _add_rotate(commands)
    migrate = commands.add(
        "migrate",
        _migrate,
        "Bring the database to this version's schema.",
        examples=("roomful migrate", "roomful migrate --database postgresql://db/roomful"),
    )
    add_database(migrate)
    backup = commands.add(
        "backup",
        _backup,
        "Copy a SQLite database to a file, also beside a running server.",
        examples=("roomful backup copy.db", "roomful backup copy.db --database sqlite:////srv/roomful.db"),
    )
    backup.add_argument("file", metavar="FILE", type=Path, help="a new file; one that is there is left alone")
    add_database(backup)
    doctor = commands.add(
        "doctor",
        _doctor,
        "Check a database, also beside a running server; exit 1 if it is wrong.",
        examples=("roomful doctor", "roomful doctor --database sqlite:///backup.db"),
        exits={"0": "nothing is wrong", "1": "something is wrong, or it cannot be checked"},
    )
    add_database(doctor)


def _add_space(commands: Commands) -> None:
    space = commands.add(
        "space",
        _space,
        "Bring people and agents together in a space, also beside a running server.",
        examples=(
            "roomful space team --person ada --agent helper",
            "roomful space team --person grace --person omar",
        ),
    )
    space.add_argument("space", metavar="SPACE", help="made if there is none of this id")
    space.add_argument(
        "--person", metavar="ID", action="append", default=[], help="made if there is nobody of this id"
    )
    space.add_argument(
        "--agent", metavar="ID", action="append", default=[], help="one that `roomful serve` has loaded"
    )
    add_database(space)


def _add_rotate(commands: Commands) -> None:
    rotate = commands.add(
        "rotate",
        _rotate,
        "Seal stored secrets with the first of ROOMFUL_SECRET_KEY=new,old; or replace a key.",
        examples=(
            "ROOMFUL_SECRET_KEY=new,old roomful rotate",
            "roomful rotate --admin-key",
            "roomful rotate --signing --grace 24",
        ),
        exits={"1": "it cannot be done, or some secrets could not be opened; standard error names them"},
    )
    which = rotate.add_mutually_exclusive_group()
    which.add_argument("--admin-key", action="store_true", help="make a new admin key and print it once")
    which.add_argument("--signing", action="store_true", help="make a new secret for signing")
    rotate.add_argument(
        "--grace", metavar="HOURS", type=float, default=168.0, help="how long the old one is good (168)"
    )
    add_database(rotate)


def _space(arguments: argparse.Namespace) -> int:
    from roomful.app.clock import RandomIds, SystemClock
    from roomful.app.gathering import gather

    members = asyncio.run(
        gather(
            settings_of(arguments).database,
            SystemClock(),
            RandomIds(),
            arguments.space,
            people=arguments.person,
            agents=arguments.agent,
        )
    )
    print(f"in {arguments.space}: {', '.join(members) or 'nobody'}")
    return 0


def _token(arguments: argparse.Namespace) -> int:
    print(asyncio.run(_make_token(settings_of(arguments), arguments.entity)))
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
            raise NotFound(
                f"there is no entity {entity_id!r}: make a person with `roomful space SPACE --person "
                f"{entity_id}`, or anybody with POST /api/entities"
            )
        secret, add_token = new_token(clock, RandomIds(), entity_id)
        audit = AuditLog(clock, RandomIds())
        told = audit(OPERATOR, "token.made", entity_id=entity_id, token_id=add_token.token.id)
        await store.commit([add_token, told])
        return secret
    finally:
        await store.close()


def _rotate(arguments: argparse.Namespace) -> int:
    which = {"admin_key": None, "grace": None}
    settings = settings_of(argparse.Namespace(**{**vars(arguments), **which}))
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

    applied = migrate(settings_of(arguments).database)
    print(f"applied: {', '.join(map(str, applied))}" if applied else "the database is up to date")
    return 0


def _backup(arguments: argparse.Namespace) -> int:
    from roomful.store.copying import back_up

    size = back_up(settings_of(arguments).database, arguments.file)
    print(f"{arguments.file} has the whole database: {size} bytes")
    return 0


def _doctor(arguments: argparse.Namespace) -> int:
    from roomful.store.doctor import check_up

    examined = asyncio.run(check_up(settings_of(arguments).database))
    for finding in examined.findings:
        print(finding)
    looked_at = ", ".join(f"{count} {table}" for table, count in examined.counts.items())
    wrong = len(examined.findings)
    print(f"checked {looked_at or 'the file'}: {wrong or 'nothing'} wrong")
    return 1 if examined.findings else 0
