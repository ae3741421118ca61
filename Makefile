# The commands of this project. `make help` lists them.
SHELL := /bin/bash
PYTHON := .venv/bin/python
.DEFAULT_GOAL := help
.PHONY: help install run serve test test-all check lint format prove mutants bench screenshots backup restore lock install-dev example

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: ## make .venv with what the server needs
	@scripts/install.sh base

install-dev:
	@scripts/install.sh dev

run: install ## set up and serve for one person: prints a sign-in link and an API key
	@exec $(PYTHON) manage.py run

serve: install ## serve in production, with the settings of the environment
	@exec $(PYTHON) manage.py serve

backup: install ## back up the whole store into one file while the server runs (TO=file; else in the data folder's `backups`)
	@$(PYTHON) manage.py backup $(if $(TO),--to "$(TO)")

restore: install ## restore a backup, with the server stopped (FROM=file)
	@$(if $(FROM),,$(error Name the backup: make restore FROM=file))$(PYTHON) manage.py restore "$(FROM)"

test: install-dev ## run the tests on SQLite, and on PostgreSQL and Redis if they respond (some of them: ARGS="-k word")
	@scripts/test.sh $(ARGS)

test-all: install-dev ## run the slow tests too, which `make test` leaves out
	@STILLHERE_TEST_SLOW=1 scripts/test.sh $(ARGS)

lint: install-dev ## run every check except the tests
	@scripts/lint.sh

check: lint ## run every check, then the tests
	@scripts/test.sh

format: install-dev ## format code, templates and, if Node is installed, JavaScript
	@.venv/bin/ruff check --quiet --fix-only .
	@.venv/bin/ruff format .
	@find . -path './.venv*' -prune -o -path '*/templates/*' -name '*.html' -print0 | xargs -0r .venv/bin/djade --target-version 6.1
	@! scripts/install-js.sh || node_modules/.bin/biome check --write --log-level=error

prove: install-dev ## test the guarantees at full size, on both databases
	@STILLHERE_PROVE=1 scripts/test.sh -m "prove or slow and not timed" --timeout=0 $(ARGS)
	$(if $(ARGS),,@STILLHERE_PROVE=1 scripts/test.sh -m "once and not prove and not timed" tests/browser/chat)
	$(if $(ARGS),,@scripts/mutants.sh state_merging)

mutants: install-dev ## one fault at a time in the modules that must have none: do the tests notice? (some: ARGS="receipts lease")
	@scripts/mutants.sh $(ARGS)

example: ## an example against a running server (NAME=ai-sdk, langgraph or openai-agents; STILLHERE_KEY=its key)
	@scripts/install.sh examples
	@examples/start.sh $(NAME)

screenshots: install-dev ## take README's screenshots again (every page, with a contact sheet: ARGS="--every FOLDER")
	@$(PYTHON) -m scripts.screenshots $(ARGS)

bench: install-dev ## measure saves and resumes beside two yardsticks, and memory beside its goals
	@$(PYTHON) -m benchmarks $(ARGS)

lock: install-dev ## resolve requirements/*.in into the lock files again (UPGRADE=1: to the newest versions)
	@scripts/lock.sh $(if $(UPGRADE),--upgrade)
