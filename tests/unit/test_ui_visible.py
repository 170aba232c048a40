"""Characters that cannot be seen are shown as their codes, and the codes mean them again."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.ui.visible import meant, shown

TEXTS = st.text(
    st.one_of(
        st.sampled_from("ab⟨⟩U+202E7F\n\t\u202e\u00a0\u200b\u2028\u2066\x00\r\ufdd0\U000e0041"),
        st.characters(),
    )
)


@given(TEXTS)
@example("⟨U+202E⟩")
@example("⟨U+27E8⟩U+202E⟩")
@example("⟨⟨U+202E⟩")
@example("⟨U+FFFFFF⟩⟨U+110000⟩⟨U+D800⟩")
def test_what_is_shown_can_be_taken_back(text: str) -> None:
    assert meant(shown(text)) == text


@given(TEXTS)
def test_nothing_is_left_that_hides_or_turns_the_order(text: str) -> None:
    left = {character for character in shown(text) if character not in "\n\t"}
    assert not {one for one in left if unicodedata.category(one) in ("Cc", "Zl", "Zp", "Cs")}
    turning = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
    assert not {one for one in left if unicodedata.bidirectional(one) in turning}
    assert not {one for one in left if unicodedata.category(one) == "Zs"} - {" "}


@pytest.mark.parametrize(
    "text", ["plain\n\ttext", "你好", "שלום", "می‌خواهم", "👨‍👩‍👧‍👦", "e\u0301"]
)
def test_what_people_write_stays(text: str) -> None:
    assert shown(text) == text


def test_more_can_be_shown_as_codes() -> None:
    assert shown("a⟦b", also="⟦⟧") == "a⟨U+27E6⟩b"
