# make run         environment, Figure 1 of berta2026, its tables and page
# make results     all figures, tables and pages of the papers and of the arena, from stored records
# make recompute   the same from nothing, many hours; after an interruption the same command goes on
# make site        all results and the documentation as pages: results/site/index.html
# make docs        the documentation alone: results/site/docs/index.html
# make test        environment, tests without slow ones (six minutes on two quiet cores)
# make lint        ruff, its formatter, mypy, codespell, and the English of pages and docstrings
# make golden      golden numbers with other numpy kernels
# make slow        slow tests, some 17 minutes; tutorials and how-to pages run as printed
# make foundation  optional foundation models and their tests
# make peers       other libraries' estimators and their tests
# make engines     Dask, Ray, submitit and an S3 server, and the tests of a run on each of them
# make hours       commands that reproduce a paper, and studies of many repetitions
# make faults      kills, bad estimators, full disks, damaged stores, lost hosts, 25 quiet minutes
# make lock        fresh pins
# make benchmark   speed of our estimators, of other libraries and of the harness
# make clean       remove the environment
PYTHON ?= python3
VENV := .venv
EXTRAS := test,site,docs
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
MOTO := .venv-moto
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: run help results recompute test golden slow hours \
  foundation peers clusters engines docs site setup lint faults benchmark lock clean

run: setup
	$(BIN)/calharness experiment=berta2026_fig1

help:
	@sed -n 's/^# //p;/^PYTHON/q' Makefile

results: setup
	$(BIN)/calharness results

recompute: setup
	$(BIN)/calharness results --compute

test: setup
	$(BIN)/ruff check .
	$(BIN)/python -m pytest -n 2 --dist loadfile

# Tests that compare with golden numbers, slow ones too, with numpy's baseline kernels. Only files
# that name the mark are imported.
golden: setup
	features=$$($(BIN)/python tests/numpy_features.py) && echo "numpy without: $$features" && \
	NPY_DISABLE_CPU_FEATURES="$$features" $(BIN)/python -m pytest -n 2 --dist loadfile \
	  -m "golden and not hours" $$(grep -rl --include='test_*.py' 'mark\.golden' tests)

# Tests that share a wheel or a copy of the checkout run in one process (the mark xdist_group).
slow: setup
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m "slow and not hours"

hours: setup
	$(BIN)/python -m pytest -m hours

# Optional foundation models (torch, tabpfn, tabicl; no weights) and their tests.
foundation: setup
	$(PIP) -e '.[test,foundation]'
	$(BIN)/python -m pytest tests/calibrators/test_foundation.py

# Other libraries' estimators as they are, and their tests.
peers: setup
	$(PIP) -e '.[test,peers]'
	$(BIN)/python -m pytest -m "not hours" tests/estimators/test_peers.py \
	  tests/uses/test_coming_from.py

# Clusters on this machine, and a bucket. moto needs other versions of packages than the
# documentation, so it has an environment of its own.
clusters: setup
	$(PIP) -e '.[test,dask,ray,slurm]'
	test -x $(MOTO)/bin/moto_server || { $(PYTHON) -m venv $(MOTO) && \
	$(MOTO)/bin/python -m pip install --quiet --disable-pip-version-check 'moto[server]>=5,<6'; }

# `make slow` has the engines that need no further package.
engines: clusters
	CALHARNESS_MOTO_SERVER=$(CURDIR)/$(MOTO)/bin/moto_server $(BIN)/python -m pytest \
	  -m "not hours" -k "not (loky or serial or joblib or answers_errors)" \
	  tests/execute/test_engines.py tests/records/test_remote.py

# docs/ into results/site/docs. A broken link, anchor or reference is an error.
docs: setup
	@echo "building the documentation, about ten seconds"
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

# The site from the stored results. It links to the documentation and to the pages of the results,
# which a fresh clone lacks: the first time, they are drawn.
site: docs results/arena/index.html
	$(BIN)/calharness site

results/arena/index.html:
	$(MAKE) results

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@echo "setup, one to five minutes: step 1 of 4, environment $(VENV)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "step 2 of 4: packages of calharness itself"
	@$(PIP) -e .
	@echo "step 3 of 4: packages of the tests"
	@$(PIP) -e '.[test]'
	@echo "step 4 of 4: packages of the site and of the documentation"
	@$(PIP) -e '.[$(EXTRAS)]'
	@touch $(STAMP)

# Faults at random moments: killed processes, full disks, damaged stores, lost hosts.
faults: clusters
	PYTHONPATH=tests $(BIN)/python -m faults.run

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/codespell
	$(BIN)/python tools/docs/prose.py

# Our estimators against other libraries (benchmarks/peers.csv), and the cost of the harness.
benchmark: setup
	$(PIP) -e '.[test,peers]'
	$(BIN)/python benchmarks/peers.py
	$(BIN)/python benchmarks/speed.py

# Fresh pins: a new environment, installed without constraints.
lock:
	rm -rf .venv-lock && $(PYTHON) -m venv .venv-lock
	.venv-lock/bin/python -m pip install --quiet --disable-pip-version-check \
	  '.[test,site,docs,foundation,peers,dask,ray,slurm]'
	.venv-lock/bin/python -m pip freeze --exclude calharness | sed 's/+[a-z0-9.]*$$//' > constraints.txt
	rm -rf .venv-lock

clean:
	rm -rf $(VENV) .venv-engines $(MOTO)
