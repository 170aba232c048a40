"""Several models behind one server: listed, and asked by their names."""

import asyncio
from pathlib import Path

from app.api.server import address_of, bind, serving
from app.chat.model_state import ModelPhase, ModelState
from tests.api.harness import HELLO, Api, running
from tests.fakes import FakeGenerator, FakeModelHost
from tests.played_ensemble import Played
from tests.scripted_children import begin, run, turns, until

OTHERS = (
    ModelState(ModelPhase.READY, path="/models/a/small.gguf", name="Small"),
    ModelState(ModelPhase.LOADING, path="/models/b/small.gguf", name="Small too"),
    ModelState(ModelPhase.READY, path="/models/default.gguf", name="Cunning"),
)
NAMES = ["default", "fake", "fake.gguf", "small", "small.gguf", "default.gguf"]


def test_each_is_listed_and_asked_by_its_names() -> None:
    """One name means one model: that of the present one first, then the first by path."""
    small = OTHERS[0].path
    files = ["", "", "", small, small, OTHERS[2].path]

    async def scenario() -> None:
        async with running() as api:
            api.host.move(others=OTHERS)
            listed = [entry["id"] for entry in (await api.get("/v1/models")).json["data"]]
            assert listed == NAMES
            for name, file in zip(NAMES, files, strict=True):
                assert (await api.get(f"/v1/models/{name}")).json["id"] == name
                assert (await api.post({**HELLO, "model": name})).json["model"] == name
                assert api.generator.requests[-1].model == file
            assert (await api.post(HELLO)).json["model"] == "fake"
            assert api.generator.requests[-1].model == ""
            assert (await api.post({**HELLO, "model": "other"})).status == 404
            api.host.move(phase=ModelPhase.FAILED, error="It is damaged.")
            assert (await api.post(HELLO)).status == 503
            assert (await api.post({**HELLO, "model": "small"})).status == 200, "that one serves"

    asyncio.run(scenario())


def test_one_that_was_given_up_is_listed_with_the_reason_and_so_is_its_refusal(
    tmp_path: Path,
) -> None:
    """The server's own ensemble, with engines that the test plays."""

    async def scenario() -> None:
        played = Played(tmp_path, kept=("one", "two"))
        for name in ("one", "two"):
            await played.model.load(played.file(name))
        played.model.show(played.file("one"))
        listener = bind("127.0.0.1", 0)
        async with serving(played.model, played.model, listener):
            port = listener.getsockname()[1]
            api = Api(address_of(listener), port, FakeGenerator(), FakeModelHost())
            assert (await api.get("/health")).json == {"status": "ok", "models": {"ok": 2}}
            await played.give_up("two")
            listed = (await api.get("/v1/models")).json["data"]
            told = {entry["id"]: (entry["status"], entry.get("error")) for entry in listed}
            words = told["two"][1]
            assert "3 times in a row" in words
            assert words.endswith("Load it with a smaller pool, or choose another.")
            assert told == {
                **dict.fromkeys(("default", "one", "one.gguf"), ("ok", None)),
                **dict.fromkeys(("two", "two.gguf"), ("failed", words)),
            }
            for name in ("two", "two.gguf"):
                refused = await api.post({**HELLO, "model": name})
                assert (refused.status, refused.error["message"]) == (503, words)
                assert refused.error["code"] == "model_not_ready"
                assert (await api.get(f"/v1/models/{name}")).json["status"] == "failed"
            assert (await api.post({**HELLO, "model": "three"})).status == 404
            health = await api.get("/health")
            counts = {"ok": 1, "failed": 1}
            assert (health.status, health.json) == (200, {"status": "degraded", "models": counts})
            answer = begin(api.post(HELLO))
            await until(lambda: played.submitted == 1)
            played.answer("one")
            await turns()
            assert (await answer).json["model"] == "one", "the other answers as ever"
            await played.give_up("one")
            health = await api.get("/health")
            assert (health.status, health.json) == (
                503,
                {"status": "failed", "models": {"failed": 2}},
            )
        await played.model.close()

    run(scenario())
