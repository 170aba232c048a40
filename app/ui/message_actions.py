"""Which buttons the messages in view have, when they show, and what they do.

The actions under an answer show for the last answer, for the message under the mouse, and for the one whose
button has the focus.  Only the last message can be written anew: nothing follows from it yet.
"""

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QGuiApplication

from app.chat.models import Role
from app.ui.actions import ActionButton, ActionPool, Wanted, row_width, words_of
from app.ui.code import CodeBlock
from app.ui.entry import Entry
from app.ui.flow import Spot
from app.ui.flow_view import FlowView
from app.ui.message_frame import FootBlock, HeadBlock, Verb
from app.ui.thought_block import ThoughtBlock

_ANEW = (Verb.REGENERATE, Verb.RETRY)


class MessageActions(QObject):
    """Buttons of the messages of one view."""

    regenerate = Signal(int)
    retry = Signal(int)
    prompt = Signal(int)
    fold = Signal(int, object)
    """Of this message, what this verb shows or hides."""

    def __init__(self, view: FlowView) -> None:
        super().__init__(view)
        self._view = view
        self._pool = ActionPool(view.viewport(), view)
        self._hovered: int | None = None
        self._placing = False

    @property
    def buttons(self) -> list[ActionButton]:
        """The buttons in view, from top to bottom."""
        return self._pool.buttons

    def hover(self, entry: int | None) -> None:
        """The mouse is over this message."""
        if entry != self._hovered:
            self._hovered = entry
            self.place()

    @Slot()
    def place(self) -> None:
        """Put the buttons where the flow's blocks are (which may move the focus, and so ask for it again)."""
        if self._placing:
            return
        self._placing = True
        made = self._pool.place(self._wanted())
        self._placing = False
        for button in made:
            button.chosen.connect(self._act)
            button.focusMoved.connect(self.place)

    def _wanted(self) -> list[Wanted]:
        wanted: list[Wanted] = []
        for spot in self._view.flow.spots:
            block = self._view.block_at(spot)
            if isinstance(block, CodeBlock):
                wanted.append(self._copy_code(spot, block))
            elif isinstance(block, ThoughtBlock):
                wanted.append(self._unfold(spot, block))
            elif isinstance(block, HeadBlock):
                wanted += self._summary(spot, block)
            elif isinstance(block, FootBlock):
                wanted += self._under(spot, block)
        return wanted

    def _entry(self, spot: Spot) -> Entry:
        return self._view.flow.entries[spot.entry]

    def _copy_code(self, spot: Spot, block: CodeBlock) -> Wanted:
        left, width = self._view.column()
        area = block.copy_area(left, spot.y, width)
        message = self._entry(spot).message.id
        return Wanted(message, spot.block, Verb.COPY_CODE, area, at_right=True, revealed=True)

    def _unfold(self, spot: Spot, block: ThoughtBlock) -> Wanted:
        left, width = self._view.column()
        row = block.row(left, spot.y, width)
        message = self._entry(spot).message.id
        label = f"{'▸' if block.folded else '▾'}  {block.label}"
        return Wanted(message, -2, Verb.FOLD, row, at_right=False, revealed=True, label=label)

    def _summary(self, spot: Spot, head: HeadBlock) -> list[Wanted]:
        if head.cut is None or not head.cut.summary:
            return []
        left, width = self._view.column()
        row = head.cut.row(left, spot.y + head.gap, width)
        message = self._entry(spot).message.id
        label = f"{'▸' if head.cut.folded else '▾'}  {words_of(Verb.SUMMARY)[0]}"
        return [Wanted(message, -3, Verb.SUMMARY, row, at_right=False, revealed=True, label=label)]

    def _under(self, spot: Spot, foot: FootBlock) -> list[Wanted]:
        message = self._entry(spot).message.id
        shown = self._shows(spot.entry, message)
        if foot.revealed != shown:
            foot.revealed = shown
            self._view.viewport().update(self._view.spot_rect(spot))
        left, width = self._view.column()
        row = foot.row(left, spot.y, width)
        last = spot.entry == self._view.flow.last
        verbs = [verb for verb in foot.verbs if last or verb not in _ANEW]
        foot.taken = row_width(verbs)
        return [Wanted(message, -1, verb, row, at_right=False, revealed=shown) for verb in verbs]

    def _shows(self, entry: int, message: int) -> bool:
        focused = self._pool.focused()
        if focused is not None and focused.message == message:
            return True
        return entry in (self._hovered, self._last_answer())

    def _last_answer(self) -> int:
        entries, last = self._view.flow.entries, self._view.flow.last
        return last if entries and entries[last].message.role is Role.ASSISTANT else last - 1

    @Slot(object)
    def _act(self, button: ActionButton) -> None:
        wanted = button.wanted
        if wanted is None:
            return
        if wanted.verb is Verb.REGENERATE:
            self.regenerate.emit(wanted.message)
        elif wanted.verb is Verb.RETRY:
            self.retry.emit(wanted.message)
        elif wanted.verb is Verb.PROMPT:
            self.prompt.emit(wanted.message)
        elif wanted.verb in (Verb.FOLD, Verb.SUMMARY):
            self.fold.emit(wanted.message, wanted.verb)
        else:
            self._copy(wanted)
            button.thank()

    def _copy(self, wanted: Wanted) -> None:
        for spot in self._view.flow.spots:
            entry = self._entry(spot)
            if entry.message.id == wanted.message:
                whole = wanted.verb is Verb.COPY_ANSWER
                text = entry.text if whole else entry.code_of(wanted.block)
                QGuiApplication.clipboard().setText(text)
                return
