"""The throw-away process that opens a model file nobody has vouched for, before the app or an engine does."""
