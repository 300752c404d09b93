# CI and people call the same targets. `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# The first interpreter that is new enough; PYTHON=... overrides.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Two workers suit the two cores that CI has; TEST_WORKERS=0 runs in one process.
TEST_WORKERS ?= 2
PYTEST := $(BIN)/python -m pytest -n $(TEST_WORKERS) --dist loadfile

.PHONY: help setup lock proto proto-check fmt lint types test conformance fuzz simulation downtime e2e lab-test container browser demo demo-faults up bench bench-smoke headline dist check clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / {printf "  %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) ## make a virtual environment in .venv and install everything pinned in requirements.lock

$(STAMP): requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "no Python >= 3.11 found; install one or call make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "$(PYTHON) cannot make a virtual environment; on Debian or Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@echo "installing into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

lock: setup ## resolve the ranges of pyproject.toml again into requirements.lock
	$(BIN)/python scripts/lock.py

proto: setup ## generate actionswire.gen from shared/proto
	$(BIN)/python scripts/generate_proto.py

proto-check: setup ## fail when the generated code is stale
	$(BIN)/python scripts/generate_proto.py --check

fmt: setup ## format the code and mend what ruff can mend
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/ruff format .

lint: setup ## check style, imports and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup ## check types strictly
	$(BIN)/mypy

test: setup ## unit, property, conformance, field, packaging, short fuzz and simulation tests, without network, Docker or root
	$(PYTEST) tests/unit tests/property tests/conformance tests/field tests/packaging tests/fuzz tests/simulation

conformance: setup ## the wire contract, case by case, and independent peers
	$(PYTEST) tests/conformance

fuzz: setup ## shoot noise at the server for long, with fresh examples (FUZZ_EXAMPLES=2000 of each kind)
	FUZZ_EXAMPLES=$${FUZZ_EXAMPLES:-2000} $(PYTEST) tests/fuzz

simulation: setup ## the whole system through bad days drawn from seeds (SIMULATION_SEEDS=2000 of them)
	SIMULATION_SEEDS=$${SIMULATION_SEEDS:-2000} $(BIN)/python -m pytest -n $(TEST_WORKERS) tests/simulation

downtime: setup ## a fleet through downtime drawn from seeds: DOWNTIME_SEEDS=500 in virtual time, a few in real time
	DOWNTIME_SEEDS=$${DOWNTIME_SEEDS:-500} DOWNTIME_REAL_SEEDS=$${DOWNTIME_REAL_SEEDS:-3} $(BIN)/python -m pytest -n $(TEST_WORKERS) tests/integration/test_downtime_*.py

e2e: setup ## real processes end to end
	$(PYTEST) tests/integration tests/docs

lab-test: setup ## the laboratory at full size (many minutes; e2e has small fleets); OTHER_PYTHON=python3.13: same bytes there
	$(if $(OTHER_PYTHON),$(OTHER_PYTHON) -m venv .venv-other && .venv-other/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.lock)
	LAB_FULL=1 $(if $(OTHER_PYTHON),OTHER_PYTHON=.venv-other/bin/python) $(PYTEST) tests/integration/test_lab_*.py

container: setup ## build and smoke-test the images (needs a container engine)
	$(BIN)/python -m pytest tests/container

browser: setup ## look at the page with headless Chromium (needs chromium)
	$(BIN)/python -m pytest tests/browser

demo: setup ## run several example workflows on a fresh server with two runners and show a summary
	@$(BIN)/python scripts/demo.py

demo-faults: setup ## bad days on real processes, told in the terminal: downtime, lost tasks, cancel, audit (QUICK=1: short)
	@$(BIN)/python scripts/demo_faults.py $(if $(QUICK),--quick)

up: setup ## a server and one runner on this machine until Ctrl-C
	@$(BIN)/python scripts/up.py

bench: setup ## measure; results go to bench/results
	$(BIN)/python bench/run.py

bench-smoke: setup ## one short iteration of every benchmark, so that the scripts do not rot
	$(BIN)/python bench/run.py --smoke

headline: setup ## every strategy under every preset, into bench/results (QUICK=1: small fleets, a few minutes)
	$(BIN)/python scripts/headline.py $(if $(QUICK),--quick)

dist: setup ## build the wheel and the sdist into dist/
	$(BIN)/python -m build --no-isolation --outdir dist .

check: lint types proto-check test e2e ## everything a pull request must pass

clean: ## remove what the other targets made, the environment included
	rm -rf $(VENV) .venv-other dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis .demo .up
