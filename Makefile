# make run         environment, Figure 1 of berta2026, its tables and page
# make results     all figures, tables and pages of the papers, from the records that are stored in results/records_of
# make recompute   the same from nothing, many hours; interrupted, it goes on
# make site        all results as pages to browse, with the documentation: results/site/index.html
# make docs        the documentation alone: results/site/docs/index.html
# make test        environment, the tests but the slow ones (two or three minutes on two quiet cores)
# make lint        ruff, its formatter, mypy, codespell, and the English of pages and docstrings
# make golden      the golden numbers with other numpy kernels
# make slow        the slow tests, some twenty minutes; tutorials and how-to pages run as printed
# make foundation  the optional foundation models and their tests;  make peers: other libraries' estimators and theirs
# make engines     Dask, Ray, submitit and a server that speaks S3, and the tests of one run on all of them
# make hours       the commands that reproduce a paper, and the studies of many repetitions; nobody runs these but you
# make faults      kills, full disks and damaged stores at random moments, and 100,000 damaged files, some twenty minutes
# make lock        fresh pins;  make benchmark: speed;  make clean: remove the environment
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
MOTO := .venv-moto

.PHONY: run help results recompute test golden slow hours foundation peers engines docs site setup lint faults benchmark lock clean

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

# every file of tests that compares with golden numbers, slow tests too, without what this processor has above numpy's baseline
golden: setup
	features=$$($(BIN)/python tests/numpy_features.py) && echo "numpy without: $$features" && \
	NPY_DISABLE_CPU_FEATURES="$$features" $(BIN)/python -m pytest -n 2 --dist loadfile -m "not hours" $$(grep -rl golden tests --include='test_*.py')

slow: setup
	$(BIN)/python -m pytest -n 2 -m "slow and not hours"

hours: setup
	$(BIN)/python -m pytest -m hours

# the optional foundation models (torch, tabpfn, tabicl; no weights) and their tests
foundation: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test,foundation]'
	$(BIN)/python -m pytest tests/calibrators/test_foundation.py

# other libraries' estimators as they are, and their tests
peers: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test,peers]'
	$(BIN)/python -m pytest -m "not hours" tests/estimators/test_peers.py

# clusters of this machine, and a bucket: moto wants other versions of what the documentation needs, so it has a place of its own
engines: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test,dask,ray,slurm]'
	test -x $(MOTO)/bin/moto_server || { $(PYTHON) -m venv $(MOTO) && \
	$(MOTO)/bin/python -m pip install --quiet --disable-pip-version-check 'moto[server]>=5,<6'; }
	CALHARNESS_MOTO_SERVER=$(CURDIR)/$(MOTO)/bin/moto_server $(BIN)/python -m pytest -m "not hours" tests/execute/test_engines.py tests/records/test_remote.py

# docs/ into results/site/docs; a broken link, anchor or reference is an error
docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

# the site from the stored results, which links to the pages of the documentation that it finds beside it
site: docs
	$(BIN)/calharness site

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing packages, about a minute with a fast connection"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test,site,docs]'
	touch $(STAMP)

# faults at random moments (killed processes, full disks, damaged stores) and damaged files of predictions; twenty minutes
faults: setup
	PYTHONPATH=tests $(BIN)/python -m faults.run

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/codespell
	$(BIN)/python tools/docs/prose.py

# ours beside other libraries, benchmarks/peers.csv; what the harness itself costs
benchmark: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test,peers]'
	$(BIN)/python benchmarks/peers.py
	$(BIN)/python benchmarks/speed.py

# fresh pins: a new environment, installed without constraints
lock:
	rm -rf .venv-lock && $(PYTHON) -m venv .venv-lock
	.venv-lock/bin/python -m pip install --quiet --disable-pip-version-check '.[test,site,docs,foundation,peers,dask,ray,slurm]'
	.venv-lock/bin/python -m pip freeze --exclude calharness | sed 's/+[a-z0-9.]*$$//' > constraints.txt
	rm -rf .venv-lock

clean:
	rm -rf $(VENV) .venv-engines $(MOTO)
