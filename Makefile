# The whole interface. `make` alone lists it.
PYTHON ?= python3
VENV   := .venv
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
export DVC_NO_ANALYTICS := 1
READY  := $(VENV)/.ready
SOURCES = nbs/*.ipynb nbs/experiments/*.ipynb gumbel_softmax/*.py README.md code.yaml

.PHONY: help reproduce test lab docs outputs readme prepare clean
.DEFAULT_GOAL := help

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Set-up from nothing with the system's Python; done again only when the pins or the package's needs change.
$(READY): constraints.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install -c constraints.txt pip setuptools
	$(VENV)/bin/python -m pip install -c constraints.txt --no-build-isolation -e '.[dev]'
	@touch $@

reproduce: $(READY)  ## run everything that is missing or stale; on a Dask cluster with SCHEDULER=tcp://host:8786
	python -m gumbel_softmax.pipeline reproduce $(if $(SCHEDULER),--scheduler $(SCHEDULER))

test: $(READY)  ## notebooks exported and clean, linted, executed; then pytest
	@before=$$(cat $(SOURCES) | sha256sum); $(MAKE) --no-print-directory prepare; \
	after=$$(cat $(SOURCES) | sha256sum); \
	[ "$$before" = "$$after" ] || { echo "nbs/, gumbel_softmax/, code.yaml or README.md were not current: run 'make prepare' and commit"; exit 1; }
	ruff check nbs tests
	nbdev_test --n_workers 2 --do_print
	python -m pytest

lab: $(READY)  ## open the notebooks in JupyterLab
	jupyter lab nbs

docs: $(READY)  ## build the site into docs/_build
	python docs/build.py

outputs: $(READY)  ## run the library notebooks anew and save their outputs
	python -m gumbel_softmax.pipeline outputs
	@$(MAKE) --no-print-directory prepare

prepare: $(READY)  ## export the library, code.yaml and README.md from the notebooks, and clean these
	nbdev_export
	nbdev_clean
	python -m gumbel_softmax.pipeline code
	python -m gumbel_softmax.pipeline readme

clean:  ## remove the environment and everything that is not in git, except data/ and DVC's cache
	rm -rf $(VENV) build dist runs docs/_build *.egg-info .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './.git/*' -prune -exec rm -rf {} +
