"""Small files of the user's own: written whole or not at all, and readable by nobody else."""

import os
from contextlib import suppress
from pathlib import Path


def write(path: Path, text: str) -> None:
    """Write beside, flush to disk, rename: the old file stays whole whatever happens; raises OSError."""
    data = text.encode()  # line ends are left as they are: a template is not a text of this system
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        with suppress(OSError):
            temporary.unlink()
        raise
