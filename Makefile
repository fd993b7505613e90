# Everything here works on a machine that has only Python 3.11 or newer, with venv and pip.
# `make` alone lists the targets; the text behind `##` is the list.

# The system's Python, if it can be used: distributions build theirs with optimisation, and tests take a fifth less time.
PYTHON ?= $(shell /usr/bin/python3 -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
            && echo /usr/bin/python3 || echo python3)
VENV   := .venv
BIN    := $(VENV)/bin
DEBIAN := python3-venv systemd vsftpd openssh-server openssh-client nginx-light mariadb-server postgresql-15 \
          libxml2-utils lftp wget sqlite3 poppler-utils openjdk-17-jre-headless maven \
          wordpress wordpress-theme-twentytwentythree php-cli php-cgi php-mysql php-xml php-mbstring micro-httpd \
          chromium
APT    := DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300
INSTALL = $(APT) update && $(APT) install --yes --no-install-recommends
UV     := $(BIN)/python tools/mirror.py $(BIN)/uv
COMPILE = $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes \
          --no-emit-index-url --no-emit-find-links --no-annotate \
          --custom-compile-command 'make lock' $(UPGRADE)
PROCESSES = $(if $(TESTS),2,5)
PAGES  := README.md $(shell find docs -name '*.md' 2>/dev/null | sort)

.DEFAULT_GOAL := help
.PHONY: help demo test test-all bare servers pouchdb format lint types layers spelling docs pictures queries check lock wheel audit release bench cost clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(VENV)/demo.stamp: tools/provision.py tools/mirror.py pyproject.toml requirements/build.txt requirements/demo.txt
	$(PYTHON) tools/provision.py $(VENV) requirements/demo.txt --editable
	@touch $@

$(VENV)/dev.stamp: tools/provision.py tools/mirror.py pyproject.toml requirements/build.txt requirements/dev.txt
	$(PYTHON) tools/provision.py $(VENV) requirements/dev.txt --editable
	@touch $(VENV)/demo.stamp $@

demo: $(VENV)/demo.stamp  ## harvest a small internet made on this machine, into build/demo
	$(BIN)/windrow demo build/demo

# Compiled once, and not by each of the processes that run tests: two of these see half of the modules each.
build/bytecode: $(VENV)/dev.stamp
	@mkdir -p $@
	@for files in "tests/[a-d]*" "tests/[e-z]* src"; do \
	  PYTHONPYCACHEPREFIX=$(CURDIR)/$@ $(BIN)/python -m pytest --collect-only --quiet $$files > $@/$${#files}.log & \
	done; wait
	@touch $@

test: $(VENV)/dev.stamp build/bytecode  ## run all tests (TESTS=tests/app those of one room); a test without its server says so
	$(BIN)/pytest --numprocesses $(PROCESSES) $(TESTS)

test-all:  ## all that must pass before a release: .ci/run, then bare; needs root, Debian 12
	.ci/run
	$(MAKE) bare

bare:  ## make a bare Debian 12 and run demo, test, servers, pouchdb and test again in it; needs root, Debian 12
	tools/bare.sh

servers:  ## install the real servers of the tests from Debian packages; needs root, starts none
	$(INSTALL) $(DEBIAN)
	$(MAKE) build/hbase build/s3

# from Maven packages: Apache HBase and its Thrift gateway (110 MB), and S3Proxy, an S3-compatible store (43 MB)
build/hbase build/s3: build/%: tools/%/pom.xml
	mvn --quiet --batch-mode --file $< dependency:copy-dependencies -DincludeScope=runtime \
	    -DoutputDirectory=$(CURDIR)/$@.part
	rm -rf $@ && mv $@.part $@
	@touch $@

pouchdb:  ## install pouchdb-server from npm and axe-core from npm into build/npm; the tests alone use them
	@command -v npm >/dev/null || { echo "npm is not here: install Debian's, which needs root"; $(INSTALL) npm; }
	@test -x build/npm/node_modules/.bin/pouchdb-server -a -f build/npm/node_modules/axe-core/axe.min.js || \
	  npm install --prefix build/npm --no-audit --no-fund --loglevel error pouchdb-server@4.2.0 ical.js@2.2.1 axe-core@4.14.1

format: $(VENV)/dev.stamp  ## put all Python into the one format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: $(VENV)/dev.stamp  ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/dev.stamp  ## mypy, strict
	$(BIN)/mypy

layers: $(VENV)/dev.stamp  ## who may import whom
	$(BIN)/lint-imports

spelling: $(VENV)/dev.stamp  ## codespell
	$(BIN)/codespell

docs: $(VENV)/dev.stamp  ## write the generated parts of the manual anew, then check all pages
	$(BIN)/cog -r -I tools $(PAGES)
	$(BIN)/python tools/man_page.py man/windrow.1
	$(BIN)/python tools/promised.py docs/reference/promised.txt
	$(BIN)/pytest -q tests/house/test_docs.py tests/house/test_snippets.py

pictures: $(VENV)/dev.stamp demo  ## draw the README's pictures of the web view anew, in Chromium, from the workspace of the demo
	$(BIN)/python tools/pictures.py build/demo pictures

queries: $(VENV)/dev.stamp  ## write the ledger's typed rows and methods anew from its .sql files
	$(BIN)/python tools/typed_queries.py

check: lint types layers spelling test  ## all of the above that changes nothing

lock: $(VENV)/dev.stamp  ## resolve all versions anew (UPGRADE=--upgrade takes newer ones), with hashes
	$(COMPILE) pyproject.toml --all-extras --group dev -o requirements/dev.txt
	$(COMPILE) pyproject.toml --extra demo -c requirements/dev.txt -o requirements/demo.txt
	$(COMPILE) --group build -c requirements/dev.txt -o requirements/build.txt

wheel: $(VENV)/dev.stamp  ## build the wheel into dist
	$(UV) build --quiet --wheel --no-build-isolation --python $(BIN)/python --out-dir dist

audit: $(VENV)/dev.stamp  ## fail if a locked dependency has a known vulnerability; asks OSV's database
	$(BIN)/python tools/release.py audit

release: $(VENV)/dev.stamp  ## build the checked-out commit into dist, with SBOM, provenance and a signature by KEY=FILE (SSH)
	@test -n "$(KEY)" || { echo "name the SSH key to sign with: make release KEY=~/.ssh/id_ed25519"; exit 1; }
	$(BIN)/python tools/release.py build $(KEY)

bench: $(VENV)/dev.stamp  ## run the benchmarks, each peer beside windrow
	$(BIN)/python -m benchmarks

cost: $(VENV)/dev.stamp  ## count anew what the work costs, and pin it (benchmarks/cost/pinned.toml)
	$(BIN)/python -m benchmarks.cost --write

clean:  ## remove what was built (build/demo too) and the environment
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests tools benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
