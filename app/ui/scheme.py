"""The colours in force: as the settings say, or as the system does."""

from PySide6.QtCore import QObject
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from app.settings import Settings
from app.ui import theme
from app.ui.preferences import Preferences


class Scheme(QObject):
    """Applies the theme anew when it is changed here or in the system."""

    def __init__(self, preferences: Preferences, parent: QObject) -> None:
        super().__init__(parent)
        self._preferences = preferences
        preferences.changed.connect(self._settings_changed)
        QGuiApplication.styleHints().colorSchemeChanged.connect(self._system_changed)

    def _settings_changed(self, old: Settings, new: Settings) -> None:
        if old.theme != new.theme:
            self._apply()

    def _system_changed(self) -> None:
        if self._preferences.current.theme == "system":
            self._apply()

    def _apply(self) -> None:
        application = QApplication.instance()
        if isinstance(application, QApplication):
            theme.apply(application, self._preferences.current.theme)
