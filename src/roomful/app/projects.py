"""A project for somebody who begins: the files of `newproject`, as they stand there."""

from collections.abc import Iterator
from pathlib import Path

from roomful.domain.errors import Conflict, Invalid

TEMPLATE = Path(__file__).parent / "newproject"


def make_project(folder: Path) -> list[Path]:
    """What was written. Raises Conflict, and writes nothing, if one of the files is there already."""
    wanted = {folder / path.relative_to(TEMPLATE): path for path in _files(TEMPLATE)}
    if taken := [str(path) for path in wanted if path.exists()]:
        raise Conflict(f"{', '.join(taken)}: there already; nothing was written, so name another folder")
    try:
        for path, template in wanted.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:
                file.write(template.read_bytes())
    except OSError as error:
        raise Invalid(f"{folder}: cannot be written: {error}") from None
    return list(wanted)


def _files(folder: Path) -> Iterator[Path]:
    """Installers leave compiled files beside those that were packed."""
    for path in sorted(folder.iterdir()):
        if path.is_dir() and path.name != "__pycache__":
            yield from _files(path)
        elif path.is_file():
            yield path
