"""Missing compilers, libraries and room are named, with what to do about them."""

import sys
from pathlib import Path

import PySide6
import pytest

from provision import system
from provision.errors import SetupError

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="ldd and package managers")


def test_missing_libraries_come_with_the_command_that_installs_them() -> None:
    missing = ["libxcb-cursor.so.0", "libxcb-icccm.so.4", "libEGL.so.1"]
    assert system.libraries_message(missing, "apt-get") == (
        "Qt needs system libraries that are not installed: libxcb-cursor.so.0, libxcb-icccm.so.4, libEGL.so.1. "
        "Install them with: sudo apt-get install libxcb-cursor0 libxcb-icccm4 libegl1"
    )
    assert "sudo dnf install xcb-util-cursor xcb-util-wm" in system.libraries_message(
        missing, "dnf"
    )
    assert "sudo pacman -S xcb-util-cursor" in system.libraries_message(missing, "pacman")


@pytest.mark.parametrize("manager", [None, "zypper", "apt-get"])
def test_a_library_without_a_known_package_is_named_all_the_same(manager: str | None) -> None:
    message = system.libraries_message(["libnobody-knows.so.7"], manager)
    assert "libnobody-knows.so.7" in message
    assert "Install" not in message


@linux_only
def test_the_loader_is_asked_what_is_missing(tmp_path: Path) -> None:
    qt = Path(PySide6.__file__).parent / "Qt" / "lib" / "libQt6Core.so.6"
    assert system.missing_libraries([qt]) == []
    broken = tmp_path / "libbroken.so"
    broken.write_bytes(qt.read_bytes().replace(b"libpthread.so.0\0", b"libpthreax.so.0\0").replace(
        b"libglib-2.0.so.0\0", b"libglix-2.0.so.0\0"))  # fmt: skip
    missing = system.missing_libraries([broken, broken])
    assert missing
    assert set(missing) >= {"libglix-2.0.so.0"} or set(missing) >= {"libpthreax.so.0"}


@linux_only
def test_no_compiler_is_said_before_anything_is_fetched(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(SetupError, match=r"no C\+\+ compiler .*Install"):
        system.require_compiler()
    monkeypatch.setenv("CXX", "ccache my-c++")
    (tmp_path / "ccache").write_text("#!/bin/sh\n")
    (tmp_path / "ccache").chmod(0o755)
    system.require_compiler()


def test_a_full_disk_is_said_with_numbers(tmp_path: Path) -> None:
    system.require_space(tmp_path / "not" / "there", 1, "this")
    with pytest.raises(SetupError, match=r"this needs about 9,000,000,000 MB under .* MB are free"):
        system.require_space(tmp_path / "not" / "there", 9_000_000_000, "this")
