"""Models on the network and on disk: search, download, keep.  Works without a window."""
