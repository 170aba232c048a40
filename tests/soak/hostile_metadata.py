"""GGUF files whose metadata are wrong, absurd, contradictory or made to harm.  Drawn from a seed, pure.

Each begins as a good tiny model that chats: what is wrong is one thing or two, so that it gets as far as it can.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from tests.soak import hostile_templates, hostile_text
from tests.soak.gguf_file import ARRAY, TEXT, GgufFile, Tensor, floats, items, numbers, texts
from tests.soak.hostile_text import nasty
from tests.tiny_text import Value, number_value, text_value

_TOKENS, _TYPES = "tokenizer.ggml.tokens", "tokenizer.ggml.token_type"
_TEMPLATE = "tokenizer.chat_template"
_MODELS = (
    "gpt2", "llama", "bert", "t5", "rwkv", "plamo2", "no_vocab", "none", "", "unknown", "replit", "gemma4",
)  # fmt: skip
_PRE = (
    "gpt-2",
    "llama-bpe",
    "qwen2",
    "deepseek-llm",
    "tekken",
    "default",
    "",
    "no such",
    "gemma4",
    "superbpe",
    "whitespace",
)
_ABSURD = (0, 1, 2, 3, 63, 65, 255, 65_536, 10**6, 2**31 - 1, 2**31, 2**32 - 1)

Mutation = Callable[[Random, GgufFile], GgufFile]


@dataclass(frozen=True, slots=True)
class ModelFile:
    """The bytes of a file that says that it is a model."""

    kind: str
    data: bytes


def model_file(dice: Random, good: GgufFile) -> ModelFile:
    """A hostile file made of a good one."""
    kind = dice.choice((*_INSIDE, *_OUTSIDE))
    if kind in _OUTSIDE:
        return ModelFile(kind, _OUTSIDE[kind](dice, good))
    bad = _INSIDE[kind](dice, good)
    if dice.random() < 0.2:
        bad = _INSIDE[dice.choice(tuple(_INSIDE))](dice, bad)
    return ModelFile(kind, bad.packed())


def _value(dice: Random) -> Value:
    """Any value of any type."""
    return dice.choice((
        number_value(dice.choice(_ABSURD)),
        (5, struct.pack("<i", dice.choice((-1, -(2**31), 0)))),
        (10, struct.pack("<Q", dice.choice((2**64 - 1, 2**63, 2**40)))),
        (6, struct.pack("<f", dice.choice((float("nan"), float("inf"), -1.0, 0.0, 1e38)))),
        (12, struct.pack("<d", dice.choice((float("nan"), 1e308)))),
        (0, b"\xff"), (7, b"\x01"), (7, b"\x05"),
        text_value(nasty(dice).encode("utf-8", "replace")),
        text_value(dice.randbytes(20)),
        texts([b"", b"\xff", b"a"]), texts([]), numbers([]), numbers([-1, 2**31 - 1]), floats([float("nan")] * 3),
        numbers([1] * dice.choice((2, 300, 70_000))),
        (9, struct.pack("<IQ", 9, 1) + struct.pack("<IQ", 4, 1) + b"\0\0\0\0"),
    ))  # fmt: skip


# --- what a good reader can read ---------------------------------------------------------------------------------


def _another_value(dice: Random, file: GgufFile) -> GgufFile:
    return file.with_value(dice.choice(file.keys), _value(dice))


def _missing(dice: Random, file: GgufFile) -> GgufFile:
    return file.with_value(dice.choice(file.keys), None)


def _added(dice: Random, file: GgufFile) -> GgufFile:
    key = dice.choice((
        "general.alignment", "general.name", "general.sampling.temp", "general.sampling.top_k", "general.sampling.top_p",
        "general.sampling.sequence", "general.file_type", "general.quantization_version", "general.type", "split.count", "split.no",
        "split.tensors.count", "tokenizer.ggml.scores", "tokenizer.ggml.add_bos_token", "tokenizer.ggml.add_space_prefix",
        "tokenizer.ggml.remove_extra_whitespaces", "tokenizer.ggml.precompiled_charsmap", "tokenizer.ggml.padding_token_id",
        "tokenizer.ggml.unknown_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id", "tokenizer.ggml.suppress_tokens",
        "tokenizer.ggml.token_type_count", "tokenizer.ggml.added_tokens", "tokenizer.chat_templates", "tokenizer.chat_template.tool_use",
        "tokenizer.chat_template.\udcff", "tokenizer.huggingface.json", "llama.rope.freq_base", "llama.rope.scaling.type",
        "llama.rope.scaling.factor", "llama.attention.key_length", "llama.attention.value_length", "llama.expert_count",
        "llama.expert_used_count", "llama.attention.sliding_window", "llama.vocab_size", "llama.logit_scale", "adapter.type", "",
        "x" * 70_000,
    ))  # fmt: skip
    name = key.encode("utf-8", "surrogateescape")
    return replace(file, values=(*file.values, (name, _value(dice))))


def _shape(dice: Random, file: GgufFile) -> GgufFile:
    """Numbers of the architecture that do not go with each other, or with the tensors."""
    names = (
        "context_length", "embedding_length", "block_count", "feed_forward_length", "attention.head_count", "attention.head_count_kv",
        "rope.dimension_count", "vocab_size",
    )  # fmt: skip
    for name in dice.sample(names, dice.randrange(1, 3)):
        key = f"llama.{name}"
        value = dice.choice(
            (
                number_value(dice.choice(_ABSURD)),
                numbers(dice.choices((0, 1, 2, 64, -1), k=dice.choice((1, 2, 3, 900)))),
            )
        )
        file = file.with_value(key, value)
    return file


def _special_tokens(dice: Random, file: GgufFile) -> GgufFile:
    for name in dice.sample(
        ("bos", "eos", "unknown", "padding", "eot", "eom", "separator", "fim_pre", "mask", "cls"),
        dice.randrange(1, 5),
    ):
        size = len(_tokens_of(file))
        token = (
            dice.choice((0, 65, size - 1, size, size + 1, 2**31 - 1, 2**31, 2**32 - 1, 2**32 - 2))
            % 2**32
        )
        file = file.with_value(f"tokenizer.ggml.{name}_token_id", number_value(token))
    return file


def _token_table(dice: Random, file: GgufFile) -> GgufFile:
    """Tokens that are twice there, empty, huge, no text, or not as many as there should be."""
    tokens = _tokens_of(file)
    change = dice.randrange(7)
    at = dice.randrange(len(tokens))
    if change == 0:
        tokens = tokens[:at]
    elif change == 1:
        tokens = tokens + [b"more%d" % n for n in range(dice.choice((1, 2, 5_000)))]
    elif change == 2:
        tokens = [dice.choice(tokens)] * len(tokens)
    elif change == 3:
        dice.shuffle(tokens)
    else:
        for _ in range(dice.choice((1, 5, 200))):
            odd = (
                b"",
                b"\xff\xfe",
                b"\0",
                b"x" * 100_000,
                nasty(dice).encode("utf-8", "replace"),
                b"<0xZZ>",
                b"\xe2\x96\x81",
                b"<|im_end|>",
                b" ",
            )
            tokens[dice.randrange(len(tokens))] = dice.choice(odd)
    return file.with_value(_TOKENS, texts(tokens))


def _tokens_of(file: GgufFile) -> list[bytes]:
    """The tokens that are there, at least one."""
    value = file.value(_TOKENS)
    is_list = value is not None and value[0] == ARRAY and value[1][:4] == struct.pack("<I", TEXT)
    return (items(value) if value is not None and is_list else []) or [b"a"]


def _token_types(dice: Random, file: GgufFile) -> GgufFile:
    count = dice.choice((0, 1, 200, 274, 9_000))
    kinds = dice.choice(
        ((0,), (1,), (2,), (3,), (4,), (5,), (6,), (7,), (-1,), (2**31 - 1,), tuple(range(-2, 9)))
    )
    file = file.with_value(_TYPES, numbers(dice.choices(kinds, k=count)))
    if dice.random() < 0.5:
        scores = dice.choice(([], [0.0] * count, [float("nan")] * count, [1e38, -1e38] * count))
        file = file.with_value("tokenizer.ggml.scores", floats(scores))
    return file


def _merges(dice: Random, file: GgufFile) -> GgufFile:
    odd = (
        b"",
        b" ",
        b"a",
        b"a b c",
        b"  ",
        b"h e",
        b"\xff \xfe",
        b"no such",
        b"a \0",
        b"x" * 50_000 + b" y",
        b"\xc4\xa0 h",
    )
    count = dice.choice((0, 1, 12, 3_000))
    return file.with_value("tokenizer.ggml.merges", texts(dice.choices(odd, k=count)))


def _tokenizer(dice: Random, file: GgufFile) -> GgufFile:
    file = file.with_value("tokenizer.ggml.model", text_value(dice.choice(_MODELS)))
    return file.with_value("tokenizer.ggml.pre", text_value(dice.choice(_PRE)))


def _architecture(dice: Random, file: GgufFile) -> GgufFile:
    names = (
        "",
        "no such",
        "bert",
        "t5",
        "mamba",
        "gemma3",
        "qwen2",
        "clip",
        "whisper",
        "LLAMA",
        "llama\0",
        "x" * 9_000,
        "rwkv6",
        "gpt2",
        "\u202e",
    )
    return file.with_value("general.architecture", text_value(dice.choice(names)))


def _template(dice: Random, file: GgufFile) -> GgufFile:
    """A template out of the file itself: the one way in which it comes unasked."""
    source = hostile_templates.template(dice).source.encode("utf-8", "surrogatepass")
    file = file.with_value(_TEMPLATE, text_value(source))
    if dice.random() < 0.3:
        more = hostile_templates.template(dice).source.encode("utf-8", "replace")
        file = file.with_value(
            f"{_TEMPLATE}.{dice.choice(('tool_use', 'default', 'rag', ''))}", text_value(more)
        )
    return file


def _tensors(dice: Random, file: GgufFile) -> GgufFile:
    """Descriptions of weights that are not there, lie elsewhere, or are of another size."""
    rows = list(file.tensors)
    at = dice.randrange(len(rows))
    one = rows[at]
    wrong = dice.choice((
        replace(one, kind=dice.choice((1, 2, 8, 12, 30, 39, 40, 99, 2**31, 2**32 - 1))),
        replace(one, offset=dice.choice((1, 31, 32, len(file.data), 2**40, 2**63, 2**64 - 32))),
        replace(one, shape=dice.choice(((), (0,), (1,), (64,), (2**32, 2**32), (2**63,), (2**64 - 1,), (64, 64, 64), (1,) * 5, (1,) * 90))),
        replace(one, name=dice.choice((b"", b"x" * 64, b"y" * 9_000, b"\xff", b"a\0b", rows[0].name))),
        None,
    ))  # fmt: skip
    rows[at : at + 1] = [wrong] if isinstance(wrong, Tensor) else []
    return replace(file, tensors=tuple(rows))


def _twice(dice: Random, file: GgufFile) -> GgufFile:
    again = dice.choice(file.values)
    return replace(file, values=(*file.values, dice.choice((again, (again[0], _value(dice))))))


def _names(dice: Random, file: GgufFile) -> GgufFile:
    """Words of the file that are shown to people."""
    for key in (
        "general.name",
        "general.description",
        "general.author",
        "general.license",
        "general.basename",
    ):
        text = dice.choice((nasty(dice), hostile_text.run(dice, 90_000))).encode(
            "utf-8", "surrogatepass"
        )
        file = file.with_value(key, text_value(text))
    return file


# --- what a reader must stop at ----------------------------------------------------------------------------------


def _flipped(dice: Random, file: GgufFile) -> bytes:
    """Bytes of the head changed by chance."""
    data = bytearray(file.packed())
    head = len(data) - len(file.data)
    for _ in range(dice.choice((1, 1, 2, 8, 100))):
        data[dice.randrange(dice.choice((24, 400, head)))] = dice.choice(
            (0, 1, 0x7F, 0x80, 0xFF, dice.randrange(256))
        )
    return bytes(data)


def _cut(dice: Random, file: GgufFile) -> bytes:
    data = file.packed()
    return data[: dice.randrange(dice.choice((40, 400, len(data) - len(file.data), len(data))))]


def _counts(dice: Random, file: GgufFile) -> bytes:
    """More keys, tensors, letters or elements than there are, or could be."""
    huge = dice.choice(
        (2**16 + 1, 2**31, 2**32, 2**40, 2**60, 2**63 - 1, 2**63, 2**64 - 1, len(file.values) + 1)
    )
    long_text: Value = (8, struct.pack("<Q", huge) + b"abc")
    array: Value = (
        9,
        struct.pack("<IQ", dice.choice((0, 4, 6, 8, 9, 12, 13, 99)), huge) + b"\1" * 40,
    )
    return dice.choice((
        file.packed(keys=huge),
        file.packed(tensors=huge),
        file.with_value(dice.choice(file.keys), long_text).packed(),
        file.with_value(dice.choice(file.keys), array).packed(),
        file.with_value("general.name", array).packed(),
        replace(file, values=((b"", (dice.choice((13, 99, 2**32 - 1)), b"abc")), *file.values)).packed(),
    ))  # fmt: skip


def _nested(dice: Random, file: GgufFile) -> bytes:
    """Arrays within arrays, as deep as a reader goes."""
    depth = dice.choice((2, 50, 5_000, 60_000))
    value: Value = (9, struct.pack("<IQ", 9, 1) * depth + struct.pack("<IQ", 4, 0))
    return file.with_value(dice.choice(("general.name", _TEMPLATE, _TOKENS)), value).packed()


def _head(dice: Random, file: GgufFile) -> bytes:
    versions = (0, 1, 2, 4, 2**32 - 1, 3 << 24)
    magics = (b"GGUF", b"ggml", b"FUGG", b"PK\3\4", b"\0\0\0\0", b"GGJT")
    return replace(file, version=dice.choice(versions), magic=dice.choice(magics)).packed()


def _noise(dice: Random, file: GgufFile) -> bytes:
    return dice.choice(
        (
            b"",
            b"GGUF",
            b"GGUF\3\0\0\0",
            b"GGUF\3\0\0\0" + dice.randbytes(900),
            dice.randbytes(900),
            b"GGUF\3\0\0\0" + bytes(900),
        )
    )


_INSIDE: dict[str, Mutation] = {
    "another value": _another_value,
    "missing key": _missing,
    "added key": _added,
    "shape": _shape,
    "special tokens": _special_tokens,
    "token table": _token_table,
    "token types": _token_types,
    "merges": _merges,
    "tokenizer": _tokenizer,
    "architecture": _architecture,
    "template": _template,
    "tensors": _tensors,
    "key twice": _twice,
    "names": _names,
}
_OUTSIDE: dict[str, Callable[[Random, GgufFile], bytes]] = {
    "flipped bytes": _flipped,
    "cut": _cut,
    "counts": _counts,
    "nested arrays": _nested,
    "head": _head,
    "noise": _noise,
}
