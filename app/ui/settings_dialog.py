"""The settings, as a dialog generated from `Settings`."""

import dataclasses

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QWidget

from app.chat.model_state import ModelState
from app.settings import OWN_NUMBERS, Settings
from app.sizing.planner import NO_OUTLOOK, Outlook
from app.ui import geometry
from app.ui.fields import Form, Item
from app.ui.form_page import stand_above_buttons
from app.ui.hub_form import HubForm
from app.ui.plain import one_line
from app.ui.sampling_form import SamplingForm
from app.ui.sections import Sections
from app.ui.settings_profile import ProfileForm

LOAD_FIELDS = ("profile", *OWN_NUMBERS, "threads", "gpu_layers", "pace", "disk_megabytes")
"""What a model gets when it is loaded: a change counts from the next load on."""

WINDOW_PAGE = "Window"
MODEL_PAGE = "Model"
HUB_PAGE = "Model hub"
ANSWERS_PAGE = "Answers"
SAMPLING_PAGE = "Sampling"

WINDOW_ITEMS = (
    Item("theme", "Theme", choices=("As the system", "Light", "Dark")),
    Item(
        "idle_unload_minutes",
        "Unload when idle, minutes",
        "Frees the memory when nobody has asked anything for so long.",
        special="Never",
    ),
    Item(
        "most_models",
        "Models loaded at once",
        "One more takes the place of the one that nobody has asked for longest.",
        special="As many as fit",
    ),
    Item(
        "unused_days",
        "Unused after, days",
        "Models that were not loaded for so long are listed as unused.",
    ),
)
LOAD_ITEMS = (
    Item("threads", "Threads", special="Chosen for this machine"),
    Item("gpu_layers", "Layers on the GPU", special="All that fit"),
    Item(
        "pace",
        "While others write",
        "How much of a new prompt is read between two of their words.",
        choices=("Smooth: little", "Balanced", "Fast: much"),
    ),
    Item(
        "disk_megabytes",
        "Disk for idle chats, MB",
        "Keeps what they have read over a restart. Deleted with the chat.",
        special="None",
    ),
)
ANSWER_ITEMS = (
    Item("system_prompt", "Instructions", "Go before every chat that has none of its own."),
    Item("max_answer_tokens", "Longest answer, tokens", special="No limit"),
    Item(
        "when_full",
        "When a chat is full",
        "A summary is written by the model in the background, before the chat is full.",
        choices=(
            "Leave out its oldest messages",
            "Summarise its oldest messages",
            "Refuse the message",
        ),
    ),
)


class SettingsDialog(QDialog):
    """Shows `settings`, what the profiles give for this model, and what its file advises; once accepted, `value` is
    what they shall be."""

    def __init__(
        self,
        settings: Settings,
        parent: QWidget | None = None,
        *,
        outlook: Outlook = NO_OUTLOOK,
        model: ModelState = ModelState(),
        model_has_own: bool = False,
        hub: HubForm | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("settingsDialog")
        self.setWindowTitle("Settings")
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self._window = Form(settings, WINDOW_ITEMS, "setting")
        self._profile = ProfileForm(settings, outlook, model.name)
        self._load = Form(settings, LOAD_ITEMS, "setting")
        self._answer = Form(settings, ANSWER_ITEMS, "setting")
        self._sampling = SamplingForm(
            settings.sampling,
            "setting",
            advises=model.recommended,
            free=settings.sampling_open,
        )
        self._hub = hub
        self._sections = Sections(self)
        self._lay_out(own_of=model.name if model_has_own else "")
        geometry.fit_dialog(self, 720, 600)

    def value(self, base: Settings) -> Settings:
        """`base` with everything that is in the dialog."""
        parts = (
            (self._window.value(), WINDOW_ITEMS),
            (self._load.value(), LOAD_ITEMS),
            (self._answer.value(), ANSWER_ITEMS),
        )
        changes = {item.name: getattr(part, item.name) for part, items in parts for item in items}
        sampling = self._sampling.value()
        changed = dataclasses.replace(
            base, **changes, sampling=sampling, sampling_kept=self._sampling.kept()
        )
        if self._hub is not None:
            changed = dataclasses.replace(
                changed, hub_endpoint=self._hub.endpoint, hub_proxy=self._hub.proxy
            )
        return self._profile.value(changed)

    def show_page(self, name: str) -> None:
        """Turn to this page."""
        self._sections.show_page(name)

    def accept(self) -> None:
        """Save; where something cannot be used, its page is turned to instead, and it says so."""
        checked = ((SAMPLING_PAGE, self._sampling), (HUB_PAGE, self._hub))
        for page, form in checked:
            if form is not None and form.refuses():
                self._sections.show_page(page)
                # Once more, for a field that is not shown takes no keyboard.
                form.refuses()
                return
        super().accept()

    def done(self, code: int) -> None:
        if self._hub is not None:
            self._hub.stop()
        super().done(code)

    def _lay_out(self, own_of: str) -> None:
        counts = "These count from the next load of the model on."
        if own_of:
            counts = (
                f"{one_line(own_of, 40)} has load settings of its own; these count for the others."
            )
        self._sections.add(WINDOW_PAGE, "", self._window)
        self._sections.add(MODEL_PAGE, counts, self._profile, self._load)
        if self._hub is not None:
            self._sections.add(HUB_PAGE, "", self._hub)
        self._sections.add(ANSWERS_PAGE, "", self._answer)
        self._sections.add(SAMPLING_PAGE, "", self._sampling)
        stand_above_buttons(self, self._sections)
