"""Room on the disk: what a download may take, and words when there is none."""

import errno
import shutil
from pathlib import Path

from app.errors import HubError, HubProblem
from app.hub.words import size

_RESERVE = 1_000_000_000
_RESERVE_SHARE = 50
_OPEN_ELSEWHERE = {32, 33, 1224}
"""What Windows calls a file that somebody has open, locked or mapped."""


def check_room(folder: Path, needed: int) -> None:
    """Raise HubError unless `needed` more bytes fit beside what the chats need (1 GB, or 2 % of a small disk)."""
    usage = shutil.disk_usage(_existing(folder))
    reserve = min(_RESERVE, usage.total // _RESERVE_SHARE)
    if needed > usage.free - reserve:
        raise HubError(
            f"There is not enough room in {folder}: {size(needed)} are needed, and {size(max(0, usage.free))} are "
            f"free, of which {size(reserve)} are kept for the chats.",
            "Remove something, or choose a smaller file.",
            problem=HubProblem.DISK,
        )


def _existing(folder: Path) -> Path:
    return next((path for path in (folder, *folder.parents) if path.exists()), Path.cwd())


def told(error: OSError, folder: Path) -> HubError:
    """A failure of the disk in words."""
    if error.errno in {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}:
        what = f"The disk with {folder} is full."
        remedy = "Make room, then go on: what has arrived is kept."
    elif error.errno == errno.EFBIG:
        what = f"A file of this size is not allowed in {folder}."
        remedy = "Set TUTTI_MODELS_DIR to a disk that takes large files."
    elif getattr(error, "winerror", 0) in _OPEN_ELSEWHERE:
        what = f"A file in {folder} is open in another program, so that this system neither removes nor replaces it."
        remedy = "Close it there, then try again."
    elif error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
        what = f"Nothing can be written in {folder}."
        remedy = "Set TUTTI_MODELS_DIR to a folder of your own."
    else:
        what = f"The disk with {folder} failed ({error.strerror or error})."
        remedy = "Check the disk, then go on: what has arrived is kept."
    return HubError(what, remedy, problem=HubProblem.DISK)


def remove_empty(folder: Path, top: Path) -> None:
    """`folder` and those above it, below `top`, as far as they are empty."""
    while folder != top and top in folder.parents:
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent
