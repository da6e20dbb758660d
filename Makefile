# Shoal: `make demo` shows it, `make test` checks it, `make help` lists the rest.
MAKEFLAGS += --no-builtin-rules
BUILD ?= build
CC ?= cc
CFLAGS ?= -O2 -g
WARN := -Wall -Wextra -Wshadow -Wconversion -Wmissing-prototypes -Wstrict-prototypes -Wvla
ALL_CFLAGS := -std=gnu17 -D_GNU_SOURCE $(WARN) -Werror -fvisibility=hidden -fPIC -fno-semantic-interposition \
	-ffp-contract=off -pthread -Iinclude -Isrc -I$(BUILD)/gen $(CFLAGS)
LIBS := -ldl -lm -pthread

SRC := $(sort $(wildcard src/*/*.c src/*/*/*.c))
OBJ := $(SRC:%.c=$(BUILD)/%.o) $(BUILD)/gen/kernels.o
CLI_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard cli/*.c)))
TEST_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard tests/*.c)))
EXAMPLES := $(patsubst examples/%.c,$(BUILD)/examples/%,$(sort $(wildcard examples/*.c)))
DEP := $(OBJ:.o=.d) $(CLI_OBJ:.o=.d) $(TEST_OBJ:.o=.d)

.PHONY: all
all: $(BUILD)/shoal $(BUILD)/libshoal.so $(BUILD)/libshoal.a

$(BUILD)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

# Kernel sources become one table of strings.
$(BUILD)/gen/kernels.c: tools/embed.sh $(sort $(wildcard kernels/*))
	@mkdir -p $(@D)
	sh tools/embed.sh $(sort $(wildcard kernels/*)) > $@.tmp && mv $@.tmp $@
$(BUILD)/gen/kernels.o: $(BUILD)/gen/kernels.c
	$(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/libshoal.a: $(OBJ)
	rm -f $@ && ar rcs $@ $(OBJ)
$(BUILD)/libshoal.so: $(OBJ)
	$(CC) $(ALL_CFLAGS) -shared -Wl,-soname,libshoal.so.0 -Wl,-z,defs $(OBJ) -o $@ $(LIBS)
$(BUILD)/shoal: $(CLI_OBJ) $(BUILD)/libshoal.a
	$(CC) $(ALL_CFLAGS) $(CLI_OBJ) $(BUILD)/libshoal.a -o $@ $(LIBS)
$(BUILD)/test: $(TEST_OBJ) $(BUILD)/libshoal.a
	$(CC) $(ALL_CFLAGS) $(TEST_OBJ) $(BUILD)/libshoal.a -o $@ $(LIBS)
$(BUILD)/examples/%: examples/%.c $(BUILD)/libshoal.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $< $(BUILD)/libshoal.a -o $@ $(LIBS)

-include $(DEP)
