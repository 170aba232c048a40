"""What stands around a message's text: its label above, its state, actions and figures below."""

import re
from dataclasses import dataclass
from enum import Enum

from PySide6.QtCore import QCoreApplication, QPoint, QPointF, QRect, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter, QPolygon

from app.chat.models import FinishReason, Message, Role, Status
from app.ui import theme
from app.ui.blocks import Block, Canvas
from app.ui.cut_note import CutNote
from app.ui.inline import Look, Run
from app.ui.rich_text import RichText
from app.ui.text_style import Style

translate = QCoreApplication.translate

ROW = 32
"""Height of the row of actions, px at the usual scale."""
CARD_PAD = theme.GAP_3
CARD_OUTSET = theme.GAP_4
ERROR_LIMIT = 600
"""Characters of an error that are shown."""
_MARK = 20
_BETWEEN = " · "
_ORDER_MARKS = re.compile("[\u202a-\u202e\u2066-\u2069]")


class Verb(Enum):
    """What a button of a message does."""

    COPY_CODE = "copyCode"
    COPY_ANSWER = "copyAnswer"
    REGENERATE = "regenerateButton"
    RETRY = "retryButton"
    PROMPT = "promptButton"
    FOLD = "thoughtsButton"
    SUMMARY = "summaryButton"


class Mark(Enum):
    """The shape that goes with a state's words."""

    NONE = "none"
    SQUARE = "square"
    TRIANGLE = "triangle"


@dataclass(frozen=True, slots=True)
class Note:
    """A state in words."""

    text: str
    mark: Mark = Mark.NONE


def _bounded(text: str) -> str:
    """An error text as it may be shown: it can come from anywhere, so no endless one and no hidden order."""
    text = _ORDER_MARKS.sub("", text)
    return text if len(text) <= ERROR_LIMIT else f"{text[: ERROR_LIMIT - 1]}…"


def speaker(role: Role) -> str:
    """Who speaks, as it is shown."""
    return {
        Role.USER: translate("Transcript", "You"),
        Role.ASSISTANT: translate("Transcript", "Tutti"),
        Role.SYSTEM: translate("Transcript", "System prompt"),
        Role.TOOL: translate("Transcript", "Tool"),
    }[role]


def note_of(message: Message, has_text: bool) -> Note | None:
    """What is to be said about the state of this message; None if nothing."""
    if message.role is not Role.ASSISTANT:
        return None
    if message.status is Status.STREAMING:
        return None if has_text else Note("…")
    if message.status is Status.FAILED:
        reason = message.error or translate("Transcript", "This answer could not be written.")
        return Note(_bounded(reason), Mark.TRIANGLE)
    if message.status is Status.STOPPED:
        return Note(translate("Transcript", "Stopped"), Mark.SQUARE)
    if message.status is Status.INTERRUPTED:
        text = translate(
            "Transcript", "Interrupted: Tutti ended while this answer was being written."
        )
        return Note(text, Mark.SQUARE)
    if not has_text:
        return Note(
            translate("Transcript", "Empty answer: the model ended without writing anything.")
        )
    if message.finish is FinishReason.LENGTH:
        text = translate("Transcript", "Cut here: the answer reached its greatest length.")
        return Note(_bounded(message.error) if message.error else text, Mark.SQUARE)
    return None


def verbs_of(message: Message, has_text: bool) -> tuple[Verb, ...]:
    """The actions offered under this message."""
    if message.role is not Role.ASSISTANT or message.status is Status.STREAMING:
        return ()
    again = Verb.REGENERATE if message.status is Status.DONE and has_text else Verb.RETRY
    prompt = (Verb.PROMPT,) if message.usage.prompt_tokens else ()
    if not has_text:
        return (again, *prompt)
    two = (again, Verb.COPY_ANSWER) if again is Verb.RETRY else (Verb.COPY_ANSWER, again)
    return (*two, *prompt)


def figures_of(message: Message) -> str:
    """Speed, time and share of the prompt that was in the pool, as far as they are known."""
    usage, parts = message.usage, []
    if message.role is not Role.ASSISTANT or message.status is Status.STREAMING:
        return ""
    if usage.completion_tokens and message.seconds > 0:
        rate = usage.completion_tokens / message.seconds
        shown = f"{rate:.0f}" if rate >= 10 else f"{rate:.1f}"
        parts.append(translate("Transcript", "{0} tok/s").format(shown))
        parts.append(translate("Transcript", "{0} s").format(f"{message.seconds:.1f}"))
    if usage.prompt_tokens:
        text = translate("Transcript", "{0} of {1} from cache")
        parts.append(text.format(usage.cached_tokens, usage.prompt_tokens))
    return _BETWEEN.join(parts)


def fitting(figures: str, room: int, font: QFont) -> str:
    """As many of the figures as there is room for, px; the last ones tell most."""
    metrics, parts = QFontMetrics(font), figures.split(_BETWEEN)
    while parts and metrics.horizontalAdvance(_BETWEEN.join(parts)) > room:
        parts = parts[1:]
    return _BETWEEN.join(parts)


class HeadBlock(Block):
    """The quiet label above a message."""

    def __init__(self, role: Role, *, first: bool = False) -> None:
        super().__init__(theme.GAP_5 if first else theme.GAP_2)
        self._role = role
        self._label = RichText([Run(speaker(role))])
        self._above = 0
        self.cut: CutNote | None = None
        """What is said of the messages above, where anything is."""

    def set_cut(self, summary: str | None) -> None:
        """Say that what stands above is not sent to the model any more, and that this summary ("": none) stands for it;
        None says nothing."""
        self.cut = CutNote(summary) if summary is not None else None
        self.release()

    def fold(self) -> None:
        """Show the summary, or hide it."""
        if self.cut is not None:
            self.cut.folded = not self.cut.folded
            self.release()

    def _below(self) -> int:
        return theme.GAP_1 + (CARD_PAD if self._role is Role.USER else 0)

    def estimate(self, width: int, style: Style) -> None:
        self._above = self.cut.estimate(style) if self.cut is not None else 0
        self.height = self.gap + self._above + style.small_pitch + self._below()

    def lay_out(self, width: int, style: Style) -> int:
        self._above = self.cut.lay_out(width, style) if self.cut is not None else 0
        height = self._label.lay_out(
            width, style, style.label, style.small_pitch, style.format(Look.QUIET)
        )
        return self._above + height + self._below()

    def card_top(self) -> int:
        """Where the card of a user's message begins, from this block's top."""
        return self.height - CARD_PAD

    def paint(self, canvas: Canvas) -> None:
        top = canvas.top + self.gap
        if self.cut is not None:
            self.cut.paint(canvas, top)
        self._label.draw(canvas.painter, QPointF(canvas.left, top + self._above), canvas.style)

    def visible(self) -> str:
        label = self._label.visible()
        return label if self.cut is None else f"{self.cut.visible()}\n{label}"


class FootBlock(Block):
    """State, actions and figures under a message; under a user's message only the end of its card."""

    def __init__(self, message: Message, has_text: bool) -> None:
        super().__init__()
        self.revealed = False
        self.taken = 0
        """What the buttons take of the row, px: figures stand in the rest."""
        self.update(message, has_text)

    def update(self, message: Message, has_text: bool) -> None:
        """Show the state of this message."""
        self.role = message.role
        self._note = note_of(message, has_text)
        self._rich = RichText([Run(self._note.text)]) if self._note is not None else None
        self._failed = message.status is Status.FAILED
        self.verbs = verbs_of(message, has_text)
        self.figures = figures_of(message)
        self._note_height = 0
        self.release()

    def estimate(self, width: int, style: Style) -> None:
        note = style.pitch + theme.GAP_2 if self._note is not None else 0
        self.height = self._rest() + note

    def _rest(self) -> int:
        if self.role is not Role.ASSISTANT:
            return CARD_PAD + theme.GAP_4
        return theme.GAP_1 + theme.px(ROW) + theme.GAP_4

    def lay_out(self, width: int, style: Style) -> int:
        self._note_height = 0
        if self._rich is not None and self._note is not None:
            room = width - (theme.px(_MARK) if self._note.mark is not Mark.NONE else 0)
            height = self._rich.lay_out(
                room, style, style.body, style.pitch, style.format(Look.QUIET)
            )
            self._note_height = theme.GAP_2 + height
        return self._note_height + self._rest()

    def row(self, left: int, top: int, width: int) -> QRect:
        """The row of actions, for a block painted there."""
        return QRect(left, top + self._note_height + theme.GAP_1, width, theme.px(ROW))

    def paint(self, canvas: Canvas) -> None:
        if self._rich is not None and self._note is not None:
            left = canvas.left
            if self._note.mark is not Mark.NONE:
                centre = QPoint(
                    left + theme.px(6), canvas.top + theme.GAP_2 + canvas.style.pitch // 2
                )
                colour = canvas.style.bad if self._failed else canvas.style.quiet
                canvas.painter.setPen(Qt.PenStyle.NoPen)
                canvas.painter.setBrush(colour)
                draw_mark(canvas.painter, self._note.mark, centre)
                left += theme.px(_MARK)
            self._rich.draw(canvas.painter, QPointF(left, canvas.top + theme.GAP_2), canvas.style)
        if self.revealed and self.figures:
            canvas.painter.setPen(canvas.style.quiet)
            canvas.painter.setFont(canvas.style.small)
            row = self.row(canvas.left, canvas.top, canvas.width)
            flags = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            room = row.width() - self.taken
            canvas.painter.drawText(row, flags, fitting(self.figures, room, canvas.style.small))

    def visible(self) -> str:
        note = self._note.text if self._note is not None else ""
        return "\n".join(part for part in (note, self.figures) if part)


def draw_mark(painter: QPainter, mark: Mark, centre: QPoint) -> None:
    """Draw a state's shape, 10 px at the usual scale, in the painter's brush."""
    painter.save()
    painter.translate(centre)
    painter.scale(theme.scale(), theme.scale())
    if mark is Mark.SQUARE:
        painter.drawRect(QRect(-4, -4, 9, 9))
    elif mark is Mark.TRIANGLE:
        painter.drawPolygon(QPolygon([QPoint(0, -6), QPoint(6, 5), QPoint(-6, 5)]))
    painter.restore()
