"""Set-up of a checkout: virtual environment, locked dependencies, llama.cpp, the starter model.

Standard library only, for it runs before anything is installed.
"""
