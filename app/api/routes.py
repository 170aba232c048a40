"""What the server answers to: models, health, chat completions."""

import asyncio
import time
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


def model_names(state: ModelState) -> dict[str, str]:
    """Every name that means a model that there is, with its file; "" for the one that answers who names none."""
    names: dict[str, str] = {}
    if state.path:
        names[DEFAULT_MODEL] = ""
        for model in (state, *state.others):
            file = PurePath(model.path)
            for name in (file.stem, file.name):
                names.setdefault(name, "" if model is state else model.path)
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
        """How the model is; with what there is to say of the cache, for whoever runs the server."""
        word, status = _HEALTH[self._host.state.phase]
        body = {"status": word}
        advice = self._host.status.advice
        if advice is not None:
            body["cache_advice"] = advice.text
        return JSONResponse(body, status)

    async def models(self, _request: Request) -> Response:
        names = model_names(self._host.state)
        return JSONResponse({"object": "list", "data": [self._entry(name) for name in names]})

    async def model(self, request: Request) -> Response:
        return JSONResponse(self._entry(self._resolve(request.path_params["name"])))

    async def chat(self, request: Request) -> ChatResponse:
        body = parse_chat(await read_json(request))
        name = self._resolve(body.model)
        path = model_names(self._host.state).get(name, "")
        if not path:
            self._require_model()
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

    def _entry(self, name: str) -> dict[str, object]:
        return {"id": name, "object": "model", "created": self._created, "owned_by": "tutti"}

    def _resolve(self, name: str | None) -> str:
        """The name that an answer carries; none given means the file's own."""
        names = model_names(self._host.state)
        if name is None:
            return next((own for own in names if own != DEFAULT_MODEL), DEFAULT_MODEL)
        if name not in names:
            raise RequestError(
                "There is no model of this name; GET /v1/models lists those there are.",
                param="model",
                status=HTTPStatus.NOT_FOUND,
                code="model_not_found",
            )
        return name

    def _require_model(self) -> None:
        """A model that loads, or that loads again when asked, is fine: the request waits for it."""
        state = self._host.state
        if state.phase in (ModelPhase.NONE, ModelPhase.FAILED):
            raise RequestError(
                state.error or "No model is loaded.",
                status=HTTPStatus.SERVICE_UNAVAILABLE,
                code="model_not_ready",
            )
