"""What a disk refuses, in words."""

import errno
from pathlib import Path

import pytest

from app.hub import disk


@pytest.mark.parametrize(
    ("number", "windows", "words"),
    [
        (errno.EACCES, 0, "Nothing can be written in"),
        (errno.EACCES, 5, "Nothing can be written in"),
        (errno.EACCES, 32, "is open in another program"),
        (errno.EACCES, 33, "is open in another program"),
        (errno.EINVAL, 1224, "is open in another program"),
        (errno.ENOSPC, 112, "is full"),
        (errno.EIO, 0, "failed"),
    ],
)
def test_each_refusal_has_words_of_its_own(number: int, windows: int, words: str) -> None:
    error = OSError(number, "no")
    error.winerror = windows  # type: ignore[attr-defined,unused-ignore]  # Windows alone has it
    assert words in disk.told(error, Path("/models")).what
