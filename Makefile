# Entry points; `make` alone lists them. CONTRIBUTING.md has the details.

target := $(or $(CARGO_TARGET_DIR),target)

.DEFAULT_GOAL := help
.PHONY: help build demo test bench docs lint clean

help:
	@echo 'slowpath reports where a TCP transfer loses its time.'
	@echo
	@echo 'First:'
	@echo '  make demo    build, diagnose four captured transfers, make a fifth here, write pages (10 minutes)'
	@echo '  make build   build only: $(target)/release/slowpath'
	@echo
	@echo 'Then, with your own capture:'
	@echo '  sudo tcpdump -i any -s 128 -B 65536 -w transfer.pcap tcp port 443'
	@echo '  $(target)/release/slowpath diagnose transfer.pcap'
	@echo
	@echo 'For development:'
	@echo '  make test    all tests and checks; as root also those that need root (30 minutes)'
	@echo '  make lint    formatting, clippy, rustdoc and scripts only'
	@echo '  make bench   speed and memory compared with tcptrace, tshark, ns-3, bpftrace and perf'
	@echo '               (as root; ONLY=captures, simulators, kernel or profiles)'
	@echo '  make docs    the handbook in out/handbook, the crate documentation in $(target)/doc'
	@echo '  make clean   remove build output'
	@echo
	@echo 'As root on Debian or Ubuntu, a target installs what it needs. Otherwise it reports what is missing.'

build:
	@tools/install-packages build
	cargo build --release --locked --package slowpath

demo:
	@tools/demo

test:
	@tools/test

lint:
	@tools/test --only lint

bench:
ifneq ($(filter captures simulators,$(or $(ONLY),captures simulators)),)
	@tools/install-packages build c++ tcptrace tcprewrite tshark tcpdump ethtool ip
	cargo build --release --locked --package slowpath --package xtask
endif
ifneq ($(filter captures,$(or $(ONLY),captures)),)
	@benches/compare
endif
ifneq ($(filter simulators,$(or $(ONLY),simulators)),)
	@benches/compare-simulators
endif
ifneq ($(filter kernel,$(or $(ONLY),kernel)),)
	@tools/install-packages build ethtool ip bpftrace
	cargo bench --locked --package slowpath-lab --bench path --bench probe
endif
ifneq ($(filter profiles,$(or $(ONLY),profiles)),)
	@tools/install-packages build perf
	cargo bench --locked --package slowpath-profile --bench read
endif

docs:
	@tools/docs

clean:
	cargo clean --quiet
	rm -rf out fuzz/artifacts web/node_modules
