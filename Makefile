# The front door: everything a developer or a continuous build does, in one word each. `make help` lists them.
.DEFAULT_GOAL := help
.PHONY: miri minimal twice test-guest test-cross help demo page build test fmt lint docs fuzz bench bench-jfr bench-gc-log bench-record bench-per-event bench-page bench-truth try-kill try-silent try-jdks try-containers bench-fleet load experiments fleet-spark server-labs deps deps-demo deps-dist dist image bare notebook site clean

TARGET := $(or $(CARGO_TARGET_DIR),target)

help: ## prints this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 16

demo: deps-demo page ## a JVM with a starved code cache, explained; then its fixed variant, and a page to look at
	# Without what it does not need, and with Debian's libzstd, which is compiled already.
	ZSTD_SYS_USE_PKG_CONFIG=1 cargo build --profile demo --package fathom --no-default-features
	"$(TARGET)/demo/fathom" lab run code_cache_churn --both --html target/demo.html || { [ $$? -eq 4 ] \
		&& echo "The machine was too busy to show it (INCONCLUSIVE above): free the CPUs and run make demo again."; }

page: ## builds the page, which the program has in it
	.ci/page-modules
	cd ui && npm run --silent build

build: deps-demo page ## leaves target/release/fathom
	cargo build --release --package fathom
	@[ "$(abspath $(TARGET))" = "$(CURDIR)/target" ] || install -D "$(TARGET)/release/fathom" target/release/fathom

test: deps ## all checks and tests, quick ones first
	.ci/test

load: ## target/release/fathom-load-engine, which `fathom load` sends requests with; needs Go
	cd load && go build -trimpath -o "$(abspath $(TARGET))/release/fathom-load-engine" .

fmt: ## formats every Rust file, also those that build scripts include, and the page
	git ls-files -z '*.rs' | xargs -0 rustfmt --edition 2024
	.ci/page-modules
	cd ui && npm run --silent format

lint: ## the checks that build nothing, and clippy
	.ci/test files format layers page clippy

docs: ## builds the code's documentation, warnings denied
	.ci/test docs

fuzz: ## runs the fuzz targets, FUZZ_SECONDS each (default 4)
	.ci/test fuzz

miri: ## unsafe code that needs no kernel, under Miri; needs a nightly toolchain
	.ci/miri

minimal: ## compiles with the oldest dependencies that Cargo.toml allows
	.ci/minimal

twice: ## two builds of the release, compared byte by byte
	.ci/twice

site: page ## the documents as a site, in target/site/html; links checked
	cargo build --package fathom
	.ci/site

notebook: page ## the SQL of docs/notebook.md in DuckDB, on a recording of testdata
	cargo build --package fathom
	.ci/checks/notebook

bench: bench-jfr bench-gc-log bench-record bench-per-event bench-page ## against the peers; needs a quiet machine

bench-jfr: ## JFR readers side by side
	bench/jfr/run

bench-gc-log: ## GC log readers side by side
	bench/gc_log/run

bench-record: build ## the cost of watching a JVM
	bench/record/run

bench-per-event: build ## the cost of recording one fault, call or switch
	bench/per_event/run

bench-page: build ## the page in a browser: its figures on twelve recordings, its speed on large ones
	bench/page/figures
	bench/page/run

test-cross: ## builds for aarch64 and runs the tests of readers, account, causes and reports there, emulated
	.ci/cross

fleet-spark: ## the tests of fleet/ that compare Spark's answers with DuckDB's: starting Spark takes half a minute
	.ci/fleet-venv spark
	cd fleet && ../target/fleet-venv/bin/python -m pytest -q -p no:cacheprovider -m spark tests

bench-fleet: ## how often fathom-fleet is right on simulated fleets, and what it costs
	bench/fleet/run

test-guest: ## the kernel collectors on Linux 6.1, in an emulated machine
	.ci/guest

experiments: ## measurements that test the arguments of docs/stories; needs a quiet machine
	experiments/run

bench-truth: ## how often answers are true, on everything with a known truth
	bench/truth/run

try-kill: build ## kills a recorder at random moments and checks the remaining recording
	trials/kill/run

try-silent: build ## JVMs that do not answer: full collections, SIGSTOP, next to no CPU; root
	trials/silent/run

try-jdks: build ## JDK 8, 11, 17, 21 and 25, with other roots and other libcs, recorded in the labs; root
	.ci/jdks
	trials/jdks/run

try-containers: build ## what Fathom sees of a JVM in a container, from a node and from sidecars; root, runc
	trials/containers/run

server-labs: build ## a real server (Tomcat, HikariCP, H2) with known faults, recorded and explained; root
	labs/servers/shop

deps: ## installs what is missing for build, test and bench
	.ci/deps

deps-demo: ## only what the demonstration needs
	.ci/deps demo

deps-dist: ## only what a release needs
	.ci/deps dist

dist: deps-dist page ## tarball, Debian and RPM package with manual, completions, notices and list of contents, in target/dist
	.ci/dist $(MACHINES)

image: ## a container image with only the static program, from the files of make dist; needs buildah, no engine
	.ci/image $(MACHINES)

bare: ## runs the release on a Debian that has a JDK and nothing else; root
	.ci/bare

clean: ## removes what was built here
	cargo clean
	rm -rf target/release/fathom labs/out bench/out ui/node_modules
	git clean -fdXq ui/dist ui/dist-single
