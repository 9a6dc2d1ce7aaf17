# `make help` lists the targets. Everything is installed into .venv and .venv-lite, downloads are kept in .cache.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
HTML := _build/html
PORT ?= 8000
export TORCH

.PHONY: help book serve lab test bench bundle format clean
help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(READY): requirements.txt pyproject.toml .ci/setup.py
	@$(PYTHON) .ci/setup.py
	@touch $@
