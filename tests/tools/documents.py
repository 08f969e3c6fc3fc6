"""The JSON examples of the documents that describe the dialects."""

import json
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent.parent / "data" / "documents"


def document(name: str) -> Any:
    return json.loads((_FOLDER / f"{name}.json").read_text())


def documents() -> list[str]:
    return sorted(path.stem for path in _FOLDER.glob("*.json"))
