# This Makefile contains everything that a developer or CI runs. `make` without arguments lists the targets.
#
# The targets need Go (go.mod says which version). Only the race detector needs a C compiler.
# tools/go.mod pins the versions of the other tools. Go builds each tool when it is first used.

SHELL := /bin/sh
.DEFAULT_GOAL := help

# The tools have a separate module, tools/go.mod, so that their dependencies never become dependencies of the binary.
TOOL := go tool -modfile=tools/go.mod

VERSION := $(shell git describe --tags --always --abbrev=12 --dirty 2>/dev/null || echo unknown)
# The linker writes the commit into the binary, because Go itself records no commit in a Git worktree, or if GOFLAGS has
# -buildvcs=false.
LDFLAGS := -s -w -X main.version=$(VERSION),$(shell git log -1 --format=%H,%cI 2>/dev/null)

# The race detector needs cgo, and Go reports CGO_ENABLED=1 only if there is a C compiler.
# -cpu=1: the detector also finds races if only one goroutine runs at a time. If several goroutines run at the same time, the
# detector sometimes crashes. The reason is a bug in Go that concerns the timers of a testing/synctest bubble
# (https://go.dev/issue/78156).
# -race=false for SQLite: this package was translated from C and does not use Go's memory. The detector would find nothing in it,
# and make it three times as slow.
# atexit_sleep_ms=0: by default, the detector waits a second at the end of a process. This is not necessary, because the tests
# themselves wait until all their goroutines have ended.
ifeq ($(shell go env CGO_ENABLED),1)
RACE := -race -cpu=1 -gcflags=modernc.org/sqlite/lib=-race=false
RACED_ENV := CGO_ENABLED=1
export GORACE := atexit_sleep_ms=0
endif
# Without the race detector, everything is built without cgo, like the binary. So Go compiles each package only twice, once with the
# detector and once without. This matters most for SQLite, which is large.
export CGO_ENABLED := 0

FUZZTIME ?= 10s
BENCHTIME ?= 1s
COVER_PROFILE := bin/cover.out

.PHONY: help
help: ## Print this list.
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

## Use.

.PHONY: build
build: ## Build the static binary bin/telex.
	go build -ldflags '$(LDFLAGS)' -o bin/telex ./cmd/telex

.PHONY: run
run: build ## Run the daemon; ARGS="--config config.yaml".
	bin/telex run $(ARGS)

.PHONY: reproducible
reproducible: ## Build the packages twice, in two clones of the last commit, and compare every byte.
	tools/reproducible.sh

.PHONY: demo
demo: build ## Run the whole system against its stand-ins, no account needed; ARGS='--say "Hello"'.
	bin/telex demo $(ARGS)

.PHONY: package
package: ## Make a .deb and an .rpm of the daemon in bin/package, for GOARCH.
	tools/package.sh '$(VERSION)' '$(LDFLAGS)'

## Test.

# Three targets together run all tests. tools/packages.sh decides from the source code which target tests a package:
#   test-raced        tests the packages with concurrent code, with the race detector.
#   test-unraced      tests the packages without concurrent code, without the detector. The detector would find nothing in them
#                     and take ten times as long. The target also runs the tests of agent and gateway a second time, to measure
#                     the coverage, because measuring it with the detector takes longer. In the packages of IN_PART and in the
#                     simulator, the target runs only some tests: those that don't run with the detector, and those that test less
#                     with the detector. Such a test measures another process, or repeats a suite for another form of messages.
#   test-environment  runs the tests of the packages that may read any environment variable a second time, with a variable that
#                     switches streaming off. In cmd/telex, it runs only the tests in which telex would otherwise stream an answer.
# RAPID_CHECKS is the number of random inputs with which a test checks a property. The inputs are the same in each run, so if a test
# fails for the first time, a change of the code is the reason. `make test RAPID_SEED=0 RAPID_CHECKS=2000` generates many new inputs;
# run it before a release. If RAPID_CHECKS is not set, the simulator plays a fixed number of schedules. (A schedule is a random
# sequence of model output, faults and kills.) A schedule has the same result in each run, because only one goroutine runs at a time.
# With the detector, the simulator plays only the first schedules. With the detector, three packages are tested at the same time even
# on two cores, because each package uses one core (-cpu=1), and the tests that start other processes mostly wait. These targets run
# no `go vet`, because `make lint` does.
.PHONY: test
test: test-raced test-unraced test-environment cover ## Run all tests, including those of whole processes. With a C compiler, concurrent packages run with the race detector.

RAPID = RAPID_CHECKS=$(or $(RAPID_CHECKS),200)
RAPID_SEED ?= 1
export RAPID_SEED
# The timeout stops tests that hang. Go's default of ten minutes per package is too short for a slow machine under load.
TEST = go test -vet=off -shuffle=on -timeout=40m
SIM = ./gateway/sim
RACED = $(shell tools/packages.sh raced)
UNRACED = $(sort $(shell tools/packages.sh unraced) $(filter ./agent ./agent/% ./gateway ./gateway/%,$(RACED)))
IN_PART = $(filter $(RACED),$(filter ./cmd/telex ./internal/app ./internal/bench ./internal/killtest ./platforms/%,$(UNRACED)))
ENVIRONMENT = $(shell tools/packages.sh environment)

.PHONY: test-raced
test-raced:
	$(if $(RACE),,@echo 'make test: NO C COMPILER FOUND, SO THE TESTS RUN WITHOUT THE RACE DETECTOR')
	$(RACED_ENV) $(TEST) -p=3 $(RACE) $(filter $(UNRACED),$(RACED))
	$(RACED_ENV) $(RAPID) $(TEST) -p=3 $(RACE) $(filter-out $(UNRACED),$(RACED))

.PHONY: test-unraced
test-unraced: | bin
	$(RAPID) $(TEST) -coverprofile=$(COVER_PROFILE) $(filter-out $(IN_PART) $(SIM),$(UNRACED))
	$(RAPID) $(TEST) -run='^($(shell tools/packages.sh tests $(IN_PART)))$$' $(IN_PART)
	$(TEST) -cpu=1 -run='^($(shell tools/packages.sh tests $(SIM)))$$' $(SIM)

.PHONY: test-environment
test-environment:
	TELEX_STREAMING_ENABLED=false $(TEST) $(filter-out ./cmd/telex,$(ENVIRONMENT))
	TELEX_STREAMING_ENABLED=false $(TEST) -run='^($(shell tools/packages.sh switched ./cmd/telex))$$' $(filter ./cmd/telex,$(ENVIRONMENT))

# By default, each run plays the same set of schedules, so if a run fails for the first time, a change of the code is the reason.
# SET=2 plays another set, SET=random plays a new random set, and SETS=40 plays 40 sets, beginning with SET. For each violation, the
# target prints a command that plays only the schedule with this violation.
.PHONY: sim
sim: ## Play 24,000 random schedules of the whole gateway in virtual time. REPLICAS=1 lets several gateways share a store; tools/sim.sh explains SET, SETS, SCHEDULES, KIND and SEED.
	@SET='$(SET)' SETS='$(SETS)' SCHEDULES='$(SCHEDULES)' KIND='$(KIND)' SEED='$(SEED)' REPLICAS='$(REPLICAS)' tools/sim.sh

.PHONY: mutate
mutate: ## Remove the checks in the code one by one: a test must fail each time; ONLY=name for one of them.
	tools/mutate.sh '$(ONLY)'

.PHONY: watch
watch: ## Run a package's tests again whenever one of its files is saved.
	$(TOOL) gotestsum --watch

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME (10s) each.
	FUZZTIME=$(FUZZTIME) tools/fuzz.sh

.PHONY: conformance
conformance: ## Run the suite that every adapter must pass, and print a table of cases and platforms; CASES=D10 for one case.
	go run ./platforms/conformance/table -run='$(CASES)'

.PHONY: killtest
killtest: build ## Kill the built binary at random and at chosen moments, and check what people see at the end; ARGS='-kind twice'.
	go run ./internal/killtest -binary bin/telex -json bin/killtest.json $(ARGS)

.PHONY: cluster
cluster: build ## Run three daemons on one PostgreSQL for 20 minutes, kill and pause them, restart the database, and check what 300 people see; ARGS='-rolling'.
	go run ./internal/killtest cluster -binary bin/telex -json bin/cluster.json $(ARGS)

.PHONY: test-mcp
test-mcp: ## Run the MCP client against servers by other authors, from npm; Node.js and the registry are needed.
	go test -count=1 -v -tags=mcpnpm -run='^TestNPM' ./agent/mcp

.PHONY: test-clients
test-clients: build ## Run clients of OpenAI's APIs by other authors, from npm, against the built daemon; Node.js and the registry are needed.
	@command -v npm >/dev/null || { echo 'make test-clients: npm not found: install Node.js 20 or newer'; exit 1; }
	cd tools/clients && npm ci --no-audit --no-fund --silent && TELEX_BINARY='$(CURDIR)/bin/telex' node --test --test-timeout=120000

.PHONY: test-postgres
test-postgres: ## Run the store's suite and whole daemons on PostgreSQL servers, which the tests start and kill; Debian's package postgresql is needed.
	@ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || command -v postgres >/dev/null || { echo 'make test-postgres: PostgreSQL not found: install the Debian package postgresql (apt-get install postgresql)'; exit 1; }
	RAPID_CHECKS=$(or $(RAPID_CHECKS),20) go test -count=1 -timeout=20m -vet=off -shuffle=on -tags=postgres -run='PostgreSQL' ./internal/store/... ./internal/bench ./internal/killtest ./cmd/telex

.PHONY: test-browser
test-browser: ## Use the demo's pages and the status page with a browser, and keep pictures of them in bin/screenshots; Debian's package chromium is needed.
	@command -v chromium >/dev/null || { echo 'make test-browser: chromium not found: install the Debian package chromium (apt-get install chromium)'; exit 1; }
	SCREENSHOTS='$(CURDIR)/bin/screenshots' go test -count=1 -v -parallel=4 -tags=browser -run='^TestBrowser' ./cmd/telex

.PHONY: pictures
pictures: ## Draw the README's pictures from the demo's pages; Debian's package chromium is needed.
	PICTURES='$(CURDIR)/docs' go test -count=1 -tags=browser -run='^TestBrowserDrawsThe(Answer|Demo)$$' ./cmd/telex

.PHONY: test-systemd
test-systemd: package ## Boot a Debian with the package: install, kill -9, restart, upgrade, reboot, remove; root, debootstrap and systemd-nspawn are needed.
	tools/debian.sh bin/debian
	TELEX_DEB='$(CURDIR)/bin/package/*.deb' TELEX_PROGRAM='$(CURDIR)/bin/package/telex' TELEX_DEBIAN='$(CURDIR)/bin/debian' \
		go test -count=1 -v -tags=systemd -run='^TestSystemd' ./cmd/telex

.PHONY: test-live
test-live: ## Ask and answer once on each platform whose real tokens are in the environment; docs/operations.md says what to set.
	go test -count=1 -v -tags=live -run='^TestLive$$' ./internal/app

.PHONY: test-hostile
test-hostile: ## Run the built program against hostile MCP servers, and print memory, calls and processes left.
	go test -count=1 -v -run='^TestHostileMCPServers$$' ./cmd/telex

.PHONY: bench
bench: build ## Measure the built binary against its stand-ins, and compare each figure with its limit; ARGS='-scenario one'.
	go run ./internal/bench -binary bin/telex -json bin/bench.json -assert $(ARGS)

.PHONY: microbench
microbench: | bin ## Run the Go benchmarks, and compare them with BASE=file if it is set.
	go test -run='^$$' -bench=. -benchmem -benchtime=$(BENCHTIME) ./... >bin/bench.txt || { cat bin/bench.txt; exit 1; }
	@$(if $(BASE),$(TOOL) benchstat $(BASE) bin/bench.txt,grep -E '^(pkg:|Benchmark)' bin/bench.txt)

## Check. Each target can be run by itself, and says what it found.

.PHONY: check
check: lint mods generated layout static unit ## Run every check that is not `make test`.
	@echo 'make check: all clean'

.PHONY: fmt
fmt: ## Format all Go files.
	$(TOOL) gofumpt -l -w .

.PHONY: lint
# The linters include go vet. One run reads all Go files, including those of the other test targets. Only the tests of `make test-live`
# are not included, because with their build tag, one file replaces another. The second command vets them.
lint: ## Vet, lint and check the format; .golangci.yml explains the rules.
	$(TOOL) golangci-lint run --build-tags=browser,mcpnpm,postgres,systemd
	go vet -tags=live ./internal/app

.PHONY: mods
mods: ## Check that go.mod and go.sum of both modules are tidy.
	go mod tidy -diff
	cd tools && go mod tidy -diff

.PHONY: generated
generated: ## Check that go generate changes nothing.
	tools/generated.sh

.PHONY: layout
layout: ## Check the import table and the rules that every package follows.
	go test -count=1 -run='^TestLayout' ./internal/app

.PHONY: static
static: build ## Check that the binary is static.
	@go version -m bin/telex | grep -q 'CGO_ENABLED=0' || { echo 'bin/telex was built with cgo'; exit 1; }
	@! command -v ldd >/dev/null || ! ldd bin/telex >/dev/null 2>&1 || { echo 'bin/telex is linked dynamically:'; ldd bin/telex; exit 1; }

.PHONY: unit
unit: ## Check the systemd unit, where systemd-analyze is installed.
	tools/unit.sh deploy/telex.service

.PHONY: cover
cover: test-unraced ## Check that tests cover 85 % of agent, gateway and internal/markup.
	tools/cover.sh $(COVER_PROFILE) 85 agent gateway internal/markup

.PHONY: clean
clean: ## Remove what the other targets made.
	rm -rf bin

bin:
	@mkdir -p bin
