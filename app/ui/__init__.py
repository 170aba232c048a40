"""All the Qt there is."""
