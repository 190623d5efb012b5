# Every target sets up what it needs in .venv: nothing is wanted but Python 3.11 or later and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
# xdist's workers each hold a copy of numpy and numba: two are enough, and the same everywhere. tests/conftest.py says
# which files begin first.
JOBS ?= 2
IN_JOBS := -n $(JOBS) --dist loadfile --no-loadscope-reorder
# How long `make fuzz` attacks each reader.
SECONDS_A_READER ?= 90

# Tests start hundreds of processes, which would compile every module anew where this is set.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-engines test-bounds test-faults test-versions test-package coverage mutation fuzz check bench docs \
  format clean help

help:  ## say what each target does
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

demo: $(VENV)/.installed  ## rankers trained and compared on sample data, with a report: demo/comparison/report.html
	$(BIN)/linrank demo --out demo

test: $(VENV)/.dev $(VENV)/.browser  ## all tests, the report's in Chromium where it can be installed
	$(BIN)/python -m pytest $(IN_JOBS)

test-engines: $(VENV)/.engines  ## exports in the real engines, which are fetched into .cache: some 290 MB the first time
	$(BIN)/python -m pytest -p engines.results tests/engines tests/exporting tests/estimators/test_pyterrier.py $(WRITE)

fuzz: $(VENV)/.fuzz  ## a million hostile inputs and more, guided by coverage, over all readers: some 40 minutes
	$(BIN)/python tests/fuzz/run.py --seconds $(SECONDS_A_READER)

# Kernels as they are compiled for the tests alone: in a cache of their own, which takes minutes to fill.
test-bounds: $(VENV)/.dev  ## all tests with numba's own checks of every index; half an hour the first time
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/.cache/bounds-checked $(BIN)/python -m pytest $(IN_JOBS) $(TESTS)

test-faults: $(VENV)/.dev  ## kill commands at some 200 random moments; takes a quarter of an hour
	PYTHONPATH=tests $(BIN)/python -W ignore tests/faults/kills.py --kills 200

test-versions: $(VENV)/.versions  ## the lowest versions of pyproject and the newest, on every Python there is from 3.11 to 3.13
	$(BIN)/python tests/versions/run.py $(VERSIONS)

test-package: $(VENV)/.versions  ## wheel and sdist without extras: the README's commands, and what each missing extra is called
	$(BIN)/python -m pytest -q tests/versions/test_package.py

# Kernels are measured as plain Python, all else as it is used (test_compiled.py would run the kernels' tests once more).
# Lines that only machines without something run count too. The file's place is absolute, since commands that tests start
# are elsewhere.
coverage: export COVERAGE_FILE = $(CURDIR)/.cache/coverage/data
coverage: $(VENV)/.dev  ## lines and branches that tests reach; an error below 95 %
	mkdir -p .cache/coverage
	$(BIN)/python -m coverage erase
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m coverage run -m pytest -q -m kernels
	$(BIN)/python -m coverage run -m pytest -q $(IN_JOBS) --ignore tests/test_compiled.py $(TESTS)
	$(BIN)/python -m coverage combine -q
	$(BIN)/python -m coverage report --fail-under 95

mutation: $(VENV)/.dev  ## small changes to measures, losses and penalties: tests must notice 85 % of them; some 20 minutes
	$(BIN)/python tests/mutation/run.py $(MUTANTS)

check: $(VENV)/.dev  ## style, types and layout of the code
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.bench  ## how fast we are beside a stored baseline; some ten minutes, and an error where a row became slower
	$(BIN)/python benchmarks/speed.py $(SPEED)

docs: $(VENV)/.dev  ## run every example of the documentation and check its links
	$(BIN)/python -m pytest tests/test_docs.py -q

format: $(VENV)/.dev  ## rewrite the code in the house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## remove what the targets made
	rm -rf $(VENV) .cache demo build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "linrank needs Python 3.11 or later: make PYTHON=python3.12 …")'
	$(PYTHON) -m venv $(VENV)
	# Dependency groups came with pip 25.1.
	$(PIP) install --quiet 'pip>=25.1'

$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) install --quiet -c constraints.txt -e '.[all]'
	touch $@

$(VENV)/.dev: $(VENV)/.installed
	$(PIP) install --quiet -c constraints.txt --group dev
	touch $@

# The report's page is tested in a real browser. Without one, or the right to install it, those tests are skipped.
$(VENV)/.browser: | $(BIN)/python
	command -v chromedriver >/dev/null || { apt-get update -qq && apt-get install -y -qq chromium chromium-driver; } \
	  || { sudo -n apt-get update -qq && sudo -n apt-get install -y -qq chromium chromium-driver; } \
	  || echo 'no Chromium with chromedriver: the tests of the page in a browser are skipped'
	touch $@

$(VENV)/.engines: $(VENV)/.dev
	$(PIP) install --quiet -c constraints.txt --group engines --group hybrid
	touch $@

$(VENV)/.fuzz: $(VENV)/.dev
	$(PIP) install --quiet -c constraints.txt --group fuzz
	touch $@

$(VENV)/.versions: $(VENV)/.dev
	$(PIP) install --quiet --group versions
	touch $@

$(VENV)/.bench: $(VENV)/.dev
	$(PIP) install --quiet -c constraints.txt --group bench
	touch $@
