"""The vocabulary of a GGUF file, without its weights, by llama.cpp.

For the text worker only: llama.cpp ends its process on some inputs, so whatever is passed to it is checked here.
"""

import ctypes
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from app import llama, modelfile
from app.errors import ModelError, TextError
from app.text import recommended
from app.text.control import ControlToken, ControlTokens
from app.text.stream import Vocabulary
from app.text.token_table import TokenTable

_TEMPLATE_KEY = "tokenizer.chat_template"
_GUARDS = ("\n", "\x01", "\x02")


class LlamaVocabulary:
    """Tokens, texts and templates of one model file; `close` frees it.  For one thread.

    Raises ModelError where the file cannot be used.  `templates` maps the names of chat templates ("" for the
    model's main one) to their bytes as they stand in the file; `advised` are the texts of the values of sampling in it.
    """

    def __init__(self, path: Path) -> None:
        modelfile.check(path)
        self.fingerprint = modelfile.identity(path)
        self._llama = llama.load()
        self._log = llama.NativeLog(self._llama)
        self._model = self._load(path)
        try:
            modelfile.check_same(path, self.fingerprint)
        except ModelError:
            self.close()
            raise
        self._vocab = self._llama.llama_model_get_vocab(self._model)
        if self._llama.llama_vocab_type(self._vocab) == self._llama.LLAMA_VOCAB_TYPE_NONE:
            self.close()
            raise ModelError(f"“{path.name}” has no vocabulary, so it cannot read or write text.")
        self.size: int = self._llama.llama_vocab_n_tokens(self._vocab)
        table = TokenTable(self._llama, self._vocab, self.size)
        self.pieces, self.ends = table.pieces()
        self.vocabulary = Vocabulary(self.pieces, self.ends)
        self.control = ControlTokens(self._control_tokens(table.attributes()))
        self.end_tokens = llama.end_tokens(self._llama, self._vocab)
        self.bos = self._token(self._llama.llama_vocab_bos(self._vocab))
        self.eos = self._token(self._llama.llama_vocab_eos(self._vocab))
        self.add_bos: bool = self._llama.llama_vocab_get_add_bos(self._vocab)
        self.templates = self._templates()
        self.advised = self._texts(recommended.PREFIX)
        try:
            self._adds_blank = self.vocabulary.join(self._raw(b"a")) == b" a"
        except TextError as error:
            self.close()
            words = f"“{path.name}” cannot be used: its vocabulary has no tokens for ordinary text."
            raise ModelError(words) from error

    def close(self) -> None:
        """Free the model; twice is fine."""
        if self._model is not None:
            self._llama.llama_model_free(self._model)
            self._model = None

    def text(self, token: int | None) -> str:
        """The text that stands for a token in a template; "" for None."""
        if token is None:
            return ""
        raw: bytes = self._llama.llama_vocab_get_text(self._vocab, token) or b""
        return raw.decode("utf-8", "replace")

    def tokenize(self, text: str, *, inside: bool = False) -> list[int]:
        """The ids of `text` as mere text: control tokens' texts in it are text.

        Some vocabularies put a blank before a text; not when it goes on after other text (`inside`).  Raises TextError
        where there is no token for some of it.
        """
        data = text.encode("utf-8", "replace")
        if inside and self._adds_blank:
            for guard in _GUARDS:
                before = self._raw(guard.encode())
                ids = self._raw(guard.encode() + data)
                if ids[: len(before)] == before:
                    return ids[len(before) :]
        return self._raw(data)

    def tokenize_rendered(self, text: str) -> list[int]:
        """The ids of a whole prompt in which control tokens' texts are control tokens."""
        return self._raw(text.encode("utf-8", "replace"), special=True)

    def _raw(self, data: bytes, *, special: bool = False) -> list[int]:
        room = len(data) // 2 + 16
        while True:
            buffer = (ctypes.c_int32 * room)()
            count: int = self._llama.llama_tokenize(
                self._vocab, data, len(data), buffer, room, False, special
            )
            if count >= 0:
                return self._known(list(buffer[:count]))
            room = -count

    def _known(self, ids: list[int]) -> list[int]:
        """These ids; tables that do not go together make llama.cpp give some that no token has."""
        if ids and (min(ids) < 0 or max(ids) >= self.size):
            raise TextError(
                "The model's vocabulary has no token for a part of this text.",
                "The model's file may be damaged: get it again, or choose another model.",
            )
        return ids

    def _load(self, path: Path) -> Any:
        params = self._llama.llama_model_default_params()
        params.vocab_only = True
        params.n_gpu_layers = 0
        model = self._llama.llama_model_load_from_file(os.fsencode(path), params)
        if not model:
            raise modelfile.refused(path, self._log.reason)
        return model

    def _control_tokens(self, attributes: Sequence[int]) -> list[ControlToken]:
        llama = self._llama
        kind = llama.LLAMA_TOKEN_ATTR_CONTROL | llama.LLAMA_TOKEN_ATTR_UNKNOWN
        found: list[ControlToken] = []
        for token, flags in enumerate(attributes):
            if flags & kind:
                left = bool(flags & llama.LLAMA_TOKEN_ATTR_LSTRIP)
                right = bool(flags & llama.LLAMA_TOKEN_ATTR_RSTRIP)
                found.append(ControlToken(token, self.text(token), left, right))
        return found

    def _token(self, token: int) -> int | None:
        return token if 0 <= token < self.size else None

    def _templates(self) -> dict[str, bytes]:
        main = f"{_TEMPLATE_KEY}."
        found = self._under(_TEMPLATE_KEY)
        return {
            key[len(main) :]: text
            for key, text in found.items()
            if key == _TEMPLATE_KEY or key.startswith(main)
        }

    def _texts(self, prefix: str) -> dict[str, str]:
        return {key: text.decode("utf-8", "replace") for key, text in self._under(prefix).items()}

    def _under(self, prefix: str) -> dict[str, bytes]:
        """The values, as texts, of all keys that begin so."""
        found: dict[str, bytes] = {}
        for index in range(self._llama.llama_model_meta_count(self._model)):
            key = self._meta(self._llama.llama_model_meta_key_by_index, index).decode(
                "utf-8", "replace"
            )
            if key.startswith(prefix):
                found[key] = self._meta(self._llama.llama_model_meta_val_str_by_index, index)
        return found

    def _meta(self, call: Any, index: int) -> bytes:
        buffer = ctypes.create_string_buffer(4096)
        size: int = call(self._model, index, buffer, len(buffer))
        if size >= len(buffer):
            buffer = ctypes.create_string_buffer(size + 1)
            call(self._model, index, buffer, len(buffer))
        return buffer.value if size >= 0 else b""
