"""The window's composition root."""
