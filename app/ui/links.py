"""Addresses that a model wrote: opened only once the user has seen them whole and agreed."""

from PySide6.QtCore import QObject, QUrl
from PySide6.QtGui import QDesktopServices

from app.ui.banner import Banner, Notice

_SECONDS = 20.0


class LinkOffer(QObject):
    """Asks in the notice before it lets the system's browser open an address."""

    def __init__(self, banner: Banner, parent: QObject) -> None:
        super().__init__(parent)
        self._banner = banner

    def offer(self, address: str) -> None:
        """Ask about a web address; anything else (files, commands of other programs) is dropped."""
        url = QUrl(address)
        if url.scheme() not in ("http", "https") or not url.host():
            return

        def open_it() -> None:
            QDesktopServices.openUrl(url)

        # Encoded, so that a letter of another script that looks like an ordinary one gives itself away.
        shown = bytes(url.toEncoded().data()).decode("ascii")
        words = f"Open this address in your browser? {shown}"
        self._banner.post(Notice(words, "info", "Open", act=open_it, seconds=_SECONDS))
