"""What is said to fit does, by the same formulas that load it; and the words say it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.hub.fit import Fit, Room, cost, fit
from app.settings import KvType
from app.sizing.compute import Part
from app.sizing.footprint import Footprint, Layer
from app.sizing.profiles import RESERVE

layers = st.builds(Layer, keys=st.sampled_from([256, 1024]), values=st.just(1024), window=st.booleans())  # fmt: skip
models = st.builds(
    Footprint,
    weights=st.integers(10**7, 10**11),
    layers=st.lists(layers, min_size=1, max_size=6).map(tuple),
    window=st.sampled_from([512, 4096]),
    context=st.sampled_from([0, 512, 2048, 8192, 40_960, 1 << 20]),
    width=st.integers(64, 8192),
    vocabulary=st.integers(256, 262_144),
    parts=st.builds(Part, st.integers(1000, 130_000)).map(lambda part: (part,)),
)


@given(models, st.integers(0, 1 << 38))
def test_what_is_said_to_fit_does_and_one_more_does_not(model: Footprint, free: int) -> None:
    found = fit(model, free)
    budget = int(free * 0.95) - RESERVE
    assert found.rooms
    for room in found.rooms:
        assert 0 <= room.chats <= 64
        assert not room.chats or cost(model, room.chats, room.tokens, room.kv_type) <= budget
        assert room.chats == 64 or cost(model, room.chats + 1, room.tokens, room.kv_type) > budget
        assert not model.context or room.tokens <= max(256, model.context)
    assert found.fits == ("does not fit" not in str(found))


@given(models, st.integers(0, 1 << 38), st.integers(0, 1 << 38))
def test_more_memory_never_means_fewer_chats(model: Footprint, one: int, other: int) -> None:
    less, more = (fit(model, free) for free in sorted((one, other)))
    assert all(a.chats <= b.chats for a, b in zip(less.rooms, more.rooms, strict=True))


def room(chats: int, tokens: int, kv_type: KvType = "f16") -> Room:
    return Room(chats, tokens, kv_type)


@pytest.mark.parametrize(
    ("rooms", "words"),
    [
        ((room(6, 8192), room(2, 32_768)), "6 chats of 8k, or 2 of 32k"),
        ((room(1, 8192), room(0, 32_768)), "1 chat of 8k"),
        ((room(64, 2048),), "64+ chats of 2k"),
        ((room(3, 512),), "3 chats of 512 tokens"),
        ((room(6, 8192), room(11, 8192, "q8_0")), "6 chats of 8k; 8-bit KV: 11 of 8k"),
        ((room(6, 8192), room(6, 8192, "q8_0")), "6 chats of 8k"),
        ((room(0, 8192), room(2, 8192, "q8_0")), "2 chats of 8k, with 8-bit KV only"),
        ((room(0, 8192),), "does not fit: it takes 40.0 GB, and 16.0 GB are free"),
        ((), "does not fit: it takes 40.0 GB, and 16.0 GB are free"),
    ],
)
def test_in_words(rooms: tuple[Room, ...], words: str) -> None:
    assert str(Fit(rooms, 40_000_000_000, 16_000_000_000)) == words
