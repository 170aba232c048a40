"""A lock on an open file, which goes with the process that holds it."""

import sys
from typing import BinaryIO

if sys.platform == "win32":
    import msvcrt

    def lock(file: BinaryIO) -> bool:
        """Take it; False when another process holds it."""
        file.seek(0)
        try:
            # Far behind any content: on Windows a locked range cannot be read by others.
            file.seek(1 << 40)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def lock(file: BinaryIO) -> bool:
        """Take it; False when another process holds it."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True
