"""What the status line shows of an engine."""

from app.chat.model_state import EngineStatus
from app.client.advice import advice
from app.client.engine import EngineClient


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
