"""Files of states that are damaged, and disks that are full: what cannot be had is as if it had never been."""

import logging
import multiprocessing
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from app.engine.blob import Blob, Tip
from app.engine.state_files import StateFiles

BUDGET = 1 << 20
PRINT = "print"
TOKENS = np.arange(8, dtype=np.int32)
TIPS = (Tip(4, b"t" * 10), Tip(6, b"u" * 10))
LARGE = 100_000
LIMIT = 30_000


def blob(owner: int = 3, size: int = 40, tips: tuple[Tip, ...] = TIPS) -> Blob:
    return Blob(0, 8, bytes([owner]) * size, TOKENS, owner, tips=tips)


def write(folder: Path, *blobs: Blob, budget: int = BUDGET) -> None:
    files = StateFiles(folder, PRINT, budget)
    for one in blobs:
        files.order(one)
    files.close(60)


def read(folder: Path) -> list[tuple[object, ...]]:
    """All that a start finds, and can have the bytes of."""
    files = StateFiles(folder, PRINT, BUDGET)
    found = found_by(files)
    files.close(60)
    return found


def found_by(files: StateFiles) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    for one in files.scan():
        assert one.file is not None
        data = files.load(one.file)
        if data is not None:
            tokens = one.tokens.tolist()
            found.append((one.start, one.end, one.owner, tokens, data, one.tips))
    return found


WHOLE = [(0, 8, 3, TOKENS.tolist(), b"\x03" * 40, TIPS)]


def test_one_wrong_bit_anywhere_is_found(tmp_path: Path) -> None:
    """Also in what says which positions the bytes are: a wrong one would be a state that is taken for another."""
    write(tmp_path, blob())
    (path,) = tmp_path.iterdir()
    right = path.read_bytes()
    files = StateFiles(tmp_path, PRINT, BUDGET)
    assert found_by(files) == WHOLE
    for at in range(len(right)):
        for bit in range(8):
            path.write_bytes(right[:at] + bytes([right[at] ^ 1 << bit]) + right[at + 1 :])
            assert found_by(files) == [], f"bit {bit} of byte {at}"
            assert not path.exists()
    files.close(60)


CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "endless": lambda raw: raw.replace(b'"end": 8', b'"end": 1e999'),
    "very long": lambda raw: raw.replace(b'"data": 40', b'"data": 4' + 40 * b"0"),
    "no number": lambda raw: raw.replace(b'"start": 0', b'"start": NaN'),
    "no list": lambda raw: raw.replace(b'"tips": [[4, 10], [6, 10]]', b'"tips": 7'),
    "no object": lambda raw: b"[" * len(raw),
    "no text": lambda raw: b"\xff" * len(raw),
    "nothing": lambda _raw: b"",
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
def test_a_header_that_says_what_cannot_be_is_as_none(
    change: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    write(tmp_path, blob())
    (path,) = tmp_path.iterdir()
    raw = path.read_bytes()
    length = int.from_bytes(raw[8:12], "little")
    header = change(raw[12 : 12 + length])
    assert header != raw[12 : 12 + length]
    path.write_bytes(raw[:8] + len(header).to_bytes(4, "little") + header + raw[12 + length :])
    assert read(tmp_path) == []
    assert not path.exists()


def test_a_header_of_nothing_but_brackets_is_as_none(tmp_path: Path) -> None:
    header = b"[" * 500_000
    write(tmp_path, blob())
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:8] + len(header).to_bytes(4, "little") + header + b"x")
    assert read(tmp_path) == []


@pytest.mark.parametrize("budget", [500, 700, 1000])
def test_all_that_is_written_of_a_state_counts(budget: int, tmp_path: Path) -> None:
    """Its tokens, its tips and its header too."""
    tips = (Tip(4, b"t" * 200),)
    write(tmp_path, *(blob(owner, tips=tips) for owner in range(1, 5)), budget=budget)
    sizes = [path.stat().st_size for path in tmp_path.iterdir()]
    assert sizes
    assert sum(sizes) <= budget


def test_one_that_never_fits_takes_nobodys_place(tmp_path: Path) -> None:
    write(tmp_path, blob(), blob(4, size=5000), budget=1000)
    assert read(tmp_path) == WHOLE


@pytest.mark.parametrize(("budget", "left"), [(0, 0), (500, 1), (1000, 3)])
def test_a_budget_that_was_made_smaller_holds_from_the_start_on(
    budget: int, left: int, tmp_path: Path
) -> None:
    write(tmp_path, *map(blob, range(1, 5)))
    files = StateFiles(tmp_path, PRINT, budget)
    assert len(list(files.scan())) == len(list(tmp_path.iterdir())) == left
    files.close(60)


@pytest.mark.parametrize(("budget", "left"), [(0, 0), (500, 1), (1000, 3), (2000, 6)])
def test_all_models_have_the_budget_together(budget: int, left: int, tmp_path: Path) -> None:
    """What is shown in the settings is one number."""
    for model in ("one", "two"):
        files = StateFiles(tmp_path / model, PRINT, budget, together=tmp_path)
        for owner in range(1, 4):
            files.order(blob(owner))
        files.close(60)
    assert len(list(tmp_path.glob("*/*"))) == left


def test_a_full_disk_costs_only_what_does_not_fit_on_it(tmp_path: Path) -> None:
    """Nothing is left of what could not be written: that would make the disk fuller with every chat."""
    pytest.importorskip("resource")
    child = multiprocessing.get_context("spawn").Process(target=_write_little, args=(tmp_path,))
    child.start()
    child.join(60)
    assert child.exitcode == 0
    assert [path.suffix for path in tmp_path.iterdir()] == [".state"]
    assert read(tmp_path) == WHOLE


def _write_little(folder: Path) -> None:
    """In a process that cannot write long files."""
    import resource

    logging.disable()
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))
    write(folder, blob(1, LARGE), blob(2, LARGE), blob())
