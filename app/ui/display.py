"""Whether there is a screen that Qt can use, asked before Qt is: without one, Qt ends the process by itself."""

import ctypes
import os
import sys
from collections.abc import Callable, Mapping, MutableMapping
from pathlib import Path

_WITHOUT = "To use Tutti without one, run: tutti serve"
NO_SCREEN = f"There is no screen to show a window on. {_WITHOUT}"
_NEEDED_BY_XCB = {
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libEGL.so.1": "libegl1",
}
"""Libraries that Qt's X11 part needs and that bare systems lack, with their Debian packages."""
_NEEDED_BY_ALL = {
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libfontconfig.so.1": "libfontconfig1",
}


def problem(
    environment: Mapping[str, str] = os.environ,
    platform: str = sys.platform,
    answers: Callable[[str, Mapping[str, str]], bool] | None = None,
) -> str:
    """One line for the user where no window can be shown, else "".

    `answers` says whether the screen that a variable of the environment names is there; None asks it.
    """
    if not platform.startswith("linux"):
        return ""
    wanted = environment.get("QT_QPA_PLATFORM", "").split(":")[0].split(";")[0]
    variables = _variables(wanted)
    named = [name for name in variables if environment.get(name)]
    if variables and not named:
        return NO_SCREEN
    if named and not any((answers or _answers)(name, environment) for name in named):
        dead = " and ".join(f"{name}={environment[name]}" for name in named)
        return f"No screen answers at {dead}. {_WITHOUT}"
    needed = dict(_NEEDED_BY_ALL)
    if named == ["DISPLAY"]:
        needed |= _NEEDED_BY_XCB
    return missing_libraries(needed)


def _variables(wanted: str) -> tuple[str, ...]:
    """What names the screens that Qt tries, for this choice of its platform."""
    if wanted == "xcb":
        return ("DISPLAY",)
    if wanted.startswith("wayland"):
        return ("WAYLAND_DISPLAY",)
    return () if wanted else ("WAYLAND_DISPLAY", "DISPLAY")


def _answers(variable: str, environment: Mapping[str, str]) -> bool:
    name = environment[variable]
    if variable == "WAYLAND_DISPLAY":
        return Path(environment.get("XDG_RUNTIME_DIR", ""), name).exists()
    try:
        xcb = ctypes.CDLL("libxcb.so.1")
    except OSError:  # named with the libraries that are missing
        return True
    xcb.xcb_connect.restype = ctypes.c_void_p
    connection = ctypes.c_void_p(xcb.xcb_connect(name.encode(), None))
    refused = bool(xcb.xcb_connection_has_error(connection))
    xcb.xcb_disconnect(connection)
    return not refused


def missing_libraries(
    needed: Mapping[str, str], load: Callable[[str], object] = ctypes.CDLL
) -> str:
    """One line that names the packages of the libraries that cannot be loaded, else ""."""
    missing = [package for library, package in needed.items() if not _loads(library, load)]
    if not missing:
        return ""
    packages = " ".join(sorted(set(missing)))
    return (
        f"The window needs system libraries that are missing. Run: sudo apt-get install {packages}"
    )


def _loads(library: str, load: Callable[[str], object]) -> bool:
    try:
        load(library)
    except OSError:
        return False
    return True


def choose_input_method(environment: MutableMapping[str, str] = os.environ) -> None:
    """PySide6 has no fcitx plugin, but fcitx 5 also speaks as ibus: use that, where X11 is used.

    On Wayland, text input goes through the compositor and needs no plugin.
    """
    wanted = environment.get("QT_QPA_PLATFORM", "")
    on_x11 = wanted == "xcb" or (not wanted and not environment.get("WAYLAND_DISPLAY"))
    if on_x11 and environment.get("QT_IM_MODULE", "") in ("fcitx", "fcitx5"):
        environment["QT_IM_MODULE"] = "ibus"
