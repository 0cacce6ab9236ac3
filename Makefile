# Two commands: `make demo` shows what deniable does, `make test` proves it. Both set up what they need. `make console`
# opens the console.
PYTHON ?= python3
# mkdocs-material prints half a page about MkDocs 2 at every build; we stay with MkDocs 1.
export NO_MKDOCS_2_WARNING := 1
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt
CORE := $(VENV)/.core
READY := $(VENV)/.ready
COVERAGE := $(VENV)/coverage
# Tests wait for disks, databases and browsers almost as long as they compute: three at once keep two cores busy.
AT_ONCE := -n 3 --dist worksteal
# No test cuts the power: their files are kept in memory where there is room for them, so that they wait for no disk.
ROOM := $(shell df --output=avail -B1G /dev/shm 2>/dev/null | tail -n 1)
IN_MEMORY := $(shell test "$(ROOM)" -ge 8 2>/dev/null && echo TMPDIR=/dev/shm)
PYTEST := $(IN_MEMORY) $(BIN)/pytest $(AT_ONCE)

.PHONY: demo console test test-all coverage lint dist docs notebooks messages figures screenshots bench clean

demo: $(CORE)
	$(BIN)/python examples/office_year.py

# The console, with an invented programme; nothing is kept when it ends.
console: $(VENV)/.console
	$(BIN)/deniable serve --demo

test: lint
	$(PYTEST)

test-all: lint $(VENV)/.oracle $(VENV)/.nginx
	HYPOTHESIS_PROFILE=random $(PYTEST) -m "long or not long"

# Line coverage of src; CONTRIBUTING.md says what counts.
coverage: $(READY)
	rm -rf $(COVERAGE)
	$(IN_MEMORY) $(BIN)/coverage run -m pytest $(AT_ONCE)
	$(BIN)/coverage combine --quiet
	rm -f $(COVERAGE)/data.*  # of processes that tests killed: unreadable, and `report` would try them again
	$(BIN)/coverage report

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/deptry .
	$(BIN)/mkdocs build --strict --quiet --site-dir $(VENV)/site

# Wheel, sdist and bill of materials, into dist/: the same bytes for the same commit, and again from the sdist.
dist: export SOURCE_DATE_EPOCH = $(shell git log -1 --format=%ct 2>/dev/null || stat --format=%Y PKG-INFO)
dist: $(READY)
	rm -rf dist
	$(BIN)/python -m build --no-isolation
	$(BIN)/python scripts/bill_of_materials.py dist/*.whl
	$(BIN)/twine check --strict dist/*.whl dist/*.tar.gz
	sha256sum dist/*

docs: $(READY)
	$(BIN)/mkdocs serve

# The notebooks of examples/, run anew: what they print and draw is written into them.
notebooks: $(READY)
	$(BIN)/python scripts/notebooks.py

# Sentences read off the sources into the languages' catalogues, and how each language writes days and numbers.
messages: $(READY)
	$(BIN)/python scripts/locales.py
	$(BIN)/python scripts/messages.py

# Every table and picture of README.md and docs/, made again and compared with what is there.
figures: $(READY)
	$(BIN)/python -m scripts.figures

# The pictures of the console and of a public page: those that look different are replaced.
screenshots: $(READY)
	$(BIN)/python -m scripts.figures --write console- public-page

# All benchmarks, into docs/benchmarks.md.
bench: $(VENV)/.bench
	$(BIN)/python -m scripts.bench

# What deniable itself needs.
$(CORE): pyproject.toml constraints.txt scripts/setup
	scripts/setup $(PYTHON) $(VENV)
	$(PIP) -e .
	touch $@

$(VENV)/.console: $(CORE)
	$(PIP) -e '.[console]'
	touch $@

# What its tests and checks need besides.
$(READY): $(CORE) scripts/browser
	$(PIP) -e '.[dev]'
	scripts/browser
	touch $@

# What deploy/nginx.conf is tested with.
$(VENV)/.nginx: $(READY) scripts/nginx
	scripts/nginx $(VENV)
	touch $@

# What benchmarks compare with.
$(VENV)/.bench: $(READY)
	$(PIP) -e '.[dev,bench]'
	touch $@

$(VENV)/.oracle: $(READY)
	$(PIP) -e '.[dev,oracle]'
	touch $@

clean:
	rm -rf $(VENV) artifacts dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
