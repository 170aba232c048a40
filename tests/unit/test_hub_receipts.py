"""Receipts on disk: whole or not at all, with nothing left beside them."""

import stat
import sys
from pathlib import Path

import pytest

from app.hub import receipts
from app.hub.receipts import Receipt

KEPT = {"a.gguf": Receipt(3, 4, "d1", "c1"), "sub/b\u202e.gguf": Receipt(5, 6, "d2", "c2")}


def test_they_come_back_and_go_with_the_last_one(tmp_path: Path) -> None:
    assert receipts.load(tmp_path) == {}
    receipts.save(tmp_path, KEPT)
    assert receipts.load(tmp_path) == KEPT
    (file,) = tmp_path.iterdir()
    if sys.platform != "win32":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    receipts.save(tmp_path, {})
    assert list(tmp_path.iterdir()) == []


def test_those_that_cannot_be_written_leave_nothing_beside(tmp_path: Path) -> None:
    (tmp_path / ".tutti.json").mkdir()
    with pytest.raises(OSError, match="directory"):
        receipts.save(tmp_path, KEPT)
    assert [one.name for one in tmp_path.iterdir()] == [".tutti.json"]
