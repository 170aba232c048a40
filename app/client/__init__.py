"""The app's side of its child processes."""
