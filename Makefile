# make demo    install into .venv, index the sample corpus, answer four questions with citations
# make test    lint, types, layers and tests (what CI runs)
# make verify  the long checks
# make ablation    what each step of `mix` is worth on them, write docs/ablation.md
# make scoreboard  measure the development sets in ../shared/data, write docs/scoreboard.md
VENV   := .venv
BIN    := $(VENV)/bin
PYTHON ?= python3
STAMP  := $(VENV)/.installed

.PHONY: demo test verify lint serve bench scoreboard ablation docs clean

demo: $(STAMP)
	$(BIN)/evigraph demo

test: lint
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not verify"

verify: lint
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "verify or not verify"

lint: $(STAMP)
	$(BIN)/ruff check src tests tools bench
	$(BIN)/ruff format --check src tests tools bench
	$(BIN)/mypy
	$(BIN)/lint-imports

serve: $(STAMP)
	$(BIN)/evigraph serve --data .demo/evigraph-data

bench: $(STAMP)
	$(BIN)/python bench/run.py

scoreboard: $(STAMP)
	$(BIN)/python tools/scoreboard.py

ablation: $(STAMP)
	$(BIN)/python tools/ablation.py

docs: $(STAMP)
	$(BIN)/python tools/reference.py

$(STAMP): pyproject.toml requirements.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "evigraph needs Python 3.11 or newer: make PYTHON=python3.11")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $@

clean:
	rm -rf $(VENV) .demo build dist
