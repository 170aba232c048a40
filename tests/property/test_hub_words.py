"""Numbers for a person: short, of the right size, and never of a unit that is not reached."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.hub import words

FACTORS = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


@given(st.integers(0, 10**15))
def test_a_size_reads_back_to_what_it_was(count: int) -> None:
    number, unit = words.size(count).split()
    assert abs(float(number) * FACTORS[unit] - count) <= 0.051 * max(count, 10)
    assert float(number) < 1000 or unit == "TB"


@given(st.floats(0, 10**7))
def test_a_time_has_at_most_two_parts(seconds: float) -> None:
    assert re.fullmatch(r"\d+ s|\d+ min|\d+ h( \d+ min)?", words.duration(seconds))


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, ""), (-1, ""), (134_515_008, "135M"), (999_400_000, "999M"), (10**9, "1B"), (7_240_000_000, "7.2B"),
     (12 * 10**9, "12B"), (671 * 10**9, "671B")],
)  # fmt: skip
def test_parameters(count: int, text: str) -> None:
    assert words.parameters(count) == text
