"""What the person at the terminal sees: one line that changes, and programs whose output goes to a log."""

import os
import re
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TextIO

from provision.errors import CommandFailed

_TAIL_LINES = 60
_QUIET_SECONDS = 15.0
_NINJA = re.compile(r"^\s*\[(\d+)/(\d+)\]")
_PIP_FILE = re.compile(r"^\s*Downloading (\S+?)(?:\.metadata)?(?: \(([^)]+)\))?$")


class StatusLine:
    """One line, rewritten in place on a terminal; elsewhere a new line at most every 15 seconds.

    A step begins with `start`, moves with `show` and ends with `done`.
    """

    def __init__(
        self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._terminal = self._stream.isatty()
        self._shown = 0.0
        self._width = 0

    def start(self, text: str) -> None:
        self._shown = self._clock()
        self._write(text, end="" if self._terminal else "\n")

    def show(self, text: str) -> None:
        if self._terminal:
            self._write(text, end="")
        elif self._clock() - self._shown >= _QUIET_SECONDS:
            self._shown = self._clock()
            self._write(text, end="\n")

    def done(self, text: str) -> None:
        self._write(text, end="\n")

    def _write(self, text: str, *, end: str) -> None:
        if not self._terminal:
            self._stream.write(f"{text}{end}")
        else:
            text = text[: max(20, _columns() - 1)]
            self._stream.write(f"\r{text}{' ' * (self._width - len(text))}{end}")
            self._width = 0 if end else len(text)
        self._stream.flush()


def _columns() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError):
        return 80


class NinjaProgress:
    """Turns ninja's `[23/193]` into `23/193 (12 %), about 9 min left`."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began: float | None = None
        self._first = 0

    def read(self, line: str) -> str | None:
        """The text for one line of the log, or None when the line says nothing of progress."""
        found = _NINJA.match(line)
        if found is None:
            return None
        done, total = int(found[1]), int(found[2])
        if self._began is None:
            self._began, self._first = self._clock(), done
        percent = 100 * done // max(total, 1)
        return f"{done}/{total} ({percent} %){self._left(done, total)}"

    def _left(self, done: int, total: int) -> str:
        # The first steps are small files: an estimate from fewer than 5 would jump about.
        if self._began is None or done - self._first < 5 or done >= total:
            return ""
        elapsed = self._clock() - self._began
        seconds = elapsed * (total - done) / (done - self._first)
        if seconds < 60:
            return ", less than a minute left"
        return f", about {round(seconds / 60)} min left"


def pip_progress(line: str) -> str | None:
    """The file that pip fetches, or what else it does, from one line of its output."""
    found = _PIP_FILE.match(line)
    if found is not None and found[2]:
        return f"downloading {found[1]} ({found[2]})"
    if line.startswith("Installing collected packages"):
        return "unpacking"
    return None


def run_logged(
    command: Sequence[str | Path],
    *,
    log: Path,
    on_line: Callable[[str], None],
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> None:
    """Run `command`; each line of its output is appended to `log` and given to `on_line`.

    Raises CommandFailed.  The child is ended when this process is interrupted.
    """
    words = [str(word) for word in command]
    tail: deque[str] = deque(maxlen=_TAIL_LINES)
    log.parent.mkdir(parents=True, exist_ok=True)
    with (
        log.open("a", encoding="utf-8", errors="replace") as file,
        subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
            env=None if env is None else dict(env),
            cwd=cwd,
        ) as child,
    ):
        file.write(f"$ {' '.join(words)}\n")
        try:
            for line in child.stdout or ():
                file.write(line)
                tail.append(line)
                on_line(line.rstrip())
            status = child.wait()
        except BaseException:
            child.terminate()
            raise
    if status != 0:
        raise CommandFailed(words[0], status, "".join(tail), log)
