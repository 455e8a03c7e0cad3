# Self-documenting: `make` or `make help` lists the targets.
.DEFAULT_GOAL := help
SHELL := /bin/bash
# The last line of `make demo` is a directory alone, also when another make calls it.
MAKEFLAGS += --no-print-directory
BIN := .venv/bin
# The suite runs in one process, with one Spark: cores that share what they compute with make each other slower, and
# each further process loads and compiles anew. A number here splits it into as many, which takes less time by the clock.
WORKERS ?= 0
QUICK := not slow and not cluster and not connect and not postgres
export JAVA_HOME := $(CURDIR)/.venv/jre
# Small matrices in many processes: more threads than cores only get in each other's way.
export OPENBLAS_NUM_THREADS := 1
# Compiled once, not by each of the suite's processes, also where the caller forbids Python to write bytecode.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help setup demo test suite unit test-airflow test-slow test-postgres lint types imports format bench bench-peers accept cluster test-connect data clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-13s %s\n", $$1, $$2}'

setup: ## Create or refresh .venv (packages from requirements.lock, this project, Java)
	@scripts/setup.sh

demo: setup ## Release the flights of New York City in 2013 with the main job, in Spark local mode
	@scripts/demo.sh

test: setup lint types imports suite ## Lint, types, import contracts and the test suite

suite: setup ## The tests alone
	$(BIN)/pytest -n $(WORKERS) --dist loadfile -m "$(QUICK)"

unit: setup ## Of these the ones that start no Spark
	$(BIN)/pytest -n $(WORKERS) --dist loadfile -m "$(QUICK)" tests/unit tests/property tests/statistical tests/peers

cluster: setup ## The tests on a real standalone cluster on loopback
	$(BIN)/pytest -m cluster

test-slow: setup ## The tests that take minutes each: kills at every step, full disks, leaks, audits of whole runs
	$(BIN)/pytest -n 2 --dist loadfile -m "slow and not cluster"

test-postgres: setup ## The ledger on a PostgreSQL server (installed from Debian's packages where root may)
	$(BIN)/pytest -m "postgres and not slow"

test-connect: setup ## The jobs against a Spark Connect server on loopback
	$(BIN)/pytest -m connect tests/connect

test-airflow: setup ## The DAGs in a real Airflow, in an environment of its own (requirements-airflow.lock)
	@scripts/airflow.sh
	cd jobs/dags && $(CURDIR)/.venv-airflow/bin/mypy --config-file= --strict --explicit-package-bases .
	.venv-airflow/bin/pytest --confcutdir=tests/dags tests/dags

lint: setup ## Ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup ## Mypy, strict
	$(BIN)/mypy

imports: setup ## The architecture's import contracts
	$(BIN)/lint-imports

format: setup ## Fix what ruff can fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup ## Speed and memory, paired against peers in the same run
	$(BIN)/python -m scripts.bench

bench-peers: setup ## The same work by other libraries, each in an environment of its own; writes the guide's page on peers
	$(BIN)/python -m scripts.peers

accept: setup ## Measure every claim of an issue: make accept NAME=main-job
	$(BIN)/python -m scripts.accept $(NAME)

data: setup ## Write the sample inputs of conf/ (flights, restaurant, bakeries, friends) into data/
	$(BIN)/python -m scripts.make_data flights data
	$(BIN)/python -m scripts.make_data restaurant data
	$(BIN)/python -m scripts.make_data bakeries data
	$(BIN)/python -m scripts.make_data friends data

clean: ## Remove what the tools made (not .venv), compiled kernels too
	rm -rf dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis spark-warehouse metastore_db
	find dplib -name "*.nb[ci]" -delete
