"""The prompt template of a model: which there are, one's own to write, and what each makes of an example.

A template is a stranger's or the user's text and is never anything else here.  Checking and rendering are the text
worker's; this only waits for it, and goes on with whatever was typed meanwhile.
"""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QPushButton,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from app.chat.prompt_port import PromptFormat
from app.errors import AppError
from app.prompting import EDITED, OWN, Rehearsal, TemplateSet
from app.ui import accessible, aio, geometry, theme
from app.ui.fields import Choice
from app.ui.plain import ElidedLabel, Label, one_line
from app.ui.prompt_view import PromptView
from app.ui.template_text import TemplateText
from app.ui.template_trial import TemplateTrial

_OWN = "Your own"
_FAULT = "It could not be used, by a fault in Tutti; the log has the details."
_NAME_LIMIT = 60
_CHOICE = 210
"""Width of the choice, px at the usual scale."""


class TemplateDialog(QDialog):
    """Shows `found` for the model of this name; `draft` is a text that was typed before and is not in use."""

    def __init__(
        self,
        prompts: PromptFormat,
        found: TemplateSet,
        model: str,
        draft: str | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("templateDialog")
        self.setWindowTitle("Prompt template")
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self._prompts, self._found = prompts, found
        self._present = found.present
        self._busy = self._changed = self._bad = False
        self._leaving: int | None = None
        self.problem = ""
        """Why the template was not used in the end, where nobody was there any more to see it."""
        self._title = ElidedLabel(one_line(model), "heading", self)
        self._in_use = Label("", "quiet", self)
        self._in_use.setObjectName("templateInUse")
        self._in_use.setWordWrap(True)
        self._choice = Choice(self)
        self._choice.setObjectName("templateChoice")
        self._choice.setAccessibleName("Template to show")
        self._choice.setMinimumWidth(theme.px(_CHOICE))
        self._choice.setFixedHeight(theme.px(theme.CONTROL) + 2)
        self._text = TemplateText(self)
        self._verdict = Label("", "quiet", self)
        self._verdict.setObjectName("templateVerdict")
        self._verdict.setWordWrap(True)
        self._preview = PromptView("templatePreview", "Preview of an example", self)
        self._restore = self._button("", "restoreTemplateButton")
        self._close = self._button("Close", "closeButton")
        self._apply = self._button("Apply", "applyTemplateButton", "primary")
        self._trial = TemplateTrial(prompts, self._text.template, self)
        self._offer()
        self._lay_out()
        self._connect()
        geometry.fit_dialog(self, 1040, 680)
        self._begin(draft if draft is not None else self._present[1])

    @property
    def unsaved(self) -> str | None:
        """What was typed and is not in use; None where there is nothing of that kind."""
        text = self._text.template()
        return text if text != self._present[1] else None

    def done(self, code: int) -> None:
        """Nothing is tried any more; what is being applied is waited for, unseen."""
        self._trial.end()
        if self._busy:
            self._leaving = code
            self.hide()
        else:
            super().done(code)

    # --- layout ----------------------------------------------------------------------------------------------

    def _button(self, words: str, name: str, role: str = "") -> QPushButton:
        button = QPushButton(words, self)
        button.setObjectName(name)
        button.setAccessibleName(words)
        button.setAutoDefault(False)
        if role:
            button.setProperty("role", role)
        return button

    def _offer(self) -> None:
        """What there is to choose from; each carries its text."""
        name, text = self._found.usual
        usual = "The model's own" if name == OWN else name
        self._choice.addItem(one_line(usual, _NAME_LIMIT), text)
        for own, source in self._found.own:
            if source != text:
                words = f"The model's “{own}”" if own else "The model's own, which does not work"
                self._choice.addItem(one_line(words, _NAME_LIMIT), source)
        self._choice.addItem(_OWN, None)
        self._restore.setText(f"Restore {name}")
        self._restore.setAccessibleName(self._restore.text())

    def _lay_out(self) -> None:
        top = QHBoxLayout()
        top.setSpacing(theme.GAP_4)
        top.addWidget(self._title, 1)
        top.addWidget(self._choice, 0)
        halves = QSplitter(Qt.Orientation.Horizontal, self)
        halves.setObjectName("templateHalves")
        halves.setChildrenCollapsible(False)
        halves.setHandleWidth(theme.GAP_4)
        halves.addWidget(_column(Label("Template", "strong"), self._text))
        halves.addWidget(_column(Label("An example, as it is fed", "strong"), self._preview))
        halves.setSizes([560, 440])
        foot = QHBoxLayout()
        foot.setSpacing(theme.GAP_2)
        foot.addWidget(self._restore)
        foot.addStretch(1)
        foot.addWidget(self._close)
        foot.addWidget(self._apply)
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.GAP_5, theme.GAP_4, theme.GAP_5, theme.GAP_4)
        column.setSpacing(theme.GAP_2)
        column.addLayout(top)
        column.addWidget(self._in_use)
        column.addWidget(halves, 1)
        column.addWidget(self._verdict)
        column.addSpacing(theme.GAP_1)
        column.addLayout(foot)

    def _connect(self) -> None:
        self._choice.activated.connect(self._chosen)
        self._text.textChanged.connect(self._edited)
        self._trial.begun.connect(self._checking)
        self._trial.ended.connect(self._tried)
        self._trial.failed.connect(self._failed)
        self._apply.clicked.connect(self._use_this)
        self._restore.clicked.connect(self._use_usual)
        self._close.clicked.connect(self.accept)

    # --- what is shown ---------------------------------------------------------------------------------------

    def _begin(self, text: str) -> None:
        self._text.set_template(text)
        self._follow()
        self._trial.start()
        self._text.setFocus()

    def _chosen(self, index: int) -> None:
        text = self._choice.itemData(index)
        if text is not None and text != self._text.template():
            self._text.set_template(text)
        self._follow()

    def _edited(self) -> None:
        self._follow()
        self._trial.request()

    def _follow(self) -> None:
        """The choice, the buttons and the line below the title say what the text is."""
        text = self._text.template()
        known = [self._choice.itemData(index) for index in range(self._choice.count() - 1)]
        self._choice.setCurrentIndex(known.index(text) if text in known else len(known))
        words = f"In use: {_source(self._present[0])}."
        if self._changed:
            words += " The next message of every chat with this model is read anew."
        if text != self._present[1]:
            words += " What is shown here is not in use yet."
        if self._text.heavy:
            words += " It is too long to be edited here, and shown in part."
        self._in_use.setText(words)
        ready = not self._busy and not self._bad
        self._apply.setEnabled(ready and text != self._present[1])
        self._restore.setEnabled(not self._busy and self._present != self._found.usual)

    def _checking(self) -> None:
        self._judge(bad=False)
        self._say("Checking…")

    def _judge(self, *, bad: bool) -> None:
        """What is known to be bad is not offered to be used."""
        self._bad = bad
        self._follow()

    def _failed(self, words: str) -> None:
        self._judge(bad=True)
        self._refuse(words)

    def _tried(self, found: Rehearsal) -> None:
        if found.problem:
            where = f"Line {found.line}: " if found.line else ""
            self._failed(f"{where}{found.problem}")
            self._text.mark_line(found.line)
        else:
            self._say("It works.")
            self._preview.show_prompt(found.prompt)

    def _refuse(self, words: str) -> None:
        self._say(words, bad=True)
        self._preview.clear()

    def _say(self, words: str, *, bad: bool = False) -> None:
        self._text.mark_line(0)
        self._verdict.setText(words)
        role = "bad" if bad else "quiet"
        if self._verdict.property("role") != role:
            self._verdict.setProperty("role", role)
            self._verdict.style().unpolish(self._verdict)
            self._verdict.style().polish(self._verdict)

    # --- what is done ----------------------------------------------------------------------------------------

    def _use_this(self) -> None:
        self._use(self._text.template())

    def _use_usual(self) -> None:
        self._text.set_template(self._found.usual[1])
        self._use(self._found.usual[1])

    def _use(self, text: str) -> None:
        """Have it used for every chat."""
        if not self._busy:
            self._busy = True
            self._follow()
            aio.spawn(self._using(text))

    async def _using(self, text: str) -> None:
        problem = _FAULT
        try:
            problem = await self._try_to_use(text)
        finally:
            self._busy = False
            self._used(problem)

    def _used(self, problem: str) -> None:
        """It is used, or not, for this `problem`: show that, or leave where that was wanted meanwhile."""
        if self._leaving is not None:
            self.problem = problem
            super().done(self._leaving)
            return
        self._follow()
        if problem:
            self._refuse(problem)
        accessible.announce(self._in_use, problem or self._in_use.text())

    async def _try_to_use(self, text: str) -> str:
        """What is wrong with it; "" where it is in use now."""
        try:
            await self._prompts.use_template("" if text == self._found.usual[1] else text)
            self._present = (await self._prompts.templates()).present
        except AppError as error:
            return str(error)
        self._changed = True
        return ""


def _source(name: str) -> str:
    """Where the format of this name comes from."""
    given = name in (OWN, EDITED) or name.startswith("the model's ")
    return one_line(name if given else f"{name}, recognised from the model's vocabulary", 100)


def _column(heading: QWidget, below: QWidget) -> QWidget:
    part = QWidget()
    column = QVBoxLayout(part)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(theme.GAP_1)
    column.addWidget(heading)
    column.addWidget(below, 1)
    return part
