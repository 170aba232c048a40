"""The settings of the model hub: its address, the proxy, the access token, and a button that tries all three."""

import asyncio

from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QFormLayout, QHBoxLayout, QLineEdit, QPushButton, QVBoxLayout, QWidget

from app.errors import HubError
from app.hub import access as hub_access
from app.hub.access import Access
from app.hub.port import HubAccount
from app.hub.wishes import Verdict
from app.settings import Settings
from app.ui import aio, theme
from app.ui.fields import LABELS, TextField
from app.ui.plain import Label

_TOKEN_HINT = "Goes to this address alone. Kept in the system's keyring; where there is none, until Tutti ends."
_PROXY_HINT = (
    "http://HOST:PORT. A password in it is kept with the settings, readable for you alone."
)


class HubForm(QWidget):
    """Shows the settings and whether there is a token, never the token; `endpoint`, `proxy`, `token` and
    `wants_removal` are what the user wants."""

    def __init__(
        self, settings: Settings, account: HubAccount, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._account = account
        self._trying: asyncio.Task[None] | None = None
        self.wants_removal = False
        self._kept_endpoint = settings.hub_endpoint
        self._endpoint = TextField("setting_hub_endpoint", "Address", self)
        self._endpoint.setPlaceholderText(hub_access.ENDPOINT)
        self._endpoint.setText(settings.hub_endpoint)
        self._proxy = TextField("setting_hub_proxy", "Proxy", self)
        self._proxy.setPlaceholderText("As the system says")
        self._proxy.setText(settings.hub_proxy)
        self._token = TextField("setting_hub_token", "Access token", self)
        self._token.setEchoMode(QLineEdit.EchoMode.Password)
        self._remove = _button("Remove", "hubTokenRemove", "Remove the access token", "link", self)
        self._try = _button("Test", "hubTestButton", "Test the connection to the hub", "", self)
        self._said = Label("", "quiet", self)
        self._said.setObjectName("hubTestResult")
        self._said.setWordWrap(True)
        self._said.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._hints = [Label("", "quiet", self) for _ in range(3)]
        self._lay_out()
        self._endpoint.textEdited.connect(self._changed)
        self._proxy.textEdited.connect(self._changed)
        self._token.textEdited.connect(self._token_typed)
        self._remove.clicked.connect(self._remove_clicked)
        self._try.clicked.connect(self._try_clicked)
        self._show()

    @property
    def endpoint(self) -> str:
        """The address, as the settings keep it; what the environment says does not get into them."""
        if self._account.fixed_endpoint:
            return self._kept_endpoint
        address = hub_access.cleaned(self._endpoint.text())
        return "" if address == hub_access.ENDPOINT else address

    @property
    def proxy(self) -> str:
        return self._proxy.text().strip()

    @property
    def token(self) -> str:
        """What was typed as a token; "" where the one that there is shall stay."""
        return self._token.text().strip()

    def refuses(self) -> bool:
        """Whether something cannot be used; it is then said, and has the keyboard."""
        field = self._proxy
        try:
            proxy = hub_access.proxy_address(self.proxy)
            if self._account.fixed_endpoint:
                return False  # what is wrong with that is told at the start
            field = self._endpoint
            address = self._account.address(self._endpoint.text())
            hub_access.checked(Access(address, proxy=proxy))
            field = self._token
            hub_access.checked(Access(address, self.token))
        except HubError as error:
            self._say(str(error), "bad")
            field.setFocus()
            return True
        return False

    def stop(self) -> None:
        """Nobody waits for the test any more."""
        if self._trying is not None:
            self._trying.cancel()
            self._trying = None
            self._name_button()

    # --- layout ----------------------------------------------------------------------------------------------

    def _lay_out(self) -> None:
        rows = QFormLayout()
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setHorizontalSpacing(theme.GAP_4)
        rows.setVerticalSpacing(theme.GAP_2)
        rows.setLabelAlignment(Qt.AlignmentFlag.AlignLeft)
        rows.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        rows.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapLongRows)
        fields = (self._endpoint, self._proxy, self._token)
        for field, hint in zip(fields, self._hints, strict=True):
            label = Label(field.accessibleName(), "body", self)
            label.setBuddy(field)
            label.setMinimumWidth(theme.px(LABELS))
            label.setFixedHeight(theme.px(theme.CONTROL) + 2)
            rows.addRow(label, self._cell(field, hint))
        under = QHBoxLayout()  # the fields, and not their labels
        under.setSpacing(theme.GAP_3)
        under.addSpacing(theme.px(LABELS) + theme.GAP_4)
        under.addWidget(self._try, 0, Qt.AlignmentFlag.AlignTop)
        under.addWidget(self._said, 1, Qt.AlignmentFlag.AlignVCenter)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.GAP_2)
        column.addLayout(rows)
        column.addLayout(under)

    def _cell(self, field: TextField, hint: Label) -> QVBoxLayout:
        field.setFixedHeight(theme.px(theme.CONTROL) + 2)
        hint.setWordWrap(True)
        cell, row = QVBoxLayout(), QHBoxLayout()
        cell.setSpacing(2)
        row.setSpacing(theme.GAP_2)
        row.addWidget(field, 1)
        if field is self._token:
            row.addWidget(self._remove, 0)
        cell.addLayout(row)
        cell.addWidget(hint)
        return cell

    # --- what there is ---------------------------------------------------------------------------------------

    def _show(self) -> None:
        """Whether there is a token for this address, and what the environment has decided."""
        fixed = self._account.fixed_endpoint
        if fixed:
            self._endpoint.setText(fixed)
            self._endpoint.setEnabled(False)
        self._hint(self._endpoint, 0, "HF_ENDPOINT says so." if fixed else "Of the hub, or of a mirror.")  # fmt: skip
        self._hint(self._proxy, 1, _PROXY_HINT)
        typed = self._endpoint.text()
        there = self._account.has_token(typed) and not self.wants_removal
        given = self._account.gives_token(typed)
        self._token.setEnabled(not given)
        self._token.setPlaceholderText(
            "Given by HF_TOKEN" if given else "•" * 12 if there else "None"
        )
        self._remove.setVisible(there and not given)
        words = "The access token goes when you save." if self.wants_removal else _TOKEN_HINT
        self._hint(self._token, 2, words)

    def _hint(self, field: QLineEdit, number: int, words: str) -> None:
        self._hints[number].setText(words)
        field.setAccessibleDescription(words)

    def _changed(self) -> None:
        self.stop()
        self._say("", "quiet")
        self._show()

    def _token_typed(self) -> None:
        self.wants_removal = False
        self._changed()

    def _remove_clicked(self) -> None:
        self.wants_removal = True
        self._token.clear()
        self._changed()
        self._token.setFocus()

    # --- the test --------------------------------------------------------------------------------------------

    def _try_clicked(self) -> None:
        if self._trying is not None:
            self.stop()
            self._say("Stopped.", "quiet")
            return
        host = Access(self._account.address(self._endpoint.text())).host
        self._say(f"Asking {host}…", "quiet")
        self._trying = aio.spawn(self._tried())
        self._name_button()

    async def _tried(self) -> None:
        task = asyncio.current_task()
        verdict = await self._account.try_out(
            self._endpoint.text(), self.proxy, self.token, without=self.wants_removal
        )
        if self._trying is task:
            self._trying = None
            self._name_button()
            self._show_verdict(verdict)

    def _show_verdict(self, verdict: Verdict) -> None:
        self._say(verdict.words, "good" if verdict.good else "bad")
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self._said, verdict.words))

    def _name_button(self) -> None:
        trying = self._trying is not None
        self._try.setText("Stop" if trying else "Test")
        name = "Stop the test" if trying else "Test the connection to the hub"
        self._try.setAccessibleName(name)

    def _say(self, words: str, role: str) -> None:
        self._said.setText(words)
        self._said.setAccessibleName(words)
        self._try.setAccessibleDescription(words)
        theme.restyle(self._said, role)


def _button(text: str, object_name: str, name: str, role: str, parent: QWidget) -> QPushButton:
    button = QPushButton(text, parent)
    button.setObjectName(object_name)
    button.setAccessibleName(name)
    button.setAutoDefault(False)
    if role:
        button.setProperty("role", role)
    return button
