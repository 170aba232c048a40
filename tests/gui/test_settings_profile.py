"""The choice of a profile in the settings: its numbers, the user's own ones, and what they mean for the memory."""

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QCheckBox, QComboBox, QLabel, QSpinBox, QWidget

from app.chat.model_state import ModelState
from app.settings import OWN_NUMBERS, Settings
from app.sizing.compute import Part
from app.sizing.footprint import Footprint, Layer
from app.sizing.machine import Machine
from app.sizing.planner import Outlook
from app.ui.sections import Sections
from app.ui.settings_dialog import SettingsDialog
from tests.gui.desk import until

GB = 1 << 30
MODEL = Footprint(
    weights=GB, layers=(Layer(1024, 1024),) * 16, context=32_768, width=2048, parts=(Part(32_768),)
)
USUAL = Settings()
OUTLOOK = Outlook(MODEL, Machine(8 * GB, 4))


@pytest.fixture
def dialog(qtbot):
    def make(settings=USUAL, outlook=OUTLOOK):
        made = SettingsDialog(settings, outlook=outlook, model=ModelState(name="A model"))
        qtbot.addWidget(made)
        made.show()
        made.findChild(Sections).show_page("Model")
        return made

    return make


def choose(dialog, profile):
    box = dialog.findChild(QComboBox, "setting_profile")
    box.setCurrentIndex(box.findData(profile))


def number(dialog, name):
    return dialog.findChild(QSpinBox, f"setting_{name}")


def back(dialog, name):
    return dialog.findChild(QAbstractButton, f"setting_{name}_back")


def shown(dialog):
    kind = dialog.findChild(QComboBox, "setting_kv_type").currentData()
    mapped = dialog.findChild(QCheckBox, "setting_mmap").isChecked()
    names = ("pool_tokens", "sequences", "batch", "spill_megabytes")
    return {name: number(dialog, name).value() for name in names} | {
        "kv_type": kind,
        "mmap": mapped,
    }


def given(profile, outlook=OUTLOOK):
    plan = outlook.plan(profile)
    return {name: getattr(plan, name) for name in OWN_NUMBERS}


@pytest.mark.parametrize("profile", ["auto", "development", "production", "edge"])
def test_a_profile_shows_its_numbers_for_this_model(dialog, profile):
    made = dialog()
    choose(made, profile)
    assert shown(made) == given(profile)
    assert made.value(Settings()) == Settings(profile=profile)
    assert not any(back(made, name).isVisible() for name in OWN_NUMBERS)


def test_a_changed_number_is_the_users_own_and_can_be_given_back(dialog):
    made = dialog()
    number(made, "pool_tokens").setValue(4096)
    assert back(made, "pool_tokens").isVisible()
    assert made.value(Settings()) == Settings(pool_tokens=4096)
    profiles_number = f"{OUTLOOK.plan('auto').pool_tokens:,}"
    assert (
        f"The profile gives {profiles_number}."
        in number(made, "pool_tokens").accessibleDescription()
    )
    choose(made, "production")
    assert number(made, "pool_tokens").value() == 4096, "another profile leaves it"
    QTest.mouseClick(back(made, "pool_tokens"), Qt.MouseButton.LeftButton)
    assert shown(made) == given("production")
    assert made.value(Settings()) == Settings(profile="production")
    assert not back(made, "pool_tokens").isVisible()
    assert made.focusWidget() is number(made, "pool_tokens"), "the keyboard does not get lost"


def test_every_number_can_be_changed_alone(dialog):
    made = dialog()
    changes = {"pool_tokens": 5120, "sequences": 3, "batch": 128, "spill_megabytes": 0}
    for name, value in changes.items():
        number(made, name).setValue(value)
    made.findChild(QCheckBox, "setting_mmap").click()
    kinds = made.findChild(QComboBox, "setting_kv_type")
    kinds.setCurrentIndex(kinds.findData("q4_0"))
    own = Settings(**changes, mmap=False, kv_type="q4_0")
    assert made.value(Settings()) == own
    again = dialog(own)
    assert shown(again) == {**changes, "mmap": False, "kv_type": "q4_0"}
    assert again.value(own) == own
    assert all(back(again, name).isVisible() for name in OWN_NUMBERS)
    for name in OWN_NUMBERS:
        QTest.mouseClick(back(again, name), Qt.MouseButton.LeftButton)
    assert again.value(own) == Settings()


def test_a_number_that_is_the_profiles_is_not_the_users_own(dialog):
    made = dialog()
    usual = number(made, "sequences").value()
    number(made, "sequences").setValue(usual + 1)
    number(made, "sequences").setValue(usual)
    assert made.value(Settings()) == Settings()


def test_the_others_follow_a_number_of_the_users_own(dialog):
    made = dialog()
    choose(made, "production")
    kinds = made.findChild(QComboBox, "setting_kv_type")
    before = number(made, "pool_tokens").value()
    kinds.setCurrentIndex(kinds.findData("q8_0"))
    assert number(made, "pool_tokens").value() > before, "half the memory, more of it"


def test_typing_is_not_disturbed(dialog):
    made = dialog()
    field = number(made, "pool_tokens")
    field.setFocus()
    field.selectAll()
    QTest.keyClicks(field, "12000")
    assert field.value() == 12_000
    assert made.value(Settings()) == Settings(pool_tokens=12_000)


def test_what_it_means_for_the_memory_is_said(dialog):
    made = dialog()
    summary = made.findChild(QLabel, "profileSummary")
    assert summary.text() == "For A model: the pool takes 2.1 GB of the 8.6 GB that are free."
    assert summary.property("role") == "quiet"
    number(made, "pool_tokens").setValue(1_000_000)
    assert "more than can be spared (8.6 GB are free)" in summary.text()
    assert summary.property("role") == "bad"


def test_without_a_model_it_says_so(dialog):
    made = dialog(outlook=replace(OUTLOOK, model=Footprint(0, ())))
    assert "Without a model" in made.findChild(QLabel, "profileSummary").text()
    assert made.value(Settings()) == Settings()


def test_every_control_has_a_name(dialog):
    made = dialog()
    for name in ("profile", *OWN_NUMBERS):
        assert made.findChild(QWidget, f"setting_{name}").accessibleName()
    for name in OWN_NUMBERS:
        assert back(made, name).accessibleName().startswith("Profile's value again: ")
    assert "machine" in made.findChild(QWidget, "setting_profile").accessibleDescription()


def test_a_changed_profile_offers_to_load_again(with_desk):
    async def scenario(desk):
        desk.control(Qt.Key.Key_Comma)
        await until(lambda: desk.window.findChild(QWidget, "settingsDialog"))
        made = desk.find(QWidget, "settingsDialog")
        choose(made, "edge")
        desk.click(made.findChild(QAbstractButton, "saveButton"))
        await until(lambda: desk.preferences.current.profile == "edge")
        assert (
            desk.window.banner.text()
            == "The new settings of the model count from the next load on."
        )
        assert desk.find(QAbstractButton, "noticeAction").text() == "Reload now"

    with_desk(scenario)
