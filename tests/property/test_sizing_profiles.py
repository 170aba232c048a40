"""Plans: never over the budget, never under the floor, never less for more memory, and the user's numbers as they are."""

from dataclasses import fields, replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.settings import Profile
from app.sizing.compute import Part
from app.sizing.footprint import Footprint, Layer
from app.sizing.machine import Machine
from app.sizing.profiles import RESERVE, Own, Plan, plan, shortage

FLOORS = {
    "development": (4096, 4),
    "production": (16_384, 8),
    "edge": (1024, 2),
    "auto": (1024, 2),
}
GB = 1 << 30

layers = st.builds(
    Layer,
    keys=st.sampled_from((0, 64, 192, 1024, 40)),
    values=st.sampled_from((0, 64, 192, 1024)),
    window=st.booleans(),
    state=st.sampled_from((0, 0, 0, 2048, 300_000)),
    whole=st.sampled_from((True, True, True, False)),
)
models = st.builds(
    Footprint,
    weights=st.integers(0, 40 * GB),
    layers=st.lists(layers, max_size=40).map(tuple),
    window=st.sampled_from((0, 128, 4096)),
    context=st.sampled_from((0, 512, 8192, 131_072)),
    width=st.sampled_from((64, 576, 4096)),
    vocabulary=st.sampled_from((256, 49_152, 262_144)),
    parts=st.sampled_from(((), (Part(7000),), (Part(60_000), Part(8000, 500_000)))),
)
machines = st.builds(Machine, free=st.integers(0, 200 * GB), cores=st.integers(1, 128))
profiles = st.sampled_from(get_args(Profile))
owns = st.builds(
    Own,
    pool_tokens=st.none() | st.integers(256, 300_000),
    sequences=st.none() | st.integers(1, 64),
    batch=st.none() | st.integers(32, 4096),
    kv_type=st.none() | st.sampled_from(("f16", "q8_0", "q4_0")),
    mmap=st.none() | st.booleans(),
    spill_megabytes=st.none() | st.integers(0, 10_000),
)


def total(model: Footprint, found: Plan) -> int:
    """All that a load with these numbers takes."""
    return (
        RESERVE
        + model.weights
        + model.pool_bytes(found.pool_tokens, found.sequences, found.batch, found.kv_type)
        + model.buffer_bytes(found.pool_tokens, found.sequences, found.batch)
        + (found.spill_megabytes << 20)
    )


@given(profiles, models, machines, owns)
def test_what_is_said_to_fit_fits(
    profile: Profile, model: Footprint, machine: Machine, own: Own
) -> None:
    found = plan(profile, model, machine, own)
    assert found.missing >= 0
    if not found.missing:
        assert total(model, found) <= machine.free


@given(profiles, models, machines)
def test_it_is_never_under_the_floor(profile: Profile, model: Footprint, machine: Machine) -> None:
    found = plan(profile, model, machine)
    pool, sequences = FLOORS[profile]
    assert (found.pool_tokens >= pool, found.sequences >= sequences) == (True, True)
    assert found.pool_tokens % 256 == 0
    if profile in ("development", "edge"):
        assert (found.pool_tokens, found.sequences) == (pool, sequences)


@given(profiles, models, machines, owns, st.integers(0, 50 * GB))
def test_more_memory_never_gives_less(
    profile: Profile, model: Footprint, machine: Machine, own: Own, more: int
) -> None:
    before = plan(profile, model, machine, own)
    after = plan(profile, model, replace(machine, free=machine.free + more), own)
    assert after.pool_tokens >= before.pool_tokens
    assert after.sequences >= before.sequences
    assert after.missing <= before.missing


@given(models, machines)
def test_production_gives_no_less_than_automatic(model: Footprint, machine: Machine) -> None:
    production = plan("production", model, machine)
    automatic = plan("auto", model, machine)
    assert production.pool_tokens >= automatic.pool_tokens
    assert production.sequences >= automatic.sequences


@given(profiles, models, machines, owns)
def test_what_the_user_has_chosen_stays(
    profile: Profile, model: Footprint, machine: Machine, own: Own
) -> None:
    found = plan(profile, model, machine, own)
    for field in fields(own):
        chosen = getattr(own, field.name)
        assert chosen is None or getattr(found, field.name) == chosen


@given(profiles, models, machines)
def test_a_pool_is_compressed_only_where_it_can_be(
    profile: Profile, model: Footprint, machine: Machine
) -> None:
    odd = replace(model, layers=(*model.layers, Layer(40, 40, whole=False)))
    assert plan(profile, odd, machine).kv_type == "f16"


SMOL = Footprint(
    weights=98 << 20,
    layers=(Layer(192, 192),) * 30,
    context=8192,
    width=576,
    vocabulary=49_152,
    parts=(Part(6912),),
)


@pytest.mark.parametrize(
    ("profile", "free", "cores", "expected"),
    [
        ("development", 8 * GB, 4, (4096, 4, 512, "f16", True)),
        ("edge", 8 * GB, 4, (1024, 2, 64, "q8_0", False)),
        # As much as 16 chats of 8,192 tokens can use, though there is room for more.
        ("production", 64 * GB, 2, (131_072, 16, 512, "f16", True)),
        # Half of what is left, and no more than is of use: the rest of the machine wants to live.
        ("auto", 24 * GB, 2, (16_384, 8, 512, "f16", True)),
        ("auto", GB, 2, (4096, 4, 512, "f16", True)),
        ("auto", 500 << 20, 2, (1024, 2, 64, "q8_0", False)),
        ("auto", 450 << 20, 2, (1024, 2, 64, "q4_0", False)),
    ],
)
def test_a_small_model_on_some_machines(
    profile: Profile, free: int, cores: int, expected: tuple[object, ...]
) -> None:
    found = plan(profile, SMOL, Machine(free, cores))
    numbers = (found.pool_tokens, found.sequences, found.batch, found.kv_type, found.mmap)
    assert numbers == expected
    assert not found.missing


def test_a_large_model_takes_a_compressed_pool_before_a_smaller_one() -> None:
    large = replace(
        SMOL, weights=5 * GB, layers=(Layer(1024, 1024),) * 32, width=4096, parts=(Part(59_392),)
    )
    roomy, tight = (plan("production", large, Machine(free * GB // 2, 8)) for free in (20, 14))
    assert (roomy.kv_type, tight.kv_type) == ("f16", "q8_0")
    assert (roomy.pool_tokens > 16_384, tight.pool_tokens) == (True, 16_384)


def test_what_does_not_fit_says_by_how_much() -> None:
    found = plan("edge", SMOL, Machine(100 << 20, 2))
    assert (found.pool_tokens, found.kv_type) == (1024, "q4_0")
    assert found.missing == total(SMOL, found) - (100 << 20)
    assert shortage("M", found).startswith("M takes 0.4 GB more memory than can be spared")
    assert shortage("M", plan("edge", SMOL, Machine(8 * GB, 2))) == ""
