# Shoal: `make demo` shows it, `make test` checks it, `make help` lists the rest.
MAKEFLAGS += --no-builtin-rules
.DEFAULT_GOAL := all
BUILD ?= build
CC ?= cc
CFLAGS ?= -O2 -g
WARN := -Wall -Wextra -Wshadow -Wconversion -Wmissing-prototypes -Wstrict-prototypes -Wvla
ifdef CI
WARN += -Werror
endif
ALL_CFLAGS := -std=gnu17 -D_GNU_SOURCE $(WARN) -fvisibility=hidden -fPIC -fno-semantic-interposition \
	-ffp-contract=off -pthread -Iinclude -Isrc -I$(BUILD)/gen $(CFLAGS)
LIBS := -ldl -lm -pthread

SRC := $(sort $(wildcard src/*/*.c src/*/*/*.c))
OBJ := $(SRC:%.c=$(BUILD)/%.o) $(BUILD)/gen/kernels.o
CLI_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard cli/*.c)))
TEST_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard tests/*.c)))
EXAMPLES := $(patsubst examples/%.c,$(BUILD)/examples/%,$(sort $(wildcard examples/*.c)))
# shoal-hdf5, which the library starts to read HDF5 files, takes what it needs of it.
HDF5_OBJ := $(patsubst %.c,$(BUILD)/%.o,libexec/shoal-hdf5.c \
	$(sort $(wildcard src/base/*.c src/result/*.c)) src/io/hdf5.c src/io/hdf5_read.c)
# shoal-devices, which it starts to ask drivers for their devices, too.
DEVICES_OBJ := $(patsubst %.c,$(BUILD)/%.o,libexec/shoal-devices.c \
	$(sort $(wildcard src/base/*.c src/log/*.c src/cache/*.c src/device/*.c src/device/*/*.c)))
DEP := $(OBJ:.o=.d) $(patsubst %.c,$(BUILD)/%.d,$(wildcard mpi/*.c)) $(CLI_OBJ:.o=.d) $(TEST_OBJ:.o=.d) $(BUILD)/libexec/shoal-hdf5.d $(BUILD)/libexec/shoal-devices.d

.PHONY: all
all: $(BUILD)/shoal $(BUILD)/shoal-hdf5 $(BUILD)/shoal-devices $(BUILD)/libshoal.so $(BUILD)/libshoal.a

$(BUILD)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

# Kernel sources become one table of strings.
$(BUILD)/gen/kernels.c: tools/embed.sh $(sort $(wildcard kernels/*/*.h))
	@mkdir -p $(@D)
	sh tools/embed.sh $(sort $(wildcard kernels/*/*.h)) > $@.tmp && mv $@.tmp $@
$(BUILD)/gen/kernels.o: $(BUILD)/gen/kernels.c
	$(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

# One object with what is public, so that no name of a program meets one of ours: as in the .so.
OBJCOPY ?= objcopy
$(BUILD)/libshoal.o: $(OBJ)
	$(LD) -r $(OBJ) -o $@.all
	$(OBJCOPY) --localize-hidden $@.all $@ && rm -f $@.all
$(BUILD)/libshoal.a: $(BUILD)/libshoal.o
	rm -f $@ && ar rcs $@ $<
$(BUILD)/libshoal.so: $(OBJ) tools/libshoal.map
	$(CC) $(ALL_CFLAGS) -shared -Wl,-soname,libshoal.so.0 -Wl,-z,defs \
	    -Wl,--version-script=tools/libshoal.map $(OBJ) -o $@ $(LIBS)
$(BUILD)/shoal: $(CLI_OBJ) $(BUILD)/libshoal.a
	$(CC) $(ALL_CFLAGS) $(CLI_OBJ) $(BUILD)/libshoal.a -o $@ $(LIBS)
# Where MPI is installed: the same program as one of many processes.
MPICC ?= mpicc
MPI_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard mpi/*.c)))
.PHONY: mpi
mpi: $(BUILD)/shoal-mpi $(BUILD)/shoal-hdf5 $(BUILD)/shoal-devices
$(MPI_OBJ): $(BUILD)/%.o: %.c Makefile
	@mkdir -p $(@D)
	OMPI_CC='$(CC)' MPICH_CC='$(CC)' $(MPICC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@
$(BUILD)/shoal-mpi: $(MPI_OBJ) $(filter-out $(BUILD)/cli/alone.o,$(CLI_OBJ)) $(BUILD)/libshoal.a
	OMPI_CC='$(CC)' MPICH_CC='$(CC)' $(MPICC) $(ALL_CFLAGS) $^ -o $@ $(LIBS)
$(BUILD)/shoal-hdf5: $(HDF5_OBJ)
	$(CC) $(ALL_CFLAGS) $(HDF5_OBJ) -o $@ $(LIBS)
$(BUILD)/shoal-devices: $(DEVICES_OBJ)
	$(CC) $(ALL_CFLAGS) $(DEVICES_OBJ) -o $@ $(LIBS)
# Tests look inside. There are many, and they are compiled more often than run.
TEST_CFLAGS ?= -O1 -g0
$(TEST_OBJ): ALL_CFLAGS += $(TEST_CFLAGS)
$(BUILD)/test: $(TEST_OBJ) $(OBJ)
	$(CC) $(ALL_CFLAGS) $(TEST_OBJ) $(OBJ) -o $@ $(LIBS)
$(BUILD)/examples/%: examples/%.c $(BUILD)/libshoal.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $< $(BUILD)/libshoal.a -o $@ $(LIBS)

-include $(DEP) $(wildcard $(BUILD)/python/core/*.d)
include bench/bench.mk

# ---- what people type ---------------------------------------------------------------------------

.PHONY: python wheel bench-python bench-grids
.PHONY: help setup-% demo gallery test test-long test-gpu bench bench-stiff bench-gpu bench-start bench-dispatch install uninstall clean examples
.PHONY: format formatted tidy by-clang lint sanitized asan ubsan fuzz
help:
	@echo 'make demo      a million Lorenz systems: progress, a table, where the time went, a picture'
	@echo 'make gallery   the pictures of docs/gallery.md, minutes'
	@echo 'make test      all tests (make test-long: the slow ones too; make test-gpu: those of devices, on a GPU)'
	@echo 'make           build $(BUILD)/shoal, $(BUILD)/libshoal.so, $(BUILD)/libshoal.a'
	@echo 'make install   into PREFIX ($(PREFIX)), with headers, manual page, completions, docs, examples'
	@echo 'make python    the Python package in $(BUILD)/python (make wheel: one to install; pip install . does both)'
	@echo 'make mpi       build $(BUILD)/shoal-mpi, for many processes, where mpicc is installed'
	@echo 'make bench     compare with peers and with the peak of this machine'
	@echo 'make bench-stiff  implicit methods against CVODE on the CPU, minutes'
	@echo 'make bench-gpu ensembles on a GPU against their bars'
	@echo 'make bench-mpi  two ranks of shoal-mpi against two threads, and what many ask of rank 0'
	@echo 'make bench-journal  10^7 runs into NPZ with its journal against a plain file'
	@echo 'make bench-grid  pipelines of grids on one core against NumPy, and generations against a loop by hand'
	@echo 'make bench-grids  batches of grids from Python against NumPy and CuPy, and auto against devices (TABLE=auto)'
	@echo 'make bench-start  a process of 20 runs on a GPU beside cuInit and a context alone'
	@echo 'make bench-dispatch  what --device auto chooses against CPU and GPU, DISPATCH_SECONDS=330'
	@echo 'make bench-python  the Python package against SciPy, numbalsoda and diffrax, where installed'
	@echo 'make lint      what is not formatted, findings of clang-tidy, warnings of clang: make test does it too'
	@echo 'make format tidy asan ubsan fuzz clean'

# Installs what is missing (tools/setup.sh says what and why); SHOAL_NO_INSTALL=1 only tells.
setup-%:
	@sh tools/setup.sh $*

# All cores, unless -j was given.
JOBS = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc 2>/dev/null || echo 2))

demo: setup-demo
	@test -x $(BUILD)/shoal || echo 'building Shoal ...'
	@$(MAKE) $(JOBS) --no-print-directory -s all
	@sh tools/demo.sh $(BUILD)/shoal

# The pictures of docs/gallery.md, by the commands it shows. GALLERY=duffing: only that one.
gallery:
	@$(MAKE) $(JOBS) --no-print-directory -s all
	@sh tools/gallery.sh $(BUILD)/shoal $(GALLERY)

examples: $(EXAMPLES)

# All tests are followed by the quick ones of a build with sanitizers; `make test CI=` allows warnings.
TEST_ARGS ?=
RUN_TESTS = SHOAL_BIN=$(BUILD)/shoal SHOAL_BUILD=$(BUILD) $(BUILD)/test
AGAIN = $(if $(filter-out --long,$(TEST_ARGS)),,yes)
test: export CI ?= 1
test: setup-test
	@$(MAKE) $(JOBS) --no-print-directory -s all examples $(BUILD)/test $(if $(AGAIN),sanitized) \
	    $(if $(wildcard $(PYTHON_INCLUDE)/Python.h),python) $(if $(HAS_MPI),mpi)
	$(RUN_TESTS) $(if $(AGAIN),--again $(BUILD)/sanitized/test $(SLOW_TESTS)) $(TEST_ARGS)
# The tests of devices, long ones too, on a CUDA device; needs a C compiler and the driver with NVRTC.
TEST_DEVICE ?= cuda
test-gpu:
	@$(MAKE) $(JOBS) --no-print-directory -s all $(BUILD)/test
	SHOAL_TEST_DEVICE='$(TEST_DEVICE)' SHOAL_BIN=$(BUILD)/shoal SHOAL_BUILD=$(BUILD) \
	    $(BUILD)/test --long -j 2 $(TEST_ARGS) device_ cuda_
test-long: TEST_ARGS := --long
test-long: test

bench: setup-bench
	@$(MAKE) --no-print-directory -s all bench-peers $(BUILD)/bench/bench $(BUILD)/bench/digits \
	    $(BUILD)/bench/log_cost $(BUILD)/bench/warm
	$(BUILD)/bench/bench $(BUILD)/bench
	$(BUILD)/bench/digits $(BUILD)/bench
	$(BUILD)/bench/log_cost
	$(BUILD)/bench/warm $(BUILD)
# Minutes. The picture of docs/performance.md is made by STIFF_SVG=docs/work_precision.svg.
STIFF_SVG ?= $(BUILD)/bench/work_precision.svg
bench-stiff: setup-bench
	@$(MAKE) --no-print-directory -s all $(BUILD)/bench/peer_cvode $(BUILD)/bench/stiff
	$(BUILD)/bench/stiff $(BUILD)/bench $(BUILD)/bench/stiff.csv
	@if command -v python3 >/dev/null; then python3 tools/work_precision.py $(BUILD)/bench/stiff.csv $(STIFF_SVG); \
	else echo 'bench: no python3: no picture'; fi
# mpirun -n 2 against two threads, what rank 0 has to do for 64, and what it would have to for more.
$(BUILD)/bench/sleepers: bench/sleepers.c $(MPI_OBJ) $(filter-out $(BUILD)/cli/alone.o,$(CLI_OBJ)) $(BUILD)/libshoal.a
	@mkdir -p $(@D)
	OMPI_CC='$(CC)' MPICH_CC='$(CC)' $(MPICC) $(ALL_CFLAGS) -Wl,--wrap=shoal_solver_run_ranges $^ -o $@ $(LIBS)
.PHONY: bench-mpi
bench-mpi: all mpi $(BUILD)/bench/sleepers
	$(PYTHON) bench/mpi.py $(BUILD)
# What a journal and places in a file cost 10^7 runs.
.PHONY: bench-journal
bench-journal: all $(BUILD)/bench/journal
	$(BUILD)/bench/journal $(BUILD)
bench-gpu:
	@$(MAKE) --no-print-directory -s all $(BUILD)/bench/gpu $(BUILD)/bench/gpu_hand
	$(BUILD)/bench/gpu cuda $(BUILD)/bench/gpu_hand
.PHONY: bench-grid
bench-grid:
	@$(MAKE) --no-print-directory -s all $(BUILD)/bench/grid $(BUILD)/bench/peer_life
	$(BUILD)/bench/grid $(BUILD)/bench
# A process of a few runs on a GPU beside cuInit and a context.
bench-start:
	@$(MAKE) --no-print-directory -s all $(BUILD)/bench/start
	$(BUILD)/bench/start $(BUILD)
# The table of docs/devices.md.
DISPATCH_SECONDS ?= 330
bench-dispatch:
	@$(MAKE) --no-print-directory -s all $(BUILD)/bench/dispatch
	$(BUILD)/bench/dispatch cuda $(DISPATCH_SECONDS)
# Batches of grids, as Python calls them, against NumPy and CuPy.
bench-grids: python
	PYTHONPATH=$(BUILD)/python $(PYTHON) bench/grids.py $(TABLE)
# Against other tools of Python, those that are installed: scipy, numbalsoda, diffrax.
bench-python: python
	@$(MAKE) --no-print-directory -s $(BUILD)/bench/python
	PYTHONPATH=$(BUILD)/python $(PYTHON) bench/python.py $(BUILD)/bench/python
BENCHES := bench digits dispatch gpu grid journal log_cost plot python start stiff warm
$(BENCHES:%=$(BUILD)/bench/%): $(BUILD)/bench/%: bench/%.c bench/job.h bench/program.h bench/lorenz.h $(BUILD)/libshoal.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $< $(BUILD)/libshoal.a -o $@ $(LIBS)

# The Python package in $(BUILD)/python, for PYTHONPATH; `pip install .` makes the same (setup.py).
PYTHON ?= python3
PYTHON_SRC := $(sort $(wildcard python/core/*.c))
PYTHON_OBJ := $(PYTHON_SRC:%.c=$(BUILD)/%.o)
PYTHON_PARTS := $(patsubst python/%,$(BUILD)/python/%,$(sort $(wildcard python/shoal/*.py python/shoal/*.pyi python/shoal/py.typed))) \
	$(BUILD)/python/shoal/_core.abi3.so $(BUILD)/python/shoal/shoal-hdf5 $(BUILD)/python/shoal/shoal-devices
python: $(PYTHON_PARTS)
wheel:
	$(PYTHON) -m pip wheel --no-deps -w $(BUILD)/wheel .
$(BUILD)/python/shoal/%: python/shoal/%
	@mkdir -p $(@D)
	cp $< $@
$(BUILD)/python/shoal/shoal-%: $(BUILD)/shoal-%
	@mkdir -p $(@D)
	cp $< $@
PYTHON_INCLUDE = $(shell $(PYTHON) -c 'import sysconfig; print(sysconfig.get_paths()["include"])' 2>/dev/null)
$(PYTHON_OBJ): ALL_CFLAGS += -I$(PYTHON_INCLUDE)
$(BUILD)/python/shoal/_core.abi3.so: $(PYTHON_OBJ) $(BUILD)/libshoal.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -shared $^ -o $@ $(LIBS)

PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
VERSION := $(shell sed -n 's/^.define SHOAL_VERSION "\(.*\)"/\1/p' include/shoal/shoal.h)
TO = $(DESTDIR)$(PREFIX)
TO_LIB = $(DESTDIR)$(LIBDIR)
TO_DOC = $(TO)/share/doc/shoal
# What the program tells about itself: source and place of each file.
TOLD := shoal.1:man/man1/shoal.1 shoal.bash:bash-completion/completions/shoal \
	_shoal:zsh/site-functions/_shoal shoal.fish:fish/vendor_completions.d/shoal.fish
$(BUILD)/told/%: $(BUILD)/shoal
	@mkdir -p $(@D)
	$(BUILD)/shoal $(told_$(*F)) > $@.tmp && mv $@.tmp $@
told_shoal.1 := man
told_shoal.bash := completions bash
told__shoal := completions zsh
told_shoal.fish := completions fish
install: all $(foreach f,$(TOLD),$(BUILD)/told/$(firstword $(subst :, ,$(f))))
	install -d '$(TO)/bin' '$(TO_LIB)/pkgconfig' '$(TO)/include/shoal' '$(TO)/libexec/shoal'
	install -m 755 $(BUILD)/shoal '$(TO)/bin/shoal'
	if [ -x $(BUILD)/shoal-mpi ]; then install -m 755 $(BUILD)/shoal-mpi '$(TO)/bin/shoal-mpi'; fi
	install -m 755 $(BUILD)/shoal-hdf5 '$(TO)/libexec/shoal/shoal-hdf5'
	install -m 755 $(BUILD)/shoal-devices '$(TO)/libexec/shoal/shoal-devices'
	install -m 755 $(BUILD)/libshoal.so '$(TO_LIB)/libshoal.so.0'
	ln -sf libshoal.so.0 '$(TO_LIB)/libshoal.so'
	install -m 644 $(BUILD)/libshoal.a '$(TO_LIB)/libshoal.a'
	install -m 644 include/shoal/shoal.h include/shoal/backend.h '$(TO)/include/shoal/'
	printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$(LIBDIR)' 'includedir=$${prefix}/include' '' \
	    'Name: shoal' 'Description: Batch integrator of ODE systems' 'Version: $(VERSION)' \
	    'Libs: -L$${libdir} -lshoal' 'Libs.private: $(LIBS)' 'Cflags: -I$${includedir}' \
	    > '$(TO_LIB)/pkgconfig/shoal.pc'
	set -e; for f in $(TOLD); do install -D -m 644 $(BUILD)/told/$${f%%:*} '$(TO)/share/'$${f#*:}; done
	install -d '$(TO_DOC)/docs' '$(TO_DOC)/examples'
	install -m 644 README.md LICENSE '$(TO_DOC)/'
	install -m 644 docs/* '$(TO_DOC)/docs/'
	cp -r examples/. '$(TO_DOC)/examples/'
	if [ -z '$(DESTDIR)' ] && [ "$$(id -u)" = 0 ]; then PATH="$$PATH:/sbin:/usr/sbin" ldconfig; fi
uninstall:
	rm -f '$(TO)/bin/shoal' '$(TO)/bin/shoal-mpi' '$(TO_LIB)/libshoal.so' '$(TO_LIB)/libshoal.so.0' '$(TO_LIB)/libshoal.a' \
	    '$(TO_LIB)/pkgconfig/shoal.pc' $(foreach f,$(TOLD),'$(TO)/share/$(lastword $(subst :, ,$(f)))')
	rm -rf '$(TO)/include/shoal' '$(TO)/libexec/shoal' '$(TO_DOC)'

FORMATTED := $(shell git ls-files '*.c' '*.h' 2>/dev/null)
CLANG_FORMAT ?= $(or $(shell command -v clang-format-14),clang-format)
format: setup-dev
	$(CLANG_FORMAT) -i $(FORMATTED)

# The tests lint_*, which call these three.
lint: setup-dev $(BUILD)/test
	$(RUN_TESTS) lint_
formatted:
	$(CLANG_FORMAT) --dry-run -Werror $(FORMATTED)
# A file is looked at again when it was compiled again.
HAS_MPI = $(shell command -v $(MPICC))
TIDY = $(sort $(wildcard src/*/*.c src/*/*/*.c cli/*.c libexec/*.c) $(if $(HAS_MPI),$(wildcard mpi/*.c)))
tidy: $(TIDY:%.c=$(BUILD)/tidy/%.ok)
$(BUILD)/tidy/%.ok: %.c $(BUILD)/%.o .clang-tidy
	@mkdir -p $(@D)
	clang-tidy --quiet --warnings-as-errors='*' $< -- -std=gnu17 -D_GNU_SOURCE -Iinclude -Isrc \
	    $(WARN) -Wno-sign-conversion \
	    $(if $(filter mpi/%,$<),$(filter -I%,$(shell $(MPICC) -show))) && touch $@
# All that is compiled, by the other compiler, whose warnings clang-tidy shows of the library alone.
by-clang:
	@$(MAKE) --no-print-directory -s BUILD=$(BUILD)/clang CC=clang CI=1 \
	    CFLAGS='-O0 -Wno-sign-conversion' TEST_CFLAGS=-O0 \
	    all examples $(BUILD)/clang/test $(BENCHES:%=$(BUILD)/clang/bench/%)

# The same tests under sanitizers, in build folders of their own.
SANITIZE = $(MAKE) --no-print-directory -s BUILD=$(BUILD)/$@ WARN=-w \
	CFLAGS='-O1 -g1 -fno-omit-frame-pointer -fsanitize=$(1) -fno-sanitize-recover=all'
asan:
	+$(call SANITIZE,address) tests-alone
ubsan:
	+$(call SANITIZE,undefined) tests-alone
tests-alone:
	@$(MAKE) $(JOBS) --no-print-directory -s all examples $(BUILD)/test
	$(RUN_TESTS) -x lint_ $(TEST_ARGS)
# Those that `make test` runs a second time: not the ones with these words, which are about numbers,
# or wait for compilers.
SLOW_TESTS := cache_turn_,choice_run,cli_job_of,cli_timing,cluster_,codegen_parts,device_,examples_run,$\
	grid_choice,grid_cli_no_time,grid_cli_numpy,lint_,locale,log_labels_are,log_metadata_in,$\
	plot_formats,plot_golden,plot_hostile,plot_pdf,plot_report_in,python_,resume_after_,resume_bytes_,$\
	shard_merge_gives,shard_merge_statistics_at,team_after_a_fork,test_accuracy,test_algebraic,$\
	test_auto,test_backend,test_cache_cli,test_counters,test_cpu_backend,test_dense,test_derived,$\
	test_dose,test_embed,test_event,test_failure,test_far_time,test_from,test_grid_vectors,test_hostile,$\
	test_jump,test_kernel,test_key,test_known,test_lanes,test_large,test_lend,test_log_cli,$\
	test_log_time,test_machine_code,test_measure,test_mpi,test_nan,test_newton,test_norm,test_quantile,$\
	test_random,test_reduce_run,test_reference,test_result_names,test_singular,test_solver,test_soon,$\
	test_special,test_stiff,test_summary,test_switch,test_warm,test_worked,test_xpp,variant_bits,$\
	zig_
SANITIZERS := address,undefined
sanitized:
	@mkdir -p $(BUILD)
	+@if echo 'int main(void){return 0;}' | $(CC) -fsanitize=$(SANITIZERS) -x c - -o $(BUILD)/sanitizes 2>/dev/null; then \
	    $(call SANITIZE,$(SANITIZERS)) all examples $(BUILD)/sanitized/test; \
	else echo 'no tests with sanitizers: $(CC) has none'; rm -f $(BUILD)/sanitized/test; fi

FUZZ_SECONDS ?= 60
fuzz: setup-dev
	@mkdir -p $(BUILD)/fuzz
	set -e; for f in tests/fuzz/*.c; do n=$$(basename $$f .c); mkdir -p $(BUILD)/fuzz/$$n.corpus; \
	    clang -std=gnu17 -D_GNU_SOURCE -g -O1 -fsanitize=fuzzer,address,undefined -Iinclude -Isrc $$f \
	        $(SRC) $(BUILD)/gen/kernels.c -o $(BUILD)/fuzz/$$n -ldl -lm -pthread; \
	    $(BUILD)/fuzz/$$n -max_total_time=$(FUZZ_SECONDS) $(BUILD)/fuzz/$$n.corpus; done

clean:
	rm -rf $(BUILD)
