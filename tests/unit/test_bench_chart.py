"""The plot: well-formed, complete, and drawn by Qt too."""

import math
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.bench.chart import HEIGHT, WIDTH, Line, Panel, draw, ticks
from app.bench.curve import curve
from app.bench.figure import Result
from app.bench.rows import parse

SVG = "{http://www.w3.org/2000/svg}"


def results(kind: str, key: str, peer: str) -> list[Result]:
    rows = [parse(f"{kind}:{count}") for count in (16, 1, 4)]
    return [
        Result(row.name, figure, (10.0 * number + 5,), ((1.0, 8.0),), peer)
        for number, row in enumerate(rows)
        for figure in row.figures
        if figure.key == key
    ]


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_the_curve_has_a_line_for_each_that_was_measured() -> None:
    found = [
        *(*results("decode", "speed", "llama-server"), *results("decode", "first", "llama-server")),
        *results("raw", "speed", "batched-bench"),
    ]
    svg = curve(found)
    root = ElementTree.fromstring(svg)
    lines = [line.get("points", "") for line in root.iter(f"{SVG}polyline")]
    legend, panels = 4, 4 + 2
    assert len(lines) == legend + panels
    assert {"Tutti", "llama-server", "Tutti's engine alone", "batched-bench"} <= set(texts(svg))
    # In order of the number of chats, though the rows were not.
    for line in lines[legend:]:
        across = [float(point.split(",")[0]) for point in line.split()]
        assert len(across) == 3
        assert across == sorted(across)


def test_without_a_peer_there_are_our_lines_alone() -> None:
    row = parse("decode:2")
    found = [Result(row.name, figure, (1.0,)) for figure in row.figures]
    assert "Tutti" in texts(curve(found))
    assert "llama-server" not in texts(curve(found))


def test_nothing_measured_is_still_a_picture() -> None:
    ElementTree.fromstring(curve([]))


def test_words_are_escaped_and_what_never_came_is_left_out() -> None:
    line = Line("a<b&c", ((1, 2.0), (2, math.inf), (4, 3.0)))
    svg = draw([Panel("<x>", (line,))], ["a<b&c"], "along & on")
    root = ElementTree.fromstring(svg)
    assert {"<x>", "a<b&c", "along & on"} <= set(texts(svg))
    _legend, drawn = root.iter(f"{SVG}polyline")
    assert len(drawn.get("points", "").split()) == 2


def test_points_lie_inside_the_panel() -> None:
    svg = draw([Panel("t", (Line("n", ((1, 0.0), (2, 7.3), (16, 9.99))),))], ["n"], "x")
    *_, drawn = ElementTree.fromstring(svg).iter(f"{SVG}polyline")
    for point in drawn.get("points", "").split():
        x, y = map(float, point.split(","))
        assert 0 <= x <= WIDTH
        assert 0 <= y <= HEIGHT


@given(st.floats(1e-6, 1e9))
def test_ticks_reach_the_highest_value_in_few_round_steps(highest: float) -> None:
    found = ticks(highest)
    assert found[0] == 0
    assert found[-1] >= highest * (1 - 1e-9)
    assert 2 <= len(found) <= 6
    step = found[1]
    assert float(f"{step:.0e}") == pytest.approx(step), "1, 2 or 5 times a power of ten"
    assert f"{step:.0e}"[0] in "125"


def test_ticks_of_nothing() -> None:
    assert ticks(0) == ticks(math.inf) == [0.0, 1.0]


def test_qt_draws_it(qapp: object) -> None:
    from PySide6.QtCore import QRectF
    from PySide6.QtGui import QColor, QImage, QPainter
    from PySide6.QtSvg import QSvgRenderer

    svg = curve(results("decode", "speed", "llama-server"))
    renderer = QSvgRenderer(svg.encode())
    assert renderer.isValid()
    image = QImage(renderer.defaultSize(), QImage.Format.Format_ARGB32)
    for ground in ("#ffffff", "#0d1117"):
        image.fill(QColor(ground))
        painter = QPainter(image)
        renderer.render(painter, QRectF(image.rect()))
        painter.end()
        colours = {
            image.pixelColor(x, y).name()
            for x in range(0, image.width(), 2)
            for y in range(0, image.height(), 2)
        }
        assert {ground, "#3b7dd8", "#c8651b"} <= colours
