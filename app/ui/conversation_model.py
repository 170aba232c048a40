"""The chats as rows of a list: by day, filtered by title, each with the state of its turn.

A thin adapter over the conversations that the service tells of; it changes nothing by itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Final

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtWidgets import QWidget

from app.chat.events import TurnState
from app.chat.models import Conversation, TabState
from app.ui import states
from app.ui.plain import one_line, tooltip

UNTITLED: Final = "New chat"
Index = QModelIndex | QPersistentModelIndex


def shown_title(conversation: Conversation) -> str:
    """The title on one line, or what stands for it."""
    return one_line(conversation.title) or UNTITLED


@dataclass(frozen=True, slots=True)
class Row:
    """A chat, or the heading of the chats below it."""

    heading: str = ""
    conversation: Conversation | None = None
    turn: TurnState = states.IDLE

    @property
    def key(self) -> int | str:
        return self.conversation.id if self.conversation else self.heading


def group(updated: float, today: date) -> str:
    """The heading under which a chat of this time stands."""
    day = datetime.fromtimestamp(updated, tz=UTC).astimezone().date()
    days = (today - day).days
    return "Today" if days <= 0 else "Yesterday" if days == 1 else "Earlier"


def arrange(
    conversations: Sequence[Conversation], turns: dict[int, TurnState], sought: str, today: date
) -> list[Row]:
    """Headings and chats in the order of the list, only those whose title holds `sought`."""
    rows: list[Row] = []
    needle = sought.casefold().strip()
    last = ""
    for conversation in sorted(conversations, key=_newest_first):
        if needle not in shown_title(conversation).casefold():
            continue
        heading = group(conversation.updated, today)
        if heading != last:
            rows.append(Row(heading=heading))
            last = heading
        rows.append(
            Row(conversation=conversation, turn=turns.get(conversation.id, _resting(conversation)))
        )
    return rows


def _newest_first(conversation: Conversation) -> tuple[float, int]:
    return (-conversation.updated, -conversation.id)


def _resting(conversation: Conversation) -> TurnState:
    return states.UNREAD if conversation.unread else states.IDLE


class ConversationModel(QAbstractListModel):
    """The rows of the list."""

    renamed = Signal(int, str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._conversations: dict[int, Conversation] = {}
        self._turns: dict[int, TurnState] = {}
        self._hidden: set[int] = set()
        self._sought = ""
        self._rows: list[Row] = []
        self._places: dict[int, int] = {}
        self._held = False

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._rows)

    def row(self, index: Index) -> Row:
        return self._rows[index.row()]

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        row = self._rows[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return shown_title(row.conversation) if row.conversation else row.heading
            case Qt.ItemDataRole.EditRole:
                return one_line(row.conversation.title) if row.conversation else ""
            case Qt.ItemDataRole.AccessibleTextRole:
                return _spoken(row)
            case Qt.ItemDataRole.ToolTipRole:
                return tooltip(_spoken(row)) if row.conversation else None
            case _:
                return None

    def setData(self, index: Index, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        conversation = self._rows[index.row()].conversation
        title = one_line(str(value))
        if role != Qt.ItemDataRole.EditRole or conversation is None or not title:
            return False
        if title != conversation.title:
            self.renamed.emit(conversation.id, title)
        return True

    def flags(self, index: Index) -> Qt.ItemFlag:
        if not index.isValid() or self._rows[index.row()].conversation is None:
            return Qt.ItemFlag.NoItemFlags
        flag = Qt.ItemFlag
        return flag.ItemIsSelectable | flag.ItemIsEnabled | flag.ItemIsEditable

    def conversations(self) -> tuple[Conversation, ...]:
        return tuple(self._conversations.values())

    def conversation(self, conversation_id: int) -> Conversation | None:
        return self._conversations.get(conversation_id)

    def set_conversations(self, conversations: Sequence[Conversation]) -> None:
        self._conversations = {item.id: item for item in conversations}
        self.refresh()

    def put(self, conversation: Conversation) -> None:
        """Add a chat, or show what changed of it."""
        self._conversations[conversation.id] = conversation
        self.refresh()

    def remove(self, conversation_id: int) -> None:
        self._conversations.pop(conversation_id, None)
        self._turns.pop(conversation_id, None)
        self._hidden.discard(conversation_id)
        self.refresh()

    def set_hidden(self, conversation_id: int, hidden: bool) -> None:
        """Leave out a chat that is about to be deleted."""
        (self._hidden.add if hidden else self._hidden.discard)(conversation_id)
        self.refresh()

    def set_turn(self, conversation_id: int, turn: TurnState) -> None:
        # Ten times a second for each busy chat: no look at the other rows.
        self._turns[conversation_id] = turn
        place = self._places.get(conversation_id)
        if place is not None and self._rows[place].turn != turn:
            self._rows[place] = replace(self._rows[place], turn=turn)
            self.dataChanged.emit(self.index(place), self.index(place))

    def writing(self) -> list[QModelIndex]:
        """The rows of the chats that are writing."""
        found = (key for key, turn in self._turns.items() if turn.state is TabState.WRITING)
        return [self.index(self._places[key]) for key in found if key in self._places]

    def seek(self, text: str) -> None:
        self._sought = text
        self.refresh()

    def index_of(self, conversation_id: int) -> QModelIndex:
        place = self._places.get(conversation_id)
        return QModelIndex() if place is None else self.index(place)

    def hold(self, held: bool) -> None:
        """Keep every row in its place while a title is being edited."""
        self._held = held
        if not held:
            self.refresh()

    def refresh(self) -> None:
        """Bring the rows up to date; only a change of order or membership resets the view."""
        shown = [item for key, item in self._conversations.items() if key not in self._hidden]
        today = datetime.now(tz=UTC).astimezone().date()
        rows = arrange(shown, self._turns, self._sought, today)
        if [row.key for row in rows] != [row.key for row in self._rows]:
            if not self._held:
                self.beginResetModel()
                self._rows = rows
                chats = (row.conversation for row in rows)
                self._places = {chat.id: place for place, chat in enumerate(chats) if chat}
                self.endResetModel()
            return
        old, self._rows = self._rows, rows
        for number, (before, after) in enumerate(zip(old, rows, strict=True)):
            if before != after:
                self.dataChanged.emit(self.index(number), self.index(number))


def _spoken(row: Row) -> str:
    if row.conversation is None:
        return row.heading
    state = states.sentence(row.turn)
    title = shown_title(row.conversation)
    return f"{title}, {state}" if state else title
