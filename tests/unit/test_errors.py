"""Words for the user."""

import pytest

from app.errors import AppError, FormError


@pytest.mark.parametrize("bad", ["\x00", "\x1b", "\x85", "\ud800", "\u202e", "\u2066"])
def test_what_a_stranger_wrote_can_be_shown_in_an_error(bad: str) -> None:
    error = AppError(f"“{bad}” is no name.", f"Use another one than “{bad}”.")
    assert str(error) == "“\ufffd” is no name. Use another one than “\ufffd”."
    assert FormError(f"'{bad}' is not supported.").what == "'\ufffd' is not supported."


def test_words_of_all_languages_stay_as_they_are() -> None:
    words = "Zeile 1:\n\t“שלום”, “你好”, “👩‍🚀” cannot be read."
    assert str(AppError(words)) == words
