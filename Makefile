# Braid's housekeeping. `make help` lists the targets; each says what it is for.
#
# A bare Debian machine with Go needs nothing beforehand: what a target uses, it
# installs (tools/setup.sh, tools/go.mod).

SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

GO        ?= go
LINTER    := bin/golangci-lint
# Packages to work on: make test PKG=./memstore/...
PKG       ?= ./...
# Further flags for go test: make test TESTFLAGS='-run Enqueue -v'
TESTFLAGS ?=
# SQLite is C turned into Go: with the race detector's instructions in every access to its
# pages it is six times as slow. They are left out of it, its C library and its malloc, and
# stay in the database/sql driver above them and in everything of ours; locks and atomics
# are seen everywhere, so nothing is reported that is no race.
RACE      := -race $(foreach part,sqlite/lib libc/... memory,-gcflags=modernc.org/$(part)=-race=false)
# Flags for the program: make demo ARGS='--json /usr/share'
ARGS      ?=
# By how much the soak multiplies the random histories and flows.
SOAK      ?= 20
# The modules to tidy beside the root one. Not tools: tidying it would fetch what the
# tests of a hundred linters need.
MODULES   := $(patsubst %/go.mod,%,$(wildcard bench/go.mod))

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## install what the tests need on a bare machine (run by test)
	@tools/setup.sh

.PHONY: test
test: setup ## run every test with the race detector
	$(GO) test $(RACE) $(TESTFLAGS) $(PKG)

.PHONY: quick
quick: ## run every test without the race detector: for the loop of edit and test
	$(GO) test $(TESTFLAGS) $(PKG)

.PHONY: race
race: setup ## run every test five times with the race detector, in random order: finds what fails now and then
	$(GO) test $(RACE) -count=5 -shuffle=on $(TESTFLAGS) $(PKG)

.PHONY: soak
soak: setup ## run SOAK (20) times as many random histories and flows, with the race detector
	BRAID_SOAK=$(SOAK) $(GO) test $(RACE) -timeout 0 -run "Histor|Random|Conforms/History" $(TESTFLAGS) $(PKG)

.PHONY: lint
lint: $(LINTER) ## run go vet, also as for 32 bits, and the linters of .golangci.yaml
	$(GO) vet ./...
	GOARCH=386 $(GO) vet ./...
	$(LINTER) run ./...

.PHONY: fmt
fmt: ## format every Go file
	gofmt -w $$(git ls-files --cached --others --exclude-standard '*.go')

.PHONY: fmt-check
fmt-check: ## fail if a Go file is not formatted
	@files=$$(gofmt -l $$(git ls-files --cached --others --exclude-standard '*.go')); \
	if [ -n "$$files" ]; then echo "not formatted (make fmt does it):"; echo "$$files"; exit 1; fi

.PHONY: tidy-check
tidy-check: ## fail if a go.mod or go.sum is not what go mod tidy would write
	@for module in . $(MODULES); do \
		(cd $$module && $(GO) mod tidy -diff) || { echo "run go mod tidy in $$module"; exit 1; }; \
	done

.PHONY: build
build: ## build the program into bin/braid
	$(GO) build -o bin/braid ./cmd/braid

.PHONY: examples
examples: ## build every example
	@if [ -d examples ]; then $(GO) build -o /dev/null ./examples/... ; fi

.PHONY: demo
demo: ## hash the files of a folder with a job each (ARGS='DIR …')
	$(GO) run ./cmd/braid demo $(ARGS)

.PHONY: bench
bench: ## measure the memory store (ARGS='--store URL …' for another)
	$(GO) run ./cmd/braid bench $(ARGS)

.PHONY: bench-redis
bench-redis: setup ## measure the Redis store beside asynq and BullMQ (ARGS='-jobs 100000 -rounds 3')
	@cd bench && $(GO) run ./redis $(ARGS)

.PHONY: bench-sqlite
bench-sqlite: ## measure the SQLite store beside River (ARGS='-jobs 20000 -durability normal')
	@cd bench && $(GO) run ./sqlite $(ARGS)

.PHONY: bench-postgres
bench-postgres: setup ## measure the Postgres store beside River and graphile-worker (ARGS='-jobs 100000 -rounds 3')
	@cd bench && $(GO) run ./postgres $(ARGS)

.PHONY: bench-flows
bench-flows: setup ## measure flows beside plain jobs (ARGS='-store memory')
	@cd bench && $(GO) run ./flows $(ARGS)

.PHONY: bench-growth
bench-growth: setup ## compare each operation on an empty store with one on a full store (ARGS='-store redis')
	@cd bench && $(GO) run ./growth $(ARGS)

.PHONY: bench-pages
bench-pages: setup ## time each page and list over a store with a million jobs (ARGS='-store postgres -jobs 1000000')
	@cd bench && $(GO) run ./pages $(ARGS)

.PHONY: bench-held
bench-held: setup ## load the Postgres store before, while and after a transaction stays open (ARGS='-held 60s')
	@cd bench && $(GO) run ./held $(ARGS)

.PHONY: bench-build
bench-build: ## build and test the comparison with other systems
	@if [ -f bench/go.mod ]; then cd bench && $(GO) vet ./... && $(GO) build -o /dev/null ./... && $(GO) test ./...; fi

.PHONY: clean
clean: ## delete what the other targets built
	rm -rf bin

$(LINTER): tools/go.mod tools/go.sum
	cd tools && $(GO) build -o ../$(LINTER) github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch $(LINTER)
