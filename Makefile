# The list of commands, for people and for CI.  Each does its own set-up; packaging/bootstrap.py does the work, and is
# called directly where there is no make.
PYTHON ?= python3
BOOTSTRAP = $(PYTHON) packaging/bootstrap.py
ARGS ?=

.PHONY: help run test check bench soak setup launcher bundle lock clean
.DEFAULT_GOAL := help

help: ## this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 17

run: ## start Tutti; ARGS="serve --model FILE" and the like pass through
	@$(BOOTSTRAP) run $(ARGS)

test: ## run the tests; ARGS="-k name" and the like pass through
	@$(BOOTSTRAP) test $(ARGS)

check: ## lint, format, types, import contracts
	@$(BOOTSTRAP) check

bench: ## measure; ARGS pass through to "tutti bench"
	@$(BOOTSTRAP) bench $(ARGS)

soak: ## the tests that take minutes
	@$(BOOTSTRAP) soak $(ARGS)

setup: ## only the set-up
	@$(BOOTSTRAP) setup

launcher: ## a menu entry for this checkout (Linux desktops)
	@$(BOOTSTRAP) launcher $(ARGS)

bundle: ## a folder that runs without Python: dist/tutti
	@$(BOOTSTRAP) bundle $(ARGS)

lock: ## make the lock files anew; ARGS=--upgrade takes the newest versions
	@$(PYTHON) packaging/lock.py $(ARGS)

clean: ## remove the virtual environment and everything that was built here
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
