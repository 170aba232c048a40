"""The choice of a profile, its numbers for the model, and each of them to be changed and given back."""

import dataclasses

from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app.settings import OWN_NUMBERS, Settings
from app.sizing.planner import Outlook
from app.sizing.profiles import Plan, own_numbers
from app.ui import icons, theme
from app.ui.fields import LABELS, Form, Item
from app.ui.plain import Label, one_line

_PROFILE_HINTS = {
    "auto": "Chosen for this machine. Takes at most half of the memory that the model leaves.",
    "development": "4 chats of 1,024 tokens each. Loads quickly.",
    "production": "As many and as long chats as the memory allows.",
    "edge": "2 chats of 512 tokens each, for machines with little memory.",
}
_PROFILE = Item(
    "profile",
    "Profile",
    _PROFILE_HINTS["auto"],
    choices=(
        "Automatic",
        "Development: a few chats",
        "Production: as many as fit",
        "Edge: the least memory",
    ),
)
NUMBERS = (
    Item("pool_tokens", "Pool, tokens", "What all chats together can hold at once."),
    Item("sequences", "Chats at once", "How many answers are written in one batch."),
    Item("batch", "Batch, tokens", "The most tokens of one step."),
    Item(
        "kv_type",
        "Precision of the pool",
        "Fewer bits take less memory, and the model remembers less exactly.",
        choices=("16 bits", "8 bits, half the memory", "4 bits, a quarter of the memory"),
    ),
    Item(
        "spill_megabytes",
        "Memory for idle chats, MB",
        "Keeps what idle chats have read, so that they go on at once.",
        special="None",
    ),
    Item(
        "mmap",
        "Map the model file",
        "The system may drop what is not needed and read it again. Without, all of it is read at the start.",
    ),
)
_HINTS = {item.name: item.hint for item in NUMBERS}


class ProfileForm(QWidget):
    """Shows what `outlook` gives under `settings`; `value` is what the settings shall be."""

    def __init__(
        self, settings: Settings, outlook: Outlook, name: str = "", parent: QWidget | None = None
    ) -> None:
        """`name` is the model's."""
        super().__init__(parent)
        self._outlook = outlook
        self._name = one_line(name, 40)
        self._own = own_numbers(settings)
        self._profile = Form(settings, (_PROFILE,), "setting")
        self._backs = {item.name: self._back(item) for item in NUMBERS}
        self._numbers = Form(self._plan(), NUMBERS, "setting", asides=self._backs)
        self._summary = Label("", "quiet", self)
        self._summary.setObjectName("profileSummary")
        self._summary.setWordWrap(True)
        self._profile.edited.connect(self._refresh)
        self._numbers.edited.connect(self._edited)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.GAP_2)
        under = QHBoxLayout()  # the fields, and not their labels
        under.addSpacing(theme.px(LABELS) + theme.GAP_4)
        under.addWidget(self._summary, 1)
        column.addWidget(self._profile)
        column.addLayout(under)
        column.addWidget(self._numbers)
        self._refresh()

    def value(self, base: Settings) -> Settings:
        """`base` with the profile that is chosen, and with the user's own numbers."""
        return dataclasses.replace(
            base, profile=self._profile.value().profile, **dataclasses.asdict(self._own)
        )

    def _back(self, item: Item) -> icons.IconButton:
        button = icons.IconButton(
            "back", f"Profile's value again: {item.label}", f"setting_{item.name}_back", self
        )
        button.setProperty("number", item.name)
        button.clicked.connect(self._give_back)
        return button

    def _plan(self) -> Plan:
        return self._outlook.plan(self._profile.value().profile, self._own)

    def _edited(self, name: str) -> None:
        value = getattr(self._numbers.value(), name)
        given = getattr(self._without(name), name)
        self._own = dataclasses.replace(self._own, **{name: None if value == given else value})
        self._refresh()

    def _give_back(self) -> None:
        name = self.sender().property("number")
        self._own = dataclasses.replace(self._own, **{name: None})
        self._refresh()
        self._numbers.focus(name)

    def _without(self, name: str) -> Plan:
        """What the profile gives for this number beside the user's other ones."""
        others = dataclasses.replace(self._own, **{name: None})
        return self._outlook.plan(self._profile.value().profile, others)

    def _refresh(self) -> None:
        plan = self._plan()
        self._numbers.show_value(plan)
        for name in OWN_NUMBERS:
            mine = getattr(self._own, name) is not None
            self._backs[name].setVisible(mine)
            given = _words(name, self._without(name)) if mine else ""
            words = f"Your own. The profile gives {given}." if mine else _HINTS[name]
            self._numbers.explain(name, words)
        self._profile.explain("profile", _PROFILE_HINTS[self._profile.value().profile])
        words = _summary(plan, self._outlook, self._name)
        if words != self._summary.text():
            self._summary.setText(words)
        role = "bad" if self._outlook.known and plan.missing else "quiet"
        theme.restyle(self._summary, role)


def _words(name: str, plan: Plan) -> str:
    value = getattr(plan, name)
    item = next(item for item in NUMBERS if item.name == name)
    if name == "kv_type":
        kinds = ("f16", "q8_0", "q4_0")
        return item.choices[kinds.index(value)]
    if isinstance(value, bool):
        return "yes" if value else "no"
    return item.special if item.special and not value else f"{value:,}"


def _summary(plan: Plan, outlook: Outlook, name: str) -> str:
    """What the numbers mean for the memory."""
    if not outlook.known:
        return "Without a model these are the smallest numbers; with one they follow from its size."
    free = f"{outlook.machine.free / 1e9:.1f} GB"
    if plan.missing:
        return (
            f"{name} with this pool takes {size(plan.missing)} more than can be spared ({free} are free). It may be "
            "slow, or not load at all. Choose Edge, a smaller pool or a smaller model."
        )
    return f"For {name}: the pool takes {size(plan.pool_bytes)} of the {free} that are free."


def size(count: int) -> str:
    """Bytes in words."""
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{max(1, round(count / 1e6)):,} MB"
