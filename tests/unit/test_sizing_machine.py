"""The memory that is free, in and outside of a container."""

from pathlib import Path

import psutil
import pytest

from app.sizing.machine import measure


def group(folder: Path, most: str, used: int, cached: int) -> Path:
    (folder / "memory.max").write_text(f"{most}\n")
    (folder / "memory.current").write_text(f"{used}\n")
    (folder / "memory.stat").write_text(f"anon 5\ninactive_file {cached}\nactive_file 7\n")
    return folder


def test_a_machine_without_limits_has_what_the_system_says(tmp_path: Path) -> None:
    found = measure(tmp_path)
    assert 0 < found.free <= psutil.virtual_memory().total
    assert found.cores >= 1


def test_the_limit_of_a_container_counts(tmp_path: Path) -> None:
    assert measure(group(tmp_path, "9000000", 5_000_000, 1_000_000)).free == 5_000_000
    assert measure(group(tmp_path, "1000", 5000, 0)).free == 0


@pytest.mark.parametrize("most", ["max", "", "nonsense"])
def test_no_limit_is_none(tmp_path: Path, most: str) -> None:
    assert measure(group(tmp_path, most, 10, 0)).free > 1_000_000
