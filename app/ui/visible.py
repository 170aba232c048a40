"""Text of which every character can be seen: those without a shape, or that turn the order of others, as ⟨U+202E⟩.  Pure.

`shown` can be taken back by `meant`, exactly: an editor shows the one and means the other.
"""

import re
from typing import Final

# Controls but for tab and line feed; blanks that pass for others or for nothing; marks and overrides of direction; what
# Qt's documents use for themselves; tags, with which text can be hidden in text.  The joiners of letters and pictures
# stay, for words and emoji are written with them.
_HIDDEN: Final = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xa0\xad\u061c\u180e\u2000-\u200b\u200e\u200f\u2028-\u202f\u205f-\u206f"
    "\u3000\ufdd0-\ufdef\ufeff\ufff9-\uffff\ud800-\udfff\U000e0000-\U000e007f"
)
_CODE = re.compile(r"⟨U\+([0-9A-F]{4,6})⟩")
_LOOKALIKE: Final = r"⟨(?=U\+[0-9A-F]{4,6}⟩)"
_SHOWN = re.compile(f"[{_HIDDEN}]|{_LOOKALIKE}")


def shown(text: str, *, also: str = "") -> str:
    """`text` with what cannot be seen, and the characters `also`, as their codes."""
    pattern = re.compile(f"[{_HIDDEN}{re.escape(also)}]|{_LOOKALIKE}") if also else _SHOWN
    return pattern.sub(lambda match: f"⟨U+{ord(match[0]):04X}⟩", text)


def meant(text: str) -> str:
    """`text` with the characters themselves instead of their codes; half a surrogate pair is no character."""
    return _CODE.sub(_character, text)


def _character(match: re.Match[str]) -> str:
    code = int(match[1], 16)
    return chr(code) if code <= 0x10FFFF and not 0xD800 <= code < 0xE000 else match[0]
