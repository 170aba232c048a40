"""What of a repository's files can be downloaded as a chat model: whole files and split ones, by quantisation.  Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.errors import HubError, HubProblem
from app.hub import names
from app.hub.names import Kind
from app.hub.remote import RemoteFile, RemoteModel

PREFERRED = (
    "Q4_K_M",
    "Q4_K_S",
    "Q4_K_XL",
    "Q4_0",
    "Q4_1",
    "IQ4_XS",
    "MXFP4",
    "Q5_K_M",
    "Q6_K",
    "Q8_0",
)
"""Which quantisation is taken when none is asked for: from the front, the first that is there."""  # fmt: skip

_LOSSY, _BALANCED, _NEAR, _FULL = (
    "small: answers get noticeably worse",
    "balanced: small, and nearly as good as the original",
    "large: hardly to be told from the original",
    "original: twice as large as needed",
)


@dataclass(frozen=True, slots=True)
class Listed:
    """A file as the hub lists it; `digest` "" where it does not say one."""

    path: str
    size: int
    digest: str


@dataclass(frozen=True, slots=True)
class Offer:
    """One model to choose, of one file or of several parts.  `missing` names parts that are not there."""

    model: RemoteModel
    quantisation: str
    missing: tuple[str, ...] = ()

    @property
    def advice(self) -> str:
        """What the quantisation means, in plain words; "" when its name is not known."""
        return advice(self.quantisation)


def advice(quantisation: str) -> str:
    bare = quantisation.removeprefix("UD-")
    if bare in {"F16", "BF16", "F32"}:
        return _FULL
    digits = [letter for letter in bare if letter.isdigit()]
    bits = int(digits[0]) if digits and bare[:1] in {"Q", "I", "T", "M", "N"} else 0
    if not bits:
        return ""
    return _LOSSY if bits <= 3 else _BALANCED if bits <= 5 else _NEAR


def offers(repo: str, commit: str, listed: Iterable[Listed]) -> tuple[Offer, ...]:
    """The models among `listed`, small ones first; projectors, adapters, drafts and matrices are left out."""
    models = [file for file in listed if names.kind_of(file.path) is Kind.MODEL]
    whole = [file for file in models if _part(file) is None]
    split: dict[tuple[str, int], dict[int, Listed]] = {}
    for file in models:
        part = _part(file)
        if part is not None:
            split.setdefault((part.stem, part.count), {})[part.number] = file
    found = [_offer(repo, commit, [file]) for file in whole]
    found += [_split_offer(repo, commit, key, parts) for key, parts in split.items()]
    return tuple(sorted(found, key=lambda offer: (offer.model.size, offer.model.files[0].path)))


def _part(file: Listed) -> names.Part | None:
    """With the folder in its stem: the parts of a model lie in one folder."""
    return names.part_of(file.path)


def _offer(repo: str, commit: str, files: Sequence[Listed], missing: tuple[str, ...] = ()) -> Offer:
    chosen = tuple(RemoteFile(file.path, file.size, file.digest) for file in files)
    return Offer(RemoteModel(repo, commit, chosen), names.quantisation(files[0].path), missing)


def _split_offer(repo: str, commit: str, key: tuple[str, int], parts: dict[int, Listed]) -> Offer:
    stem, count = key
    # A count is a stranger's word: only so many parts as could be listed are looked for.
    lacking = [number for number in range(1, min(count, 10_000) + 1) if number not in parts]
    missing = tuple(names.part_name(names.Part(stem, 1, count), number) for number in lacking)
    return _offer(repo, commit, [parts[number] for number in sorted(parts)], missing)


def choose(found: Sequence[Offer], wanted: str = "", repo: str = "") -> RemoteModel:
    """The offer that `wanted` names (a file or a quantisation), or the preferred one; raises HubError."""
    if not found:
        raise HubError(
            f"{repo or 'This repository'} has no model in the GGUF format.",
            "Look for one whose name ends in GGUF.",
            problem=HubProblem.NOT_FOUND,
        )
    offer = _wanted(found, wanted) if wanted else _preferred(found)
    if offer is None:
        known = sorted({one.quantisation or one.model.title for one in found})
        raise HubError(
            f"{repo or 'This repository'} has nothing that is called “{names.shown(wanted)}”.",
            f"It has: {', '.join(names.shown(name) for name in known[:40])}.",
            problem=HubProblem.NOT_FOUND,
        )
    if offer.missing:
        raise HubError(
            f"“{names.shown(offer.model.title)}” is not whole on the hub: {len(offer.missing)} of its parts are missing, "
            f"the first of them {names.shown(offer.missing[0])}.",
            "Choose another file.",
            problem=HubProblem.NOT_FOUND,
        )
    if any(not file.digest for file in offer.model.files):
        raise HubError(
            f"The hub gives no checksum for “{names.shown(offer.model.title)}”, so that it could not be verified.",
            "Choose another file.",
            problem=HubProblem.CHECKSUM,
        )
    for file in offer.model.files:
        names.safe_path(file.path)
    return offer.model


def _wanted(found: Sequence[Offer], wanted: str) -> Offer | None:
    low = wanted.casefold()
    for matches in (
        [one for one in found if low in {file.path.casefold() for file in one.model.files}],
        [one for one in found if low in {file.path.casefold().rpartition("/")[2] for file in one.model.files}],
        [one for one in found if low == one.quantisation.casefold()],
        [one for one in found if low == one.quantisation.removeprefix("UD-").casefold()],
    ):  # fmt: skip
        if matches:
            return matches[0]
    return None


def _preferred(found: Sequence[Offer]) -> Offer:
    usable = [one for one in found if not one.missing] or list(found)
    for label in PREFERRED:
        for one in usable:
            if one.quantisation.removeprefix("UD-") == label:
                return one
    return usable[0]
