"""Reading files that somebody else put there: only what is a file is opened.

A pipe that nobody writes to is waited for without end, a device may do anything when it is opened, and both can bear
the name of a model.
"""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
"""Not waiting: a pipe may have taken the place of the file since it was looked at."""


def opened(path: Path, buffering: int = -1) -> BinaryIO:
    """Open it for reading; raises OSError, also for what is no file, and ValueError for a name that cannot be one."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "it is a pipe, a device or a folder")
    return os.fdopen(os.open(path, _FLAGS), "rb", buffering)
