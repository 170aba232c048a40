"""Vocabularies, tokenizers and templates that make no sense."""

import struct

from tests.gguf_bytes import ARRAY, TEXT, Entry, Gguf, items, number, text, texts
from tests.mutations.chance import Chance

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


def tokens(model: Gguf, chance: Chance) -> bytes:
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


def vocabulary(model: Gguf, chance: Chance) -> bytes:
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
            scores = [chance.odd() for _ in range(count)]
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


def template(model: Gguf, chance: Chance) -> bytes:
    model.put(Entry(b"tokenizer.chat_template", TEXT, text(chance.choice(_TEMPLATES))))
    return model.written()
