"""What the head of a model file says: what it is for, and what a person wants to know of it."""

from dataclasses import dataclass
from pathlib import Path

from app.errors import ModelError
from app.hub import names
from app.hub.names import Kind
from app.sizing.header import Header, read_header

_FILE_TYPES = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K", 11: "Q3_K_S", 12: "Q3_K_M",
    13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S", 17: "Q5_K_M", 18: "Q6_K", 19: "IQ2_XXS", 20: "IQ2_XS",
    21: "Q2_K_S", 22: "IQ3_XS", 23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL", 26: "IQ3_S", 27: "IQ3_M", 28: "IQ2_S",
    29: "IQ2_M", 30: "IQ4_XS", 31: "IQ1_M", 32: "BF16", 36: "TQ1_0", 37: "TQ2_0", 38: "MXFP4",
}  # fmt: skip
"""llama.cpp's numbers for what most of a file's tensors are."""

_BY_TYPE = {"mmproj": Kind.PROJECTOR, "adapter": Kind.ADAPTER, "imatrix": Kind.MATRIX}
_BY_ARCHITECTURE = {
    "clip": Kind.PROJECTOR,
    **dict.fromkeys(("eagle3", "dflash", "gemma4-assistant"), Kind.DRAFT),
    **dict.fromkeys(
        ("bert", "modern-bert", "nomic-bert", "nomic-bert-moe", "neo-bert", "jina-bert-v2", "jina-bert-v3",
         "gemma-embedding", "t5encoder"),
        Kind.EMBEDDING,
    ),
    **dict.fromkeys(("wavtokenizer-dec", "qwen3tts"), Kind.SPEECH),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Details:
    """Words are a stranger's, made fit for one line; "" or 0 where the file does not say."""

    kind: Kind
    title: str = ""
    architecture: str = ""
    quantisation: str = ""
    parameters: str = ""
    context: int = 0
    licence: str = ""
    parts: int = 1
    chats: bool = False
    """Whether it carries a template for chats."""


def of_header(header: Header, name: str) -> Details:
    """The name helps only where the header is silent."""
    file_type = header.values.get("general.file_type")
    label = _FILE_TYPES.get(file_type, "") if isinstance(file_type, int) else ""
    parts = header.values.get("split.count")
    return Details(
        kind=kind(header),
        title=_text(header, "general.name"),
        architecture=names.shown(header.architecture, 40),
        quantisation=label or names.quantisation(name),
        parameters=_text(header, "general.size_label"),
        context=max(0, header.number("context_length")),
        licence=_text(header, "general.license"),
        parts=parts if isinstance(parts, int) and parts > 1 else 1,
        chats="tokenizer.chat_template" in header.values,
    )


def kind(header: Header) -> Kind:
    """What the file is for, whatever its name says."""
    told = header.values.get("general.type")
    if isinstance(told, str) and told in _BY_TYPE:
        return _BY_TYPE[told]
    if "adapter.type" in header.values:
        return Kind.ADAPTER
    if "imatrix.chunk_count" in header.values or "imatrix.datasets" in header.lengths:
        return Kind.MATRIX
    if header.architecture in _BY_ARCHITECTURE:
        return _BY_ARCHITECTURE[header.architecture]
    if header.has("pooling_type") or header.values.get(f"{header.architecture}.attention.causal") is False:  # fmt: skip
        return Kind.EMBEDDING
    return Kind.MODEL


def is_other_kind(path: Path) -> bool:
    """Whether the file is plainly no chat model; one that cannot be read may be one."""
    try:
        return kind(read_header(path)) is not Kind.MODEL
    except ModelError:
        return False


def _text(header: Header, key: str) -> str:
    value = header.values.get(key)
    return names.shown(value, 80) if isinstance(value, str) else ""
