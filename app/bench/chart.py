"""Small line charts beside each other, as SVG: attributes only, no style sheet, no script, no font of its own.

The ground is left clear and every colour has contrast enough on white and on near black, so that one file serves a
light and a dark page.  Lines differ in colour, dash and mark.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 300, 190
"""Of the plotting area of one panel."""
_LEFT, _TOP, _GAP, _BOTTOM, _RIGHT = 52, 62, 66, 48, 14
_QUIET = "#7C8189"
_FONT = 'font-family="system-ui, sans-serif" font-size="12"'


@dataclass(frozen=True, slots=True)
class Look:
    """How a line is told from the others."""

    colour: str
    dash: str
    mark: str


_LOOKS = (
    Look("#3B7DD8", "", "circle"),
    Look("#C8651B", "", "square"),
    Look("#3B7DD8", "5 3", "ring"),
    Look("#8A8F98", "5 3", "diamond"),
)


@dataclass(frozen=True, slots=True)
class Line:
    """Points (x, y) in order of x."""

    name: str
    points: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """One chart; its axis of y begins at 0."""

    title: str
    lines: tuple[Line, ...]


def draw(panels: Sequence[Panel], names: Sequence[str], along: str) -> str:
    """The panels in a row, under a legend of those `names` that occur; `along` names the axis of x."""
    shown = [name for name in names if any(_has(panel, name) for panel in panels)]
    looks = dict(zip(names, _LOOKS, strict=False))
    width = _LEFT + len(panels) * (WIDTH + _GAP) - _GAP + _RIGHT
    height = _TOP + HEIGHT + _BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {_FONT} fill="{_QUIET}">',
        *_legend(shown, looks),
    ]
    for number, panel in enumerate(panels):
        left = _LEFT + number * (WIDTH + _GAP)
        parts.append(f'<g transform="translate({left} {_TOP})">')
        parts += [*_panel(panel, looks, along), "</g>"]
    return "\n".join([*parts, "</svg>", ""])


def ticks(highest: float, most: int = 5) -> list[float]:
    """Round numbers from 0 to at least `highest`, not more than `most` steps of 1, 2 or 5 times a power of ten."""
    if not (math.isfinite(highest) and highest > 0):
        return [0.0, 1.0]
    power = 10.0 ** math.floor(math.log10(highest / most))
    step = next(size * power for size in (1, 2, 5, 10) if size * power * most >= highest)
    count = math.ceil(round(highest / step, 9))
    return [round(step * number, 12) for number in range(count + 1)]


def _has(panel: Panel, name: str) -> bool:
    return any(line.name == name for line in panel.lines)


def _legend(names: Sequence[str], looks: dict[str, Look]) -> list[str]:
    parts, left = [], float(_LEFT)
    for name in names:
        look = looks[name]
        parts.append(_stroke([(left, 16), (left + 26, 16)], look))
        parts.append(_mark(left + 13, 16, look))
        parts.append(_text(left + 34, 20, name))
        left += 34 + 6.8 * len(name) + 24
    return parts


def _panel(panel: Panel, looks: dict[str, Look], along: str) -> list[str]:
    values = [value for line in panel.lines for _, value in line.points if math.isfinite(value)]
    columns = sorted({x for line in panel.lines for x, _ in line.points})
    marks = ticks(max(values, default=0.0))
    parts = [
        _text(0, -14, panel.title, weight="600"),
        *_grid(marks),
        *_axis(columns),
        _text(WIDTH / 2, HEIGHT + 38, along, anchor="middle"),
    ]
    for line in panel.lines:
        look = looks[line.name]
        places = [
            (_across(columns, x), HEIGHT * (1 - y / marks[-1]))
            for x, y in line.points
            if math.isfinite(y)
        ]
        parts.append(_stroke(places, look))
        parts += [_mark(x, y, look) for x, y in places]
    return parts


def _grid(marks: Sequence[float]) -> list[str]:
    parts = []
    for value in marks:
        y = HEIGHT * (1 - value / marks[-1])
        strength = 0.7 if value == 0 else 0.25
        parts.append(
            f'<path d="M0 {y:.1f}H{WIDTH}" stroke="{_QUIET}" stroke-opacity="{strength}"/>'
        )
        parts.append(_text(-8, y + 4, f"{value:,g}", anchor="end"))
    return parts


def _axis(columns: Sequence[int]) -> list[str]:
    return [
        _text(_across(columns, column), HEIGHT + 18, str(column), anchor="middle")
        for column in columns
    ]


def _across(columns: Sequence[int], x: int) -> float:
    """Evenly spaced, for the numbers double."""
    margin = 16
    room = (WIDTH - 2 * margin) / max(1, len(columns) - 1)
    return margin + room * columns.index(x)


def _text(x: float, y: float, words: str, *, anchor: str = "start", weight: str = "400") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}">'
        f"{escape(words)}</text>"
    )


def _stroke(places: Sequence[tuple[float, float]], look: Look) -> str:
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dash = f' stroke-dasharray="{look.dash}"' if look.dash else ""
    return (
        f'<polyline points="{points}" fill="none" stroke="{look.colour}" stroke-width="2" '
        f'stroke-linejoin="round"{dash}/>'
    )


def _mark(x: float, y: float, look: Look) -> str:
    colour = look.colour
    match look.mark:
        case "square":
            return (
                f'<rect x="{x - 3.5:.1f}" y="{y - 3.5:.1f}" width="7" height="7" fill="{colour}"/>'
            )
        case "diamond":
            return f'<path d="M{x:.1f} {y - 5:.1f}l5 5l-5 5l-5 -5z" fill="{colour}"/>'
        case "ring":
            return (
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="none" stroke="{colour}" '
                f'stroke-width="2"/>'
            )
        case _:
            return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>'
