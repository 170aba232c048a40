"""Profiles: starting values for how a model is loaded.  Each of them can be changed one by one."""

from dataclasses import dataclass

from app.settings import KvType


@dataclass(frozen=True, slots=True)
class Profile:
    """`pool_tokens` of all chats together, `sequences` that decode at once, `batch` tokens of one step."""

    pool_tokens: int
    sequences: int
    batch: int = 512
    mmap: bool = True
    kv_type: KvType = "f16"


_PRODUCTION = Profile(pool_tokens=16_384, sequences=8)

PROFILES = {
    "auto": _PRODUCTION,
    "development": Profile(pool_tokens=4096, sequences=4),
    "production": _PRODUCTION,
    "edge": Profile(pool_tokens=1024, sequences=2, batch=128, mmap=False, kv_type="q8_0"),
}
