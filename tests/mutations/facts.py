"""Keys and values that are well written and make no sense."""

import struct

from tests.gguf_bytes import ARRAY, SCALARS, TEXT, Entry, Gguf, number, text, texts
from tests.mutations.chance import Chance

_ARCHITECTURES = (
    b"llama", b"qwen2", b"qwen3", b"qwen3moe", b"gemma", b"gemma2", b"gemma3", b"phi2", b"phi3", b"mamba", b"mamba2",
    b"rwkv6", b"lfm2", b"falcon", b"bloom", b"mpt", b"gpt2", b"bert", b"t5", b"deepseek2", b"granitehybrid", b"jamba",
    b"command-r", b"olmo2", b"stablelm", b"starcoder2", b"clip", b"gpt-oss", b"qwen3next", b"llama4", b"nemotron_h",
    b"plamo2", b"falcon-h1", b"glm4", b"exaone4", b"cohere2", b"minicpm3", b"dream", b"llada", b"wavtokenizer-dec",
)  # fmt: skip


def absurd(model: Gguf, chance: Chance) -> bytes:
    """A fact of the model becomes an absurd one."""
    at = chance.entry(model, kinds=tuple(SCALARS))
    entry = model.entries[at]
    if SCALARS[entry.kind] in "fd":
        value: float = chance.odd()
    else:
        present = int.from_bytes(entry.raw, "little")
        near = (present + 1, present - 1, present * 2, present // 2, present * 1000)
        value = chance.choice(near) if chance.random() < 0.5 else chance.absurd()
    model.entries[at] = entry._replace(raw=number(entry.kind, value))
    return model.written()


def swapped(model: Gguf, chance: Chance) -> bytes:
    """The values of two keys."""
    one, other = chance.sample(range(len(model.entries)), 2)
    first, second = model.entries[one], model.entries[other]
    model.entries[one] = second._replace(key=first.key)
    model.entries[other] = first._replace(key=second.key)
    return model.written()


def swapped_alike(model: Gguf, chance: Chance) -> bytes:
    """The values of two keys of the same kind: the file is right, the model is not."""
    one = chance.entry(model, kinds=(4, TEXT))
    other = chance.entry(model, kinds=(model.entries[one].kind,))
    first, second = model.entries[one], model.entries[other]
    model.entries[one] = second._replace(key=first.key)
    model.entries[other] = first._replace(key=second.key)
    return model.written()


def doubled(model: Gguf, chance: Chance) -> bytes:
    model.entries.insert(chance.randrange(len(model.entries)), chance.choice(model.entries))
    return model.written()


def lost(model: Gguf, chance: Chance) -> bytes:
    del model.entries[chance.randrange(len(model.entries))]
    return model.written()


def other_kind(model: Gguf, chance: Chance) -> bytes:
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


def nested(model: Gguf, chance: Chance) -> bytes:
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


def architecture(model: Gguf, chance: Chance) -> bytes:
    """Another one, with the keys of this one."""
    at = model.index(b"general.architecture")
    assert at is not None
    old, new = model.entries[at].raw[8:], chance.choice(_ARCHITECTURES)
    for number_, entry in enumerate(model.entries):
        if entry.key.startswith(old + b"."):
            model.entries[number_] = entry._replace(key=new + entry.key[len(old) :])
    model.put(Entry(b"general.architecture", TEXT, text(new)))
    return model.written()


def hint(model: Gguf, chance: Chance) -> bytes:
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
        ((4, chance.absurd()), (6, chance.odd()), (4, chance.randrange(300)))
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
