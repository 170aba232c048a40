"""A repository's card: a stranger's Markdown, shown without anything that could run, load or open."""

import re

from PySide6.QtCore import QUrl
from PySide6.QtGui import QTextCharFormat, QTextCursor, QTextDocument
from PySide6.QtWidgets import QFrame, QTextBrowser, QWidget

from app.ui import theme

_LONGEST = 20_000
_FRONT = re.compile(r"\A\s*---\s*\n.*?\n---\s*(\n|\Z)", re.DOTALL)
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
    text = _FRONT.sub("", card[: 4 * _LONGEST], count=1)
    text = _COMMENT.sub("", text)
    text = _PICTURE.sub(lambda match: match[1], _TAG.sub("", text))
    cut = text.strip()[:_LONGEST]
    return cut if len(text.strip()) <= _LONGEST else f"{cut}…"


class CardView(QTextBrowser):
    """Links are text; pictures are never looked for, not even on this disk."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("repositoryCard")
        self.setAccessibleName("Description by its owner")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setOpenLinks(False)
        self.setOpenExternalLinks(False)

    def show_text(self, text: str) -> None:
        """Show what `readable` made of a card."""
        document = self.document()
        document.setMarkdown(text, _FEATURES)
        document.setDocumentMargin(0)
        document.setIndentWidth(theme.GAP_4)
        self._soften(document)

    def _soften(self, document: QTextDocument) -> None:
        """A card's headings are not larger than the name of what it describes."""
        block = document.begin()
        while block.isValid():
            level = block.blockFormat().headingLevel()
            if level:
                cursor = QTextCursor(block)
                cursor.select(QTextCursor.SelectionType.BlockUnderCursor)
                form = QTextCharFormat()
                size = theme.HEADING_PX if level == 1 else theme.BODY_PX
                form.setFont(
                    theme.body_font(size, bold=True),
                    QTextCharFormat.FontPropertiesInheritanceBehavior.FontPropertiesAll,
                )
                cursor.mergeCharFormat(form)
            block = block.next()

    def loadResource(self, kind: int, name: QUrl | str) -> object:
        """Nothing, whatever it is: a pipe would be waited for and a share would be sent the user's name."""
        return None
