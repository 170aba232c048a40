"""The stamp decides what a command still has to install; what is missing of the system is said."""

import json
import sys
from pathlib import Path

import pytest

from provision import checkout as checkout_module
from provision.checkout import Checkout
from provision.errors import SetupError


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout whose virtual environment looks as if the set-up had just ended."""
    monkeypatch.delenv("CMAKE_ARGS", raising=False)
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    python = Checkout(tmp_path).environment.python
    python.parent.mkdir(parents=True)
    python.write_text("")
    Checkout(tmp_path).write_stamp(("app", "dev"))
    return tmp_path


def test_a_stamped_checkout_needs_nothing(tree: Path) -> None:
    assert Checkout(tree).missing(("app", "dev")) == ()
    Checkout(tree).ready(("app", "dev"))
    assert not (tree / "build").exists()


def test_a_new_checkout_needs_everything(tree: Path) -> None:
    stamp = tree / ".venv" / "tutti-setup.json"
    stamp.write_text("{ half")
    assert Checkout(tree).missing(("app", "dev")) == ("app", "dev")
    stamp.unlink()
    assert Checkout(tree).missing(("app",)) == ("app",)


def test_a_changed_project_file_is_installed_again(tree: Path) -> None:
    (tree / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert Checkout(tree).missing(("app", "dev")) == ("app",)


def test_a_lost_interpreter_means_all_over_again(tree: Path) -> None:
    Checkout(tree).environment.python.unlink()
    assert Checkout(tree).missing(("app", "dev")) == ("app", "dev")


def test_a_moved_checkout_is_set_up_again(tree: Path) -> None:
    stamp = json.loads((tree / ".venv" / "tutti-setup.json").read_text())
    moved = tree / "moved"
    (moved / ".venv").mkdir(parents=True)
    (moved / "pyproject.toml").write_text("[project]\n")
    (moved / ".venv" / "tutti-setup.json").write_text(json.dumps(stamp))
    python = Checkout(moved).environment.python
    python.parent.mkdir()
    python.write_text("")
    assert Checkout(moved).missing(("app",)) == ("app",)


def test_flags_given_once_hold_until_other_ones_are_given(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CMAKE_ARGS", "-DGGML_VULKAN=ON")
    assert Checkout(tree).missing(("app",)) == ("app",)
    Checkout(tree).write_stamp(("app",))
    assert Checkout(tree).missing(("app", "dev")) == ()
    monkeypatch.delenv("CMAKE_ARGS")
    assert Checkout(tree).missing(("app",)) == ()
    monkeypatch.setenv("CMAKE_ARGS", "")
    assert Checkout(tree).missing(("app",)) == ("app",)


def test_a_full_disk_stops_before_anything_is_made(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkout_module, "SPACE_MB", 9_000_000_000)
    (tree / ".venv" / "tutti-setup.json").unlink()
    with pytest.raises(SetupError, match="the virtual environment needs about"):
        Checkout(tree).ready(("app",))


@pytest.mark.skipif(sys.platform != "linux", reason="asks the Linux loader")
def test_the_window_wants_more_libraries_than_the_tests(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugins = (
        tree
        / ".venv"
        / "lib"
        / "python3.11"
        / "site-packages"
        / "PySide6"
        / "Qt"
        / "plugins"
        / "platforms"
    )
    plugins.mkdir(parents=True)
    import PySide6

    qt = Path(PySide6.__file__).parent / "Qt" / "plugins" / "platforms" / "libqxcb.so"
    wanting = qt.read_bytes().replace(b"libxcb-cursor.so.0\0", b"libxcb-cursor.so.9\0")
    assert wanting != qt.read_bytes()
    (plugins / "libqxcb.so").write_bytes(wanting)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert Checkout(tree).missing_libraries(window=False) == []
    assert "libxcb-cursor.so.9" in Checkout(tree).missing_libraries(window=True)
    with pytest.raises(SetupError, match=r"libxcb-cursor\.so\.9"):
        checkout_module.require_libraries(Checkout(tree), window=True)
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    assert Checkout(tree).missing_libraries(window=True) == []
