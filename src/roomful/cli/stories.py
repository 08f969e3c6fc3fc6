"""`roomful export`, `roomful replay` and `roomful import`."""

import argparse
import asyncio
from pathlib import Path

from roomful.cli.parsing import Commands, add_database, settings_of


def add_commands(commands: Commands) -> None:
    _add_export(commands)
    _add_replay(commands)
    systems = commands.add_group(
        "import", "Bring in a conversation that another system recorded.", "systems", "SYSTEM"
    )
    _add_mastra(systems)


def _add_export(commands: Commands) -> None:
    export = commands.add(
        "export",
        _export,
        "Write a space's story to a file, also beside a running server.",
        examples=("roomful export team", "roomful export team --out monday.story.jsonl --force"),
    )
    export.add_argument("space", metavar="SPACE")
    export.add_argument("--out", metavar="FILE", type=Path, help="where to (default SPACE.story.jsonl)")
    export.add_argument("--force", action="store_true", help="write over a file that is there")
    add_database(export)


def _add_replay(commands: Commands) -> None:
    replay = commands.add(
        "replay",
        _replay,
        "Tell a space's story again, offline; exit 1 if it comes out differently.",
        examples=("roomful replay team.story.jsonl", "roomful replay team.story.jsonl --quiet"),
        exits={"0": "it came out equal", "1": "it came out differently, or cannot be told"},
    )
    replay.add_argument("file", metavar="FILE", type=Path)
    replay.add_argument("--quiet", action="store_true", help="only say whether it is equal")


def _add_mastra(systems: Commands) -> None:
    mastra = systems.add(
        "mastra",
        _import_mastra,
        "Import a recorded Mastra thread with its sub-agents' threads; again, it adds only what is new.",
        examples=("roomful import mastra thread.json --space team --owner ada",),
    )
    mastra.add_argument("file", metavar="FILE", type=Path)
    mastra.add_argument("--space", metavar="ID", required=True, help="where to; made if there is none")
    mastra.add_argument("--owner", metavar="ENTITY", required=True, help="whose the person's messages are")
    mastra.add_argument(
        "--agent", metavar="ID", default="mastra", help="whose the answers are; made if missing (mastra)"
    )
    add_database(mastra)


def _export(arguments: argparse.Namespace) -> int:
    from roomful.app.clock import SystemClock
    from roomful.app.stories import export_to

    path: Path = arguments.out or Path(f"{arguments.space}.story.jsonl")
    database = settings_of(arguments).database
    story = export_to(path, database, SystemClock(), arguments.space, force=arguments.force)
    print(f"{path}: {len(story.messages)} messages, {len(story.runs)} runs")
    return 0


def _replay(arguments: argparse.Namespace) -> int:
    from roomful.app.stories import replay_file, verdict

    told = replay_file(arguments.file, lambda line: None if arguments.quiet else print(line, flush=True))
    print("\n".join(verdict(told)))
    return 0 if told.difference is None else 1


def _import_mastra(arguments: argparse.Namespace) -> int:
    from roomful.app.clock import SystemClock
    from roomful.app.importing import import_mastra

    report = asyncio.run(
        import_mastra(
            settings_of(arguments).database,
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
