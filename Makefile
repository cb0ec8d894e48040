# holdfast: everything is built, checked and installed from here; `make help` lists the targets.
#
#   O=DIR      where to build (default: build)
#   SAN=LIST   sanitizers, e.g. SAN=address,undefined
#   CC=clang   the other compiler; both must build without a warning

O       ?= build
SAN     ?=
prefix  ?= /usr
DESTDIR ?=
VERSION := 0.1.0

CFLAGS   ?= -O2 -g
CPPFLAGS += -I. -I$(O)/gen -DHOLDFAST_VERSION='"$(VERSION)"'
WARN     := -Wall -Wextra -Wshadow -Wconversion -Werror
ALL_CFLAGS  = -std=c11 -D_GNU_SOURCE $(WARN) -fstack-protector-strong $(CFLAGS) $(SAN_FLAGS)
ALL_LDFLAGS = $(LDFLAGS) -Wl,-z,relro,-z,now $(SAN_FLAGS)
SAN_FLAGS   = $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all)

DAEMON_LIBS := -levent_core -levent_extra -lhiredis -lyaml
CLIENT_LIBS := -levent_core -ljansson
TEST_LIBS   := $(shell pkg-config --libs check 2>/dev/null)
LUA_CFLAGS  := $(shell pkg-config --cflags lua5.1 2>/dev/null)
LUA_LIBS    := $(shell pkg-config --libs lua5.1 2>/dev/null)

# One library per program part, so that a test links what it tests and nothing is listed by hand.
CORE_SRC   := $(sort $(wildcard daemon/core/*.c))
PROTO_SRC  := $(sort $(wildcard proto/*.c))
BASE_SRC   := $(sort $(wildcard daemon/base/*.c))
DAEMON_SRC := $(filter-out daemon/main.c,$(sort $(wildcard daemon/*.c))) $(sort $(wildcard conf/*.c))
CLIENT_SRC := $(filter-out client/main.c,$(sort $(wildcard client/*.c)))
SUPPORT_SRC := $(sort $(wildcard tests/support/*.c))
SIM_SRC    := $(filter-out tests/sim/main.c,$(sort $(wildcard tests/sim/*.c)))
CHECKS     := $(patsubst tests/%.c,$(O)/tests/%,$(sort $(wildcard tests/check_*.c)))
SCRIPTS    := $(sort $(wildcard lua/*.lua))

obj = $(patsubst %.c,$(O)/obj/%.o,$(1))
LIB_OBJ := $(call obj,$(PROTO_SRC) $(BASE_SRC) $(CORE_SRC) $(DAEMON_SRC)) $(O)/obj/gen/scripts.o

.PHONY: all check check-unit check-e2e check-layers lint format sim fuzz bench cover asan install clean help
.SECONDARY:

all: $(O)/holdfastd $(O)/holdfast

$(O)/holdfastd: $(O)/obj/daemon/main.o $(O)/libholdfastd.a
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(DAEMON_LIBS)

$(O)/holdfast: $(O)/obj/client/main.o $(O)/libclient.a $(O)/libholdfastd.a
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(CLIENT_LIBS)

$(O)/libholdfastd.a: $(LIB_OBJ)
	@rm -f $@ && ar rcs $@ $^

$(O)/libclient.a: $(call obj,$(CLIENT_SRC))
	@rm -f $@ && ar rcs $@ $^

$(O)/libsupport.a: $(call obj,$(SUPPORT_SRC) $(SIM_SRC))
	@rm -f $@ && ar rcs $@ $^

# The scripts that run at the masters, embedded with their SHA1.
$(O)/gen/scripts.c: lua/embed $(SCRIPTS)
	@mkdir -p $(@D) && lua/embed $(SCRIPTS) >$@.tmp && mv $@.tmp $@

$(O)/obj/gen/%.o: $(O)/gen/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(O)/obj/tests/%.o: CPPFLAGS += $(LUA_CFLAGS)
$(O)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(O)/tests/%: $(O)/obj/tests/%.o $(O)/libsupport.a $(O)/libclient.a $(O)/libholdfastd.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(TEST_LIBS) $(DAEMON_LIBS) $(CLIENT_LIBS) $(LUA_LIBS)

$(O)/tests/sim/holdfast-sim: $(O)/obj/tests/sim/main.o $(O)/libsupport.a $(O)/libholdfastd.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(DAEMON_LIBS) $(LUA_LIBS)

-include $(shell find $(O)/obj -name '*.d' 2>/dev/null)

clean: ## remove the build directory
	rm -rf $(O)

help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "%-14s %s\n", $$1, $$2}' Makefile
