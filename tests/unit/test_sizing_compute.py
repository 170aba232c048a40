"""Numbers that are alive at once, worked out by hand; llama.cpp's own are in tests/footprint."""

import pytest

from app.sizing.compute import Part, parts
from app.sizing.header import Header

WIDTH = 100


def found(architecture: str, *, heads: int = 4, state: int = 0, **facts: int) -> tuple[Part, ...]:
    """Of a model that is 100 wide, with a feed-forward part of 300; `__` stands for a dot."""
    usual = {"block_count": 2, "embedding_length": WIDTH, "feed_forward_length": 300}
    values: dict[str, int | float | bool | str] = {"general.architecture": architecture}
    for name, value in (usual | facts).items():
        values[f"{architecture}.{name.replace('__', '.')}"] = value
    return parts(Header(values), heads, state)


def test_a_feed_forward_part_has_a_gate_or_not() -> None:
    around = 3 * WIDTH + 4 * 25
    assert found("llama") == (Part(around + 3 * 300),)
    assert found("gpt2") == (Part(around + 300),)


def test_wide_heads_count_as_wide_as_they_are() -> None:
    assert found("qwen3", attention__key_length=64) == (Part(3 * WIDTH + 4 * 64 + 900),)


@pytest.mark.parametrize(
    ("used", "feed", "rows"),
    [
        (2, 150, 3 * 300),  # the results fit into what the inner rows leave
        (8, 30, 3 * 240 + 800),
    ],
)
def test_of_experts_those_count_that_one_token_uses(used: int, feed: int, rows: int) -> None:
    facts = {"expert_used_count": used, "expert_feed_forward_length": feed}
    assert found("qwen3moe", **facts) == (Part(400 + rows),)
    assert found("qwen2moe", expert_shared_count=1, **facts) == (Part(500 + rows),)


def test_layers_without_experts_count_too() -> None:
    facts = {"expert_used_count": 2, "expert_feed_forward_length": 50}
    both = found("glm4moe", leading_dense_block_count=1, **facts)
    assert both == (Part(400 + 300), Part(400 + 900))


def test_a_state_counts_for_each_sequence() -> None:
    ssm = {"ssm__inner_size": 200, "ssm__state_size": 16, "ssm__conv_kernel": 4}
    feed, state = found("jamba", state=3800, **ssm)
    assert feed.sequence == 0
    assert state == Part(6 * 200 + 8 * 16 + 2 * WIDTH, 3800 + 3 * 200)
    assert found("rwkv7", heads=0, state=500)[-1] == Part(19 * WIDTH, 1000)


def test_a_head_that_tells_nothing_or_nonsense_needs_nothing() -> None:
    assert parts(Header(), 0, 0) == (Part(0),)
    assert found("llama", embedding_length=-5, feed_forward_length=-1, heads=0) == (Part(0),)
