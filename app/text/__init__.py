"""The border between text and tokens."""
