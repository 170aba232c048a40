"""The one thing that moves by itself: the dot of a chat that is writing, and whether it may.

One clock for the whole window, slower than 2 Hz, and it stands still while nobody writes, while the window is not
to be seen, and where the system asks for less motion.
"""

import configparser
import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from PySide6.QtCore import QObject, QTimer, Signal

BEAT_MS: Final = 600
_PATIENCE = 3.0
"""Seconds that the tool of the desktop may take."""


class Pulse(QObject):
    """`beat` is emitted with every change of `swollen`.  It stands still until it is allowed to move."""

    beat = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.swollen = False
        self._allowed = self._wanted = False
        self._timer = QTimer(self)
        self._timer.setInterval(BEAT_MS)
        self._timer.timeout.connect(self._turn)

    @property
    def running(self) -> bool:
        return self._timer.isActive()

    def allow(self, allowed: bool) -> None:
        """Whether anything may move by itself."""
        self._allowed = allowed
        self._decide()

    def want(self, wanted: bool) -> None:
        """Whether there is something that beats, and somebody who could see it."""
        self._wanted = wanted
        self._decide()

    def _decide(self) -> None:
        if self._allowed and self._wanted:
            if not self._timer.isActive():
                self._timer.start()
            return
        self._timer.stop()
        if self.swollen:
            self._turn()

    def _turn(self) -> None:
        self.swollen = not self.swollen
        self.beat.emit()


def is_reduced(environment: Mapping[str, str] = os.environ, platform: str = sys.platform) -> bool:
    """Whether the system asks for as little motion as can be.  Blocking: to be run on a thread."""
    if platform == "win32":
        return _windows_animates() is False
    if not platform.startswith("linux"):
        return False
    base = Path(environment.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    gtk = (base / folder / "settings.ini" for folder in ("gtk-4.0", "gtk-3.0"))
    return _plasma_is_still(base) or any(map(_gtk_is_still, gtk)) or _gnome_is_still(environment)


def _windows_animates() -> bool | None:
    """The switch "Animation effects" of Windows; None where it cannot be asked."""
    ask = getattr(getattr(ctypes, "windll", None), "user32", None)
    if ask is None:
        return None
    answer = ctypes.c_int(1)
    get_client_area_animation = 0x1042
    ask.SystemParametersInfoW(get_client_area_animation, 0, ctypes.byref(answer), 0)
    return bool(answer.value)


def _plasma_is_still(base: Path) -> bool:
    """KDE: animations are instant."""
    value = _read(base / "kdeglobals", "KDE", "AnimationDurationFactor")
    try:
        return float(value) == 0.0
    except ValueError:
        return False


def _gtk_is_still(path: Path) -> bool:
    """Desktops that keep GTK's settings: animations are off."""
    return _read(path, "Settings", "gtk-enable-animations").lower() in ("0", "false")


def _gnome_is_still(environment: Mapping[str, str]) -> bool:
    """GNOME keeps its settings in a database that only its own tool reads."""
    tool = shutil.which("gsettings", path=environment.get("PATH"))
    if tool is None or "GNOME" not in environment.get("XDG_CURRENT_DESKTOP", ""):
        return False
    question = [tool, "get", "org.gnome.desktop.interface", "enable-animations"]
    try:
        told = subprocess.run(
            question, capture_output=True, timeout=_PATIENCE, env=dict(environment), check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return told.stdout.strip() == b"false"


def _read(path: Path, section: str, key: str) -> str:
    """One value of an INI file; "" where there is no such file or value."""
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(path.read_text(encoding="utf-8", errors="replace"))
        return parser.get(section, key)
    except (OSError, configparser.Error):
        return ""
