"""Damaged and hostile model files, each made from a good one by a seed: the same seed gives the same file.

What a disk, a cut download or a stranger makes of a file: bits, fields, counts and lengths that lie, tensors that
overlap or have another type, keys that are swapped or doubled, tokenizers and templates that make no sense.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.gguf_bytes import Gguf, parts
from tests.mutations import damage, facts, tensors, text
from tests.mutations.chance import Chance


@dataclass(frozen=True)
class Mutant:
    """`what` was done to the source of this number, and the file that came of it."""

    seed: int
    source: int
    what: str
    data: bytes


def mutant(sources: Sequence[bytes], seed: int) -> Mutant:
    """The one of this seed; `sources` are good files."""
    chance = Chance(seed)
    source = chance.randrange(len(sources))
    what = chance.choice(tuple(MUTATIONS))
    return Mutant(seed, source, what, MUTATIONS[what](parts(sources[source]), chance))


Mutation = Callable[[Gguf, Chance], bytes]

MUTATIONS: dict[str, Mutation] = {
    "bits of the head": damage.bits,
    "bits of the facts": damage.short_fields,
    "bits of the weights": damage.weights,
    "cut": damage.cut,
    "rubbish at the end": damage.appended,
    "a block": damage.block,
    "a count": damage.field("count of tensors", "count of entries", "count of dimensions"),
    "a length": damage.field(
        "length of a key", "length of a text", "length of an array", "length of a name"
    ),
    "a kind": damage.field("kind of a value", "kind of an array", "kind of a tensor"),
    "a place": damage.field("dimension", "offset"),
    "a number": facts.absurd,
    "another number": facts.absurd,
    "values swapped": facts.swapped,
    "like values swapped": facts.swapped_alike,
    "a key twice": facts.doubled,
    "a key lost": facts.lost,
    "a value of another kind": facts.other_kind,
    "a strange array": facts.nested,
    "another architecture": facts.architecture,
    "a key more": facts.hint,
    "a tensor": tensors.changed,
    "a tensor resized": tensors.resized,
    "a tensor lost": tensors.without,
    "tensors swapped": tensors.swapped,
    "weights that are no numbers": tensors.nonsense,
    "tokens": text.tokens,
    "a vocabulary": text.vocabulary,
    "a template": text.template,
}
