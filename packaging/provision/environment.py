"""The virtual environment and what is installed into it."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from provision import system
from provision.console import pip_progress, run_logged
from provision.errors import CommandFailed, SetupError


class Environment:
    """One virtual environment; made where it is not there or cannot run.

    `say` gets one line of progress after another.  Every installation is by a lock file with hashes, or of a file
    that was built here; pip's own settings (mirror, proxy, certificates) are the user's.
    """

    def __init__(self, folder: Path, log: Path, say: Callable[[str], None]) -> None:
        self.folder = folder
        self._log = log
        self._say = say

    @property
    def bin(self) -> Path:
        """The folder of its programs."""
        return self.folder / ("Scripts" if sys.platform == "win32" else "bin")

    @property
    def python(self) -> Path:
        return self.bin / ("python.exe" if sys.platform == "win32" else "python")

    def works(self) -> bool:
        """Whether its Python runs and has pip."""
        if not self.python.exists():
            return False
        done = subprocess.run(
            [str(self.python), "-c", "import pip"], capture_output=True, check=False, timeout=60
        )
        return done.returncode == 0

    def make(self) -> None:
        """Make it anew."""
        self._say("making the virtual environment")
        try:
            run_logged(
                [sys.executable, "-m", "venv", "--clear", self.folder],
                log=self._log,
                on_line=lambda _line: None,
            )
        except CommandFailed as error:
            if "ensurepip is not available" in error.tail:
                raise SetupError(_venv_cure()) from error
            raise error.explained("making the virtual environment") from error

    def install_lock(self, lock: Path) -> None:
        """Install what a lock file names, ready-made files only, each checked against its hashes."""
        self._say(f"installing {lock.stem}")
        self.pip(
            ["install", "--no-deps", "--only-binary", ":all:", "--require-hashes", "-r", lock],
            f"installing the packages of {lock.name}",
        )

    def pip(
        self,
        arguments: Sequence[str | Path],
        doing: str,
        on_line: Callable[[str], None] | None = None,
        *,
        extra: Mapping[str, str] | None = None,
    ) -> None:
        """Run this environment's pip; SetupError in the words of `doing` when it fails."""
        command = [self.python, "-m", "pip", *arguments]
        try:
            run_logged(
                command,
                log=self._log,
                on_line=on_line or self._pip_line,
                env={**self.environ(), **(extra or {})},
            )
        except CommandFailed as error:
            raise error.explained(doing) from error

    def environ(self) -> dict[str, str]:
        """This process's environment with the environment's programs first and a pip that asks nothing."""
        return {
            **os.environ,
            "PATH": f"{self.bin}{os.pathsep}{os.environ.get('PATH', '')}",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_NO_INPUT": "1",
            "PYTHONUTF8": "1",
        }

    def _pip_line(self, line: str) -> None:
        text = pip_progress(line)
        if text is not None:
            self._say(text)


def _venv_cure() -> str:
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if system.package_manager() == "apt-get":
        cure = system.install_command("apt-get", [f"python{version}-venv"])
        return f"Python {version} has no venv module. Install it with: {cure}"
    return f"Python {version} has no ensurepip; install a complete Python {version}."
