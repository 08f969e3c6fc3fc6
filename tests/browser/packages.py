"""What is written with @roomful/react, checked as an application of somebody else's checks it."""

import subprocess
from pathlib import Path

from tests.clients.node import NODE

WEB = Path(__file__).parents[2] / "web"
_HOW = (
    "--ignoreConfig --noEmit --strict --skipLibCheck --target es2024 --lib es2024,dom --jsx react-jsx "
    "--module esnext --moduleResolution bundler --allowImportingTsExtensions --preserveSymlinks"
)


def faults_in_types(folder: Path, **sources: str) -> str:
    """What the compiler says of these files, each under its name, with the packages as they are published."""
    folder.mkdir()
    (folder / "node_modules").symlink_to(WEB / "node_modules")
    for name, source in sources.items():
        (folder / f"{name}.tsx").write_text(source)
    tsc = [NODE, str(WEB / "node_modules/typescript/bin/tsc"), *_HOW.split()]
    names = [f"{name}.tsx" for name in sources]
    done = subprocess.run([*tsc, *names], cwd=folder, capture_output=True, text=True, check=False)
    assert bool(done.returncode) == bool(done.stdout), done.stderr
    return done.stdout
