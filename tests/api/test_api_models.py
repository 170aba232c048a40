"""Several models behind one server: listed, and asked by their names."""

import asyncio

from app.chat.model_state import ModelPhase, ModelState
from tests.api.harness import HELLO, running

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
