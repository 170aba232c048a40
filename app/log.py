"""Logging for the app and for its children.

Each process writes its own file under `paths.logs_dir()`, at most 2 MB and three old ones.  Chat text and
secrets are never logged.  A child also sends what native code writes to stderr into its file, and the traceback
that `faulthandler` prints when it dies of a signal.
"""

import faulthandler
import logging
import os
import sys
from logging.handlers import RotatingFileHandler

from app import paths

_MAX_BYTES = 2_000_000
_FORMAT = "%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"


def start(process_name: str) -> None:
    """Log this process to `<process_name>.log`; to be called once, first thing."""
    path = paths.logs_dir() / f"{process_name}.log"
    handler = RotatingFileHandler(
        path, maxBytes=_MAX_BYTES, backupCount=3, encoding="utf-8", delay=False
    )
    handler.setFormatter(logging.Formatter(_FORMAT))
    root = logging.getLogger()
    root.setLevel(logging.INFO)
    root.addHandler(handler)
    # A file of its own: the rotated one would change under the descriptor that faulthandler keeps.
    crash = os.open(path.with_suffix(".crash.log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    faulthandler.enable(crash)


def capture_native(process_name: str) -> None:
    """Send file descriptor 2 to `<process_name>.native.log`, where ggml's last words and crashes end up."""
    path = paths.logs_dir() / f"{process_name}.native.log"
    if path.exists() and path.stat().st_size > _MAX_BYTES:
        path.replace(path.with_suffix(".1"))
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(fd, 2)
    os.close(fd)
    if sys.stderr is None or sys.stderr.fileno() != 2:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="replace", closefd=False)
    faulthandler.enable(2)
