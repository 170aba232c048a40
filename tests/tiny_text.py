"""Small GGUF files for tests of text: a byte-level vocabulary with a template, or another file's metadata edited.

They hold no weights: a vocabulary-only load reads them in milliseconds.
"""

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

import gguf

CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content']"
    " + '<|im_end|>' + '\n' }}{% endfor %}{{ '<|im_start|>assistant\n' }}"
)
CONTROL = ("<|im_start|>", "<|im_end|>", "<|endoftext|>", "<filename>", "<s>", "</s>")
WORDS = ("he", "ll", "hell", "hello", "Ġhe", "Ġhell", "Ġhello", "in", "ing", "Ċ\u010a", "im", "<|")

MERGES = (
    "h e",
    "l l",
    "he ll",
    "hell o",
    "Ġ he",
    "Ġhe ll",
    "Ġhell o",
    "i n",
    "in g",
    "Ċ Ċ",
    "i m",
    "< |",
)


def tiny_vocabulary(
    path: Path,
    *,
    template: str | None = CHATML,
    control: Sequence[str] = CONTROL,
    eos: str = "<|im_end|>",
    bos: str = "<|endoftext|>",
    add_bos: bool = False,
    more: Sequence[str] = (),
) -> Path:
    """Write a byte-level BPE vocabulary: 256 bytes, a few merges, `more` of `byte_tokens`, control tokens."""
    tokens = byte_tokens(control, more)
    writer = _writer(path, "gpt2", tokens)
    add_byte_vocabulary(writer, control, more)
    writer.add_bos_token_id(tokens.index(bos))
    writer.add_eos_token_id(tokens.index(eos))
    writer.add_add_bos_token(add_bos)
    return _finish(writer, path, template)


def byte_tokens(control: Sequence[str] = CONTROL, more: Sequence[str] = ()) -> list[str]:
    """The tokens of a byte-level vocabulary, in order; `more` texts are tokens that no text is ever tokenised to."""
    letters = _byte_letters()
    words = ("".join(letters[byte] for byte in text.encode()) for text in more)
    return [*letters, *WORDS, *words, *control]


def add_byte_vocabulary(
    writer: gguf.GGUFWriter, control: Sequence[str] = CONTROL, more: Sequence[str] = ()
) -> None:
    """Add what belongs to `byte_tokens`, but for the list of them."""
    normal = len(byte_tokens((), more))
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_types(
        [gguf.TokenType.NORMAL] * normal + [gguf.TokenType.CONTROL] * len(control)
    )
    writer.add_token_merges(MERGES)


def blank_vocabulary(
    path: Path, *, template: str | None, add_bos: bool = True, more_control: Sequence[str] = ()
) -> Path:
    """Write a SentencePiece-like vocabulary that puts a blank before every text."""
    control = ["<unk>", "<s>", "</s>", *more_control]
    letters = [chr(code) for code in range(0x21, 0x7F)]
    words = ["\u2581", "he", "\u2581he", "[I", "\u2581[", "<s", "s>"]
    tokens = control + [f"<0x{byte:02X}>" for byte in range(256)] + words + letters
    writer = _writer(path, "llama", tokens)
    kinds = [gguf.TokenType.UNKNOWN] + [gguf.TokenType.CONTROL] * (len(control) - 1)
    kinds += [gguf.TokenType.BYTE] * 256 + [gguf.TokenType.NORMAL] * (len(words) + len(letters))
    writer.add_token_types(kinds)
    writer.add_token_scores([-float(index) for index in range(len(tokens))])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_add_bos_token(add_bos)
    writer.add_add_space_prefix(True)
    return _finish(writer, path, template)


def _writer(path: Path, model: str, tokens: Sequence[str]) -> gguf.GGUFWriter:
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(512)
    writer.add_embedding_length(32)
    writer.add_block_count(1)
    writer.add_feed_forward_length(64)
    writer.add_head_count(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model(model)
    writer.add_token_list(tokens)
    return writer


def _finish(writer: gguf.GGUFWriter, path: Path, template: str | None) -> Path:
    if template is not None:
        writer.add_chat_template(template)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _byte_letters() -> list[str]:
    """The letter that stands for each byte in byte-level vocabularies."""
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = iter(range(0x100, 0x200))
    return [chr(byte if byte in shown else next(others)) for byte in range(256)]


# --- another file's metadata ---------------------------------------------------------------------------------

_SCALARS = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_STRING, _ARRAY = 8, 9

Value = tuple[int, bytes]
"""A GGUF value: its type and its bytes."""


def text_value(text: str | bytes) -> Value:
    raw = text.encode() if isinstance(text, str) else text
    return _STRING, struct.pack("<Q", len(raw)) + raw


def number_value(number: int) -> Value:
    return 4, struct.pack("<I", number)


def with_metadata(source: Path, target: Path, changes: Mapping[str, Value | None]) -> Path:
    """Copy the metadata of `source`, without its tensors, with these keys set or (None) removed."""
    with source.open("rb") as file:
        _, version, _, count = struct.unpack("<4sIQQ", file.read(24))
        values: dict[str, Value] = {}
        for _ in range(count):
            key = _read_string(file)[8:].decode()
            kind = struct.unpack("<I", file.read(4))[0]
            values[key] = kind, _read_value(file, kind)
    for key, value in changes.items():
        values.pop(key, None)
        if value is not None:
            values[key] = value
    with target.open("wb") as file:
        file.write(struct.pack("<4sIQQ", b"GGUF", version, 0, len(values)))
        for key, (kind, raw) in values.items():
            file.write(text_value(key)[1] + struct.pack("<I", kind) + raw)
    return target


def _read_string(file) -> bytes:
    size = file.read(8)
    return size + file.read(struct.unpack("<Q", size)[0])


def _read_value(file, kind: int) -> bytes:
    if kind == _STRING:
        return _read_string(file)
    if kind != _ARRAY:
        return file.read(_SCALARS[kind])
    head = file.read(12)
    element, count = struct.unpack("<IQ", head)
    if element in _SCALARS:
        return head + file.read(_SCALARS[element] * count)
    return head + b"".join(_read_value(file, element) for _ in range(count))
