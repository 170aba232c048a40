"""An engine's process from the other end of its pipe."""

from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, TypeVar

from app.wire import Begun, Heartbeat, Load, Loaded, LoadParams, Progress, Ready, Step

WATCHDOG = 60
Kind = TypeVar("Kind")
Spawned = tuple["Connection[Any, Any]", BaseProcess]
Main = Callable[["Connection[Any, Any]", str], None]


def wait_for(pipe: "Connection[Any, Any]", kind: type[Kind]) -> Kind:
    while True:
        assert pipe.poll(WATCHDOG), f"no {kind.__name__}"
        message = pipe.recv()
        if isinstance(message, kind):
            return message
        assert isinstance(message, Begun | Heartbeat | Progress | Step)


def load(pipe: "Connection[Any, Any]", path: Path) -> Loaded:
    wait_for(pipe, Ready)
    pipe.send(Load(LoadParams(str(path), pool_tokens=1024, sequences=4, batch=64)))
    return wait_for(pipe, Loaded)
