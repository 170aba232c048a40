"""Titles of chats: one short line of plain text, whatever was typed, pasted or generated.

Tags and entities stay as they are: a title is text, and whoever shows it shows it literally.
"""

import re
import unicodedata

from app.chat.models import clean

LIMIT = 60
"""Most characters of a title that is made from a message."""

LIMIT_BY_HAND = 80
"""Most characters of a title that the user gives."""

_LOOKED_AT = 2000
"""Characters of a text that are looked at: a title must not take long, whatever was pasted."""

_MARKS = re.compile(r"^(?:[#>*+\-~=|]+\s+|\d{1,3}[.)]\s+|[#>|]+)+")
_QUOTED = re.compile(r"(?<!\w)([*_`~]{1,3})(?=\S)(.+?)(?<=\S)\1(?!\w)")
_LINE = 200
_JOINERS = "\u200c\u200d"


def from_message(text: str) -> str:
    """A title from the first line with words in it; "" where there is none."""
    for line in text[:_LOOKED_AT].splitlines():
        title = tidy(_unmarked(line), LIMIT)
        if any(character.isalnum() for character in title) and not line.lstrip().startswith("```"):
            return title
    return tidy(text[:_LOOKED_AT], LIMIT)


def tidy(text: str, limit: int = LIMIT_BY_HAND) -> str:
    """One line without control characters and direction marks, at most `limit` characters."""
    shown = "".join(_plain(character) for character in clean(text[:_LOOKED_AT]))
    return _cut(" ".join(shown.split()), limit)


def _unmarked(line: str) -> str:
    """Without the Markdown marks at its start and around its words."""
    return _QUOTED.sub(r"\2", _MARKS.sub("", line.strip()[:_LINE]))


def _plain(character: str) -> str:
    category = unicodedata.category(character)
    if category in ("Cc", "Zl", "Zp"):
        return " "
    if category == "Cf" and character not in _JOINERS:
        return ""
    return character


def _cut(line: str, limit: int) -> str:
    if len(line) <= limit:
        return line
    end = limit - 1
    space = line.rfind(" ", limit // 2, limit)
    if space > 0:
        end = space
    while end > 1 and (_belongs_to_previous(line[end]) or line[end - 1] in _JOINERS):
        end -= 1
    return line[:end].rstrip() + "…"


def _belongs_to_previous(character: str) -> bool:
    return character in _JOINERS or unicodedata.category(character) in ("Mn", "Me", "Mc")
