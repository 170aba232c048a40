"""Benchmarks: the same requests to Tutti and to a peer, in turn, in one run."""
