"""Tutti: desktop chat with local models, many tabs and one batching engine."""

__version__ = "0.1.0"
