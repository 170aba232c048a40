"""The most memory that a process has had at any moment of its life, as the system counts it."""

import sys
from pathlib import Path

import psutil

from app.errors import AppError

_FIELD = "VmHWM:"


def peak_bytes(pid: int) -> int:
    """Of a process that still runs: the peak of what it had in memory, parts shared with others included.

    Raises AppError where the system does not tell, or the process is gone.
    """
    try:
        if sys.platform == "win32":
            return int(psutil.Process(pid).memory_info().peak_wset)
        lines = (
            Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines()
        )
    except (OSError, psutil.Error) as error:
        raise AppError(f"The peak memory of process {pid} cannot be read.") from error
    for line in lines:
        if line.startswith(_FIELD):
            return int(line.removeprefix(_FIELD).split()[0]) * 1024
    raise AppError(f"The system does not tell the peak memory of process {pid}.")
