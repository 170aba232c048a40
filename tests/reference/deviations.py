"""Where our prompt is not llama-server's, and why.

Each entry names what differs, the shapes of conversation and the templates ("*" means any).
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Deviation:
    """One reason; the first that fits a template and a shape is its."""

    why: str
    shapes: tuple[str, ...]
    templates: tuple[str, ...] = ("*",)


DEVIATIONS: tuple[Deviation, ...] = ()


def reason(template: str, shape: str) -> Deviation | None:
    """Why these differ; None where no reason is listed."""
    for deviation in DEVIATIONS:
        known = deviation.templates == ("*",) or template in deviation.templates
        if known and shape in deviation.shapes:
            return deviation
    return None
