# `make NAME` is `python -m tools NAME`, which works on systems without make too; `make help` lists
# the names. Everything is installed into .venv, .venv-lite and .venv-grading; downloads are kept in
# .cache. Variables of the command line go along in the environment, where no quoting breaks them.
PYTHON ?= $(if $(filter Windows_NT,$(OS)),python,python3)
NAMES := $(or $(MAKECMDGOALS),help)
export TOOLS_FROM_MAKE := $(MAKEOVERRIDES)

.PHONY: $(NAMES)
$(firstword $(NAMES)):
	@$(PYTHON) -m tools $(NAMES)
$(filter-out $(firstword $(NAMES)),$(NAMES)): $(firstword $(NAMES))
	@:
