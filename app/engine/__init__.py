"""The engine process: token ids in, token ids out."""
