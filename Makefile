# Needs Python 3.11 or newer with pip, and make; everything else, node too, is fetched into the checkout.

PYTHON ?= python3
PORT ?= 8000
PYTEST_ARGS ?= -n 2
PINS_ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv
PINNED := $(VENV)/.pinned
READY := $(VENV)/.ready
WEB := web/node_modules/.package-lock.json
PAGE := src/roomful/web/static/page.js
PACKAGES := web/react/dist/index.js
CLIENTS := tests/clients/node_modules/.package-lock.json
BROWSER := tests/browser/node_modules/.package-lock.json

# The node and npm of .venv come first, for the recipes and for what they start.
OUTSIDE := $(PATH)
export PATH := $(CURDIR)/$(BIN):$(PATH)

# Trust the certificates that the machine trusts; never fetch another Python.
export UV_SYSTEM_CERTS ?= 1
export NODE_EXTRA_CA_CERTS ?= $(wildcard /etc/ssl/certs/ca-certificates.crt)
export UV_PYTHON_DOWNLOADS ?= never
# The wheel carries pyright itself: no newer version is looked for, nothing is written to the home folder.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1
export PYRIGHT_PYTHON_CACHE_DIR := $(CURDIR)/$(VENV)/pyright

.DEFAULT_GOAL := help
.PHONY: help setup run test check test-long format docs pins clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

setup: $(READY) $(PAGE) ## make .venv with everything pinned in it, and the page

run: setup ## start the demo on PORT (8000)
	$(BIN)/roomful demo --port $(PORT)

test: check $(PACKAGES) $(CLIENTS) $(BROWSER) ## run the checks, then the tests; PYTEST_ARGS replaces "-n 2"
	cd web && node --test '*/test/*.test.ts'
	$(BIN)/pytest $(PYTEST_ARGS)

check: setup ## run the formatter's, linter's, type and import checks
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(UV) pip check --python $(BIN)/python
	cd web && node_modules/.bin/tsc

test-long: setup $(PACKAGES) $(CLIENTS) $(BROWSER) ## run the tests marked as long
	$(BIN)/pytest -m long --timeout 1800 $(PYTEST_ARGS)

format: setup ## format the code and mend what the linter can mend
	$(BIN)/ruff check --fix --exit-zero
	$(BIN)/ruff format

docs: setup ## write build/requirements.md: every clause, with its tests
	mkdir -p build
	$(BIN)/python -m tests.requirements_page >build/requirements.md

COMPILE = $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --custom-compile-command "make pins" $(PINS_ARGS)

pins: $(UV) ## write requirements/*.txt anew; PINS_ARGS=--upgrade takes newer versions
	$(COMPILE) --output-file requirements/runtime.txt --all-extras pyproject.toml
	$(COMPILE) --output-file requirements/dev.txt --constraint requirements/runtime.txt --all-extras --group dev pyproject.toml
	$(COMPILE) --output-file requirements/uv.txt --group installer

clean: ## remove .venv, caches and builds
	rm -rf $(VENV) web/node_modules web/*/node_modules tests/*/node_modules
	rm -rf $(dir $(PAGE)) web/*/dist dist build .hypothesis .import_linter_cache .pytest_cache .ruff_cache
	find src tests -name __pycache__ -prune -exec rm -rf {} +

$(UV): export PATH := $(OUTSIDE)
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

$(WEB): web/package.json web/package-lock.json $(wildcard web/*/package.json) | $(PINNED)
	cd web && npm ci --loglevel error
	@touch $@

# With the folders: a source that is gone is a change too.
$(PAGE): $(WEB) web/build.mjs $(shell find web/client web/react web/page \( -name node_modules -o -name dist \) -prune -o -print)
	cd web && node build.mjs
	@touch $@

# What an application gets that installs @roomful/react.
$(PACKAGES): $(WEB) $(shell find web/client/src web/react/src)
	cd web && npm run --silent packages
	@touch $@

# The clients that drive a gateway in the tests; what a Roomful itself needs is never here.
$(CLIENTS): tests/clients/package.json tests/clients/package-lock.json | $(PINNED)
	cd tests/clients && npm ci --loglevel error
	@touch $@

# The browser that opens the page in the tests; what it is unpacked to goes with its package.
$(BROWSER): tests/browser/package.json tests/browser/package-lock.json tests/browser/chromium.mjs | $(PINNED)
	cd tests/browser && npm ci --loglevel error && node chromium.mjs >/dev/null
	@touch $@
