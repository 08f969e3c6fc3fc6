"""The process in which expressions are evaluated: one JSON line in, one JSON line out, until the pipe closes.

It is started by path, isolated, with an empty environment, and loads the language from its folder: nothing
else of the house is there. Before the first expression it gives up files, processes and most memory for good.
"""

import contextlib
import importlib.util
import json
import resource
import signal
import sys
from pathlib import Path
from typing import Any, Final

MEMORY: Final = int(sys.argv[1])
SECONDS: Final = float(sys.argv[2])


def load_language() -> Any:
    folder = Path(__file__).with_name("expressions")
    spec = importlib.util.spec_from_file_location(
        "expressions", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec
    assert spec.loader
    language = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = language
    spec.loader.exec_module(language)
    return language


def limit(which: int, most: int) -> None:
    # Where a system does not know this limit, the parent's clock still holds.
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(which, (most, most))


def answer(language: Any, line: str) -> dict[str, Any]:
    try:
        question = json.loads(line)
        return {"value": language.evaluate(question["expression"], question["input"])}
    except language.ExpressionError as error:
        return {"error": str(error)}
    except (ValueError, RecursionError, MemoryError):
        return {"error": "the expression or its input cannot be read"}


def main() -> None:
    language = load_language()
    for which, most in (
        (resource.RLIMIT_AS, MEMORY),
        (resource.RLIMIT_NOFILE, 0),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        limit(which, most)
    print("ready", flush=True)
    for line in sys.stdin:
        # Ends this process even if nobody is left to do it.
        signal.setitimer(signal.ITIMER_REAL, SECONDS + 1)
        print(json.dumps(answer(language, line), allow_nan=False), flush=True)
        signal.setitimer(signal.ITIMER_REAL, 0)


if __name__ == "__main__":
    main()
