# Two commands for a fresh clone: make demo, make test. Both first install what is missing (by apt,
# see tools/bootstrap). The build itself is CMake's; see CMakePresets.json for the presets.

MAKEFLAGS += --no-print-directory
PRESET ?= release
JOBS ?= $(shell nproc)
BUILD := build/$(PRESET)

help:
	@echo 'make demo     build, simulate 6000 atoms of water and ethanol on 2 x 2 x 2 domains, plot'
	@echo 'make test     build, run the tests (not those labelled long: make test-long)'
	@echo 'make build    build everything into $(BUILD)'
	@echo 'make install  build, install under PREFIX (default /usr/local)'
	@echo 'make clean    remove build/ and demo/'
	@echo 'PRESET=release|debug|asan|tsan chooses the build, JOBS its parallel jobs ($(JOBS))'

demo: configure
	cmake --build $(BUILD) -j $(JOBS) --target sundog_program
	tools/demo $(BUILD)/bin/sundog

test: build
	ctest --test-dir $(BUILD) --output-on-failure -j 2 --label-exclude long

test-long: build
	ctest --test-dir $(BUILD) --output-on-failure -j 2 --label-regex long

build: configure
	cmake --build $(BUILD) -j $(JOBS)

install: build
	cmake --install $(BUILD) $(if $(PREFIX),--prefix $(PREFIX))

configure:
	@tools/bootstrap
	cmake --preset $(PRESET)

clean:
	rm -rf build demo

.PHONY: help demo test test-long build install configure clean
