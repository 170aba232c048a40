"""A repository's card: a stranger's Markdown, shown without anything that could run, load or open."""

import re
from itertools import islice

from PySide6.QtCore import QUrl
from PySide6.QtGui import QTextCharFormat, QTextCursor, QTextDocument
from PySide6.QtWidgets import QFrame, QTextBrowser, QWidget

from app.errors import harmless
from app.ui import theme

_LONGEST, _MOST_LINES, _MOST_CELLS = 10_000, 300, 400
"""Of what is shown.  Qt takes seconds for thousands of rows of a table or a list."""

_RULE = re.compile(r"^---[ \t\r]*$", re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?(-->|\Z)", re.DOTALL)
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,2000}>")
_PICTURE = re.compile(r"!\[([^\]\n]{0,200})\]\([^)\n]{0,2000}\)")
_FEATURES = (
    QTextDocument.MarkdownFeature.MarkdownDialectGitHub
    | QTextDocument.MarkdownFeature.MarkdownNoHTML
)


def readable(card: str) -> str:
    """The words of a card: without its table of facts, markup of web pages, and pictures; bounded.

    Takes up to a tenth of a second for a hostile one: not for the window's thread.
    """
    text = harmless(_behind_front(card.replace("\r\n", "\n"))[: 4 * _LONGEST])
    text = _COMMENT.sub("", text)
    text = _PICTURE.sub(lambda match: match[1], _TAG.sub("", text))
    whole = text.strip()
    cut = whole[: min(_LONGEST, _end(whole, "\n", _MOST_LINES), _end(whole, "|", _MOST_CELLS))]
    return cut if cut == whole else f"{cut}…"


def _behind_front(card: str) -> str:
    """Without the table of facts that stands before the words, between two rules; looked at once, however long it is."""
    text = card.lstrip()
    first = _RULE.match(text)
    last = _RULE.search(text, first.end()) if first else None
    return text[last.end() :] if last else text


def _end(text: str, mark: str, most: int) -> int:
    """Where the mark stands that is one too many; the length of the text where there is none."""
    marks = (found.start() for found in re.finditer(re.escape(mark), text))
    return next(islice(marks, most, None), len(text))


class CardView(QTextBrowser):
    """Links are text; pictures are never looked for, not even on this disk."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("repositoryCard")
        self.setAccessibleName("Description by its owner")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setOpenLinks(False)
        self.setOpenExternalLinks(False)
        self._shown: QTextDocument | None = None

    def show_text(self, text: str) -> None:
        """Show what `readable` made of a card."""
        # Nobody looks at it while it is made, so that it is laid out once.
        document = QTextDocument(self)
        document.setDefaultFont(self.font())
        document.setDocumentMargin(0)
        document.setIndentWidth(theme.GAP_4)
        document.setMarkdown(text, _FEATURES)
        _soften(document)
        self.setDocument(document)
        before, self._shown = self._shown, document
        if before is not None:
            before.deleteLater()

    def loadResource(self, kind: int, name: QUrl | str) -> object:
        """Nothing, whatever it is: a pipe would be waited for and a share would be sent the user's name."""
        return None


def _soften(document: QTextDocument) -> None:
    """The headings of a card are not larger than the name of what it describes."""
    cursor = QTextCursor(document)
    cursor.beginEditBlock()
    block = document.begin()
    while block.isValid():
        level = block.blockFormat().headingLevel()
        if level:
            cursor.setPosition(block.position())
            cursor.movePosition(
                QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor
            )
            form = QTextCharFormat()
            form.setFont(
                theme.body_font(theme.HEADING_PX if level == 1 else theme.BODY_PX, bold=True)
            )
            # Not merged: Markdown's own size would go before any other.
            cursor.setCharFormat(form)
        block = block.next()
    cursor.endEditBlock()
