"""What one chat may have of its own: instructions, answer length, sampling."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, Literal, TypeVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QVBoxLayout, QWidget

from app.chat.model_state import ModelState
from app.chat.models import Conversation, ConversationSettings, Effort
from app.sampling import taking
from app.settings import Settings
from app.ui import geometry, theme
from app.ui.conversation_model import shown_title
from app.ui.fields import Form, Item, Tick
from app.ui.form_page import form_page
from app.ui.plain import ElidedLabel
from app.ui.sampling_form import SamplingForm

_T = TypeVar("_T")
_PROMPT = (Item("system_prompt", "Instructions"),)
_LIMIT = (Item("max_answer_tokens", "Longest answer, tokens", special="No limit"),)


_THINKING = {"model": None, "on": True, "off": False}
_AS_IT_DOES = "As the model does"
_REASONING = (
    Item("thinking", "Reasoning", choices=(_AS_IT_DOES, "Think first", "Answer at once")),
    Item("effort", "How much reasoning", choices=(_AS_IT_DOES, "Little", "Medium", "Much")),
)


@dataclass(frozen=True, slots=True)
class _Reasoning:
    """Whether and how much the model shall reason in this chat, as the form has it."""

    thinking: Literal["model", "on", "off"]
    effort: Effort

    @classmethod
    def of(cls, own: ConversationSettings) -> "_Reasoning":
        """The form's words for these settings."""
        thinking: Literal["model", "on", "off"] = "on" if own.thinking else "off"
        return cls("model" if own.thinking is None else thinking, own.effort)


class Own(QWidget, Generic[_T]):
    """A form that counts only where its box is ticked; else the general setting does."""

    def __init__(
        self, name: str, label: str, ticked: bool, form: QWidget, value: Callable[[], _T]
    ) -> None:
        super().__init__()
        self._value = value
        self._box = Tick(label, self)
        self._box.setObjectName(name)
        self._box.setAccessibleName(label)
        self._box.setChecked(ticked)
        self._box.toggled.connect(form.setEnabled)
        form.setEnabled(ticked)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.GAP_2)
        layout.addWidget(self._box)
        layout.addWidget(form)

    @property
    def ticked(self) -> bool:
        return self._box.isChecked()

    def value(self) -> _T | None:
        """What is in the form, or None for the general setting."""
        return self._value() if self.ticked else None


class ChatSettingsDialog(QDialog):
    """Shows a chat's settings over the general ones; once accepted, `value()` is what they shall be."""

    def __init__(
        self,
        conversation: Conversation,
        general: Settings,
        model: ModelState = ModelState(),
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("chatSettingsDialog")
        self.setWindowTitle("Settings of this chat")
        self.setWindowModality(Qt.WindowModality.WindowModal)
        own = self._own = conversation.settings
        base = _over(general, own)
        prompt, limit = Form(base, _PROMPT, "chat"), Form(base, _LIMIT, "chat")
        self._prompt = Own(
            "chat_own_prompt",
            "Instructions of its own",
            own.system_prompt is not None,
            prompt,
            prompt.value,
        )
        self._limit = Own(
            "chat_own_limit",
            "Answer length of its own",
            own.max_answer_tokens is not None,
            limit,
            limit.value,
        )
        usual = taking(general.sampling, model.recommended, general.sampling_open)
        self._sampling_form = SamplingForm(own.sampling or usual, "chat")
        self._sampling = Own(
            "chat_own_sampling",
            "Sampling of its own",
            own.sampling is not None,
            self._sampling_form,
            self._sampling_form.value,
        )
        rows = [
            item
            for item, known in zip(_REASONING, (model.can_switch, model.can_effort), strict=True)
            if known
        ]
        self._reasoning = Form(_Reasoning.of(own), rows, "chat") if rows else None
        self._lay_out(shown_title(conversation))
        geometry.fit_dialog(self, 520, 640)

    def accept(self) -> None:
        if not (self._sampling.ticked and self._sampling_form.refuses()):
            super().accept()

    def value(self) -> ConversationSettings:
        """The chat's own settings, None where the general one counts."""
        prompt, limit = self._prompt.value(), self._limit.value()
        reasoning = _Reasoning.of(self._own) if self._reasoning is None else self._reasoning.value()
        return ConversationSettings(
            system_prompt=None if prompt is None else prompt.system_prompt,
            sampling=self._sampling.value(),
            max_answer_tokens=None if limit is None else limit.max_answer_tokens,
            thinking=_THINKING[reasoning.thinking],
            effort=reasoning.effort,
        )

    def _lay_out(self, title: str) -> None:
        column = form_page(self, "chatSettingsArea", theme.GAP_4)
        column.addWidget(ElidedLabel(title, "heading"))
        for section in (self._reasoning, self._prompt, self._limit, self._sampling):
            if section is not None:
                column.addWidget(section)
        column.addStretch(1)


def _over(general: Settings, own: ConversationSettings) -> Settings:
    prompt, limit = own.system_prompt, own.max_answer_tokens
    return replace(
        general,
        system_prompt=general.system_prompt if prompt is None else prompt,
        max_answer_tokens=general.max_answer_tokens if limit is None else limit,
    )
