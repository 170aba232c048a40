"""How a model is loaded on this machine: what it costs, what there is, and what a profile makes of both."""
