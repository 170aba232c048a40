"""The options of a load: how they go together with a model's own load settings, and with a profile.

Options that are given win, then the settings that the model has of its own (`app.remembered`), then the profile.  Whoever
names a profile wants its numbers, so that then none of the model's own takes their place; its threads and layers are
no numbers of a profile, and stay.
"""

import argparse
import dataclasses
from collections.abc import Callable
from dataclasses import replace
from typing import get_args

from app.remembered import LoadChoice
from app.settings import GAPS, OWN_NUMBERS, RANGES, KvType, Pace, Profile
from app.sizing.profiles import Own, Plan
from app.wire import LoadParams

_FLAGS = {
    "profile": "--profile",
    "pool_tokens": "--ctx",
    "sequences": "--seqs",
    "batch": "--batch",
    "kv_type": "--kv-type",
    "mmap": "--mmap",
    "spill_megabytes": "--spill",
    "threads": "--threads",
    "gpu_layers": "--gpu-layers",
}
"""The option that stands for each field of `LoadChoice`."""

_USUAL = LoadChoice()


def add_load_options(parser: argparse.ArgumentParser) -> None:
    """One that is not given takes the model's own value, or else the profile's."""
    parser.add_argument(
        "--profile",
        choices=get_args(Profile),
        help="gives the numbers that no other option does (default: the model's own load settings, or else auto, chosen "
        "for this machine)",
    )
    parser.add_argument(
        "--pace",
        choices=get_args(Pace),
        default="balanced",
        help="how much of a new prompt is read between two words of the others (default: balanced)",
    )
    _add_number(parser, "pool_tokens", "TOKENS", "size of the pool that all chats share")
    _add_number(parser, "sequences", "N", "most chats that decode at once")
    _add_number(parser, "batch", "N", "most tokens of one step")
    _add_number(parser, "threads", "N", "threads of a step; 0 chooses")
    _add_number(parser, "gpu_layers", "N", "layers on the GPU; -1 all that fit")
    parser.add_argument(
        "--device", metavar="NAME", default="", help='where the model runs; "doctor" lists them'
    )
    parser.add_argument("--kv-type", choices=get_args(KvType), help="type of the pool's cells")
    _add_number(parser, "spill_megabytes", "MB", "memory for what idle chats have read")
    parser.add_argument(
        "--mmap",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="map the model file into memory, or read all of it at once",
    )
    parser.add_argument(
        "--kv-offload",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="keep the pool on the GPU, where there is one",
    )


def _add_number(parser: argparse.ArgumentParser, setting: str, unit: str, words: str) -> None:
    low, high = RANGES[setting]
    kind = whole_number(int(low), int(high))
    parser.add_argument(_FLAGS[setting], dest=setting, metavar=unit, type=kind, help=words)


def whole_number(low: int, high: int) -> Callable[[str], int]:
    """An argparse type that refuses anything else with the range in its words."""

    def parse(text: str) -> int:
        digits = text.removeprefix("-")
        if not (
            digits.isascii() and digits.isdigit() and len(digits) < 20 and low <= int(text) <= high
        ):
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {low} to {high}")
        return int(text)

    return parse


def chosen(arguments: argparse.Namespace, own: LoadChoice | None) -> LoadChoice:
    """How a model with these settings of its own is loaded."""
    kept = _left(arguments, own or _USUAL)
    given = {name: getattr(arguments, name) for name in _FLAGS}
    return replace(kept, **{name: value for name, value in given.items() if value is not None})


def options_in_use(arguments: argparse.Namespace, own: LoadChoice | None) -> str:
    """The settings of a model's own that count, as the options that would say the same; "" where none does."""
    kept = _left(arguments, own or _USUAL)
    return " ".join(
        _option(item.name, getattr(kept, item.name))
        for item in dataclasses.fields(kept)
        if getattr(kept, item.name) != getattr(_USUAL, item.name)
    )


def _left(arguments: argparse.Namespace, own: LoadChoice) -> LoadChoice:
    """Those of a model's own settings in whose place nothing was given."""
    gone = {name for name in _FLAGS if getattr(arguments, name) is not None}
    if "profile" in gone:
        gone.update(OWN_NUMBERS)
    return replace(own, **{name: getattr(_USUAL, name) for name in gone})


def _option(name: str, value: object) -> str:
    flag = _FLAGS[name]
    if isinstance(value, bool):
        return flag if value else flag.replace("--", "--no-", 1)
    return f"{flag} {value}"


def numbers(choice: LoadChoice) -> Own:
    """What it has in place of its profile's."""
    return Own(**{name: getattr(choice, name) for name in OWN_NUMBERS})


def load_params(
    arguments: argparse.Namespace, path: str, choice: LoadChoice, plan: Plan
) -> LoadParams:
    """How the file is loaded: the plan's numbers, and what else was chosen."""
    return replace(
        plan.load_params(path),
        threads=choice.threads,
        gpu_layers=choice.gpu_layers,
        device=arguments.device,
        kv_offload=arguments.kv_offload,
        gap=GAPS[arguments.pace],
        yielding=choice.pool_tokens is None and choice.kv_type is None,
    )
