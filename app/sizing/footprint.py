"""What a model takes of the memory, from the facts at the head of its file.

The formulas are llama.cpp's for one unified pool; where the file leaves something open, the dearer answer is taken, so
that a plan made with them is not over its budget.
"""

import math
from dataclasses import dataclass
from pathlib import Path

from app import modelfile
from app.errors import ModelError
from app.settings import KvType
from app.sizing.compute import Part, parts
from app.sizing.header import Header, read_header

BYTES_PER_VALUE: dict[KvType, float] = {"f16": 2.0, "q8_0": 34 / 32, "q4_0": 18 / 32}
"""Of one number in the pool; the compressed kinds keep blocks of 32 with a scale."""

MOST_IDS = 256
"""Sequence ids that llama.cpp has at most."""

_BLOCK = 32
_PAD = 256
_NUMBER_BYTES = 4
_MASK_BYTES = 2
_AT_ONCE = 128
_MOST_HEADS = 65_536

# Which layers see a window only, where the file does not say: every layer but each Nth (counted from the first or,
# with a minus, the first of each N).
_PATTERNS = {
    **dict.fromkeys(("gemma2", "gpt-oss"), 2),
    **dict.fromkeys(("gemma3", "gemma-embedding"), 6),
    "gemma3n": 5,
    "plamo3": 8,
    **dict.fromkeys(("afmoe", "cohere2", "exaone4", "exaone-moe", "llama4", "mellum", "olmo2"), 4),
    **dict.fromkeys(("cohere2moe", "laguna", "smallthinker"), -4),
}
_WINDOWS = {"llama4": 8192}
_NO_WINDOW = ("phi3",)
"""Their files tell of a window that llama.cpp does not use."""

_INTERVALS = dict.fromkeys(("qwen3next", "qwen35", "qwen35moe"), 4)
"""Of so many layers the last one attends, where the file does not say; the others keep a state."""

_EITHER = ("nemotron_h", "nemotron_h_moe")
"""Their layers attend, keep a state or are a feed-forward part, one of the three."""


@dataclass(frozen=True, slots=True)
class Layer:
    """Numbers kept for each token (`keys`, `values`; in a `window` for the latest tokens only) and for each
    sequence, whatever its length (`state`).  `whole`: its heads can be cut into the blocks of compressed kinds."""

    keys: int = 0
    values: int = 0
    window: bool = False
    state: int = 0
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Footprint:
    """A model.  `weights` are bytes, `window` and `context` (0: not told) tokens, `width` and `vocabulary` numbers;
    of the `parts` of its layers one is the dearest in a step."""

    weights: int
    layers: tuple[Layer, ...]
    window: int = 0
    context: int = 0
    width: int = 0
    vocabulary: int = 0
    parts: tuple[Part, ...] = ()

    @property
    def recurrent(self) -> bool:
        """Whether it keeps a state for each sequence, of which a part cannot be shared."""
        return any(layer.state for layer in self.layers)

    @property
    def compressible(self) -> bool:
        """Whether rows of the pool can be cut into the blocks that compressed kinds need."""
        return all(layer.whole for layer in self.layers)

    def ids(self, sequences: int) -> int:
        """Sequence ids for so many chats that decode at once: those of idle chats besides."""
        kept = 1 if self.recurrent else 3
        return min(MOST_IDS, sequences * (1 + kept) + 4)

    def at_once(self, batch: int) -> int:
        """Tokens that a processor evaluates at a time: few, so that a read can be interrupted, where that is safe."""
        return batch if self.recurrent else min(batch, _AT_ONCE)

    def pool_bytes(self, pool_tokens: int, sequences: int, batch: int, kv_type: KvType) -> int:
        """What the chats' memory takes."""
        cells = _padded(pool_tokens)
        seen = self._seen(cells, sequences, batch)
        kept = sum(
            (layer.keys + layer.values) * (seen if layer.window else cells) for layer in self.layers
        )
        states = sum(layer.state for layer in self.layers) * self.ids(sequences)
        return math.ceil(kept * BYTES_PER_VALUE[kv_type]) + states * _NUMBER_BYTES

    def buffer_bytes(self, pool_tokens: int, sequences: int, batch: int) -> int:
        """What a step takes besides: the dearest part of a layer with the masks over the pool, or the output, and the
        outputs that are kept."""
        cells, ids = _padded(pool_tokens), self.ids(sequences)
        at_once = min(self.at_once(batch), cells)
        # llama.cpp reserves as many rows for each sequence.
        rows = math.ceil(at_once / ids) * ids
        layer = max((part.row * rows + part.sequence * ids for part in self.parts), default=0)
        layer += math.ceil(
            rows * self._masked(cells, sequences, batch) * _MASK_BYTES / _NUMBER_BYTES
        )
        output = min(at_once, ids) * (self.vocabulary + self.width) + rows * self.width
        return (max(layer, output) + ids * self.vocabulary) * _NUMBER_BYTES

    def _masked(self, cells: int, sequences: int, batch: int) -> int:
        """Cells that are masked for each row: of each kind of attention once."""
        attends = {layer.window for layer in self.layers if layer.keys}
        seen = self._seen(cells, sequences, batch) if True in attends else 0
        return seen + (cells if False in attends else 0)

    def _seen(self, cells: int, sequences: int, batch: int) -> int:
        """Cells of the layers that see a window only."""
        return min(cells, _padded(self.window * self.ids(sequences) + self.at_once(batch)))


def read_footprint(path: Path) -> Footprint:
    """Of this file, and of the other parts where it is one of several; raises ModelError."""
    header = read_header(path)
    try:
        weights = sum(part.stat().st_size for part in modelfile.parts(path))
    except OSError as error:
        raise ModelError(f"“{path.name}” cannot be read: {error.strerror}.") from error
    return footprint(header, weights)


def footprint(header: Header, weights: int) -> Footprint:
    """What the header says; a model without layers is one of which nothing is known but its size."""
    layers = _layers(header)
    return Footprint(
        weights=weights,
        layers=layers,
        window=_window(header),
        context=max(0, header.number("context_length")),
        width=header.size("embedding_length"),
        vocabulary=header.lengths.get("tokenizer.ggml.tokens", 0) or header.size("vocab_size"),
        parts=_parts(header, layers),
    )


def _parts(header: Header, layers: tuple[Layer, ...]) -> tuple[Part, ...]:
    attends = any(layer.keys for layer in layers)
    heads = header.widest("attention.head_count") if attends else 0
    return parts(header, heads, max((layer.state for layer in layers), default=0))


def _layers(header: Header) -> tuple[Layer, ...]:
    count = header.layers
    heads = header.by_layer("attention.head_count", count)
    has_own = header.has("attention.head_count_kv")
    kv_heads = header.by_layer("attention.head_count_kv", count) if has_own else heads
    plain, windowed = _head_sizes(header, heads, ""), _head_sizes(header, heads, "_swa")
    windows = _windows(header, count)
    kinds = _kinds(header, kv_heads)
    state = _state(header, max(heads, default=0))
    found = []
    for number in range(count):
        attends, recurs = kinds[number]
        kv = max(0, min(kv_heads[number], _MOST_HEADS)) if attends else 0
        keys, values = windowed if windows[number] else plain
        whole = kv == 0 or (keys % _BLOCK == 0 and values % _BLOCK == 0)
        kept = state if recurs else 0
        found.append(Layer(kv * keys, kv * values, windows[number], kept, whole))
    return tuple(found)


def _head_sizes(header: Header, heads: tuple[int, ...], kind: str) -> tuple[int, int]:
    """Numbers of one head's key and value."""
    most = max(heads, default=0)
    usual = header.size("embedding_length") // most if most > 0 else 0
    key = header.size("attention.key_length", usual)
    value = header.size("attention.value_length", usual)
    if header.has("attention.value_length_mla"):
        value = 0  # its values are a part of its keys
    if kind:
        key = header.size(f"attention.key_length{kind}", key)
        value = header.size(f"attention.value_length{kind}", value)
    return key, value


def _windows(header: Header, count: int) -> tuple[bool, ...]:
    """Which layers see a window only."""
    key = f"{header.architecture}.attention.sliding_window_pattern"
    if not _window(header):
        return (False,) * count
    if len(header.arrays.get(key, ())) >= count:
        return tuple(bool(value) for value in header.arrays[key][:count])
    every = _PATTERNS.get(header.architecture, 0)
    told = header.size("attention.sliding_window_pattern")
    if told:
        every = -told if every < 0 else told
    if not every:
        return (False,) * count
    whole = 0 if every < 0 else abs(every) - 1
    return tuple(number % abs(every) != whole for number in range(count))


def _window(header: Header) -> int:
    if header.architecture in _NO_WINDOW:
        return 0
    usual = _WINDOWS.get(header.architecture, 0)
    return header.size("attention.sliding_window", usual)


def _kinds(header: Header, kv_heads: tuple[int, ...]) -> list[tuple[bool, bool]]:
    """Of each layer, whether it attends and whether it keeps a state (of a model without states: attends)."""
    count = len(kv_heads)
    shared = header.size("attention.shared_kv_layers")
    attends = [number < count - shared for number in range(count)]
    told = header.arrays.get(f"{header.architecture}.attention.recurrent_layers", ())
    every = header.number("full_attention_interval", _INTERVALS.get(header.architecture, 0))
    if len(told) >= count:
        recurs = [bool(value) for value in told[:count]]
    elif not all(kv_heads):
        recurs = [heads == 0 for heads in kv_heads]
        if header.architecture in _EITHER:
            feeds = header.by_layer("feed_forward_length", count)
            recurs = [yes and feed == 0 for yes, feed in zip(recurs, feeds, strict=True)]
    elif every > 0:
        recurs = [(number + 1) % every != 0 for number in range(count)]
    else:
        return [(yes, True) for yes in attends]  # both in each layer
    return [(yes and not state, state) for yes, state in zip(attends, recurs, strict=True)]


def _state(header: Header, heads: int) -> int:
    """Numbers of one layer's state of one sequence; 0 where the model has none."""
    width = header.size("embedding_length")
    head_size = header.size("wkv.head_size")
    if head_size:
        return (header.size("token_shift_count", 2) + head_size) * width
    if header.has("shortconv.l_cache"):
        return width * max(0, header.size("shortconv.l_cache") - 1)
    before = max(0, header.size("ssm.conv_kernel") - 1)
    size = header.size("kda.head_dim")
    if size:
        return heads * size * (3 * before + size)
    inner = header.size("ssm.inner_size")
    state = header.size("ssm.state_size")
    groups = header.size("ssm.group_count")
    return before * (inner + 2 * groups * state) + state * inner


def _padded(tokens: int) -> int:
    return -(-tokens // _PAD) * _PAD
