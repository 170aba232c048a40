"""What one step of a model holds in llama.cpp's compute buffer, from the facts at the head of its file.

The buffer is as large as the part of a layer, or the output, at which most numbers are alive at once.  Of each such part
these are counted as llama.cpp's allocator lays them out; where its gaps depend on more than a head tells, the dearer
layout is taken.  tests/footprint has the comparison with what llama.cpp takes for some fifty models.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from app.sizing.header import Header

_UNGATED = frozenset(
    (
        *("apertus", "arcee", "bloom", "codeshell", "falcon", "gpt2", "gptneox", "jais", "mpt", "nemotron"),
        *("nemotron_h", "nemotron_h_moe", "orion", "phi2", "starcoder", "starcoder2"),
    )
)  # fmt: skip
"""Architectures whose feed-forward layer has no gate."""

_DELTA_NETS = frozenset(("qwen3next", "qwen35", "qwen35moe"))
_RECEPTANCES = {"rwkv6": 14, "rwkv6qwen2": 14, "rwkv7": 19, "arwkv7": 19}
"""Rows of the model's width in one layer."""

_STREAMS = {"gemma3n": 4}
"""Architectures that carry several rows of the model's width through all layers."""


@dataclass(frozen=True, slots=True)
class Part:
    """Numbers that are alive at once in a part of a layer: for each token of a step, and for each sequence."""

    row: int
    sequence: int = 0


def parts(header: Header, heads: int, state: int) -> tuple[Part, ...]:
    """Of a model with so many query heads in its widest layer, and so many numbers in a layer's state (0: none)."""
    around = _around(header, heads)
    found = [Part(around + feed) for feed in _feeds(header)]
    if state:
        found.append(_stateful(header, heads, state))
    return tuple(found)


def _around(header: Header, heads: int) -> int:
    """What is alive of a layer while its feed-forward part is computed; allocated by the attention before it."""
    width = header.size("embedding_length")
    usual = width // heads if heads else 0
    query = header.size("attention.key_length_mla") or header.size("attention.key_length", usual)
    by_layer = header.size("embedding_length_per_layer_input") * header.size("block_count")
    return (3 + _STREAMS.get(header.architecture, 0)) * width + heads * query + by_layer


def _feeds(header: Header) -> Iterator[int]:
    """Numbers of the plain feed-forward part, and of that with experts, whichever there are."""
    plain, used = header.widest("feed_forward_length"), header.widest("expert_used_count")
    if used:
        yield _experts(header, used, header.widest("expert_feed_forward_length") or plain)
    if not used or header.size("leading_dense_block_count"):
        yield plain * (1 if header.architecture in _UNGATED else 3)


def _experts(header: Header, used: int, feed: int) -> int:
    """What enters and leaves the experts that one token uses; what they share is computed from a copy of the input."""
    width = header.size("embedding_length")
    inner, outer = used * feed, used * width
    shared = header.size("expert_shared_count") or header.size("expert_shared_feed_forward_length")
    # The results take the place of the two inner rows where they fit into it.
    return 3 * inner + (outer if outer > 2 * inner else 0) + (width if shared else 0)


def _stateful(header: Header, heads: int, state: int) -> Part:
    """The part that reads and writes the state."""
    width = header.size("embedding_length")
    if header.architecture in _RECEPTANCES:
        return Part(_RECEPTANCES[header.architecture] * width, 2 * state)
    if header.has("shortconv.l_cache"):
        return Part(6 * width, 2 * state)
    inner = header.size("ssm.inner_size")
    if header.architecture in _DELTA_NETS or header.has("kda.head_dim"):
        return Part(8 * (inner or heads * header.size("kda.head_dim")), 2 * state)
    groups, length = max(1, header.size("ssm.group_count")), header.size("ssm.state_size")
    mixed = inner + 2 * header.size("ssm.group_count") * length
    before = max(0, header.size("ssm.conv_kernel") - 1) * mixed
    return Part(6 * inner + 8 * groups * length + width * (2 if heads else 1), state + before)
