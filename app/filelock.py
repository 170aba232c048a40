"""A lock on an open file, which goes with the process that holds it.

The system frees it when the file is closed or the process ends, however it ends.
"""

import sys
from typing import BinaryIO

if sys.platform == "win32":
    import msvcrt

    _PLACE = 1 << 40
    """Far behind any content: on Windows a locked range cannot be read by others."""

    def lock(file: BinaryIO) -> bool:
        """Take it; False when somebody else holds it."""
        try:
            file.seek(_PLACE)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def unlock(file: BinaryIO) -> None:
        """Give it back; to be called by who holds it."""
        file.seek(_PLACE)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def lock(file: BinaryIO) -> bool:
        """Take it; False when somebody else holds it."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def unlock(file: BinaryIO) -> None:
        """Give it back; to be called by who holds it."""
        fcntl.flock(file, fcntl.LOCK_UN)
