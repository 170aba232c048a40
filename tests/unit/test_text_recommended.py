"""What a model's file advises, and what is made of nonsense in it."""

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.sampling import FIELDS, LIMITS
from app.text.recommended import PREFIX, advised
from app.text.session import TextSession
from tests.tiny_text import Value, number_value, text_value, tiny_vocabulary, with_metadata


def keyed(**values: str) -> dict[str, str]:
    return {PREFIX + key: value for key, value in values.items()}


def test_all_that_a_file_can_advise_is_taken_by_our_names() -> None:
    values, notes = advised(
        keyed(
            temp="0.600000",
            top_k="20",
            top_p="0.950000",
            min_p="0.000000",
            xtc_probability="0.500000",
            xtc_threshold="0.100000",
            penalty_last_n="-1",
            penalty_repeat="1.050000",
            mirostat="2",
            mirostat_tau="4.000000",
            mirostat_eta="0.200000",
        )
    )
    assert dict(values) == {
        "temperature": 0.6,
        "top_k": 20,
        "top_p": 0.95,
        "min_p": 0.0,
        "xtc_probability": 0.5,
        "xtc_threshold": 0.1,
        "repeat_last_n": -1,
        "repeat_penalty": 1.05,
        "mirostat": 2,
        "mirostat_tau": 4.0,
        "mirostat_eta": 0.2,
    }
    assert notes == ()


def test_a_file_that_advises_nothing() -> None:
    assert advised({}) == ((), ())
    assert advised(keyed(invented="1")) == ((), ())


@pytest.mark.parametrize(
    "value",
    ["nan", "inf", "-0.5", "1e30", "3" * 39, "hot", "", "true", "[0.6, 0.7]", "0x1", "1_0", "٣"],
)
def test_what_cannot_be_is_passed_over_and_said(value: str) -> None:
    values, notes = advised(keyed(temp=value, top_k="20", mirostat="7"))
    assert values == (("top_k", 20),)
    assert notes == (
        "The model's file advises values of sampling that cannot be (temp, mirostat); they are not used.",
    )


def test_an_order_of_its_own_is_said() -> None:
    values, notes = advised(keyed(sequence="penalties;top_k"))
    assert values == ()
    assert notes == ("The model's file advises an order of the samplers; Tutti keeps its own.",)


@given(st.dictionaries(st.sampled_from(["temp", "top_k", "mirostat", "x"]), st.text(max_size=9)))
def test_whatever_stands_there_only_possible_values_come_out(found: dict[str, str]) -> None:
    for name, value in advised(keyed(**found))[0]:
        assert name in FIELDS
        assert LIMITS[name][0] <= value <= LIMITS[name][1]


def fraction(number: float) -> Value:
    return 6, struct.pack("<f", number)


@pytest.mark.parametrize(
    ("temp", "values", "said"),
    [
        (fraction(0.6), (("temperature", 0.6), ("top_k", 20)), False),
        (fraction(float("nan")), (("top_k", 20),), True),
        (fraction(3.4e38), (("top_k", 20),), True),
        ((7, b"\x01"), (("top_k", 20),), True),
        # llama.cpp does not tell of a list at all.
        ((9, struct.pack("<IQf", 6, 1, 0.6)), (("top_k", 20),), False),
        (text_value("hot " * 10_000), (("top_k", 20),), True),
        (text_value(b"\xff"), (("top_k", 20),), True),
    ],
)
def test_a_file_is_read_when_it_is_loaded(
    tmp_path: Path, temp: Value, values: tuple[tuple[str, float], ...], said: bool
) -> None:
    plain = tiny_vocabulary(tmp_path / "plain.gguf")
    changes = {f"{PREFIX}temp": temp, f"{PREFIX}top_k": number_value(20)}
    session = TextSession(with_metadata(plain, tmp_path / "advising.gguf", changes))
    loaded = session.loaded()
    session.close()
    assert loaded.recommended == values
    assert any("values of sampling that cannot be" in note for note in loaded.notes) is said
