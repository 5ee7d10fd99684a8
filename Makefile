# Everything runs on real PostgreSQL servers that are started for it and end with
# it. `make` alone explains the targets.

PG   ?= 15
DEMO ?=

# For make sqlserver: -short, -only PHASE, -v, and others; see -help.
SQLSERVER ?=

# For make verify: how long, which schedule of faults, other flags.
DURATION ?= 90s
SEED     ?= 1
VERIFY   ?=

# For make journeys: -short, a number, or both; and dbresolver to see what it misses.
JOURNEYS ?=
PLUGIN   ?= readsplit
WEBSHOP  ?=

# For make regions, make scale and make share: flags, see -help of each.
REGIONS ?=
SCALE   ?=
SHARE   ?=

# For make bench and make budget: -short, -part overhead and others, see -help.
BENCH  ?=
BUDGET ?=

# For make pitfalls: flags, see -help.
PITFALLS ?=
# For make compare: -only preload, -pause 60s.
COMPARE ?=
# For make compat: combinations, with commas between: COMPAT="pg=18 go=1.27.4, gorm=latest".
COMPAT ?=
# For make conflicts: -report 60s -delay 30s.
CONFLICTS ?=

# For make observed: -hurry, a minute of the alerts is a second.
OBSERVED ?=

GOLANGCI = github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.12.0

# The modules of go.work, as go list's patterns.
modules = $$(go list -m -f '{{.Dir}}/...')

.PHONY: help
help:
	@echo 'make demo        a primary, two replicas and a bookstore: who misses the order that they have just placed'
	@echo '                 (DEMO=-short for fewer orders, DEMO=-v for the reasons of the decisions, DEMO=-help for more)'
	@echo 'make sqlserver   the same on a double of SQL Server: redo paused, suspended, failed over, and two proofs that are none'
	@echo '                 (SQLSERVER=-short for fewer orders; SQLSERVER=-help says how to name real servers)'
	@echo 'make webshop     a web shop with two processes behind a proxy, for a person: prints its address, ends with Ctrl-C'
	@echo '                 (WEBSHOP="-behind 5s" keeps the replicas 5 s behind, PLUGIN=dbresolver shows what is wrong then)'
	@echo 'make journeys    10,000 customers of it order and look at their list, while replay is delayed and paused'
	@echo '                 (JOURNEYS=-short or a number for fewer, PLUGIN=dbresolver for what that misses)'
	@echo 'make browser     the same once with a real browser; installs Chromium if none is there, and makes docs/webshop/*.png'
	@echo 'make observed    a shop with metrics, a status page, and Prometheus with the alerts; break servers, and watch'
	@echo '                 (OBSERVED=-hurry: a minute of the alerts is a second)'
	@echo 'make page        the status page in a real browser while servers break, and makes docs/status/*.png'
	@echo 'make pitfalls    seven ways to split reads that go wrong, each shown on real servers; makes docs/pitfalls.md'
	@echo '                 (PITFALLS="-only hidden_write" for one of them)'
	@echo 'make compare     nineteen behaviours over dbresolver and over readsplit, side by side; makes docs/compared.md (two minutes)'
	@echo '                 (COMPARE="-only preload" for one of them)'
	@echo 'make test        go vet, gofmt, and all tests with the race detector, on real servers (SHORT= make test for every mode)'
	@echo 'make compat      a short set of tests with each PostgreSQL, Go and GORM that is supported; a line for each (25 minutes)'
	@echo '                 (COMPAT="pg=18 go=1.27.4, gorm=latest" for two combinations)'
	@echo 'make matrix      every way into the database, and who ran each statement'
	@echo 'make classify    what is taken for a read, measured on a standby'
	@echo 'make compare-plain   programs with and without the plugin'
	@echo 'make verify      clients, faults, and a judge of what the clients were told (DURATION=30m SEED=7)'
	@echo 'make verify-dbresolver, make verify-mutants   the judge convicts others, and readsplit with a mistake in it'
	@echo 'make levels      what each guarantee level of sessions costs, in reads on replicas and time'
	@echo 'make simulate    balancers against servers on paper: the tables and plots of docs/balancing.md'
	@echo 'make regions     a primary in another region: what a read costs after a write, beside plain GORM; makes docs/regions.md'
	@echo '                 (REGIONS="-only readsplit -for 5s" only prints; -away, -behind for other distances)'
	@echo 'make capacity    processor time of statements on primary and replicas, and what replicas add; makes docs/capacity.md'
	@echo 'make synchronous what synchronous replication and remote_apply cost instead; makes docs/synchronous-replication.md'
	@echo 'make scale       what a thousand replicas, a million sessions, 10,000 readers cost; makes docs/scale.md'
	@echo '                 (SCALE="-part decide" for one of decide, monitor, sessions, readers, throughput; with -for 1s it only prints)'
	@echo 'make share       how many reads replicas serve, by what is written and how far they are behind; makes docs/share.md'
	@echo '                 (SHARE=-short only prints, in ten seconds; SHARE="-writes 500 -behind 2ms" for one line)'
	@echo 'make bench       what a statement costs beside plain GORM and dbresolver; makes docs/benchmarks.md (ten minutes)'
	@echo '                 (BENCH="-part load" for one of overhead, parts, profile, load, budget; with -short it only prints)'
	@echo 'make budget      what may be spent, against limits, in three minutes; fails if any is over (BUDGET=-short for a minute)'
	@echo 'make conflicts   a report on a replica while the primary vacuums: who pays, by settings; makes docs/conflicts.md'
	@echo 'make allocations what a statement allocates beside plain GORM: a test without the race detector'
	@echo 'make observe     what a read costs with nobody who observes, a ring, a log, and the status page open'
	@echo 'make conformance-sqlserver   the suite of both engines on real SQL Servers: READSPLIT_SQLSERVER_PRIMARY is the DSN of the primary,'
	@echo '                 READSPLIT_SQLSERVER_REPLICAS has a line name=DSN for each readable secondary (docs/conformance.md)'
	@echo 'make lint        golangci-lint, which is built once (about two minutes)'
	@echo 'make govulncheck known vulnerabilities in what is called, in all modules; asks vuln.go.dev (GOVULNDB=file:///a/copy for another)'
	@echo 'make cluster     a primary and two replicas for a person, with their DSNs; faults by typing, end with Ctrl-C'
	@echo 'make deps        install what is missing of what these need; they call it themselves'
	@echo
	@echo 'PG=15, 16, 17 or 18 chooses the PostgreSQL, for each of them; it is $(PG) now.'

.PHONY: deps
deps:
	@scripts/deps.sh $(PG)

.PHONY: test
test: deps fmt
	@scripts/test.sh $(PG) $(modules)

# What of other versions works is said in docs/compatibility.md.
.PHONY: compat
compat:
	@scripts/compat.sh $(COMPAT)

.PHONY: vet
vet:
	go vet $(modules)
	go vet -tags realsqlserver ./testenv/tdsenv/drivertest/given

.PHONY: fmt
fmt:
	@unformatted=$$(gofmt -l .); \
	if [ -n "$$unformatted" ]; then echo "gofmt -l . lists these, run gofmt -w on them:" $$unformatted; exit 1; fi

# The last line of each is its result.
.PHONY: matrix classify compare-plain
matrix: deps
	@READSPLIT_PG=$(PG) go test -count=1 -v -run 'TestMatrix' ./internal/matrix | scripts/result.sh matrix
classify: deps
	@READSPLIT_PG=$(PG) go test -count=1 -v -run 'TestClassify' ./internal/corpus | scripts/result.sh classify
compare-plain: deps
	@READSPLIT_PG=$(PG) go test -count=1 -v -run 'TestPrograms' ./internal/compare | scripts/result.sh compare

.PHONY: demo
demo: deps
	@go build -buildvcs=false -o bin/bookstore ./examples/bookstore
	@bin/bookstore -pg $(PG) $(DEMO)

# No PostgreSQL: the servers are a double, or those that flags or the environment name.
.PHONY: sqlserver
sqlserver:
	@go build -buildvcs=false -o bin/sqlserver ./examples/sqlserver/lab
	@bin/sqlserver $(SQLSERVER)

.PHONY: pitfalls
pitfalls: deps
	@go build -buildvcs=false -o bin/pitfalls ./examples/pitfalls
	@bin/pitfalls -pg $(PG) -page docs/pitfalls.md $(PITFALLS)

# dbresolver and readsplit side by side, by behaviour (docs/compared.md, README.md).
.PHONY: compare
compare: deps
	@go build -buildvcs=false -o bin/compare ./examples/pitfalls/compare
	@bin/compare -pg $(PG) -page docs/compared.md -readme README.md $(COMPARE)

.PHONY: webshop journeys browser page bin/webshop
bin/webshop:
	@go build -buildvcs=false -o bin/webshop ./examples/webshop
webshop: deps bin/webshop
	@bin/webshop -pg $(PG) -plugin $(PLUGIN) $(WEBSHOP)
journeys: deps bin/webshop
	@bin/webshop journeys -pg $(PG) -plugin $(PLUGIN) $(JOURNEYS)
browser:
	@scripts/deps.sh $(PG) browser
	@go build -buildvcs=false -o bin/browser ./examples/webshop/browser
	@bin/browser -pg $(PG) -pictures docs/webshop
page:
	@scripts/deps.sh $(PG) browser
	@go build -buildvcs=false -o bin/page ./examples/webshop/page
	@bin/page -pg $(PG) -pictures docs/status

.PHONY: observed
observed: deps
	@go build -buildvcs=false -o bin/observed ./examples/observed
	@bin/observed -pg $(PG) $(OBSERVED)

.PHONY: verify verify-dbresolver verify-mutants bin/verify
bin/verify:
	@go build -buildvcs=false -o bin/verify ./verify
verify: deps bin/verify
	@bin/verify -pg $(PG) -duration $(DURATION) -seed $(SEED) $(VERIFY)
verify-dbresolver: deps bin/verify
	@bin/verify -pg $(PG) -duration $(DURATION) -seed $(SEED) -plugin dbresolver -page '' $(VERIFY); test $$? -eq 1
verify-mutants: deps bin/verify
	@bin/verify mutants -root . -pg $(PG) -seed $(SEED) $(VERIFY)

# Not in make test: it needs servers that somebody names.
.PHONY: conformance-sqlserver
conformance-sqlserver:
	go test -count=1 -v -tags realsqlserver -run 'TestRealSQLServer' ./testenv/tdsenv/drivertest/given

# The cache is this checkout's own: what it remembers of another one, which had the
# same files, names files that may be gone.
.PHONY: lint
lint: fmt # and go vet is one of its linters
	GOLANGCI_LINT_CACHE=$(CURDIR)/bin/lint-cache go run $(GOLANGCI) run $(modules)

# The database of known vulnerabilities is asked where it is; a copy will do: file:///folder.
GOVULNCHECK = golang.org/x/vuln/cmd/govulncheck@v1.9.0
GOVULNDB   ?= https://vuln.go.dev

.PHONY: govulncheck
govulncheck:
	go run $(GOVULNCHECK) -db $(GOVULNDB) -test $(modules)

.PHONY: cluster
cluster: deps
	@go build -buildvcs=false -o bin/cluster ./testenv/cmd/cluster
	@bin/cluster -pg $(PG)

# Balancers against servers on paper (docs/balancing.md): the same on any machine.
.PHONY: simulate
simulate:
	@go run ./internal/simulate/plots

# Delayed links instead of regions (docs/regions.md), what grows (docs/scale.md), the
# servers' own way to current replicas (docs/synchronous-replication.md), and what
# replicas add (docs/capacity.md).
.PHONY: regions scale synchronous capacity
regions: deps
	@go run ./internal/regions -pg $(PG) -page docs/regions.md $(REGIONS)
synchronous: deps
	@go run ./internal/synchronous -pg $(PG) -page docs/synchronous-replication.md
capacity: deps
	@go run ./internal/capacity -pg $(PG) -page docs/capacity.md
scale: deps
	@go run ./internal/scale -pg $(PG) -page docs/scale.md $(SCALE)

# Who serves own reads, on paper and on real servers (docs/share.md).
.PHONY: share
share: deps
ifeq ($(SHARE),)
	@READSPLIT_SHARE_PAGE=docs/share.md go test -count=1 -run '^TestShareOnPaper$$' .
endif
	@go run ./internal/share -pg $(PG) -page docs/share.md $(SHARE)

# Side by side with plain GORM and dbresolver (docs/benchmarks.md).
.PHONY: bench budget allocations bin/bench/bench
bin/bench/bench:
	@go build -buildvcs=false -o bin/bench/bench ./bench
bench: deps bin/bench/bench
	@bin/bench/bench -pg $(PG) -page docs/benchmarks.md $(BENCH)
budget: deps bin/bench/bench
	@bin/bench/bench -pg $(PG) -part budget $(BUDGET)

# The race detector has allocations of its own, and so they are counted without it.
allocations: deps
	@READSPLIT_PG=$(PG) go test -count=1 -run Allocations ./bench

# Reports on replicas and hot standby conflicts (docs/conflicts.md).
.PHONY: conflicts
conflicts: deps
	@go run ./internal/hotstandby -pg $(PG) -page docs/conflicts.md $(CONFLICTS)

# What each guarantee level of sessions costs, side by side (docs/sessions.md).
.PHONY: levels
levels: deps
	@READSPLIT_PG=$(PG) go test -run '^$$' -bench BenchmarkGuarantee -benchtime 2000x -count 3 .

# What it costs to be observed, side by side (docs/status.md).
.PHONY: observe
observe: deps
	@READSPLIT_PG=$(PG) go test -run '^$$' -bench BenchmarkTell -count 3 .
	@READSPLIT_PG=$(PG) go test -run '^$$' -bench BenchmarkObserve -benchtime 20000x -count 3 .
