"""Whether a window can be shown, asked of an environment."""

import pytest

from app.ui.display import NO_SCREEN, choose_input_method, missing_libraries, problem


@pytest.mark.parametrize(
    ("environment", "fine"),
    [
        ({}, False),
        ({"QT_QPA_PLATFORM": "xcb"}, False),
        ({"QT_QPA_PLATFORM": "wayland"}, False),
        ({"QT_QPA_PLATFORM": "wayland-egl", "DISPLAY": ":0"}, False),
        ({"QT_QPA_PLATFORM": "offscreen"}, True),
        ({"QT_QPA_PLATFORM": "minimal:foo"}, True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, True),
    ],
)
def test_a_screen_is_needed(environment, fine):
    found = problem(environment, "linux", lambda variable, _: True)
    assert (found != NO_SCREEN) is fine
    assert "\n" not in found


@pytest.mark.parametrize(
    ("environment", "alive", "words"),
    [
        ({"DISPLAY": ":7"}, (), "No screen answers at DISPLAY=:7."),
        ({"DISPLAY": ":7", "QT_QPA_PLATFORM": "offscreen"}, (), ""),
        ({"DISPLAY": ":7"}, ("DISPLAY",), ""),
        ({"WAYLAND_DISPLAY": "w", "DISPLAY": ":7"}, ("DISPLAY",), ""),
        ({"WAYLAND_DISPLAY": "w", "DISPLAY": ":7"}, ("WAYLAND_DISPLAY",), ""),
        ({"WAYLAND_DISPLAY": "w", "DISPLAY": ":7", "QT_QPA_PLATFORM": "xcb"}, ("WAYLAND_DISPLAY",), "DISPLAY=:7."),
        ({"WAYLAND_DISPLAY": "w", "DISPLAY": ":7"}, (), "WAYLAND_DISPLAY=w and DISPLAY=:7."),
    ],
)  # fmt: skip
def test_a_screen_that_is_named_must_answer(environment, alive, words):
    found = problem(environment, "linux", lambda variable, _: variable in alive)
    assert ("No screen answers" in found) is bool(words)
    assert words in found
    assert "\n" not in found
    assert ("tutti serve" in found) is bool(words)


def test_screens_are_asked(tmp_path):
    # No display has this number, and none of this name has a socket.
    assert "DISPLAY=:54321." in problem({"DISPLAY": ":54321"}, "linux")
    gone = {"WAYLAND_DISPLAY": "gone", "XDG_RUNTIME_DIR": str(tmp_path)}
    assert "WAYLAND_DISPLAY=gone." in problem(gone, "linux")
    (tmp_path / "gone").touch()
    assert "No screen" not in problem(gone, "linux")


def test_other_systems_have_one():
    assert problem({}, "darwin") == ""


def test_missing_libraries_are_named_with_the_command():
    def load(library):
        if library != "there.so":
            raise OSError(library)

    needed = {"there.so": "libthere", "a.so": "liba", "b.so": "libb"}
    assert missing_libraries(needed, load).endswith("sudo apt-get install liba libb")
    assert missing_libraries({"there.so": "libthere"}, load) == ""


@pytest.mark.parametrize(
    ("environment", "method"),
    [
        ({"QT_IM_MODULE": "fcitx"}, "ibus"),
        ({"QT_IM_MODULE": "fcitx5", "QT_QPA_PLATFORM": "xcb"}, "ibus"),
        ({"QT_IM_MODULE": "fcitx", "WAYLAND_DISPLAY": "wayland-0"}, "fcitx"),
        ({"QT_IM_MODULE": "ibus"}, "ibus"),
    ],
)
def test_the_input_method(environment, method):
    choose_input_method(environment)
    assert environment["QT_IM_MODULE"] == method
