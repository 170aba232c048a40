"""What the machine must have: a compiler for the first set-up, and the libraries that Qt loads from the system.

Everything missing is named together with the command that installs it.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from provision.errors import SetupError

_MANAGERS = (
    ("apt-get", "sudo apt-get install"),
    ("dnf", "sudo dnf install"),
    ("pacman", "sudo pacman -S"),
    ("zypper", "sudo zypper install"),
)
_COMPILER = {
    "apt-get": "build-essential",
    "dnf": "gcc-c++",
    "pacman": "base-devel",
    "zypper": "gcc-c++",
}

# library -> package under apt, dnf, pacman.  Debian 13 renamed libglib2.0-0, but still installs it by the old name.
_LIBRARIES = {
    "libxcb-cursor.so.0": ("libxcb-cursor0", "xcb-util-cursor", "xcb-util-cursor"),
    "libxcb-icccm.so.4": ("libxcb-icccm4", "xcb-util-wm", "xcb-util-wm"),
    "libxcb-keysyms.so.1": ("libxcb-keysyms1", "xcb-util-keysyms", "xcb-util-keysyms"),
    "libxcb-image.so.0": ("libxcb-image0", "xcb-util-image", "xcb-util-image"),
    "libxcb-render-util.so.0": (
        "libxcb-render-util0",
        "xcb-util-renderutil",
        "xcb-util-renderutil",
    ),
    "libxcb-util.so.1": ("libxcb-util1", "xcb-util", "xcb-util"),
    "libxcb-randr.so.0": ("libxcb-randr0", "libxcb", "libxcb"),
    "libxcb-render.so.0": ("libxcb-render0", "libxcb", "libxcb"),
    "libxcb-shape.so.0": ("libxcb-shape0", "libxcb", "libxcb"),
    "libxcb-shm.so.0": ("libxcb-shm0", "libxcb", "libxcb"),
    "libxcb-sync.so.1": ("libxcb-sync1", "libxcb", "libxcb"),
    "libxcb-xfixes.so.0": ("libxcb-xfixes0", "libxcb", "libxcb"),
    "libxcb-xkb.so.1": ("libxcb-xkb1", "libxcb", "libxcb"),
    "libxcb.so.1": ("libxcb1", "libxcb", "libxcb"),
    "libX11.so.6": ("libx11-6", "libX11", "libx11"),
    "libX11-xcb.so.1": ("libx11-xcb1", "libX11-xcb", "libx11"),
    "libxkbcommon.so.0": ("libxkbcommon0", "libxkbcommon", "libxkbcommon"),
    "libxkbcommon-x11.so.0": ("libxkbcommon-x11-0", "libxkbcommon-x11", "libxkbcommon-x11"),
    "libEGL.so.1": ("libegl1", "libglvnd-egl", "libglvnd"),
    "libGL.so.1": ("libgl1", "libglvnd-glx", "libglvnd"),
    "libGLX.so.0": ("libgl1", "libglvnd-glx", "libglvnd"),
    "libOpenGL.so.0": ("libopengl0", "libglvnd-opengl", "libglvnd"),
    "libdbus-1.so.3": ("libdbus-1-3", "dbus-libs", "dbus"),
    "libfontconfig.so.1": ("libfontconfig1", "fontconfig", "fontconfig"),
    "libfreetype.so.6": ("libfreetype6", "freetype", "freetype2"),
    "libglib-2.0.so.0": ("libglib2.0-0", "glib2", "glib2"),
    "libgthread-2.0.so.0": ("libglib2.0-0", "glib2", "glib2"),
}
_COLUMN = {"apt-get": 0, "dnf": 1, "pacman": 2}
_NOT_FOUND = re.compile(r"^\s*(\S+) => not found", re.MULTILINE)


def package_manager() -> str | None:
    """The name of this machine's package manager, None where it is none of those known here."""
    return next((name for name, _ in _MANAGERS if shutil.which(name)), None)


def install_command(manager: str, packages: Sequence[str]) -> str:
    """What to type to install these packages."""
    return f"{dict(_MANAGERS)[manager]} {' '.join(packages)}"


def require_compiler() -> None:
    """Refuse, naming the cure, when no C++ compiler is there.  On Windows CMake itself finds Visual Studio's."""
    if sys.platform == "win32":
        return
    wanted = [os.environ["CXX"].split()[0]] if os.environ.get("CXX", "").strip() else []
    if any(shutil.which(name) for name in (wanted or ["c++", "g++", "clang++"])):
        return
    missing = f"no C++ compiler ({', '.join(wanted) or 'c++'})"
    raise SetupError(f"{missing}, but llama.cpp has to be compiled. {_compiler_cure()}")


def _compiler_cure() -> str:
    if sys.platform == "darwin":
        return "Install it with: xcode-select --install"
    manager = package_manager()
    if manager is None:
        return "Install g++ or clang++."
    return f"Install it with: {install_command(manager, [_COMPILER[manager]])}"


def require_space(folder: Path, megabytes: int, what: str) -> None:
    """Refuse when the disk of `folder` (which may not be there yet) has less room than that."""
    there = next(path for path in (folder, *folder.parents) if path.exists())
    free = shutil.disk_usage(there).free // 1_000_000
    if free < megabytes:
        raise SetupError(
            f"{what} needs about {megabytes:,} MB under {folder}, but only {free:,} MB are free."
        )


def missing_libraries(binaries: Iterable[Path]) -> list[str]:
    """The system libraries that these files want and the loader does not find (Linux only)."""
    ldd = shutil.which("ldd")
    if sys.platform != "linux" or ldd is None:
        return []
    missing: dict[str, None] = {}
    for binary in binaries:
        done = subprocess.run(
            [ldd, str(binary)], capture_output=True, text=True, check=False, timeout=60
        )
        missing.update(dict.fromkeys(_NOT_FOUND.findall(done.stdout)))
    return list(missing)


def libraries_message(missing: Sequence[str], manager: str | None) -> str:
    """One line that names what is missing and, where it is known, the command that installs it."""
    names = ", ".join(missing)
    if manager not in _COLUMN:
        return f"Qt needs system libraries that are not installed: {names}."
    column = _COLUMN[manager]
    packages = dict.fromkeys(_LIBRARIES[name][column] for name in missing if name in _LIBRARIES)
    if not packages:
        return f"Qt needs system libraries that are not installed: {names}."
    command = install_command(manager, list(packages))
    return (
        f"Qt needs system libraries that are not installed: {names}. Install them with: {command}"
    )
