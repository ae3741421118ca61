# The verbs of this project. `make help` lists them.
SHELL := /bin/bash
PYTHON := .venv/bin/python
.DEFAULT_GOAL := help
.PHONY: help install run serve test check lint format prove bench screenshots backup restore lock install-dev

help: ## list the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: ## make .venv with what the server runs on
	@scripts/install.sh base

install-dev:
	@scripts/install.sh dev

run: install ## set up and serve for one person: prints a sign-in link and an API key
	@exec $(PYTHON) manage.py run

serve: install ## serve in production, with the settings of the environment
	@exec $(PYTHON) manage.py serve

backup: install ## the whole store as one file, while the server goes on (TO=file; else in the data folder's `backups`)
	@$(PYTHON) manage.py backup $(if $(TO),--to "$(TO)")

restore: install ## put a backup in the store's place, with the server stopped (FROM=file)
	@$(if $(FROM),,$(error Name the backup: make restore FROM=file))$(PYTHON) manage.py restore "$(FROM)"

test: install-dev ## the whole suite, on SQLite and where they answer on PostgreSQL and Redis (some of it: ARGS="-k word")
	@scripts/test.sh $(ARGS)

lint: install-dev ## every check but the tests
	@scripts/lint.sh

check: lint ## every check, then the tests
	@scripts/test.sh

format: install-dev ## put code and templates into their form
	@.venv/bin/ruff check --quiet --fix-only .
	@.venv/bin/ruff format .
	@find . -path ./.venv -prune -o -path '*/templates/*' -name '*.html' -print0 | xargs -0r .venv/bin/djade --target-version 6.1

prove: install-dev ## the contract's promises, tried many times on both databases
	@STILLHERE_PROVE=1 scripts/test.sh -m prove --timeout=0 $(ARGS)

screenshots: install-dev ## README's pictures, anew (every page: ARGS="--every FOLDER")
	@$(PYTHON) -m scripts.screenshots $(ARGS)

bench: install-dev ## the speed of saves and resumes beside two yardsticks, that of memory beside its goals
	@$(PYTHON) -m benchmarks $(ARGS)

lock: install-dev ## resolve requirements/*.in anew into the lock files (UPGRADE=1: to the newest versions)
	@scripts/lock.sh $(if $(UPGRADE),--upgrade)
