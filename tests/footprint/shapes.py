"""The heads of models as they are published: every fact that decides how much memory llama.cpp takes for them.

Names are those of the models whose numbers these are; nothing else of them is here.
"""

from dataclasses import dataclass
from pathlib import Path

import gguf

Fact = int | float | bool | tuple[int, ...] | tuple[bool, ...]

_EPSILON = "attention.layer_norm_rms_epsilon"
_LAYER_NORM = "attention.layer_norm_epsilon"


@dataclass(frozen=True)
class Shape:
    """`facts` are the keys of the header behind the architecture's name, `vocabulary` is in tokens."""

    kind: str
    architecture: str
    vocabulary: int
    facts: dict[str, Fact]

    def write(self, path: Path) -> None:
        """A GGUF file that is a header only."""
        file = gguf.GGUFWriter(path, self.architecture)
        file.add_vocab_size(self.vocabulary)
        file.add_tokenizer_model("no_vocab")
        for name, fact in self.facts.items():
            _add(file, f"{self.architecture}.{name}", fact)
        file.write_header_to_file()
        file.write_kv_data_to_file()
        file.write_tensors_to_file()
        file.close()


def _add(file: gguf.GGUFWriter, key: str, fact: Fact) -> None:
    match fact:
        case bool():
            file.add_bool(key, fact)
        case int():
            file.add_uint32(key, fact)
        case float():
            file.add_float32(key, fact)
        case tuple():
            file.add_array(key, list(fact))


def _facts(
    width: int, layers: int, feed: int | tuple[int, ...], heads: int | tuple[int, ...] = 0,
    kv: int | tuple[int, ...] | None = None, context: int = 32_768, norm: str = _EPSILON, **more: Fact,
) -> dict[str, Fact]:  # fmt: skip
    """A dot in a name is written as two underscores."""
    return {
        "context_length": context,
        "embedding_length": width,
        "block_count": layers,
        "feed_forward_length": feed,
        "attention.head_count": heads,
        "attention.head_count_kv": heads if kv is None else kv,
        norm: 1e-5,
        **{name.replace("__", "."): fact for name, fact in more.items()},
    }


def _head(key: int, value: int | None = None) -> dict[str, Fact]:
    return {"attention__key_length": key, "attention__value_length": key if value is None else value}  # fmt: skip


def _window(tokens: int) -> dict[str, Fact]:
    return {"attention__sliding_window": tokens}


def _experts(count: int, used: int, feed: int = 0, shared: int = 0) -> dict[str, Fact]:
    facts: dict[str, Fact] = {"expert_count": count, "expert_used_count": used}
    if feed:
        facts["expert_feed_forward_length"] = feed
    if shared:
        facts["expert_shared_count"] = shared
    return facts


def _ssm(inner: int, state: int, rank: int, groups: int = 0, kernel: int = 4) -> dict[str, Fact]:
    return {
        "ssm__conv_kernel": kernel,
        "ssm__inner_size": inner,
        "ssm__state_size": state,
        "ssm__time_step_rank": rank,
        "ssm__group_count": groups,
    }


def _every(layers: int, nth: int, value: int, offset: int = -1) -> tuple[int, ...]:
    """`value` in each `nth` layer, else 0."""
    return tuple(value if n % nth == offset % nth else 0 for n in range(layers))


SHAPES: dict[str, Shape] = {
    "SmolLM2 135M": Shape("dense", "llama", 49_152, _facts(576, 30, 1536, 9, 3, 8192)),
    "Llama 3.2 1B": Shape("dense", "llama", 128_256, _facts(2048, 16, 8192, 32, 8)),
    "Llama 3.1 8B": Shape("dense", "llama", 128_256, _facts(4096, 32, 14_336, 32, 8)),
    "Mistral Nemo 12B": Shape("dense", "llama", 131_072, _facts(5120, 40, 14_336, 32, 8, **_head(128))),
    "Qwen 2.5 0.5B": Shape("dense", "qwen2", 151_936, _facts(896, 24, 4864, 14, 2)),
    "Qwen 2.5 7B": Shape("dense", "qwen2", 152_064, _facts(3584, 28, 18_944, 28, 4)),
    "Qwen 3 0.6B": Shape("dense", "qwen3", 151_936, _facts(1024, 28, 3072, 16, 8, **_head(128))),
    "Qwen 3 4B": Shape("dense", "qwen3", 151_936, _facts(2560, 36, 9728, 32, 8, **_head(128))),
    "Phi 2": Shape("dense", "phi2", 51_200, _facts(2560, 32, 10_240, 32, norm=_LAYER_NORM, rope__dimension_count=32)),
    "Phi 3 mini": Shape("dense", "phi3", 32_064, _facts(3072, 32, 8192, 32, rope__dimension_count=96, **_window(2047))),
    "Phi 4": Shape("dense", "phi3", 100_352, _facts(5120, 40, 17_920, 40, 10, rope__dimension_count=128)),
    "Command R7B": Shape("window", "cohere2", 256_000, _facts(4096, 32, 14_336, 32, 8, norm=_LAYER_NORM, logit_scale=0.25, **_window(4096))),
    "SmolLM3 3B": Shape("dense", "smollm3", 128_256, _facts(2048, 36, 11_008, 16, 4)),
    "GLM 4 9B": Shape("dense", "glm4", 151_552, _facts(4096, 40, 13_696, 32, 2, rope__dimension_count=64)),
    "StarCoder 2 3B": Shape("dense", "starcoder2", 49_152, _facts(3072, 30, 12_288, 24, 2, norm=_LAYER_NORM)),
    "OLMo 2 7B": Shape("dense", "olmo2", 100_352, _facts(4096, 32, 11_008, 32)),
    "EXAONE 4 1.2B": Shape("dense", "exaone4", 102_400, _facts(2048, 30, 4096, 32, 8)),
    "GPT-2": Shape("dense", "gpt2", 50_257, _facts(768, 12, 3072, 12, context=1024, norm=_LAYER_NORM)),
    "MiniCPM 3 4B": Shape("latent", "minicpm3", 73_448, _facts(2560, 62, 6400, 40, attention__q_lora_rank=768, attention__kv_lora_rank=256, rope__dimension_count=32, **_head(96, 64))),
    "Gemma 2 2B": Shape("window", "gemma2", 256_000, _facts(2304, 26, 9216, 8, 4, 8192, **_window(4096), **_head(256))),
    "Gemma 3 270M": Shape("window", "gemma3", 262_144, _facts(640, 18, 2048, 4, 1, **_window(512), **_head(256))),
    "Gemma 3 1B": Shape("window", "gemma3", 262_144, _facts(1152, 26, 6912, 4, 1, **_window(512), **_head(256))),
    "Gemma 3 12B": Shape("window", "gemma3", 262_208, _facts(3840, 48, 15_360, 16, 8, 131_072, **_window(1024), **_head(256))),
    "Gemma 3n E4B": Shape("window", "gemma3n", 262_144, _facts(2048, 35, 16_384, 8, 2, attention__shared_kv_layers=15, embedding_length_per_layer_input=256, altup__num_inputs=4, altup__active_idx=0, attention__sliding_window_pattern=tuple(n % 5 != 4 for n in range(35)), **_window(512), **_head(256))),
    "gpt-oss 20B": Shape("experts, window", "gpt-oss", 201_088, _facts(2880, 24, 2880, 64, 8, 131_072, **_head(64), **_window(128), **_experts(32, 4, 2880))),
    "Gemma 4 E4B": Shape("window", "gemma4", 262_144, _facts(2560, 42, 10_240, 8, 2, 131_072, attention__shared_kv_layers=18, embedding_length_per_layer_input=256, attention__key_length_swa=256, attention__value_length_swa=256, attention__sliding_window_pattern=tuple(n % 6 != 5 for n in range(42)), **_window(512), **_head(512))),
    "EXAONE 4 32B": Shape("window", "exaone4", 102_400, _facts(5120, 64, 27_392, 40, 8, 131_072, **_window(4096), **_head(128))),
    "Llama 4 Scout 17B": Shape("experts, window", "llama4", 202_048, _facts(5120, 48, 16_384, 40, 8, 262_144, rope__dimension_count=128, interleave_moe_layer_step=1, **_head(128), **_experts(16, 1, 8192))),
    "Qwen 1.5 MoE A2.7B": Shape("experts", "qwen2moe", 151_936, _facts(2048, 24, 5632, 16, 16, expert_shared_feed_forward_length=5632, **_experts(60, 4, 1408))),
    "Mixtral 8x7B": Shape("experts", "llama", 32_000, _facts(4096, 32, 14_336, 32, 8, **_experts(8, 2))),
    "Qwen 3 30B-A3B": Shape("experts", "qwen3moe", 151_936, _facts(2048, 48, 6144, 32, 4, **_head(128), **_experts(128, 8, 768))),
    "OLMoE 1B-7B": Shape("experts", "olmoe", 50_304, _facts(2048, 16, 1024, 16, context=4096, **_experts(64, 8))),
    "Granite 3 1B-A400M": Shape("experts", "granitemoe", 49_155, _facts(1024, 24, 512, 16, 8, logit_scale=6.0, **_experts(32, 8))),
    "DeepSeek V2 Lite": Shape("experts, latent", "deepseek2", 102_400, _facts(2048, 27, 10_944, 16, 1, leading_dense_block_count=1, attention__kv_lora_rank=512, rope__dimension_count=64, attention__key_length_mla=192, attention__value_length_mla=128, expert_weights_scale=1.0, expert_gating_func=1, **_head(576, 512), **_experts(64, 6, 1408, 2))),
    "GLM 4.5 Air": Shape("experts", "glm4moe", 151_552, _facts(4096, 46, 10_944, 96, 8, 131_072, leading_dense_block_count=1, rope__dimension_count=64, expert_gating_func=2, **_head(128), **_experts(128, 8, 1408, 1))),
    "ERNIE 4.5 21B-A3B": Shape("experts", "ernie4_5-moe", 103_424, _facts(2560, 28, 12_288, 20, 4, 131_072, leading_dense_block_count=1, interleave_moe_layer_step=1, expert_shared_feed_forward_length=3072, **_head(128), **_experts(64, 6, 1536, 2))),
    "LFM2 1.2B": Shape("hybrid", "lfm2", 65_536, _facts(2048, 16, 8192, 32, (0, 0, 8, 0, 0, 8, 0, 0, 8, 0, 8, 0, 8, 0, 8, 0), shortconv__l_cache=3)),
    "LFM2 8B-A1B": Shape("hybrid, experts", "lfm2moe", 65_536, _facts(2048, 24, 7168, 32, _every(24, 4, 8, 2), shortconv__l_cache=3, leading_dense_block_count=2, expert_gating_func=2, **_experts(32, 4, 1792))),
    "Granite 4 H Tiny": Shape("hybrid, experts", "granitehybrid", 100_352, _facts(1536, 40, 512, 12, _every(40, 10, 4, 5), 131_072, expert_shared_feed_forward_length=1024, **_ssm(3072, 128, 48, 1), **_experts(64, 6))),
    "Granite 4 H 1B": Shape("hybrid", "granitehybrid", 100_352, _facts(1536, 40, 4096, 12, _every(40, 10, 4, 5), 131_072, **_ssm(3072, 128, 48, 1))),
    "Falcon H1 0.5B": Shape("hybrid", "falcon-h1", 32_784, _facts(1024, 36, 2048, 8, 2, 16_384, **_head(64), **_ssm(1536, 128, 24, 1))),
    "Nemotron Nano 9B v2": Shape("hybrid", "nemotron_h", 131_072, _facts(4480, 56, tuple(15_680 * (n % 2 and n % 14 != 13) for n in range(56)), 40, _every(56, 14, 8), 131_072, attention__layer_norm_epsilon=1e-5, **_head(128), **_ssm(10_240, 128, 128, 8))),
    "Jamba Mini": Shape("hybrid, experts", "jamba", 65_536, _facts(4096, 32, 14_336, 32, _every(32, 8, 8, 4), **_ssm(8192, 16, 256), **_experts(16, 2))),
    "Qwen 3 Next 80B-A3B": Shape("hybrid, experts", "qwen3next", 151_936, _facts(2048, 48, 5120, 16, 2, rope__dimension_count=64, expert_shared_feed_forward_length=512, **_head(256), **_ssm(4096, 128, 32, 16), **_experts(512, 10, 512))),
    "Qwen 3.5 9B": Shape("hybrid", "qwen35", 248_320, _facts(4096, 32, 12_288, 16, 4, 262_144, rope__dimension_count=64, rope__dimension_sections=(11, 11, 10, 0), **_head(256), **_ssm(4096, 128, 32, 16))),
    "Kimi Linear 48B-A3B": Shape("hybrid, experts, latent", "kimi-linear", 163_840, _facts(2304, 27, 9216, 32, _every(27, 4, 1), 131_072, leading_dense_block_count=1, attention__kv_lora_rank=512, attention__key_length_mla=192, attention__value_length_mla=128, rope__dimension_count=64, ssm__conv_kernel=4, kda__head_dim=128, expert_gating_func=2, expert_weights_scale=2.446, **_head(576, 512), **_experts(256, 8, 1024, 1))),
    "Mamba 2.8B": Shape("recurrent", "mamba", 50_280, _facts(2560, 64, 0, 0, **_ssm(5120, 16, 160))),
    "Mamba 130M": Shape("recurrent", "mamba", 50_280, _facts(768, 24, 0, 0, **_ssm(1536, 16, 48))),
    "Mamba 2 780M": Shape("recurrent", "mamba2", 50_288, _facts(1536, 48, 0, 0, **_ssm(3072, 128, 48, 1))),
    "RWKV 6 1.6B": Shape("recurrent", "rwkv6", 65_536, _facts(2048, 24, 7168, 0, norm=_LAYER_NORM, wkv__head_size=64, time_mix_extra_dim=32, time_decay_extra_dim=64, rescale_every_n_layers=6)),
    "RWKV 7 0.4B": Shape("recurrent", "rwkv7", 65_536, _facts(1024, 24, 4096, 0, norm=_LAYER_NORM, wkv__head_size=64, attention__decay_lora_rank=64, attention__iclr_lora_rank=64, attention__value_residual_mix_lora_rank=32, attention__gate_lora_rank=128)),
}  # fmt: skip
"""By the model's name."""
