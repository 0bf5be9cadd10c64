# The whole interface. `make` alone lists it.
PYTHON ?= python3
VENV   := .venv
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
export DVC_NO_ANALYTICS := 1
READY  := $(VENV)/.ready
SOURCES = nbs/*.ipynb nbs/experiments/*.ipynb gumbel_softmax/*.py README.md code.yaml

.PHONY: help reproduce smoke published status estimate test drill lab docs docs-serve outputs readme prepare clean
.DEFAULT_GOAL := help

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Set-up from nothing with the system's Python; done again only when the pins or the package's needs change.
$(READY): constraints.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install -c constraints.txt pip setuptools
	$(VENV)/bin/python -m pip install -c constraints.txt --no-build-isolation -e '.[dev]'
	@touch $@

# STAGE=fig3, STAGE=train@cpu-vae-categorical-st: with what it needs. FORCE=1: from scratch. PROFILE=smoke, cpu or paper.
# SCHEDULER=tcp://host:8786: on a Dask cluster; SCHEDULER=local: on one of two workers here.
reproduce: $(READY)  ## run what is missing or stale; one STAGE=fig3, from scratch FORCE=1, PROFILE=paper, SCHEDULER=local
	python -m gumbel_softmax.pipeline reproduce $(STAGE) $(if $(FORCE),--force) \
	  $(if $(PROFILE),--profile $(PROFILE)) $(if $(SCHEDULER),--scheduler $(SCHEDULER))

smoke: $(READY)  ## the whole pipeline for real, small, from nothing, in runs/smoke: git stays clean
	python -m gumbel_softmax.pipeline smoke $(STAGE)

published: $(READY)  ## two cells of Table 1 on the published binarisation; FOLDER=path that holds its files
	python -m gumbel_softmax.pipeline published $(if $(FOLDER),--folder $(abspath $(FOLDER)))

status: $(READY)  ## what is missing or stale, and why
	dvc status $(STAGE)

estimate: $(READY)  ## how long that will take on this machine
	python -m gumbel_softmax.pipeline estimate $(STAGE)

test: $(READY)  ## notebooks exported and clean, linted, executed; then pytest
	@before=$$(cat $(SOURCES) | sha256sum); $(MAKE) --no-print-directory prepare; \
	after=$$(cat $(SOURCES) | sha256sum); \
	[ "$$before" = "$$after" ] || { echo "nbs/, gumbel_softmax/, code.yaml or README.md were not current: run 'make prepare' and commit"; exit 1; }
	ruff check nbs tests
	OMP_NUM_THREADS=1 nbdev_test --n_workers 2 --do_print
	OMP_NUM_THREADS=1 python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

drill: $(READY)  ## kill it, damage its files, fill its disk, fuzz it: the long part of the tests, with a table at the end
	DRILL_EXAMPLES=10000 python -m pytest tests/test_drill.py tests/test_data.py tests/test_distribution.py \
	  tests/test_pipeline.py::test_on_a_cluster_of_two_with_one_worker_killed -m "not slow"

lab: $(READY)  ## open the notebooks in JupyterLab
	jupyter lab nbs

docs: $(READY)  ## build the site into docs/_build
	python docs/build.py

docs-serve: docs  ## build the site and show it at http://127.0.0.1:8000
	python -m http.server 8000 --bind 127.0.0.1 --directory docs/_build/html

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
