"""Contrast of the colours, and a switch of the theme while everything is open."""

import re
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QWidget

from app.settings import Settings
from app.ui import theme
from tests.gui.desk import turns_of_the_loop


def luminance(colour):
    def linear(part):
        return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4

    red, green, blue, _ = QColor(colour).getRgbF()
    return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)


def contrast(first, second):
    lighter, darker = sorted((luminance(first), luminance(second)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("scheme", [theme.LIGHT, theme.DARK], ids=["light", "dark"])
def test_text_can_be_read(scheme):
    grounds = (scheme.ground, scheme.raised, theme._hover(scheme))
    for ground in grounds:
        assert contrast(scheme.text, ground) >= 4.5
        assert contrast(scheme.quiet, ground) >= 4.5
    assert contrast(scheme.on_accent, scheme.accent) >= 4.5
    assert contrast(scheme.accent, scheme.ground) >= 4.5
    for soft in (scheme.bad, scheme.accent):
        assert contrast(scheme.text, theme._mix(scheme.ground, soft, 0.09)) >= 4.5


@pytest.mark.parametrize("scheme", [theme.LIGHT, theme.DARK], ids=["light", "dark"])
def test_marks_can_be_seen(scheme):
    for colour in (scheme.good, scheme.busy, scheme.bad, scheme.accent, scheme.quiet):
        assert contrast(colour, scheme.raised) >= 3.0


def test_the_theme_can_be_changed_while_everything_is_open(with_desk):
    async def scenario(desk):
        await desk.say("hello")
        await desk.answered()
        desk.window.tell("Something failed.")
        for name, tokens in (("dark", theme.DARK), ("light", theme.LIGHT), ("dark", theme.DARK)):
            desk.preferences.update(theme=name)
            await turns_of_the_loop()
            assert theme.tokens() is tokens
            image = desk.window.grab().toImage()
            assert image.pixelColor(image.width() - 30, 200).name() == tokens.ground.lower()

    with_desk(scenario, current=Settings(theme="light"))


def test_the_theme_that_is_there_already_polishes_no_widget_anew(drive, qapp):
    async def scenario():
        polished = []

        class Seen(QWidget):
            def event(self, event):
                if event.type() == QEvent.Type.StyleChange:
                    polished.append(theme.tokens())
                return super().event(event)

        widget = Seen()
        widget.ensurePolished()
        for name in ("light", "light", "dark", "dark", "light"):
            theme.apply(qapp, name)
        assert polished == [theme.DARK, theme.LIGHT]

    drive(scenario())


def test_what_stands_in_empty_fields_can_be_read(with_desk):
    async def scenario(desk):
        for field in (desk.front.composer.edit, desk.window.sidebar.search):
            colour = field.palette().color(QPalette.ColorRole.PlaceholderText)
            assert colour.alpha() == 255
            assert contrast(colour.name(), theme.tokens().ground) >= 4.5

    with_desk(scenario)


def test_every_painter_ends_with_its_paint_event():
    """One that an error leaves behind makes Qt abort: it is a context manager everywhere."""
    for path in Path(theme.__file__).parent.glob("*.py"):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if re.search(r"\bQ(Style)?Painter\(", line):
                assert line.strip().startswith("with "), f"{path.name}:{number}"
