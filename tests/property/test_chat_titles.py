"""A title is one short plain line for every text."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from app.chat import titles


@given(st.text(max_size=300))
def test_every_title_is_one_short_plain_line(text: str) -> None:
    for title, limit in (
        (titles.from_message(text), titles.LIMIT),
        (titles.tidy(text), titles.LIMIT_BY_HAND),
    ):
        assert len(title) <= limit
        assert title == title.strip()
        assert not any(unicodedata.category(c) in ("Cc", "Zl", "Zp", "Cs") for c in title)
        assert not set("\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f") & set(title)
