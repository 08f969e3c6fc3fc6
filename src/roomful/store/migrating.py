"""Brings a database to the schema that this code knows, one numbered file at a time."""

from importlib import resources

import msgspec

from roomful.store.database import CannotOpen, Database

_CREATE = """
CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL PRIMARY KEY, name TEXT NOT NULL)"""


class Migration(msgspec.Struct, frozen=True):
    version: int
    name: str
    statements: list[str]


def migrate_database(db: Database) -> list[int]:
    """Answers with the versions it applied. Each is one transaction: a kill leaves the old or the new."""
    applied: list[int] = []
    migrations = _migrations()
    while (version := _apply_next(db, migrations)) is not None:
        applied.append(version)
    return applied


def check_schema(db: Database) -> None:
    """For one that may not change the schema, because somebody else is using it."""
    newest = newest_version()
    [(current,)] = db.rows("SELECT coalesce(max(version), 0) FROM schema_version")
    if current != newest:
        raise CannotOpen(
            f"The database is in use by a Roomful of schema version {current} and this one has {newest}: use "
            "the same version for both, or stop that process first."
        )


def newest_version() -> int:
    return _migrations()[-1].version


def _apply_next(db: Database, migrations: list[Migration]) -> int | None:
    db.begin()
    try:
        db.take_schema()
        db.rows(_CREATE)
        [(current,)] = db.rows("SELECT coalesce(max(version), 0) FROM schema_version")
        newest = migrations[-1].version
        if current > newest:
            raise CannotOpen(
                f"The database has schema version {current} and this Roomful knows versions up to {newest}: "
                "it was written by a newer Roomful. Install that one, or restore a backup made before it."
            )
        migration = next((item for item in migrations if item.version > current), None)
        if migration is not None:
            for statement in migration.statements:
                db.rows(statement)
            db.count("INSERT INTO schema_version VALUES (?, ?)", (migration.version, migration.name))
        db.commit()
    finally:
        db.rollback()
    return migration.version if migration else None


def _migrations() -> list[Migration]:
    """From `migrations/0001_first.sql` and so on. A statement ends with a semicolon at the end of a line."""
    found: list[Migration] = []
    for file in resources.files("roomful.store").joinpath("migrations").iterdir():
        number, _, name = file.name.removesuffix(".sql").partition("_")
        if number.isdecimal():
            text = file.read_text(encoding="utf-8")
            statements = [part.strip() for part in text.split(";\n") if part.strip()]
            found.append(Migration(version=int(number), name=name, statements=statements))
    return sorted(found, key=lambda migration: migration.version)
