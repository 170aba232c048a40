"""The hub as the settings say: used from the start on, anew after each change, and what is wrong with it is told."""

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from app.errors import HubError
from app.hub.port import HubAccount
from app.hub.wishes import Wishes
from app.settings import Settings
from app.ui import aio
from app.ui.banner import Banner, Kind, Notice
from app.ui.hub_form import HubForm
from app.ui.preferences import Preferences


class HubControl(QObject):
    """Between the settings and the account."""

    def __init__(
        self, account: HubAccount, preferences: Preferences, banner: Banner, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self._account, self._preferences, self._banner = account, preferences, banner
        preferences.changed.connect(self._changed)

    async def start(self) -> None:
        """Use what the settings say."""
        self._tell(await self._account.use(_wishes(self._preferences.current)))

    def form(self) -> HubForm:
        """To change it by."""
        return HubForm(self._preferences.current, self._account)

    async def take(self, form: HubForm) -> None:
        """Do with the token what was wanted, once the other settings are in force."""
        address = self._account.address(form.endpoint)
        kept = set(self._preferences.current.hub_tokens)
        if form.token:
            try:
                words = await self._account.keep(form.endpoint, form.token)
            except HubError as error:
                self._tell(str(error))
                return
            kept = kept - {address} if words else kept | {address}
            self._tell(words, "info")
        elif form.wants_removal:
            words = await self._account.drop(form.endpoint)
            kept = kept if words else kept - {address}
            self._tell(words)
        self._preferences.update(hub_tokens=tuple(sorted(kept)))

    def _changed(self, old: Settings, new: Settings) -> None:
        if _wishes(old) != _wishes(new):
            aio.spawn(self.start())

    def _tell(self, words: str, kind: Kind = "bad") -> None:
        if words:
            self._banner.post(Notice(words, kind))


def _wishes(settings: Settings) -> Wishes:
    return Wishes(settings.hub_endpoint, settings.hub_proxy, settings.hub_tokens)
