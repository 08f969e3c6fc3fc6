# Needs Python 3.11 or newer with pip, make and node; everything else is fetched into .venv.

PYTHON ?= python3
PORT ?= 8000
PYTEST_ARGS ?= -n 2
PINS_ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv
PINNED := $(VENV)/.pinned
READY := $(VENV)/.ready
CLIENTS := tests/clients/node_modules/.package-lock.json

# Trust the certificates that the machine trusts; never fetch another Python.
export UV_SYSTEM_CERTS ?= 1
export NODE_EXTRA_CA_CERTS ?= $(wildcard /etc/ssl/certs/ca-certificates.crt)
export UV_PYTHON_DOWNLOADS ?= never
# The wheel carries pyright itself: no newer version is looked for, nothing is written to the home folder.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1
export PYRIGHT_PYTHON_CACHE_DIR := $(CURDIR)/$(VENV)/pyright

.DEFAULT_GOAL := help
.PHONY: help setup run test check test-long format pins clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

setup: $(READY) ## make .venv with everything pinned in it

run: setup ## start the demo on PORT (8000)
	$(BIN)/roomful demo --port $(PORT)

test: check $(CLIENTS) ## run the checks, then the tests; PYTEST_ARGS replaces "-n 2"
	$(BIN)/pytest $(PYTEST_ARGS)

check: setup ## run the formatter's, linter's, type and import checks
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(UV) pip check --python $(BIN)/python

test-long: setup $(CLIENTS) ## run the tests marked as long
	$(BIN)/pytest -m long --timeout 1800 $(PYTEST_ARGS)

format: setup ## format the code and mend what the linter can mend
	$(BIN)/ruff check --fix --exit-zero
	$(BIN)/ruff format

COMPILE = $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --custom-compile-command "make pins" $(PINS_ARGS)

pins: $(UV) ## write requirements/*.txt anew; PINS_ARGS=--upgrade takes newer versions
	$(COMPILE) --output-file requirements/runtime.txt --all-extras pyproject.toml
	$(COMPILE) --output-file requirements/dev.txt --constraint requirements/runtime.txt --all-extras --group dev pyproject.toml
	$(COMPILE) --output-file requirements/uv.txt --group installer

clean: ## remove .venv, caches and builds
	rm -rf $(VENV) tests/clients/node_modules dist .hypothesis .import_linter_cache .pytest_cache .ruff_cache
	find src tests -name __pycache__ -prune -exec rm -rf {} +

$(UV): requirements/uv.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Roomful needs Python 3.11 or newer, and $(PYTHON) is not. Name one that is: make PYTHON=python3.12 setup" >&2; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
	@touch $@

$(PINNED): $(UV) requirements/dev.txt
	$(UV) pip sync --quiet --require-hashes --python $(BIN)/python requirements/dev.txt
	@touch $@

$(READY): $(PINNED) pyproject.toml
	$(UV) pip install --quiet --no-deps --no-build-isolation --python $(BIN)/python --editable .
	@touch $@

# The clients that drive a gateway in the tests; what a Roomful itself needs is never here.
$(CLIENTS): tests/clients/package.json tests/clients/package-lock.json
	cd tests/clients && npm ci --loglevel error
	@touch $@
