# The front door.  The build is Meson's (meson.build); BUILD=dir builds elsewhere, PREFIX=dir is
# where it is installed instead of /usr/local.
BUILD ?= build
PREFIX ?=

all: $(BUILD)/build.ninja
	@ninja -C $(BUILD) product

$(BUILD)/build.ninja:
	@tools/deps build
	@meson setup $(BUILD)

# The demonstration: three schedulers, a crash, a pause, a hand-over, one ledger.
run: all
	@BUILD=$(BUILD) examples/invoices/demo

# The drain drill: what a leader that wakes up late can still do, without and with what stops it.
drills: all
	@BUILD=$(BUILD) examples/drain/drill

# Everything that can be checked, in three builds; ends with "N passed, N failed".
test:
	@tools/deps
	@tools/test

# Duels on virtual time: the gaps that they show beside the bound that `tenure timing` prints.
DUELS ?= 10000
gaps: all
	@ninja -C $(BUILD) sim/gaps
	@$(BUILD)/sim/gaps $(DUELS)

# Every fuzz target for so long; finds what the short run in `make test` does not.
SECONDS ?= 60
fuzz:
	@tools/deps
	@tools/fuzz $(SECONDS)

# The product on virtual time: SEED=n shows one run (STEPS=n cuts it short), RUNS=n tries n seeds.
RUNS ?= 2000
sim: all
	@ninja -C $(BUILD) sim/sim
	@$(BUILD)/sim/sim $(if $(SEED),--seed $(SEED) -v $(if $(STEPS),--steps $(STEPS)),--runs $(RUNS))

# The product with one deliberate fault at a time: what catches it.
mutants:
	@tools/mutants $(if $(SEEDS),--seeds $(SEEDS))

install: $(BUILD)/build.ninja
	@$(if $(PREFIX),meson configure $(BUILD) --prefix=$(abspath $(PREFIX)))
	@ninja -C $(BUILD) product
	@meson install -C $(BUILD) --no-rebuild

# Beside its peers, in one run: PEERS="local redis pg etcd zk node raw" (each needs its server); then
# what the guards cost.
PEERS ?= local redis pg
bench: all
	@tools/deps build bench
	@BUILD=$(CURDIR)/$(BUILD) bench/run-all bench/tenure.sh $(PEERS)
	@BUILD=$(CURDIR)/$(BUILD) bench/run-all -r 1 -s guards -o /tmp/tenure-bench/guards.tsv bench/guards.sh

# A crowd of processes, faults, and a referee: make soak MINUTES=5 STORE=etcd3 (or postgres, etcd).
MINUTES ?= 1
STORE ?= sqlite
soak: all
	@ninja -C $(BUILD)
	@BUILD=$(BUILD) tools/soak --minutes $(MINUTES) --store $(STORE)

clean:
	@rm -rf build build-*

.PHONY: all run drills test sim gaps fuzz mutants install bench soak clean
