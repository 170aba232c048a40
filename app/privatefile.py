"""Small files of the user's own: written whole or not at all, and readable by nobody else."""

import os
from contextlib import suppress
from pathlib import Path


def write(path: Path, text: str, *, flush: bool = True) -> None:
    """Write beside, flush to disk, rename: the old file stays whole whatever happens; raises OSError.

    Without `flush` it takes no longer than the system's memory does, while the disk is busy with something else; the
    file may then be lost with the power.
    """
    data = text.encode()  # line ends are left as they are: a template is not a text of this system
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if flush:
                os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        with suppress(OSError):
            temporary.unlink()
        raise
