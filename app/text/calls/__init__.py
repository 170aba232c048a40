"""Calls of tools: how templates are shown them, and how they are read out of an answer."""
