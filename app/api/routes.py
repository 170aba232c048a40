"""What the server answers to: models, health, chat completions."""

import asyncio
import time
from collections import Counter
from dataclasses import replace
from http import HTTPStatus
from pathlib import PurePath

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app.api.answer import ChatResponse
from app.api.guard import HANDLERS, read_json
from app.api.schema import parse_chat
from app.api.sse import CompletionWriter
from app.chat.model_port import ModelHost
from app.chat.model_state import ModelPhase, ModelState
from app.chat.ports import Generator
from app.errors import RequestError

DEFAULT_MODEL = "default"

_HEALTH = {
    ModelPhase.READY: ("ok", HTTPStatus.OK),
    ModelPhase.UNLOADED: ("unloaded", HTTPStatus.OK),
    ModelPhase.LOADING: ("loading", HTTPStatus.SERVICE_UNAVAILABLE),
    ModelPhase.FAILED: ("failed", HTTPStatus.SERVICE_UNAVAILABLE),
    ModelPhase.NONE: ("no model", HTTPStatus.SERVICE_UNAVAILABLE),
}
DEGRADED = "degraded"
"""The word for a server whose default model serves while another one has failed."""


def named_models(present: ModelState) -> dict[str, ModelState]:
    """Every name that means a model that there is; the present one's first, for that answers who names none."""
    names: dict[str, ModelState] = {}
    if present.path:
        names[DEFAULT_MODEL] = present
        for model in (present, *present.others):
            file = PurePath(model.path)
            for name in (file.stem, file.name):
                names.setdefault(name, model)
    return names


class Routes:
    """The endpoints over one generator and its model."""

    def __init__(
        self,
        generator: Generator,
        host: ModelHost,
        *,
        stopping: asyncio.Event,
        keep_alive: float,
    ) -> None:
        self._generator = generator
        self._host = host
        self._stopping = stopping
        self._keep_alive = keep_alive
        self._created = int(time.time())

    def application(self) -> Starlette:
        routes = [
            Route("/health", self.health),
            Route("/v1/models", self.models),
            Route("/v1/models/{name}", self.model),
            Route("/v1/chat/completions", self.chat, methods=["POST"]),
        ]
        application = Starlette(routes=routes, exception_handlers=HANDLERS)
        # "/v1/models/" is another address, not a redirect.
        application.router.redirect_slashes = False
        return application

    async def health(self, _request: Request) -> Response:
        """How the default model is, and how many there are of each kind; with what there is to say of the cache.

        Whoever has no key is told no names.
        """
        present = self._host.state
        word, status = _HEALTH[present.phase]
        body: dict[str, object] = {"status": word}
        if present.others:
            words = Counter(_HEALTH[one.phase][0] for one in (present, *present.others))
            body["models"] = dict(words)
            if status == HTTPStatus.OK and words["failed"]:
                body["status"] = DEGRADED
        advice = self._host.status.advice
        if advice is not None:
            body["cache_advice"] = advice.text
        return JSONResponse(body, status)

    async def models(self, _request: Request) -> Response:
        names = named_models(self._host.state)
        entries = [self._entry(name, model) for name, model in names.items()]
        return JSONResponse({"object": "list", "data": entries})

    async def model(self, request: Request) -> Response:
        name, model = _resolve(self._host.state, request.path_params["name"])
        return JSONResponse(self._entry(name, model))

    async def chat(self, request: Request) -> ChatResponse:
        body = parse_chat(await read_json(request))
        present = self._host.state
        name, model = _resolve(present, body.model)
        _require(model)
        path = "" if model is present else model.path
        return ChatResponse(
            self._generator.generate(replace(body.request, model=path)),
            CompletionWriter(
                name,
                include_usage=body.include_usage,
                log_probabilities=body.request.top_logprobs is not None,
            ),
            stream=body.stream,
            keep_alive=self._keep_alive,
            stopping=self._stopping,
        )

    def _entry(self, name: str, model: ModelState) -> dict[str, object]:
        entry = {"id": name, "object": "model", "created": self._created, "owned_by": "tutti"}
        return {**entry, **_told(model)}


def _told(model: ModelState) -> dict[str, str]:
    """How one model is, in the words of /health; of one that failed also why."""
    word, _ = _HEALTH[model.phase]
    failed = model.phase is ModelPhase.FAILED
    return {"status": word, "error": model.error} if failed else {"status": word}


def _resolve(present: ModelState, name: str | None) -> tuple[str, ModelState]:
    """The name that an answer carries, and the model that writes it; none given means the present one's own."""
    names = named_models(present)
    if name is None:
        own = next((own for own in names if own != DEFAULT_MODEL), DEFAULT_MODEL)
        return own, present
    if name not in names:
        raise RequestError(
            "There is no model of this name; GET /v1/models lists those there are.",
            param="model",
            status=HTTPStatus.NOT_FOUND,
            code="model_not_found",
        )
    return name, names[name]


def _require(model: ModelState) -> None:
    """A model that loads, or that loads again when asked, is fine: the request waits for it."""
    if model.phase in (ModelPhase.NONE, ModelPhase.FAILED):
        raise RequestError(
            model.error or "No model is loaded.",
            status=HTTPStatus.SERVICE_UNAVAILABLE,
            code="model_not_ready",
        )
