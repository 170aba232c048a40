"""The controls of sampling in the settings and in a chat's own ones."""

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QLineEdit,
    QPushButton,
    QSpinBox,
    QWidget,
)

from app.chat.model_state import ModelState
from app.chat.models import Conversation, ConversationSettings
from app.sampling import FIELDS, Sampling
from app.settings import Settings
from app.ui.chat_settings_dialog import ChatSettingsDialog
from app.ui.listed import Listed
from app.ui.sampling_form import COMMON, GROUPS, SamplingForm
from app.ui.settings_dialog import SettingsDialog

ADVICE = (("temperature", 0.6), ("top_k", 20), ("mirostat", 2))
OPEN = Settings().sampling_open


@pytest.fixture
def form(qtbot):
    def make(sampling=Sampling(), **options):
        made = SamplingForm(sampling, "test", **options)
        qtbot.addWidget(made)
        made.show()
        return made

    return make


def field(made, name, kind=QWidget):
    return made.findChild(kind, f"test_{name}")


def unfold(made):
    QTest.mouseClick(made.findChild(QPushButton, "test_sampling_more"), Qt.MouseButton.LeftButton)


def test_every_field_has_a_row_a_name_and_a_sentence(form):
    made = form()
    names = [item.name for item in (*COMMON, *(item for _, items in GROUPS for item in items))]
    assert sorted(names) == sorted(FIELDS)
    for name in names:
        editor = field(made, name)
        assert editor.accessibleName()
        assert editor.toolTip().endswith(".")
        assert editor.accessibleDescription()


def test_the_rarer_ones_are_under_more(form):
    made = form()
    more = made.findChild(QPushButton, "test_sampling_more")
    assert field(made, "temperature").isVisible()
    assert not field(made, "mirostat").isVisible()
    unfold(made)
    assert field(made, "mirostat").isVisible()
    assert more.accessibleName() == "Fewer settings of sampling"
    unfold(made)
    assert not field(made, "mirostat").isVisible()


def test_what_is_set_comes_out(form):
    made = form()
    unfold(made)
    field(made, "typical_p", QDoubleSpinBox).setValue(0.5)
    field(made, "dry_penalty_last_n", QSpinBox).setValue(100)
    kinds = field(made, "mirostat", QComboBox)
    kinds.setCurrentIndex(kinds.findData(1))
    breakers, bias = field(made, "dry_sequence_breakers", Listed), field(made, "logit_bias", Listed)
    assert breakers.text() == r'\n : " *'
    breakers.clear()
    QTest.keyClicks(breakers, r"\n User: \s\\")
    QTest.keyClicks(bias, "99: 2.5, 3: -5")
    assert made.value() == Sampling(
        typical_p=0.5,
        dry_penalty_last_n=100,
        mirostat=1,
        dry_sequence_breakers=("\n", "User:", " \\"),
        logit_bias=((3, -5.0), (99, 2.5)),
    )
    assert not made.refuses()
    again = form(made.value())
    assert again.value() == made.value()
    assert field(again, "dry_sequence_breakers", Listed).text() == r"\n User: \s\\"
    assert field(again, "logit_bias", Listed).text() == "3: -5, 99: 2.5"


@pytest.mark.parametrize(
    ("name", "typed", "last"),
    [
        ("logit_bias", "5", ((7, 1.0),)),
        ("logit_bias", "5: much", ((7, 1.0),)),
        ("logit_bias", "5: 101", ((5, 10.0),)),
        ("logit_bias", "five: 1", ((7, 1.0),)),
        ("dry_sequence_breakers", r"\x", (":",)),
        ("dry_sequence_breakers", "\\", (":",)),
        ("dry_sequence_breakers", "x" * 41, ("x" * 40,)),
    ],
)
def test_what_cannot_be_read_is_said_and_is_not_what_is_saved(form, name, typed, last):
    made = form(Sampling(logit_bias=((7, 1.0),), dry_sequence_breakers=(":",)))
    unfold(made)
    field(made, name, QLineEdit).clear()
    QTest.keyClicks(field(made, name), typed)
    assert getattr(made.value(), name) == last, "the last that could be read"
    assert "This cannot be read" in field(made, name).accessibleDescription()
    unfold(made)
    assert made.refuses()
    assert field(made, name).isVisible(), "it is shown again"


def test_values_of_the_model_are_marked_changed_and_given_back(form):
    made = form(advises=ADVICE, free=OPEN)
    unfold(made)
    temperature = field(made, "temperature", QDoubleSpinBox)
    back = field(made, "temperature_back", QAbstractButton)
    assert temperature.value() == 0.6
    assert field(made, "top_k", QSpinBox).value() == 20
    assert field(made, "mirostat", QComboBox).currentData() == 2
    assert temperature.accessibleDescription().endswith("From the model's file.")
    assert not back.isVisible()
    assert (made.value(), made.kept()) == (Sampling(), ()), "nothing of it is the user's"
    temperature.setValue(0.9)
    assert (made.value(), made.kept()) == (Sampling(temperature=0.9), ())
    assert temperature.accessibleDescription().endswith("Yours. The model's file has 0.6.")
    temperature.setValue(0.8)
    assert (made.value(), made.kept()) == (Sampling(), ("temperature",)), "a choice all the same"
    QTest.mouseClick(back, Qt.MouseButton.LeftButton)
    assert temperature.value() == 0.6
    assert (made.value(), made.kept()) == (Sampling(), ())
    assert made.focusWidget() is temperature
    assert not back.isVisible()


def test_values_of_the_user_stay_beside_those_of_the_model(form):
    own = Settings(sampling=Sampling(temperature=0.123456), sampling_kept=("top_k",))
    made = form(own.sampling, advises=ADVICE, free=own.sampling_open)
    assert field(made, "temperature", QDoubleSpinBox).value() == 0.12
    assert field(made, "top_k", QSpinBox).value() == 40
    assert field(made, "top_k_back", QAbstractButton).isVisible()
    assert (made.value(), made.kept()) == (own.sampling, own.sampling_kept)


def test_the_settings_say_what_the_model_advises(qtbot):
    dialog = SettingsDialog(Settings(), model=ModelState(name="Fake", recommended=ADVICE))
    qtbot.addWidget(dialog)
    assert dialog.findChild(QDoubleSpinBox, "setting_temperature").value() == 0.6
    assert dialog.value(Settings()) == Settings()
    dialog.findChild(QSpinBox, "setting_top_k").setValue(40)
    assert dialog.value(Settings()) == Settings(sampling_kept=("top_k",))


def test_a_dialog_does_not_close_over_what_cannot_be_read(qtbot):
    dialog = SettingsDialog(Settings())
    qtbot.addWidget(dialog)
    dialog.show()
    QTest.keyClicks(dialog.findChild(Listed, "setting_logit_bias"), "nonsense")
    dialog.accept()
    assert dialog.isVisible()
    dialog.findChild(Listed, "setting_logit_bias").clear()
    QTest.keyClicks(dialog.findChild(Listed, "setting_logit_bias"), "1: 2")
    dialog.accept()
    assert not dialog.isVisible()
    assert dialog.value(Settings()).sampling.logit_bias == ((1, 2.0),)


def test_a_chat_begins_with_what_counts_for_it_and_has_all_of_it_for_its_own(qtbot):
    general = Settings(sampling=Sampling(min_p=0.2))
    chat = Conversation(1, "Chat", 0.0, 0.0)
    dialog = ChatSettingsDialog(chat, general, ModelState(recommended=ADVICE))
    qtbot.addWidget(dialog)
    assert dialog.findChild(QDoubleSpinBox, "chat_temperature").value() == 0.6
    assert dialog.value().sampling is None
    dialog.findChild(QCheckBox, "chat_own_sampling").click()
    dialog.findChild(QDoubleSpinBox, "chat_typical_p").setValue(0.5)
    expected = Sampling(min_p=0.2, temperature=0.6, top_k=20, mirostat=2, typical_p=0.5)
    assert dialog.value() == ConversationSettings(sampling=expected)
    again = ChatSettingsDialog(replace(chat, settings=dialog.value()), Settings())
    qtbot.addWidget(again)
    assert again.value().sampling == expected
