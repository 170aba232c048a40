"""What helps where memory was short: only what fits by the estimate, in order, and nothing that was tried already."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from app.errors import MemoryPart
from app.settings import Profile
from app.sizing.compute import Part
from app.sizing.footprint import Footprint, Layer
from app.sizing.machine import Machine
from app.sizing.profiles import RESERVE, Own, plan
from app.sizing.remedies import LEAST_POOL, Attempt, Remedy, RemedyKind, Smaller, remedies

GB, MB = 1 << 30, 1 << 20
MODEL = Footprint(
    weights=4 * GB,
    layers=(Layer(1024, 1024),) * 32,
    context=131_072,
    width=4096,
    vocabulary=128_256,
    parts=(Part(59_392),),
)
"""Of the kind that most people have: 8 billion weights, 128 KiB of pool for each token."""

LARGE = Own(pool_tokens=65_536, sequences=8, kv_type="f16", spill_megabytes=0)
ORDER = list(RemedyKind)


def attempt(
    free: float,
    *,
    part: MemoryPart = MemoryPart.POOL,
    profile: Profile = "production",
    own: Own = LARGE,
    model: Footprint = MODEL,
) -> Attempt:
    return Attempt("/m.gguf", model, Machine(int(free * GB), 4), part, profile, own)


def smaller(weights: float, label: str = "Q3_K_M") -> Smaller:
    return Smaller(f"/{label}.gguf", label, replace(MODEL, weights=int(weights * GB)))


def kinds(found: tuple[Remedy, ...]) -> list[RemedyKind]:
    return [one.kind for one in found]


def test_a_pool_that_is_too_large() -> None:
    pool, packed, file = remedies(attempt(12), [smaller(1.5), smaller(3)])
    assert (pool.kind, packed.kind, file.kind) == (
        RemedyKind.POOL,
        RemedyKind.KV,
        RemedyKind.FILE,
    )
    assert LEAST_POOL < pool.pool_tokens < packed.pool_tokens <= 65_536
    assert pool.pool_tokens % 1024 == packed.pool_tokens % 1024 == 0
    assert (pool.own.kv_type, packed.own.kv_type) == ("f16", "q8_0")
    assert pool.own.pool_tokens == pool.pool_tokens
    assert pool.path == packed.path == "/m.gguf"
    # The pool of 8 GiB fits beside the smaller of the two only.
    assert (file.path, file.size) == ("/Q3_K_M.gguf", 3 * GB // 2)


def test_without_room_for_the_weights_no_pool_helps() -> None:
    assert kinds(remedies(attempt(4), [smaller(1)])) == []
    small = Own(pool_tokens=2048, sequences=2, kv_type="f16", spill_megabytes=0)
    (only,) = remedies(attempt(4, own=small), [smaller(1), smaller(6)])
    assert only.kind is RemedyKind.FILE
    assert only.size == GB


def test_weights_that_were_refused_although_they_seemed_to_fit() -> None:
    found = remedies(attempt(64, part=MemoryPart.WEIGHTS), [smaller(3.9), smaller(3.5)])
    assert kinds(found) == []
    small = Own(pool_tokens=2048, sequences=2, kv_type="f16", spill_megabytes=0)
    (only,) = remedies(attempt(64, part=MemoryPart.WEIGHTS, own=small), [smaller(3.9), smaller(3)])
    assert only.size == 3 * GB, "what is hardly smaller would be refused too"


def test_a_pool_that_was_refused_although_it_seemed_to_fit_is_halved() -> None:
    pool, packed = remedies(attempt(64))
    assert 24_000 < pool.pool_tokens < 32_768
    assert pool.pool_tokens < packed.pool_tokens


def test_an_end_by_the_system_counts_only_where_memory_is_short() -> None:
    assert remedies(attempt(64, part=MemoryPart.UNKNOWN), [smaller(1)]) == ()
    assert kinds(remedies(attempt(11, part=MemoryPart.UNKNOWN)))[0] is RemedyKind.POOL


def test_what_the_engine_has_tried_by_itself_is_not_offered() -> None:
    asked_nothing = attempt(6, profile="auto", own=Own())
    assert kinds(remedies(asked_nothing, [smaller(2)])) == [RemedyKind.FILE]


def test_a_pool_that_cannot_be_compressed_is_not() -> None:
    odd = replace(MODEL, layers=(Layer(1000, 1000, whole=False),) * 32)
    assert RemedyKind.KV not in kinds(remedies(attempt(11, model=odd)))
    compressed = Own(pool_tokens=131_072, sequences=8, kv_type="q8_0", spill_megabytes=0)
    assert kinds(remedies(attempt(11, own=compressed))) == [RemedyKind.POOL]


def test_a_quantisation_to_be_looked_for() -> None:
    assert kinds(remedies(attempt(5.5, own=Own(pool_tokens=8192)), least_share=0.5))[-1] is (
        RemedyKind.FIND
    )
    assert RemedyKind.FIND not in kinds(remedies(attempt(1), least_share=0.5)), "nor would that fit"
    assert RemedyKind.FIND not in kinds(remedies(attempt(5.5, own=Own(pool_tokens=8192))))
    here = remedies(attempt(5.5, own=Own(pool_tokens=8192)), [smaller(2)], least_share=0.5)
    assert RemedyKind.FIND not in kinds(here), "one is here already"


def test_of_an_unknown_model_nothing_is_said() -> None:
    assert remedies(attempt(1, model=Footprint(weights=GB, layers=())), [smaller(1)]) == ()


models = st.builds(
    Footprint,
    weights=st.integers(1, 40 * GB),
    layers=st.lists(
        st.builds(
            Layer,
            keys=st.sampled_from((64, 192, 1024, 40)),
            values=st.sampled_from((64, 192, 1024)),
            window=st.booleans(),
            state=st.sampled_from((0, 0, 2048)),
        ),
        min_size=1,
        max_size=40,
    ).map(tuple),
    window=st.sampled_from((0, 128, 4096)),
    context=st.sampled_from((0, 512, 131_072)),
    width=st.sampled_from((64, 4096)),
    vocabulary=st.sampled_from((256, 262_144)),
    parts=st.sampled_from(((), (Part(59_392),))),
)
attempts = st.builds(
    Attempt,
    path=st.just("/m.gguf"),
    model=models,
    machine=st.builds(Machine, free=st.integers(0, 80 * GB), cores=st.integers(1, 64)),
    part=st.sampled_from(MemoryPart),
    profile=st.sampled_from(("auto", "development", "production", "edge")),
    own=st.builds(
        Own,
        pool_tokens=st.none() | st.integers(256, 300_000),
        sequences=st.none() | st.integers(1, 64),
        kv_type=st.none() | st.sampled_from(("f16", "q8_0", "q4_0")),
    ),
)


@given(attempts, st.lists(st.floats(0.05, 1.5), max_size=4), st.floats(0.2, 1))
def test_all_that_is_offered_fits_and_takes_less(
    tried: Attempt, shares: list[float], least_share: float
) -> None:
    others = [
        Smaller(f"/{n}", f"Q{n}", replace(tried.model, weights=int(tried.model.weights * share)))
        for n, share in enumerate(shares)
    ]
    found = remedies(tried, others, least_share)
    assert kinds(found) == sorted(kinds(found), key=ORDER.index), "in order"
    assert len(set(kinds(found))) == len(found)
    first = plan(tried.profile, tried.model, tried.machine, tried.own)
    by_path = {one.path: one.model for one in others} | {tried.path: tried.model}
    for one in found:
        model = by_path[one.path]
        if one.kind is RemedyKind.FIND:
            model = replace(model, weights=int(model.weights * least_share))
        planned = plan(tried.profile, model, tried.machine, one.own)
        buffers = model.buffer_bytes(planned.pool_tokens, planned.sequences, planned.batch)
        takes = model.weights + planned.pool_bytes + buffers + (planned.spill_megabytes << 20)
        assert not planned.missing
        assert takes + RESERVE <= tried.machine.free
        if one.kind in (RemedyKind.POOL, RemedyKind.KV):
            assert planned.pool_tokens == one.pool_tokens >= LEAST_POOL
            assert tried.part is not MemoryPart.WEIGHTS
        if one.kind is RemedyKind.POOL:
            assert planned.pool_tokens < first.pool_tokens
        if one.kind in (RemedyKind.FILE, RemedyKind.FIND):
            assert model.weights < tried.model.weights
