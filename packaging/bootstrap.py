"""Set up this checkout as far as a command needs it, then run the command.

    python packaging/bootstrap.py run [arguments of tutti]
    python packaging/bootstrap.py test | check | soak | bench | bundle | launcher | setup

`make` forwards to it; on systems without make it is called directly.  Needs nothing but Python 3.11 to 3.13.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import NoReturn

OLDEST, NEWEST = (3, 11), (3, 13)
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
USAGE = (
    "usage: bootstrap.py run | test | check | soak | bench | bundle | launcher | setup [arguments]"
)

COMMANDS = {
    "run": ["-m", "app"],
    "test": ["-m", "pytest"],
    # A soak has no single test that is over in two minutes: without the dump of what a slow one is doing.
    "soak": ["-m", "pytest", "-m", "soak", "-o", "faulthandler_timeout=0"],
    "bench": ["-m", "app", "bench"],
    "bundle": ["packaging/build.py"],
    "launcher": ["packaging/linux/install_launcher.py"],
    "setup": ["-c", ""],
}
# All tests are shared out among processes, one for each core; whoever runs out of tests takes over some of another's.
# Each process collects all of them first, so a few tests by name are sooner done in one.
SHARED_OUT = ["-n", "logical", "--maxprocesses", "4", "--dist", "worksteal"]
CHECKS = (
    ("ruff check", ["-m", "ruff", "check", "."]),
    ("ruff format", ["-m", "ruff", "format", "--check", "."]),
    ("mypy app", ["-m", "mypy"]),
    ("mypy packaging", ["-m", "mypy", "packaging/bootstrap.py", "packaging/build.py", "packaging/smoke.py",
                        "packaging/lock.py", "packaging/linux/install_launcher.py"]),
    ("import contracts", ["-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"]),
)  # fmt: skip
NEED_ONLY_APP = ("run", "launcher", "setup", "bench")


def main(arguments: list[str]) -> int:
    """The exit status of the command."""
    ensure_python()
    verb = arguments[0] if arguments else ""
    if verb not in {*COMMANDS, "check"}:
        print(USAGE, file=sys.stderr)
        return 2
    # These files need Python 3.11, hence not at the top: an old Python must get as far as ensure_python.
    from pathlib import Path

    from provision.checkout import Checkout, require_libraries
    from provision.errors import SetupError

    checkout = Checkout(Path(ROOT))
    try:
        checkout.ready(("app",) if verb in NEED_ONLY_APP else ("app", "dev"))
        if verb in {"run", "test"}:
            require_libraries(checkout, window=verb == "run" and opens_window(arguments[1:]))
    except SetupError as error:
        print(f"tutti: {error}", file=sys.stderr)
        return 1
    os.chdir(ROOT)
    python = str(checkout.environment.python)
    if verb == "check":
        return check(python)
    if verb in {"test", "soak"}:
        # Else every process that the tests start compiles all that it imports.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    return become([python, *python_arguments(verb, arguments[1:])])


def python_arguments(verb: str, arguments: list[str]) -> list[str]:
    """What the environment's Python is given for a verb."""
    shared_out = SHARED_OUT if verb == "test" and not arguments else []
    return [*COMMANDS[verb], *shared_out, *arguments]


def opens_window(arguments: list[str]) -> bool:
    """Whether these arguments of `tutti` show the window (a command such as `serve` comes first, if any)."""
    return not arguments or arguments[0].startswith("-")


def check(python: str) -> int:
    """All checks, also after one has failed; the status of the last failure."""
    status = 0
    for name, command in CHECKS:
        print(f"== {name}", flush=True)
        status = subprocess.run([python, *command], check=False).returncode or status
    return status


def become(command: list[str]) -> NoReturn:
    """Run the command in place of this process where the system can, so that signals reach it."""
    if sys.platform == "win32":
        sys.exit(subprocess.run(command, check=False).returncode)
    os.execv(command[0], command)


def ensure_python() -> None:
    """Go on under a Python that Tutti supports: this one, or else one that is installed beside it."""
    if OLDEST <= sys.version_info[:2] <= NEWEST:
        return
    for minor in (12, 11, 13):
        name = "python3.%d" % minor  # noqa: UP031
        if runs(name):
            os.execvp(name, [name, *sys.argv])
    sys.stderr.write(
        "tutti: needs Python 3.11, 3.12 or 3.13; this is %d.%d and none of them was found.\n"  # noqa: UP031
        % sys.version_info[:2]
    )
    raise SystemExit(1)


def runs(name: str) -> bool:
    """Whether that program starts (a version manager may have left a name that does not)."""
    try:
        return subprocess.call([name, "-c", ""], stderr=subprocess.DEVNULL) == 0
    except OSError:
        return False


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
