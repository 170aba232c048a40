"""Tiny random-weight GGUFs, one for each kind of memory, written on demand; a step takes a millisecond.

Ids in, ids out: they have no vocabulary (tokenising with them would abort the process), but for a `talker`, which chats.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import numpy.typing as npt

from tests.tiny_text import CHATML, add_byte_vocabulary, byte_tokens

VOCABULARY = 256
CONTEXT = 2048
_USUAL_WIDTH = 64
_ADDING = ("attn_output", "ffn_down")
"""The tensors by which a layer adds to what it was given."""

Array = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Speech:
    """What makes a model chat: a byte-level vocabulary, a template, room for a conversation.

    It writes letters, figures, marks and line feeds without sense, each a token of its own, and never ends an answer by
    itself unless `ends`; `eos` is the end token in its metadata, None for none, -1 for the right one.  With `letters` it writes only these; with `recites` these texts, each a token that nothing
    typed becomes, in this order, and ends.
    """

    template: str = CHATML
    ends: bool = False
    eos: int | None = -1
    context: int = 16_384
    letters: str = ""
    recites: tuple[str, ...] = ()

    @property
    def tokens(self) -> list[str]:
        """The tokens of the vocabulary."""
        return byte_tokens(more=self.recites)

    @property
    def written(self) -> list[bool]:
        """Of each token, whether it is written as long as nothing (a penalty, mirostat) speaks against those that are."""
        written = [
            (len(token) == 1 and token.isascii()) or token in "\u0120\u010a"
            for token in self.tokens
        ]
        if self.letters:
            written = [token in self.letters for token in self.tokens]
        written[self.tokens.index("<|im_end|>")] = self.ends
        return written


class _Writer:
    """A GGUF with random tensors; the same seed gives the same file."""

    def __init__(
        self,
        path: Path,
        architecture: str,
        *,
        width: int,
        layers: int,
        feed: int,
        speech: Speech | None,
    ) -> None:
        self._random = np.random.default_rng(7)
        self._speech = speech
        self._width = width
        self._scale = (_USUAL_WIDTH / width) ** 0.5  # values and logits are as large in a wider one
        self.file = gguf.GGUFWriter(path, architecture)
        self.file.add_vocab_size(VOCABULARY if speech is None else len(speech.tokens))
        self.file.add_context_length(CONTEXT if speech is None else speech.context)
        self.file.add_embedding_length(width)
        self.file.add_block_count(layers)
        self.file.add_feed_forward_length(feed)
        self.file.add_layer_norm_rms_eps(1e-5)
        self.file.add_tokenizer_model("no_vocab" if speech is None else "gpt2")

    def tokens(self, *, output_spread: float = 0.0) -> None:
        """What stands for each token at the entrance and, where it is not the same (or `speech`), at the exit."""
        if self._speech is not None:
            self._speak(self._speech)
            return
        self.random("token_embd", VOCABULARY, self._width, spread=1.0)
        if output_spread:
            self.random("output", VOCABULARY, self._width, spread=output_spread)

    def _speak(self, speech: Speech) -> None:
        tokens = speech.tokens
        self.file.add_token_list(tokens)
        add_byte_vocabulary(self.file, more=speech.recites)
        self.file.add_bos_token_id(tokens.index("<|endoftext|>"))
        if speech.eos is not None:
            right = speech.eos < 0
            self.file.add_eos_token_id(tokens.index("<|im_end|>") if right else speech.eos)
        self.file.add_add_bos_token(False)
        self.file.add_chat_template(speech.template)
        if speech.recites:
            self._recite(tokens, speech.recites)
            return
        self.random("token_embd", len(tokens), self._width, spread=1.0 / self._scale)
        written = speech.written
        rows = np.random.default_rng(13).standard_normal((len(tokens), self._width))
        # What shall not be written has a logit of 0 where the best of the others have 20.
        self.raw("output.weight", rows * np.array(written)[:, None] * self._scale)

    def _recite(self, tokens: list[str], texts: tuple[str, ...]) -> None:
        """Behind a line feed and each of the texts, the next one has the best logit."""
        entrance = self._random.standard_normal((len(tokens), self._width))
        first = len(byte_tokens(()))
        told = [*range(first, first + len(texts)), tokens.index("<|im_end|>")]
        rows = np.zeros_like(entrance)
        for before, after in pairwise([tokens.index("\u010a"), *told]):
            rows[after] = entrance[before]
        self.raw("token_embd.weight", entrance)
        self.raw("output.weight", rows)

    def random(self, name: str, *shape: int, spread: float = 0.15) -> None:
        if self._speech is not None and self._speech.recites and name.endswith(_ADDING):
            spread = 0.0  # what is written depends on the last token alone
        values = self._random.standard_normal(shape) * (spread * self._scale)
        self.file.add_tensor(f"{name}.weight", values.astype(np.float32))

    def ones(self, name: str, size: int) -> None:
        self.file.add_tensor(f"{name}.weight", np.ones(size, np.float32))

    def raw(self, name: str, values: Array) -> None:
        self.file.add_tensor(name, values.astype(np.float32))

    def feed_forward(self, prefix: str, width: int, feed: int) -> None:
        self.ones(f"{prefix}ffn_norm", width)
        self.random(f"{prefix}ffn_gate", feed, width)
        self.random(f"{prefix}ffn_up", feed, width)
        self.random(f"{prefix}ffn_down", width, feed)

    def mixture(self, prefix: str, width: int, feed: int, experts: int) -> None:
        self.ones(f"{prefix}ffn_norm", width)
        self.random(f"{prefix}ffn_gate_inp", experts, width)
        self.random(f"{prefix}ffn_gate_exps", experts, feed, width)
        self.random(f"{prefix}ffn_up_exps", experts, feed, width)
        self.random(f"{prefix}ffn_down_exps", experts, width, feed)

    def attention(self, prefix: str, width: int) -> None:
        for part in "qkv":
            self.random(f"{prefix}attn_{part}", width, width)
        self.random(f"{prefix}attn_output", width, width)

    def close(self) -> None:
        self.file.write_header_to_file()
        self.file.write_kv_data_to_file()
        self.file.write_tensors_to_file()
        self.file.close()


def talker(path: Path, kind: str = "attention", **speech: Any) -> Path:
    """A model for the whole program; `speech` are fields of `Speech`."""
    KINDS[kind](path, Speech(**speech))
    return path


def attention(
    path: Path,
    speech: Speech | None = None,
    *,
    width: int = _USUAL_WIDTH,
    feed: int = 128,
    layers: int = 2,
) -> None:
    """Llama: plain attention; a step of a wider and deeper one takes as long as that of a small real model."""
    writer = _Writer(path, "llama", width=width, layers=layers, feed=feed, speech=speech)
    writer.tokens()
    _llama(writer, width, feed, layers)
    writer.close()


def experts(path: Path) -> None:
    """Llama with a mixture of experts: of four, two are used for each token."""
    width, feed, layers, count = 64, 96, 2, 4
    writer = _Writer(path, "llama", width=width, layers=layers, feed=feed, speech=None)
    writer.file.add_expert_count(count)
    writer.file.add_expert_used_count(2)
    writer.tokens()
    _llama(writer, width, feed, layers, experts=count)
    writer.close()


def _llama(writer: _Writer, width: int, feed: int, layers: int, experts: int = 0) -> None:
    heads = width // 32
    writer.file.add_head_count(heads)
    writer.file.add_head_count_kv(heads)
    writer.file.add_rope_dimension_count(width // heads)
    writer.ones("output_norm", width)
    for layer in range(layers):
        prefix = f"blk.{layer}."
        writer.ones(f"{prefix}attn_norm", width)
        writer.attention(prefix, width)
        if experts:
            writer.mixture(prefix, width, feed, experts)
        else:
            writer.feed_forward(prefix, width, feed)


def sliding_window(path: Path, speech: Speech | None = None) -> None:
    """Gemma 3: five layers of six see a window of 64 tokens only."""
    width, heads, feed, layers = 64, 2, 128, 6
    head = width // heads
    writer = _Writer(path, "gemma3", width=width, layers=layers, feed=feed, speech=speech)
    writer.file.add_head_count(heads)
    writer.file.add_head_count_kv(heads)
    writer.file.add_key_length(head)
    writer.file.add_value_length(head)
    writer.file.add_sliding_window(64)
    writer.file.add_rope_freq_base(1e6)
    writer.tokens()
    writer.ones("output_norm", width)
    for layer in range(layers):
        prefix = f"blk.{layer}."
        for norm in ("attn_norm", "post_attention_norm", "post_ffw_norm"):
            writer.ones(f"{prefix}{norm}", width)
        writer.attention(prefix, width)
        writer.ones(f"{prefix}attn_q_norm", head)
        writer.ones(f"{prefix}attn_k_norm", head)
        writer.feed_forward(prefix, width, feed)
    writer.close()


def hybrid(path: Path, speech: Speech | None = None) -> None:
    """LFM2: short convolutions (a recurrent state) and attention in turn."""
    width, heads, feed, layers = 64, 2, 128, 4
    head = width // heads
    writer = _Writer(path, "lfm2", width=width, layers=layers, feed=feed, speech=speech)
    writer.file.add_head_count(heads)
    writer.file.add_head_count_kv([0, heads, 0, heads])
    writer.file.add_shortconv_l_cache(3)
    writer.file.add_rope_freq_base(1e6)
    writer.tokens()
    writer.ones("token_embd_norm", width)
    for layer in range(layers):
        prefix = f"blk.{layer}."
        writer.ones(f"{prefix}attn_norm", width)
        writer.feed_forward(prefix, width, feed)
        if layer % 2:
            writer.attention(prefix, width)
            writer.ones(f"{prefix}attn_q_norm", head)
            writer.ones(f"{prefix}attn_k_norm", head)
        else:
            writer.random(f"{prefix}shortconv.conv", width, 3, spread=0.5)
            writer.random(f"{prefix}shortconv.in_proj", 3 * width, width)
            writer.random(f"{prefix}shortconv.out_proj", width, width)
    writer.close()


def recurrent(path: Path, speech: Speech | None = None) -> None:
    """Mamba: a recurrent state only."""
    width, layers, state, rank, kernel = 64, 2, 16, 4, 4
    inner = 2 * width
    writer = _Writer(path, "mamba", width=width, layers=layers, feed=0, speech=speech)
    writer.file.add_head_count(0)
    writer.file.add_ssm_conv_kernel(kernel)
    writer.file.add_ssm_inner_size(inner)
    writer.file.add_ssm_state_size(state)
    writer.file.add_ssm_time_step_rank(rank)
    writer.tokens(output_spread=0.3)
    writer.ones("output_norm", width)
    random = np.random.default_rng(11)
    for layer in range(layers):
        prefix = f"blk.{layer}."
        writer.ones(f"{prefix}attn_norm", width)
        writer.random(f"{prefix}ssm_in", 2 * inner, width)
        writer.random(f"{prefix}ssm_conv1d", inner, kernel, spread=0.5)
        writer.raw(f"{prefix}ssm_conv1d.bias", random.standard_normal(inner))
        writer.random(f"{prefix}ssm_x", rank + 2 * state, inner)
        writer.random(f"{prefix}ssm_dt", inner, rank, spread=0.3)
        writer.raw(f"{prefix}ssm_dt.bias", random.standard_normal(inner) - 2)
        writer.raw(f"{prefix}ssm_a", -abs(random.standard_normal((inner, state))))
        writer.raw(f"{prefix}ssm_d", random.standard_normal(inner))
        writer.random(f"{prefix}ssm_out", width, inner)
    writer.close()


KINDS: dict[str, Callable[..., None]] = {
    "attention": attention,
    "sliding_window": sliding_window,
    "hybrid": hybrid,
    "recurrent": recurrent,
}
