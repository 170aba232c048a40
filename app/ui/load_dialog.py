"""How one model is loaded: as all are, or with a profile and numbers of its own."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QVBoxLayout, QWidget

from app.remembered import LoadChoice, choice_of
from app.settings import Settings
from app.sizing.planner import Outlook
from app.ui import geometry, theme
from app.ui.chat_settings_dialog import Own
from app.ui.fields import Form, Item
from app.ui.form_page import form_page
from app.ui.plain import ElidedLabel, Label
from app.ui.settings_profile import ProfileForm

_ITEMS = (
    Item("threads", "Threads", special="Chosen for this machine"),
    Item("gpu_layers", "Layers on the GPU", special="All that fit"),
)


class LoadDialog(QDialog):
    """Shows what counts for the model called `name`; once accepted, `value` is what it shall have."""

    def __init__(
        self,
        name: str,
        own: LoadChoice | None,
        general: Settings,
        outlook: Outlook,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("loadDialog")
        self.setWindowTitle("Load settings")
        self.setWindowModality(Qt.WindowModality.WindowModal)
        shown = own.over(general) if own is not None else general
        self._general = general
        self._profile = ProfileForm(shown, outlook, name)
        self._numbers = Form(shown, _ITEMS, "setting")
        forms = QWidget()
        inner = QVBoxLayout(forms)
        inner.setContentsMargins(0, 0, 0, 0)
        inner.setSpacing(theme.GAP_3)
        inner.addWidget(self._profile)
        inner.addWidget(self._numbers)
        self._own = Own(
            "load_own",
            "Load this model with settings of its own",
            own is not None,
            forms,
            self._typed,
        )
        self._lay_out(name)
        geometry.fit_dialog(self, 560, 560)

    def value(self) -> LoadChoice | None:
        """What is in the dialog; None for as all are."""
        return self._own.value()

    def _typed(self) -> LoadChoice:
        numbers = self._numbers.value()
        return choice_of(self._profile.value(numbers))

    def _lay_out(self, name: str) -> None:
        column = form_page(self, "loadArea", theme.GAP_3)
        column.addWidget(ElidedLabel(name, "heading"))
        column.addWidget(Label("These count from the next load of this model on.", "quiet"))
        column.addWidget(self._own)
        column.addStretch(1)
