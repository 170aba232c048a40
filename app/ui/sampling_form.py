"""The controls of sampling: what most people change, and the rest under "More"."""

import dataclasses
from collections.abc import Mapping

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget

from app.sampling import FIELDS, Sampling, Values, taking
from app.ui import icons, theme
from app.ui.fields import Form, Item
from app.ui.listed import NOTATIONS
from app.ui.plain import Label

COMMON = (
    Item(
        "temperature",
        "Temperature",
        "0 always takes the likeliest token.",
        tip="How much the unlikelier tokens get a chance: more is livelier, less is more of the same.",
    ),
    Item(
        "top_k", "Top-k", special="Off", tip="Only so many of the likeliest tokens can be chosen."
    ),
    Item(
        "top_p",
        "Top-p",
        tip="Only the likeliest tokens that together have this share of the chances; 1 is off.",
    ),
    Item(
        "min_p",
        "Min-p",
        special="Off",
        tip="Only tokens that have at least this share of the likeliest one's chance.",
    ),
    Item(
        "repeat_penalty",
        "Repeat penalty",
        tip="Over 1, a token that the chat has already is less likely; 1 is off.",
    ),
    Item(
        "presence_penalty",
        "Presence penalty",
        tip="Takes so much from a token that the chat has already, however often; 0 is off.",
    ),
    Item("seed", "Seed", tip="The same seed gives the same answer to the same question."),
)
FILTERS = (
    Item(
        "typical_p",
        "Typical",
        tip="Only tokens about as surprising as can be expected, up to this share; 1 is off.",
    ),
    Item(
        "xtc_probability",
        "XTC, how often",
        special="Never",
        tip="How often the likeliest tokens are left out, so that a less worn one is taken.",
    ),
    Item(
        "xtc_threshold",
        "XTC, from which chance",
        tip="Of the tokens with at least this chance only the least likely stays; over 0.5 is off.",
    ),
)
REPETITION = (
    Item(
        "frequency_penalty",
        "Frequency penalty",
        tip="Takes so much from a token for each time that the chat has it; 0 is off.",
    ),
    Item(
        "repeat_last_n",
        "Penalties look back, tokens",
        special="The whole answer",
        tip="How many of the chat's last tokens count for the three penalties; 0 is off.",
    ),
    Item(
        "dry_multiplier",
        "DRY",
        special="Off",
        tip="Holds the answer back from repeating whole phrases; 0.8 is usual.",
    ),
    Item("dry_base", "DRY, growth", tip="How much more each further token of a repetition costs."),
    Item(
        "dry_allowed_length",
        "DRY, allowed tokens",
        tip="Repetitions up to this length cost nothing.",
    ),
    Item(
        "dry_penalty_last_n",
        "DRY looks back, tokens",
        special="The whole answer",
        tip="How many of the chat's last tokens are searched for repetitions; 0 is off.",
    ),
    Item(
        "dry_sequence_breakers",
        "DRY, breakers",
        r"Between blanks; \n is a new line, \s a blank.",
        tip="Each of these ends a repetition.",
    ),
)
MIROSTAT = (
    Item(
        "mirostat",
        "Mirostat",
        choices=("Off", "Version 1", "Version 2"),
        tip="Keeps the answer evenly surprising, in place of the filters.",
    ),
    Item("mirostat_tau", "Mirostat, surprise", tip="How surprising the tokens shall be, in bits."),
    Item("mirostat_eta", "Mirostat, speed", tip="How quickly it corrects itself."),
)
TOKENS = (
    Item(
        "logit_bias",
        "Logit bias",
        "Token: bias, from -100 (never) to 100 (always).",
        tip="Makes single tokens of this model, by their numbers, likelier or less likely.",
    ),
)
GROUPS = (
    ("Filters", FILTERS),
    ("Against repetition", REPETITION),
    ("Mirostat", MIROSTAT),
    ("Single tokens", TOKENS),
)

ORDER = (
    "They act in this order: logit bias and DRY, penalties, top-k, typical, top-p, min-p, XTC, temperature. "
    "Mirostat takes the place of everything between penalties and temperature."
)
_HINTS = {item.name: item.hint for item in (*COMMON, *(i for _, items in GROUPS for i in items))}


class SamplingForm(QWidget):
    """Shows `sampling`, with the values that the model's file `advises` in those of its fields that are `free`.

    A field is free until somebody changes it, and again once it is given back.
    """

    def __init__(
        self,
        sampling: Sampling,
        prefix: str,
        *,
        advises: Values = (),
        free: frozenset[str] = frozenset(),
    ) -> None:
        super().__init__()
        self._base = sampling
        self._prefix = prefix
        self._advice = dict(advises)
        self._free = set(free)
        self._backs: dict[str, icons.IconButton] = {}
        shown = taking(sampling, advises, free)
        self._rest = QWidget(self)
        self._common = self._form(shown, COMMON)
        self._more = QPushButton(self)
        self._groups = [(words, self._form(shown, items)) for words, items in GROUPS]
        self._forms = {
            item.name: form
            for form, items in (
                (self._common, COMMON),
                *zip((form for _, form in self._groups), (i for _, i in GROUPS), strict=True),
            )
            for item in items
        }
        self._lay_out()
        self._unfold(open_=False)
        for name in self._advice:
            self._explain(name)

    def value(self) -> Sampling:
        """What was chosen; what is free is as it is by default."""
        usual = Sampling()
        free = {name: getattr(usual, name) for name in self._free}
        return dataclasses.replace(self._effective(), **free)

    def kept(self) -> tuple[str, ...]:
        """The fields that were set to just what they are by default."""
        usual, value = Sampling(), self.value()
        return tuple(
            name
            for name in FIELDS
            if name not in self._free and getattr(value, name) == getattr(usual, name)
        )

    def refuses(self) -> bool:
        """Whether something in it cannot be read; the first such field then has the keyboard."""
        for name in NOTATIONS:
            if self._forms[name].problem(name):
                self._unfold(open_=True)
                self._forms[name].focus(name)
                return True
        return False

    # --- rows ------------------------------------------------------------------------------------------------

    def _form(self, shown: Sampling, items: tuple[Item, ...]) -> Form[Sampling]:
        rows = [
            dataclasses.replace(item, hint=item.hint or " ") if item.name in self._advice else item
            for item in items
        ]
        form = Form(shown, rows, self._prefix, self, asides=self._asides(items))
        form.edited.connect(self._edited)
        return form

    def _asides(self, items: tuple[Item, ...]) -> Mapping[str, QWidget]:
        found: dict[str, QWidget] = {}
        for item in items:
            if item.name in self._advice:
                button = icons.IconButton(
                    "back",
                    f"The model's value again: {item.label}",
                    f"{self._prefix}_{item.name}_back",
                    self,
                )
                button.setProperty("field", item.name)
                button.clicked.connect(self._give_back)
                found[item.name] = self._backs[item.name] = button
        return found

    def _effective(self) -> Sampling:
        found = {name: getattr(form.value(), name) for name, form in self._forms.items()}
        return dataclasses.replace(self._base, **found)

    def _edited(self, name: str) -> None:
        self._free.discard(name)
        self._explain(name)

    def _give_back(self) -> None:
        name = self.sender().property("field")
        self._free.add(name)
        self._forms[name].show_value(
            taking(self._effective(), ((name, self._advice[name]),), (name,))
        )
        self._explain(name)
        self._forms[name].focus(name)

    def _explain(self, name: str) -> None:
        problem = self._forms[name].problem(name)
        words = problem or _HINTS[name]
        if name in self._advice:
            free = name in self._free
            self._backs[name].setVisible(not free)
            source = (
                "From the model's file."
                if free
                else f"Yours. The model's file has {self._advice[name]:g}."
            )
            words = f"{words} {source}".strip()
        if words:
            self._forms[name].explain(name, words)

    # --- layout ----------------------------------------------------------------------------------------------

    def _lay_out(self) -> None:
        self._more.setObjectName(f"{self._prefix}_sampling_more")
        self._more.setProperty("role", "link")
        self._more.clicked.connect(self._turn)
        rest = QVBoxLayout(self._rest)
        rest.setContentsMargins(0, 0, 0, 0)
        rest.setSpacing(theme.GAP_2)
        order = Label(ORDER, "quiet", self._rest)
        order.setWordWrap(True)
        rest.addWidget(order)
        for words, form in self._groups:
            rest.addSpacing(theme.GAP_2)
            rest.addWidget(Label(words, "strong", self._rest))
            rest.addWidget(form)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.GAP_2)
        column.addWidget(self._common)
        column.addWidget(self._more, 0, Qt.AlignmentFlag.AlignLeft)
        column.addWidget(self._rest)

    def _turn(self) -> None:
        self._unfold(open_=self._rest.isHidden())

    def _unfold(self, *, open_: bool) -> None:
        self._rest.setVisible(open_)
        words = "Fewer settings of sampling" if open_ else "More settings of sampling"
        self._more.setText(words)
        self._more.setAccessibleName(words)
