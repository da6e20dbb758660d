# Benchmark peers: small programs that print `name value` lines. Included by the Makefile, which sets
# BUILD, CC and WARN. A peer whose library is not installed is left out, with a word on what to install;
# its program is then not there. Nothing here is needed to build or test Shoal.
CXX ?= c++
comma := ,
BENCH_CFLAGS := -O3 -march=native -D_GNU_SOURCE
BENCH_PEERS := $(BUILD)/bench/peak $(BUILD)/bench/peer_odeint $(BUILD)/bench/peer_arkode \
	$(BUILD)/bench/heyoka/here
SUNDIALS_LIBS ?= -lsundials_arkode -lsundials_nvecserial -lsundials_generic
# SUNDIALS=PREFIX takes one that was installed there, with its core named by SUNDIALS_CORE (version 7: core). The
# package of Debian 12 is compiled without optimisation: CVODE takes five times as long as it could.
SUNDIALS_CORE ?= generic
CVODE_FLAGS := $(if $(SUNDIALS),-I$(SUNDIALS)/include -L$(SUNDIALS)/lib -Wl$(comma)-rpath$(comma)$(SUNDIALS)/lib)
CVODE_LIBS := -lsundials_cvode -lsundials_nvecserial -lsundials_sunlinsoldense -lsundials_sunmatrixdense \
	-lsundials_$(SUNDIALS_CORE)

.PHONY: bench-peers
bench-peers: $(BENCH_PEERS)

# $(call has_header,COMPILER,LANGUAGE,HEADER): a shell condition.
has_header = printf '\#if !__has_include(<$(3)>)\n\#error\n\#endif\n' | $(1) -E -x $(2) - >/dev/null 2>&1

$(BUILD)/bench/peer_life: bench/peer_life.c bench/bench.mk
	@mkdir -p $(@D)
	$(CC) -std=gnu17 $(WARN) $(BENCH_CFLAGS) $< -o $@

$(BUILD)/bench/peak: bench/peak.c bench/bench.mk
	@mkdir -p $(@D)
	$(CC) -std=gnu17 $(WARN) $(BENCH_CFLAGS) -ffp-contract=fast $< -o $@

$(BUILD)/bench/peer_odeint: bench/peer_odeint.cpp bench/lorenz.h bench/bench.mk
	@mkdir -p $(@D)
	@if ! $(call has_header,$(CXX),c++,boost/numeric/odeint.hpp); then \
	    rm -f $@; echo "bench: no Boost.odeint with $(CXX): install g++ and libboost-dev to compare with it"; \
	else set -x; $(CXX) -std=gnu++17 -Wall -Wextra $(BENCH_CFLAGS) $< -o $@; fi

$(BUILD)/bench/peer_arkode: bench/peer_arkode.c bench/lorenz.h bench/bench.mk
	@mkdir -p $(@D)
	@if ! $(call has_header,$(CC),c,arkode/arkode_erkstep.h); then \
	    rm -f $@; echo "bench: no SUNDIALS ARKODE: install libsundials-dev to compare with it"; \
	else set -x; $(CC) -std=gnu17 $(WARN) $(BENCH_CFLAGS) $< -o $@ $(SUNDIALS_LIBS) -lm; fi

# From PyPI, in an environment of its own.
$(BUILD)/bench/heyoka/here: bench/bench.mk
	@mkdir -p $(BUILD)/bench
	@if $(PYTHON) -m venv $(@D) && $(@D)/bin/pip install -q heyoka; then touch $@; \
	else rm -rf $(@D); echo "bench: heyoka could not be installed from PyPI: it is not compared with"; fi

$(BUILD)/bench/stiff: bench/stiff.h
$(BUILD)/bench/peer_cvode: bench/peer_cvode.c bench/stiff.h bench/bench.mk
	@mkdir -p $(@D)
	@if ! $(call has_header,$(CC) $(CVODE_FLAGS),c,cvode/cvode.h); then \
	    rm -f $@; echo "bench: no SUNDIALS CVODE: install libsundials-dev to compare with it"; \
	else set -x; $(CC) -std=gnu17 $(WARN) $(BENCH_CFLAGS) $(CVODE_FLAGS) $< -o $@ $(CVODE_LIBS) -lm; fi

# The hand-written kernel that generated ones are measured with; it opens the driver by itself.
$(BUILD)/bench/gpu_hand: bench/gpu_hand.c bench/bench.mk
	@mkdir -p $(@D)
	$(CC) -std=gnu17 $(WARN) -O2 -D_GNU_SOURCE $< -o $@ -ldl
