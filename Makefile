# Locktender. `make demo` and `make test` are all that a new user needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PACKAGES := $(wildcard libs/*) $(wildcard services/*)
EDITABLE := $(foreach package,$(PACKAGES),-e $(package))
SHIPPED := $(filter-out libs/testkit,$(PACKAGES))
MANIFESTS := $(wildcard libs/*/pyproject.toml) $(wildcard services/*/pyproject.toml)
INSTALL := $(BIN)/python -m pip install --disable-pip-version-check --no-input --no-compile --progress-bar off -q
ARGS ?=
FIGURE ?= all
T ?= tests
# Several processes for the whole suite, none for a part of it: one test at a time is easier to follow. They are more
# than two processors have use for, as tests of leases and crashes mostly wait. Files keep their order, the long ones
# first (`tests/conftest.py`).
SPREAD = $(if $(filter tests,$(T)),-n 3 --dist loadfile --no-loadscope-reorder,)

.DEFAULT_GOAL := help
.PHONY: help setup setup-dev setup-bench up demo test check lint types imports sql generated docs bench chaos format lock clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Locktender needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) -V 2>&1). Try: make PYTHON=python3.12 …" >&2; exit 2; }
	@echo "  · creating $(VENV)" >&2
	@$(PYTHON) -m venv $(VENV) || \
	  { echo "The venv module is missing. On Debian: apt install python3-venv" >&2; exit 2; }
	@touch $@

$(VENV)/.installed: $(VENV)/.python requirements.lock $(MANIFESTS)
	@echo "  · installing packages (requirements.lock)" >&2
	@$(INSTALL) --require-hashes -r requirements.lock || \
	  { echo "Installing requirements.lock failed; is the package index reachable?" >&2; exit 2; }
	@echo "  · installing Locktender" >&2
	@$(INSTALL) --no-deps --no-build-isolation $(EDITABLE)
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed requirements-dev.lock
	@echo "  · installing development packages (requirements-dev.lock)" >&2
	@$(INSTALL) --require-hashes -r requirements-dev.lock
	@touch $@

$(VENV)/.installed-bench: $(VENV)/.installed-dev requirements-bench.lock
	@echo "  · installing the peers to measure against (requirements-bench.lock)" >&2
	@$(INSTALL) --require-hashes -r requirements-bench.lock
	@touch $@

setup: $(VENV)/.installed ## Make the virtual environment
setup-dev: $(VENV)/.installed-dev ## … with what tests and linters need
setup-bench: $(VENV)/.installed-bench ## … with the peers of the benchmarks

demo: setup ## Start everything and deploy a real application (ARGS="--exit --json", "--scenario template")
	@$(BIN)/locktender demo $(ARGS)

up: setup ## Start everything and leave it running
	@$(BIN)/locktender up $(ARGS)

test: setup-dev ## Run every test (T=path for some)
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q $(SPREAD) $(T) $(ARGS)

check: lint types imports sql generated test ## Everything that CI checks

lint: setup-dev ## Style, formatting, dependencies
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@for package in $(SHIPPED); do (cd $$package && ../../$(BIN)/deptry src) || exit 1; done

types: setup-dev ## Types of everything that ships
	@$(BIN)/basedpyright --warnings

imports: setup-dev ## Who may import whom
	@$(BIN)/lint-imports --no-cache

sql: setup-dev ## Migrations that would hurt a live database
	@$(BIN)/squawk libs/storage/src/locktender/storage/migrations/sql/*.sql

generated: setup-dev ## Generated files are fresh
	@$(BIN)/python tools/generate.py --check

docs: setup-dev ## Write the generated files anew
	@$(BIN)/python tools/generate.py

bench: setup-bench ## Measure (FIGURE=e2e|latency|transitions|relay|cancel|idle|kill|watch|apply|parse|render|streams|analysis|lanes|tails|confirm|all)
	@$(BIN)/python -m tests.bench $(FIGURE)

chaos: setup-dev ## The long crash tests, and the fuzzing
	@LOCKTENDER_CHAOS=long $(BIN)/python -m pytest tests/chaos tests/property $(ARGS)

format: setup-dev ## Format the code
	@$(BIN)/ruff check --fix -q . ; $(BIN)/ruff format .

lock: setup-dev ## Pin all dependencies anew, with hashes
	@$(BIN)/python tools/lock.py

clean: ## Remove the virtual environment and caches; data in .locktender stays
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis .import_linter_cache
