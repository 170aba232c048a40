"""Where the keyboard is."""

from PySide6.QtWidgets import QApplication, QWidget


def is_in(widget: QWidget) -> bool:
    """Whether what is typed now goes to this widget or to a part of it."""
    focus = QApplication.focusWidget()
    return focus is not None and (focus is widget or widget.isAncestorOf(focus))
