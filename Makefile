# Two commands: `make demo` shows what deniable does, `make test` proves it. Both set up what they need.
PYTHON ?= python3
export NO_MKDOCS_2_WARNING := 1
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test test-all lint docs clean

demo: $(READY)
	$(BIN)/python examples/office_year.py

test: lint
	$(BIN)/pytest -n 2

test-all: lint $(VENV)/.oracle
	$(BIN)/pytest -n 2 -m "long or not long"

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/mkdocs build --strict --quiet --site-dir $(VENV)/site

docs: $(READY)
	$(BIN)/mkdocs serve

$(READY): pyproject.toml constraints.txt scripts/setup
	scripts/setup $(PYTHON) $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

$(VENV)/.oracle: $(READY)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,oracle]'
	touch $@

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
