"""A device to compute on, as llama.cpp tells of it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Device:
    """What llama.cpp can compute on; of memory, in bytes, it says something useful of a GPU only."""

    name: str
    description: str
    gpu: bool
    memory: int = 0
    memory_free: int = 0
