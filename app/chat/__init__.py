"""Conversations and turns: pure Python, no Qt, no engine, no database."""
