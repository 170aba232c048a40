"""A prompt's tokens in words: what people read of it, and what stands for each token by itself.  Pure."""

from collections.abc import Mapping, Sequence

from app.prompting import PromptSpan, PromptText
from app.text.stream import Vocabulary

_NONE: Mapping[int, str] = {}


def nameless(tokens: Sequence[int], vocabulary: Vocabulary) -> tuple[int, ...]:
    """Those of them, once each, that have no piece: control tokens, and what is no token of this vocabulary."""
    return tuple(token for token in dict.fromkeys(tokens) if not _piece(vocabulary, token))


def spell(
    tokens: Sequence[int], vocabulary: Vocabulary, names: Mapping[int, str] = _NONE
) -> PromptText:
    """The spans and the single texts; `names` are those of the tokens without a piece.

    Bytes that are no text come out as U+FFFD in the spans, and as ⟨E4 BD⟩ where they are a token of their own.
    """
    spans: list[PromptSpan] = []
    content: list[bytes] = []
    single: dict[int, str] = {}

    def close() -> None:
        if content:
            spans.append(PromptSpan(b"".join(content).decode("utf-8", "replace")))
            content.clear()

    for token in tokens:
        piece = _piece(vocabulary, token)
        if piece:
            content.append(piece)
            if token not in single:
                single[token] = _single(piece)
            continue
        close()
        single[token] = names.get(token) or f"⟨{token}⟩"
        spans.append(PromptSpan(single[token], control=True))
    close()
    texts = tuple(single[token] for token in tokens)
    return PromptText(tuple(spans), tuple(tokens), texts, frozenset(nameless(tokens, vocabulary)))


def _piece(vocabulary: Vocabulary, token: int) -> bytes:
    return vocabulary.piece(token) if 0 <= token < len(vocabulary) else b""


def _single(piece: bytes) -> str:
    try:
        return piece.decode("utf-8")
    except UnicodeDecodeError:
        return f"⟨{piece.hex(' ').upper()}⟩"
