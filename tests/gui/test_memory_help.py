"""A model that does not fit: what can be done is in the notice, each by one click."""

from dataclasses import replace

import pytest
from PySide6.QtWidgets import QDialog, QPushButton

from app.chat.model_state import ModelPhase, ModelState
from app.errors import MemoryPart
from app.hub.library import Library
from app.remembered import choice_of
from app.settings import Settings
from app.sizing.machine import Machine
from app.sizing.planner import Planner
from app.sizing.profiles import RESERVE
from tests import tiny_models
from tests.fakes import FakeModelHost
from tests.gui.desk import turns_of_the_loop, until
from tests.gui.hubs import sources

MB = 1 << 20
WORDS = "There is not enough memory for it."


def spare(megabytes):
    """A machine with so much to spare; each token of a pool takes half a kilobyte, so that 64k tokens take 32 MB."""
    return Planner(lambda: Machine(RESERVE + megabytes * MB, 2))


def asking_for(pool):
    return Settings(
        theme="light",
        profile="development",
        pool_tokens=pool,
        kv_type="f16",
        sequences=2,
        spill_megabytes=0,
    )


def without_a_model():
    host = FakeModelHost()
    host.state = ModelState()
    return host


def fail(desk, path, part):
    desk.host.move(phase=ModelPhase.LOADING, path=str(path), name=path.stem)
    desk.host.move(phase=ModelPhase.FAILED, error=WORDS, short_of=part)


def choices(desk):
    found = desk.window.banner.findChildren(QPushButton)
    return [one for one in found if one.objectName().startswith("noticeChoice") and one.isVisible()]


def test_a_smaller_pool_is_one_click(with_desk, tmp_path):
    path = tmp_path / "tiny-Q8_0.gguf"
    tiny_models.attention(path)

    async def scenario(desk):
        fail(desk, path, MemoryPart.POOL)
        assert desk.window.banner.text() == WORDS, "why comes at once"
        await until(lambda: len(choices(desk)) == 2)
        assert desk.window.banner.text() == WORDS
        pool, packed = choices(desk)
        assert pool.text().startswith("Use a smaller pool of ")
        assert packed.text().startswith("Use an 8-bit pool of ")
        words = pool.text()
        desk.click(pool)
        await until(lambda: desk.host.loads == [str(path)])
        changed = desk.preferences.current
        assert f"{changed.pool_tokens:,} tokens" in words
        assert (1024 < changed.pool_tokens < 65_536, changed.kv_type) == (True, "f16")
        assert desk.window.banner.text() == ""

    with_desk(scenario, host=without_a_model(), planner=spare(26), current=asking_for(65_536))


def test_a_pool_of_8_bits_is_one_click(with_desk, tmp_path):
    path = tmp_path / "tiny-Q8_0.gguf"
    tiny_models.attention(path)

    async def scenario(desk):
        fail(desk, path, MemoryPart.UNKNOWN)
        await until(lambda: len(choices(desk)) == 2)
        desk.click(choices(desk)[1])
        await until(lambda: desk.host.loads == [str(path)])
        assert desk.preferences.current.kv_type == "q8_0"
        assert 1024 < desk.preferences.current.pool_tokens < 65_536

    with_desk(scenario, host=without_a_model(), planner=spare(26), current=asking_for(65_536))


def test_of_a_model_with_load_settings_of_its_own_these_change(with_desk, tmp_path):
    path = tmp_path / "tiny-Q8_0.gguf"
    tiny_models.attention(path)
    found = sources(Library(tmp_path))
    remembered = found.shelf.remembered
    own = replace(choice_of(asking_for(65_536)), threads=3)
    remembered.load_with(path, own)

    async def scenario(desk):
        before = desk.preferences.current
        fail(desk, path, MemoryPart.UNKNOWN)
        await until(lambda: choices(desk))
        desk.click(choices(desk)[0])
        await until(lambda: desk.host.loads == [str(path)])
        now = remembered.of(path).load
        assert now == replace(own, pool_tokens=now.pool_tokens)
        assert 1024 < now.pool_tokens < 65_536
        assert desk.preferences.current == before

    with_desk(
        scenario,
        host=without_a_model(),
        planner=spare(26),
        current=asking_for(2048),
        sources=found,
    )


def test_the_same_model_in_a_smaller_file_is_one_click(with_desk, tmp_path):
    failed, lighter = tmp_path / "tiny-Q8_0.gguf", tmp_path / "tiny-Q4_K_M.gguf"
    tiny_models.attention(lighter)
    tiny_models.attention(failed)
    with failed.open("ab") as file:
        file.truncate(20 * MB)

    async def scenario(desk):
        desk.host.move(phase=ModelPhase.READY, path="/models/before.gguf", name="before")
        fail(desk, failed, MemoryPart.WEIGHTS)
        await until(lambda: len(choices(desk)) == 2)
        file, back = choices(desk)
        assert file.text().startswith("Use the smaller Q4_K_M, ")
        assert back.text() == "Back to before"
        desk.click(file)
        await until(lambda: desk.host.loads == [str(lighter)])
        assert desk.preferences.current.pool_tokens == 2048

    with_desk(
        scenario,
        host=without_a_model(),
        planner=spare(100),
        current=asking_for(2048),
        sources=sources(Library(tmp_path)),
    )


def test_a_smaller_quantisation_can_be_looked_for(with_desk, tmp_path):
    path = tmp_path / "tiny-Q8_0.gguf"
    tiny_models.attention(path)
    with path.open("ab") as file:
        file.truncate(20 * MB)

    async def scenario(desk):
        fail(desk, path, MemoryPart.WEIGHTS)
        await until(lambda: len(choices(desk)) == 1)
        assert choices(desk)[0].text() == "Find a smaller quantisation…"
        desk.click(choices(desk)[0])
        await until(lambda: desk.window.findChild(QDialog, "modelDialog"))
        assert desk.host.loads == []

    with_desk(
        scenario,
        host=without_a_model(),
        planner=spare(100),
        current=asking_for(2048),
        sources=sources(Library(tmp_path / "nothing")),
    )


def test_where_nothing_helps_another_file_is_offered(with_desk, tmp_path):
    path = tmp_path / "tiny.gguf"
    tiny_models.attention(path)

    async def scenario(desk):
        fail(desk, path, MemoryPart.POOL)
        said = f"{WORDS} Close other programs, or choose a smaller model."
        await until(lambda: desk.window.banner.text() == said)
        assert desk.find(QPushButton, "noticeAction").text() == "Open another file…"
        assert choices(desk) == []

    with_desk(scenario, host=without_a_model(), planner=spare(0), current=asking_for(2048))


def test_remedies_that_come_too_late_are_not_shown(with_desk, tmp_path):
    path = tmp_path / "tiny-Q8_0.gguf"
    tiny_models.attention(path)

    async def scenario(desk):
        fail(desk, path, MemoryPart.POOL)
        desk.host.move(phase=ModelPhase.READY, error="", short_of=None)
        await turns_of_the_loop(200)
        assert not desk.window.banner.isVisible()

    with_desk(scenario, host=without_a_model(), planner=spare(26), current=asking_for(65_536))


@pytest.mark.parametrize("chosen", [None, 512])
def test_a_smaller_file_gets_the_settings_with_which_it_fits_unless_it_has_some(
    with_desk, tmp_path, chosen
):
    failed, lighter = tmp_path / "tiny-Q8_0.gguf", tmp_path / "tiny-Q4_K_M.gguf"
    tiny_models.attention(lighter)
    tiny_models.attention(failed)
    with failed.open("ab") as file:
        file.truncate(20 * MB)
    found = sources(Library(tmp_path))
    remembered = found.shelf.remembered
    own = choice_of(asking_for(1024))
    remembered.load_with(failed, own)
    if chosen:
        remembered.load_with(lighter, choice_of(asking_for(chosen)))

    async def scenario(desk):
        before = desk.preferences.current
        fail(desk, failed, MemoryPart.WEIGHTS)
        await until(lambda: choices(desk))
        desk.click(choices(desk)[0])
        await until(lambda: desk.host.loads == [str(lighter)])
        assert remembered.of(lighter).load == choice_of(asking_for(chosen or 1024))
        assert remembered.of(failed).load == own
        assert desk.preferences.current == before

    with_desk(
        scenario,
        host=without_a_model(),
        planner=spare(100),
        current=asking_for(2048),
        sources=found,
    )
