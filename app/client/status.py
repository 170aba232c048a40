"""What the window shows of a model that serves."""

from dataclasses import replace

from app.chat.model_state import EngineStatus, ModelPhase, ModelState
from app.client.advice import advice
from app.client.engine import EngineClient
from app.client.loading import STARTING
from app.client.pair import Pair
from app.prompting import OWN


def engine_status(engine: EngineClient) -> EngineStatus:
    """What it does now."""
    counters = engine.counters
    return EngineStatus(
        running=counters.running,
        reading=counters.reading,
        waiting=counters.waiting,
        tokens_per_second=engine.tokens_per_second,
        cached_share=engine.cached_share,
        cells_used=counters.cells_used,
        cells_total=counters.cells_total,
        advice=advice(counters),
    )


def loading(path: str, name: str) -> ModelState:
    """The state of a model whose load begins."""
    return ModelState(ModelPhase.LOADING, path=path, name=name, doing=STARTING)


def unloaded(state: ModelState, name: str, error: str = "") -> ModelState:
    """The state of a model that is not in memory any more."""
    advised = state.recommended
    phase = ModelPhase.UNLOADED
    return ModelState(phase, path=state.path, name=name, error=error, recommended=advised)


def ready(state: ModelState, pair: Pair) -> ModelState:
    """The state of the model that these processes serve."""
    loaded = pair.loaded
    return replace(
        state,
        phase=ModelPhase.READY,
        device=loaded.device,
        fraction=1.0,
        doing="",
        context_tokens=loaded.context_tokens,
        pool_tokens=loaded.pool_tokens,
        notes=pair.notes,
        format_name="" if pair.format_name == OWN else pair.format_name,
        can_switch=pair.thinking.switch,
        can_effort=pair.thinking.effort,
        recommended=pair.recommended,
    )
