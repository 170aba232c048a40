"""Damaged and hostile model files, each made from a good one by a seed: the same seed gives the same file.

What a disk, a cut download or a stranger makes of a file: bits, fields, counts and lengths that lie, tensors that
overlap or have another type, keys that are swapped or doubled, tokenizers and templates that make no sense.
"""

import math
import random
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.gguf_bytes import (
    ARRAY,
    SCALARS,
    TEXT,
    Entry,
    Gguf,
    Mark,
    items,
    number,
    parts,
    text,
    texts,
)

_ABSURD = (
    0,
    1,
    2,
    3,
    7,
    255,
    1 << 16,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 1,
    1 << 40,
    (1 << 63) - 1,
    (1 << 64) - 1,
)
_FLOATS = (0.0, -1.0, 1e-45, 1e38, math.nan, math.inf, -math.inf)
_ARCHITECTURES = (
    b"llama", b"qwen2", b"qwen3", b"qwen3moe", b"gemma", b"gemma2", b"gemma3", b"phi2", b"phi3", b"mamba", b"mamba2",
    b"rwkv6", b"lfm2", b"falcon", b"bloom", b"mpt", b"gpt2", b"bert", b"t5", b"deepseek2", b"granitehybrid", b"jamba",
    b"command-r", b"olmo2", b"stablelm", b"starcoder2", b"clip", b"gpt-oss", b"qwen3next", b"llama4", b"nemotron_h",
    b"plamo2", b"falcon-h1", b"glm4", b"exaone4", b"cohere2", b"minicpm3", b"dream", b"llada", b"wavtokenizer-dec",
)  # fmt: skip
_VOCABULARIES = (
    b"llama",
    b"gpt2",
    b"bert",
    b"t5",
    b"rwkv",
    b"plamo2",
    b"no_vocab",
    b"none",
    b"replit",
    b"",
)
_TEMPLATES = (
    b"", b"{{", b"{% for", b"{{ messages }}", b"\xff\xfe\x00", b"{% for a in range(10**12) %}x{% endfor %}",
    b"{{ 'x' * 10**11 }}", b"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", b"{{ raise_exception('no') }}",
    b"{{ ''.__class__.__mro__ }}", b"(" * 5000, b"{{ " + b"(" * 3000 + b")" * 3000 + b" }}", b"{# " * 4000,
    b"{{ messages[99].content }}", b"{% include 'x' %}", b"{{ 2 ** 2 ** 40 }}", b"{{ '%1000000000d' % 1 }}",
)  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """`what` was done to the source of this number, and the file that came of it."""

    seed: int
    source: int
    what: str
    data: bytes


class _Chance(random.Random):
    """Random choices that the mutations share."""

    def entry(self, model: Gguf, *, kinds: Sequence[int] = ()) -> int:
        fitting = [i for i, one in enumerate(model.entries) if not kinds or one.kind in kinds]
        return self.choice(fitting)

    def absurd(self) -> int:
        return self.choice(_ABSURD)


def mutant(sources: Sequence[bytes], seed: int) -> Mutant:
    """The one of this seed; `sources` are good files."""
    chance = _Chance(seed)
    source = chance.randrange(len(sources))
    what = chance.choice(tuple(MUTATIONS))
    return Mutant(seed, source, what, MUTATIONS[what](parts(sources[source]), chance))


# --- bytes ---------------------------------------------------------------------------------------------------


def _bits(model: Gguf, chance: _Chance) -> bytes:
    """A few anywhere in the head, most of which is the vocabulary."""
    out, _, start = model.laid_out()
    return _flipped(out, 0, start, chance.choice((1, 1, 1, 2, 5, 20)), chance)


def _facts(model: Gguf, chance: _Chance) -> bytes:
    """A few in the part of the head that is not the vocabulary."""
    _, marks, _ = model.laid_out()
    short = [mark for mark in marks if 0 < mark.size <= 64]
    mark = chance.choice(short)
    return _flipped(
        model.written(), mark.start, mark.start + mark.size, chance.choice((1, 2)), chance
    )


def _weights(model: Gguf, chance: _Chance) -> bytes:
    out, _, start = model.laid_out()
    return _flipped(out, start, len(out), chance.choice((1, 10, 1000)), chance)


def _flipped(data: bytes, start: int, end: int, count: int, chance: _Chance) -> bytes:
    out = bytearray(data)
    for _ in range(count):
        out[chance.randrange(start, end)] ^= 1 << chance.randrange(8)
    return bytes(out)


def _cut(model: Gguf, chance: _Chance) -> bytes:
    out, marks, start = model.laid_out()
    ends = (
        chance.randrange(len(out)),
        chance.randrange(start),
        chance.choice(marks).start,
        len(out) - chance.choice((1, 3, 32, 4096)),
    )
    return out[: chance.choice(ends)]


def _appended(model: Gguf, chance: _Chance) -> bytes:
    return model.written() + chance.randbytes(chance.choice((1, 31, 4096, 100_000)))


def _block(model: Gguf, chance: _Chance) -> bytes:
    """A stretch as a disk or a download leaves it: zeros, rubbish, another stretch, or gone."""
    out, _, start = model.laid_out()
    size = chance.choice((8, 64, 512, 4096))
    at = chance.randrange(chance.choice((start, len(out))) - size)
    other = chance.randrange(len(out) - size)
    new = (bytes(size), chance.randbytes(size), b"\xff" * size, out[other : other + size], b"")
    return out[:at] + chance.choice(new) + out[at + size :]


def _field(*what: str) -> "_Mutation":
    """A number of one of these fields becomes an absurd one, or another by one."""

    def change(model: Gguf, chance: _Chance) -> bytes:
        out, marks, _ = model.laid_out()
        mark = chance.choice([mark for mark in marks if mark.what in what])
        return _overwritten(out, mark, chance)

    return change


def _overwritten(data: bytes, mark: Mark, chance: _Chance) -> bytes:
    present = int.from_bytes(data[mark.start : mark.start + mark.size], "little")
    near = (
        present + 1,
        present - 1,
        present * 2,
        present // 2,
        present ^ (1 << chance.randrange(8 * mark.size)),
    )
    new = chance.choice(near) if chance.random() < 0.5 else chance.absurd()
    raw = (new & ((1 << 8 * mark.size) - 1)).to_bytes(mark.size, "little")
    return data[: mark.start] + raw + data[mark.start + mark.size :]


# --- entries -------------------------------------------------------------------------------------------------


def _number(model: Gguf, chance: _Chance) -> bytes:
    """A fact of the model becomes an absurd one."""
    at = chance.entry(model, kinds=tuple(SCALARS))
    entry = model.entries[at]
    if SCALARS[entry.kind] in "fd":
        value: float = chance.choice(_FLOATS)
    else:
        present = int.from_bytes(entry.raw, "little")
        near = (present + 1, present - 1, present * 2, present // 2, present * 1000)
        value = chance.choice(near) if chance.random() < 0.5 else chance.absurd()
    model.entries[at] = entry._replace(raw=number(entry.kind, value))
    return model.written()


def _swapped(model: Gguf, chance: _Chance) -> bytes:
    """The values of two keys."""
    one, other = chance.sample(range(len(model.entries)), 2)
    first, second = model.entries[one], model.entries[other]
    model.entries[one] = second._replace(key=first.key)
    model.entries[other] = first._replace(key=second.key)
    return model.written()


def _swapped_alike(model: Gguf, chance: _Chance) -> bytes:
    """The values of two keys of the same kind: the file is right, the model is not."""
    one = chance.entry(model, kinds=(4, TEXT))
    other = chance.entry(model, kinds=(model.entries[one].kind,))
    first, second = model.entries[one], model.entries[other]
    model.entries[one] = second._replace(key=first.key)
    model.entries[other] = first._replace(key=second.key)
    return model.written()


def _doubled(model: Gguf, chance: _Chance) -> bytes:
    model.entries.insert(chance.randrange(len(model.entries)), chance.choice(model.entries))
    return model.written()


def _lost(model: Gguf, chance: _Chance) -> bytes:
    del model.entries[chance.randrange(len(model.entries))]
    return model.written()


def _other_kind(model: Gguf, chance: _Chance) -> bytes:
    """A value of another kind, well written."""
    at = chance.randrange(len(model.entries))
    kind = chance.choice((*SCALARS, TEXT, ARRAY))
    if kind == TEXT:
        raw = text(chance.choice((b"", b"7", b"llama", b"\xff\xfe", b"x" * 70_000)))
    elif kind == ARRAY:
        each = chance.choice(tuple(SCALARS))
        count = chance.choice((0, 1, 2, 300))
        raw = struct.pack("<IQ", each, count) + number(each, chance.choice((0, 1, 64))) * count
    else:
        raw = number(kind, chance.absurd())
    model.entries[at] = model.entries[at]._replace(kind=kind, raw=raw)
    return model.written()


def _nested(model: Gguf, chance: _Chance) -> bytes:
    """An array of arrays, or of very many empty texts."""
    deep = b"".join(struct.pack("<IQ", ARRAY, 1) for _ in range(chance.choice((1, 5, 2000))))
    many = texts([b""] * chance.choice((1, 100_000)))
    raw = chance.choice((deep + struct.pack("<IQ", 4, 0), many))
    model.put(
        Entry(
            chance.choice((b"x.y", b"tokenizer.ggml.tokens", b"tokenizer.ggml.merges")), ARRAY, raw
        )
    )
    return model.written()


def _architecture(model: Gguf, chance: _Chance) -> bytes:
    """Another one, with the keys of this one."""
    at = model.index(b"general.architecture")
    assert at is not None
    old, new = model.entries[at].raw[8:], chance.choice(_ARCHITECTURES)
    for number_, entry in enumerate(model.entries):
        if entry.key.startswith(old + b"."):
            model.entries[number_] = entry._replace(key=new + entry.key[len(old) :])
    model.put(Entry(b"general.architecture", TEXT, text(new)))
    return model.written()


def _hint(model: Gguf, chance: _Chance) -> bytes:
    """A key that the model did not have and that the loader looks for."""
    at = model.index(b"general.architecture")
    assert at is not None
    name = model.entries[at].raw[8:] + b"." + chance.choice(_HINTS)
    if chance.random() < 0.3:
        name = chance.choice(
            (
                b"general.alignment",
                b"split.count",
                b"split.no",
                b"split.tensors.count",
                b"general.type",
            )
        )
    kind, value = chance.choice(
        ((4, chance.absurd()), (6, chance.choice(_FLOATS)), (4, chance.randrange(300)))
    )
    if name.startswith(b"split"):
        kind, value = 2, chance.choice((0, 1, 2, 3, 65535))
    model.put(Entry(name, kind, number(kind, value)))
    return model.written()


_HINTS = (
    b"expert_count", b"expert_used_count", b"attention.sliding_window", b"attention.key_length", b"rope.dimension_count",
    b"attention.value_length", b"rope.scaling.factor", b"rope.freq_base", b"attention.head_count_kv", b"pooling_type",
    b"attention.max_alibi_bias", b"attention.clamp_kqv", b"attention.causal", b"vocab_size", b"ssm.group_count",
    b"ssm.time_step_rank", b"attention.sliding_window_pattern", b"attn_logit_softcapping", b"final_logit_softcapping",
    b"rope.scaling.original_context_length", b"attention.shared_kv_layers", b"leading_dense_block_count", b"nextn_predict_layers",
    b"embedding_length_out", b"attention.scale", b"rope.scaling.attn_factor", b"tensor_data_layout", b"logit_scale",
)  # fmt: skip


# --- tensors -------------------------------------------------------------------------------------------------


def _tensor(model: Gguf, chance: _Chance) -> bytes:
    """One description changed so that the file is still well written."""
    at = chance.randrange(len(model.tensors))
    one, other = model.tensors[at], chance.choice(model.tensors)
    changes = (
        one._replace(kind=chance.choice((*range(42), 1000))),
        one._replace(
            shape=chance.choice(
                (one.shape[::-1], (*one.shape, 1), one.shape[:1], (), (0,), (1 << 40, 1 << 40))
            )
        ),
        one._replace(shape=tuple(chance.absurd() & ((1 << 63) - 1) for _ in one.shape)),
        one._replace(offset=other.offset),
        one._replace(
            offset=one.offset + chance.choice((1, 16, 32, -32, 1 << 40)) & ((1 << 64) - 1)
        ),
        one._replace(name=other.name),
        one._replace(
            name=chance.choice(
                (b"", b"x" * 70, b"\xff\xfe", b"blk.99.attn_q.weight", b"token_embd.weight")
            )
        ),
    )
    model.tensors[at] = chance.choice(changes)
    return model.written()


def _resized(model: Gguf, chance: _Chance) -> bytes:
    """Another shape or type with data of the right length: only the model is wrong."""
    at = chance.randrange(len(model.tensors))
    one = model.tensors[at]
    kind, size = chance.choice(((0, 4), (1, 2), (30, 2), (28, 8), (26, 4), (24, 1)))
    shape = chance.choice(
        (
            one.shape,
            one.shape[::-1],
            (one.shape[0] * 2, *one.shape[1:]),
            (one.shape[0] // 2 or 1, *one.shape[1:]),
        )
    )
    made = one._replace(kind=kind, shape=shape)
    return _laid_anew(model, {at: (made, math.prod(shape) * size)})


def _without(model: Gguf, chance: _Chance) -> bytes:
    """A tensor is not there, and the others lie as they should."""
    del model.tensors[chance.randrange(len(model.tensors))]
    return _laid_anew(model, {})


def _laid_anew(model: Gguf, changed: dict[int, tuple]) -> bytes:
    """Offsets and data as they must be, of F32 tensors but for those that are given with their bytes."""
    data = bytearray()
    old = model.data
    for at, tensor in enumerate(model.tensors):
        made, length = changed.get(at, (tensor, 4 * math.prod(tensor.shape)))
        model.tensors[at] = made._replace(offset=len(data))
        piece = old[tensor.offset : tensor.offset + length]
        data += piece + bytes(length - len(piece))
        data += bytes(-len(data) % model.alignment)
    model.data = bytes(data)
    return model.written()


def _tensors_swapped(model: Gguf, chance: _Chance) -> bytes:
    one, other = chance.sample(range(len(model.tensors)), 2)
    first, second = model.tensors[one], model.tensors[other]
    if chance.random() < 0.5:
        model.tensors[one], model.tensors[other] = second, first
    else:
        model.tensors[one] = first._replace(name=second.name)
        model.tensors[other] = second._replace(name=first.name)
    return model.written()


def _nonsense(model: Gguf, chance: _Chance) -> bytes:
    """Weights that are no numbers, or all the same."""
    one = chance.choice(model.tensors)
    size = 4 * math.prod(one.shape)
    values = (math.nan, math.inf, -math.inf, 0.0, 1e38)
    piece = struct.pack("<f", chance.choice(values)) * (size // 4)
    model.data = model.data[: one.offset] + piece + model.data[one.offset + size :]
    return model.written()


# --- text ----------------------------------------------------------------------------------------------------


def _tokens(model: Gguf, chance: _Chance) -> bytes:
    at = model.index(b"tokenizer.ggml.tokens")
    assert at is not None
    found = items(model.entries[at])
    place = chance.randrange(len(found))
    match chance.randrange(6):
        case 0:
            found[place] = chance.choice(
                (b"", b"\xff\xfe", b"\x00", b"x" * 100_000, "🙂".encode(), b"<|im_end|>")
            )
        case 1:
            found[place] = chance.choice(found)
        case 2:
            del found[place:]
        case 3:
            found += [b"extra"] * chance.choice((1, 300))
        case 4:
            found = [b"x"] * len(found)
        case _:
            chance.shuffle(found)
    model.entries[at] = model.entries[at]._replace(raw=texts(found))
    return model.written()


def _vocabulary(model: Gguf, chance: _Chance) -> bytes:
    """What belongs to the tokens makes no sense."""
    match chance.randrange(6):
        case 0:
            model.put(Entry(b"tokenizer.ggml.model", TEXT, text(chance.choice(_VOCABULARIES))))
        case 1:
            model.put(
                Entry(
                    b"tokenizer.ggml.pre",
                    TEXT,
                    text(chance.choice((b"", b"nonsense", b"llama-bpe", b"qwen2", b"tekken"))),
                )
            )
        case 2:
            merges = chance.choice(
                ([], [b"a"], [b" "], [b""], [b"a b c"], [b"\xff \xfe"], [b"zz yy"] * 1000)
            )
            model.put(Entry(b"tokenizer.ggml.merges", ARRAY, texts(list(merges))))
        case 3:
            kinds = [
                chance.choice((0, 1, 3, 6, 7, -1, 1 << 30))
                for _ in range(chance.choice((0, 1, 280, 281, 900)))
            ]
            model.put(
                Entry(
                    b"tokenizer.ggml.token_type",
                    ARRAY,
                    struct.pack(f"<IQ{len(kinds)}i", 5, len(kinds), *kinds),
                )
            )
        case 4:
            name = chance.choice(
                (
                    b"bos",
                    b"eos",
                    b"unknown",
                    b"padding",
                    b"eot",
                    b"eom",
                    b"seperator",
                    b"mask",
                    b"fim_pre",
                )
            )
            model.put(
                Entry(b"tokenizer.ggml." + name + b"_token_id", 4, number(4, chance.absurd()))
            )
        case _:
            count = chance.choice((0, 1, 280, 281))
            scores = [chance.choice(_FLOATS) for _ in range(count)]
            model.put(
                Entry(
                    b"tokenizer.ggml.scores", ARRAY, struct.pack(f"<IQ{count}f", 6, count, *scores)
                )
            )
            model.put(
                Entry(
                    b"tokenizer.ggml.model",
                    TEXT,
                    text(chance.choice((b"llama", b"t5", b"bert", b"plamo2"))),
                )
            )
    return model.written()


def _template(model: Gguf, chance: _Chance) -> bytes:
    model.put(Entry(b"tokenizer.chat_template", TEXT, text(chance.choice(_TEMPLATES))))
    return model.written()


_Mutation = Callable[[Gguf, _Chance], bytes]

MUTATIONS: dict[str, _Mutation] = {
    "bits of the head": _bits,
    "bits of the facts": _facts,
    "bits of the weights": _weights,
    "cut": _cut,
    "rubbish at the end": _appended,
    "a block": _block,
    "a count": _field("count of tensors", "count of entries", "count of dimensions"),
    "a length": _field(
        "length of a key", "length of a text", "length of an array", "length of a name"
    ),
    "a kind": _field("kind of a value", "kind of an array", "kind of a tensor"),
    "a place": _field("dimension", "offset"),
    "a number": _number,
    "another number": _number,
    "values swapped": _swapped,
    "like values swapped": _swapped_alike,
    "a key twice": _doubled,
    "a key lost": _lost,
    "a value of another kind": _other_kind,
    "a strange array": _nested,
    "another architecture": _architecture,
    "a key more": _hint,
    "a tensor": _tensor,
    "a tensor resized": _resized,
    "a tensor lost": _without,
    "tensors swapped": _tensors_swapped,
    "weights that are no numbers": _nonsense,
    "tokens": _tokens,
    "a vocabulary": _vocabulary,
    "a template": _template,
}
