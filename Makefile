# holdfast: everything is built, checked and installed from here; `make help` lists the targets.
#
#   O=DIR      where to build (default: build)
#   SAN=LIST   sanitizers, e.g. SAN=address,undefined
#   CC=clang   the other compiler; both must build without a warning
#   LTO=yes    optimizes the daemon once more as a whole: it takes a fifteenth less CPU, and longer to build.
#              `make install`, `make deb` and `make bench` do so, in $(O)/release
#   V=1        show every command

O       ?= build
SAN     ?=
prefix  ?= /usr
DESTDIR ?=
VERSION := 0.1.0

# One line for each file made; the whole command with V=1.
Q   := $(if $(V),,@)
say  = $(if $(V),,@printf '%-5s %s\n' $(1) $@)

CFLAGS   ?= -O2 -g
CPPFLAGS += -I. -I$(O)/gen -DHOLDFAST_VERSION='"$(VERSION)"'
WARN     := -Wall -Wextra -Wshadow -Wconversion -Werror
ALL_CFLAGS  = -std=c11 -D_GNU_SOURCE $(WARN) -fstack-protector-strong $(CFLAGS) $(SAN_FLAGS)
ALL_LDFLAGS = $(LDFLAGS) -Wl,-z,relro,-z,now $(SAN_FLAGS) $(LTO_LINK)
SAN_FLAGS   = $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all)

# The daemon is many small files, and much of what a request costs is the way between them, through caches that are cold
# whenever somebody wakes it up: what is installed is optimized once more as a whole. Its objects can also be linked
# without that, as all tests do. Not where a compiler cannot, and not where each line has to stay what it is.
LTO       ?=
LTO_TRY   := -flto=auto -ffat-lto-objects
LTO_CAN    = $(shell echo 'int main(void) { return 0; }' | $(CC) -Werror $(LTO_TRY) -x c -o /dev/null - 2>/dev/null && echo yes)
LTO_FLAGS := $(if $(LTO),$(if $(SAN)$(filter -O0 -flto% --coverage,$(CFLAGS)),,$(if $(LTO_CAN),$(LTO_TRY))))
LTO_LINK   = $(if $(filter -flto%,$(CFLAGS)),,-fno-lto)
RELEASE   := $(if $(LTO),$(O),$(O)/release)

DAEMON_LIBS := -levent_core -levent_extra -lhiredis -lyaml
CLIENT_LIBS := -ljansson
TEST_LIBS   := $(shell pkg-config --libs check 2>/dev/null)
# Debian calls it lua5.1, Fedora lua-5.1.
LUA         := $(shell for name in lua5.1 lua-5.1; do ! pkg-config --exists $$name || { echo $$name; break; }; done 2>/dev/null)
LUA_CFLAGS  := $(if $(LUA),$(shell pkg-config --cflags $(LUA)))
LUA_LIBS    := $(if $(LUA),$(shell pkg-config --libs $(LUA)))

# One library per program part, so that a test links what it tests and nothing is listed by hand.
CORE_SRC   := $(sort $(wildcard daemon/core/*.c))
PROTO_SRC  := $(sort $(wildcard proto/*.c))
BASE_SRC   := $(sort $(wildcard daemon/base/*.c))
DAEMON_SRC := $(filter-out daemon/main.c,$(sort $(wildcard daemon/*.c daemon/net/*.c daemon/redis/*.c daemon/admin/*.c conf/*.c)))
CLIENT_SRC := $(filter-out client/main.c,$(sort $(wildcard client/*.c)))
SUPPORT_SRC := $(sort $(wildcard tests/support/*.c))
MODEL_SRC  := $(sort $(wildcard tests/model/*.c))
SIM_SRC    := $(filter-out tests/sim/main.c,$(sort $(wildcard tests/sim/*.c)))
CHECKS     := $(patsubst tests/%.c,$(O)/tests/%,$(sort $(wildcard tests/check_*.c)))
SCRIPTS    := $(sort $(wildcard lua/*.lua))

obj = $(patsubst %.c,$(O)/obj/%.o,$(1))
LIB_OBJ := $(call obj,$(PROTO_SRC) $(BASE_SRC) $(CORE_SRC) $(DAEMON_SRC)) $(O)/obj/gen/scripts.o
$(LIB_OBJ) $(O)/obj/daemon/main.o: ALL_CFLAGS += $(LTO_FLAGS)

.PHONY: all check test measure-house check-unit check-e2e check-layers interop rivals soak nemesis sim model mutants fuzz \
	fuzz-run bench bench-quick bench-run cover asan format need-format need-clang lint lint-format lint-tidy \
	lint-cppcheck lint-musl lint-shell lint-manuals install deb prove clean help
.SECONDARY:

all: $(O)/holdfastd $(O)/holdfast

$(O)/holdfastd: LTO_LINK := $(or $(LTO_FLAGS),$(LTO_LINK))
$(O)/holdfastd: $(O)/obj/daemon/main.o $(O)/libholdfastd.a
	$(call say,LD)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(DAEMON_LIBS)

$(O)/holdfast: $(O)/obj/client/main.o $(O)/libclient.a $(O)/libholdfastd.a
	$(call say,LD)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(CLIENT_LIBS)

$(O)/libholdfastd.a: $(LIB_OBJ)
	@rm -f $@ && ar rcs $@ $^

$(O)/libclient.a: $(call obj,$(CLIENT_SRC))
	@rm -f $@ && ar rcs $@ $^

$(O)/libsupport.a: $(call obj,$(SUPPORT_SRC) $(SIM_SRC))
	@rm -f $@ && ar rcs $@ $^

# The scripts that run at the masters, embedded with their SHA1.
$(O)/gen/scripts.c: lua/embed $(SCRIPTS) $(wildcard lua/*.inc)
	@mkdir -p $(@D) && lua/embed $(SCRIPTS) >$@.tmp && mv $@.tmp $@

$(O)/obj/gen/%.o: $(O)/gen/%.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(O)/obj/tests/%.o: CPPFLAGS += $(LUA_CFLAGS)
$(O)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(O)/tests/%: $(O)/obj/tests/%.o $(O)/libsupport.a $(O)/libclient.a $(O)/libholdfastd.a
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(TEST_LIBS) $(DAEMON_LIBS) $(CLIENT_LIBS) $(LUA_LIBS)

# Where a test lets allocations fail.
$(O)/tests/check_reserve: LDFLAGS += -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free,--wrap=core_step

$(O)/tests/sim/holdfast-sim: $(O)/obj/tests/sim/main.o $(O)/libsupport.a $(O)/libholdfastd.a
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(DAEMON_LIBS) $(LUA_LIBS)

$(O)/tests/model/holdfast-model: $(call obj,$(MODEL_SRC))
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^

# --- tests ------------------------------------------------------------------------------------------------
# tests/run counts single tests and prints the closing line. The core is compiled once more, plain, for the
# check of its purity: sanitizers and fortification add calls of their own.
E2E   := $(sort $(wildcard tests/e2e/check_*))
JOBS  ?= $(shell nproc)
MODEL := $(O)/tests/model/holdfast-model
PLAIN := $(patsubst %.c,$(O)/plain/%.o,$(CORE_SRC) $(PROTO_SRC))
HOUSE_OBJ := $(if $(SAN)$(findstring --coverage,$(CFLAGS)),,$(filter-out $(O)/obj/gen/%,$(LIB_OBJ)) $(call obj,$(CLIENT_SRC)))
HOUSE := "tests/check-layers selftest" "tests/check-layers includes" "tests/sim/mutants plant" \
	$(if $(PLAIN),"tests/check-layers purity $(PLAIN)") $(if $(HOUSE_OBJ),"tests/check-layers globals $(HOUSE_OBJ)")

export CC
export HOLDFAST_BUILD = $(abspath $(O))

$(O)/plain/%.o: %.c
	@mkdir -p $(@D)
	$(call say,PURE)
	$(Q)$(CC) $(CPPFLAGS) -std=c11 -D_GNU_SOURCE -O2 -U_FORTIFY_SOURCE -MMD -MP -c -o $@ $<

# A clock to be stepped, memory that runs out, and chance that repeats itself, preloaded into real servers and daemons; they must not carry the
# sanitizers of what they shim.
SHIM := $(O)/tests/shim/clock.so $(O)/tests/shim/memory.so $(O)/tests/shim/random.so

$(SHIM): $(O)/%.so: %.c
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE $(WARN) -O2 -g -fPIC -shared -o $@ $<

# Programs of the bench; they measure from outside and link nothing of ours.
BENCH   := $(addprefix $(O)/bench/,load rival hold delay bare)

$(O)/bench/load: $(call obj,$(addprefix tests/bench/,load.c dial.c judge.c request.c samples.c tally.c usage.c))
$(O)/bench/rival: $(call obj,$(addprefix tests/bench/,rival.c dial.c request.c))
$(O)/bench/hold: $(call obj,$(addprefix tests/bench/,hold.c dial.c request.c))
$(O)/bench/delay: $(call obj,$(addprefix tests/bench/,delay.c dial.c))
$(O)/bench/bare: $(call obj,tests/bench/bare.c)
$(BENCH):
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -levent_core

check: all $(SHIM) $(BENCH) $(CHECKS) $(PLAIN) $(MODEL) ## run every test; the last line is the sum
	@tests/run -j $(JOBS) -t 900 -s $(O)/tests/sum $(HOUSE) $(CHECKS) $(MODEL) $(E2E)

check-unit: $(CHECKS) ## run the Check suites alone
	@tests/run -j $(JOBS) $(CHECKS)

check-e2e: all $(SHIM) $(BENCH) ## run the tests against a real redis-server alone
	@tests/run -j $(JOBS) $(E2E)

check-layers: $(PLAIN) $(HOUSE_OBJ) ## check the include table, the core's purity, that there are no globals, and that mutants fit
	@tests/run -j $(JOBS) $(HOUSE)

# T=check_core: a suite. T=check_locks.py, or T="check_locks.py one_scene": scenes against a real server.
test: $(if $(filter check_%.py,$(T)),all $(SHIM) $(BENCH),$(addprefix $(O)/tests/,$(filter check_%,$(T)))) ## run one suite, or one file of scenes: T=check_core, T="check_locks.py test_loss_before_lock"
	@$(if $(T),tests/run -v -j 1 "$(if $(filter check_%.py,$(T)),tests/e2e/$(T),$(O)/tests/$(T))",echo 'make test T=check_core, or T=check_locks.py' >&2; exit 2)

measure-house: ## count lines, files, nouns and flags [BESIDE="ROOT...": of other source trees, too]
	@tests/measure-house $(if $(BESIDE),--beside $(BESIDE))

SEEDS ?= 2000

sim: $(O)/tests/sim/holdfast-sim ## simulate SEEDS worlds of daemons, clients and failing masters (2000; MASTERS=3|5 or SENTINEL=1, else one)
	@$< --seeds 1..$(SEEDS) --jobs $(JOBS) $(if $(SENTINEL),--masters sentinel,$(if $(MASTERS),--masters $(MASTERS)))

# A greater depth allows more of everything, and takes far longer. SHOW=1 prints how each wrong variant breaks its
# promise, step by step; ONLY=tokens or ONLY='tokens/count up' explores that alone.
DEPTH ?= 1

model: $(MODEL) ## explore tests/model, the protocol in miniature, to the last state; DEPTH=2 and more widens it
	@$< --depth $(DEPTH) $(if $(SHOW),--show) $(if $(ONLY),"$(ONLY)")

# How many worlds a planted bug may survive.
MUTANT_SEEDS ?= 3000

mutants: $(O)/tests/sim/holdfast-sim ## break each rule of the lock in a copy of the sources; the simulator or a suite must notice
	@tests/sim/mutants $(MUTANT_SEEDS) $(JOBS)

interop: all ## prove the daemon with the Redis client libraries as they come; what is missing is fetched, or skipped
	@tests/interop/run

rivals: all ## prove that locks of Redisson, redsync, node-redlock and redis-py exclude ours, and ours theirs (ROUNDS=n)
	@$(if $(ROUNDS),ROUNDS=$(ROUNDS)) tests/interop/rivals/run

# Here times are judged as well, so it wants a machine of its own.
SOAK := $(patsubst %,tests/e2e/check_%.py,counter run client locks wire faults network crowd flush kinds latch multi) tests/e2e/depth.py

soak: all ## 100,000 increments by three daemons, how long things take, and ten minutes of random faults
	@HOLDFAST_MEASURE=1 HOLDFAST_SOAK=100000 tests/run -v -j 1 -t 1200 $(SOAK) "tests/e2e/soak.py 600"

# Without SEED one is drawn, and printed. SENTINEL=1: a master with two replicas that three sentinels fail over.
# CHANGE=1: masters are replaced and added meanwhile.
nemesis: all $(SHIM) ## SECONDS of faults with MASTERS real masters [CHANGE=1] or SENTINEL=1, 3 daemons and 64 clients of all kinds (600, 3; SEED= repeats)
	@tests/e2e/nemesis.py $(if $(SENTINEL),--sentinel,--masters $(or $(MASTERS),3)) $(if $(CHANGE),--change) --keep $(O)/nemesis $(if $(SEED),--seed $(SEED)) \
		$(if $(filter command environment,$(origin SECONDS)),--seconds $(SECONDS)) $(NEMESIS)

bench: ## compare with a bare loop, Redis itself and others; slices of SECONDS (default 1), PARTS=...
	@$(MAKE) O=$(RELEASE) LTO=yes FIGURES=$(O)/bench.json bench-run

bench-quick: ## the same in under 50 s: ratios alone, and which goals hold
	@$(MAKE) O=$(RELEASE) LTO=yes FIGURES=$(O)/bench-quick.json QUICK=--quick bench-run

bench-run: all $(BENCH)
	@tests/bench/bench.py $(QUICK) $(if $(SECONDS),-s $(SECONDS)) -o $(FIGURES) $(PARTS)

asan: ## run every test under the address and undefined behaviour sanitizers
	$(MAKE) O=$(O)/asan SAN=address,undefined CFLAGS='-O1 -g' check

# Each tests/fuzz/fuzz_NOUN.c is a libFuzzer target; tests/fuzz/corpus/NOUN is where it begins.
FUZZ_SECONDS ?= 60
FUZZERS := $(patsubst tests/%.c,$(O)/tests/%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
$(FUZZERS): LDFLAGS += -fsanitize=fuzzer

fuzz: need-clang ## fuzz every parser for FUZZ_SECONDS each (default 60)
	$(MAKE) O=$(O)/fuzz CC=clang SAN=fuzzer-no-link,address,undefined CFLAGS='-O1 -g' fuzz-run

# libFuzzer is a package of its own: a program that needs it shows whether it is there.
need-clang:
	@printf 'int LLVMFuzzerTestOneInput(const char *p, unsigned long n) { return !p && n; }' | \
	clang -x c -fsanitize=fuzzer,address,undefined -o /dev/null - 2>/dev/null || { \
	echo "make fuzz needs clang with libFuzzer: packaging/install-deps fuzz" >&2; exit 1; }

fuzz-run: $(FUZZERS)
	@for fuzzer in $(FUZZERS); do \
		noun=$${fuzzer##*/fuzz_}; found=$(O)/found/$$noun; mkdir -p $$found; \
		seeds=$$(ls -d tests/fuzz/corpus/$$noun 2>/dev/null); echo "fuzz $$noun for $(FUZZ_SECONDS) s"; \
		$$fuzzer -max_total_time=$(FUZZ_SECONDS) -max_len=4096 -artifact_prefix=$$found- \
			$$found $$seeds 2>$$found.log || { tail -50 $$found.log; exit 1; }; done

cover: ## run every test and show how much of each source ran
	@rm -rf $(O)/cover
	$(MAKE) O=$(O)/cover CFLAGS='-O0 -g --coverage -fprofile-update=atomic' LDFLAGS=--coverage check
	@tests/cover $(O)/cover/obj

# --- the look of the sources ------------------------------------------------------------------------------
ROOMS   := proto conf daemon client tests
C_FILES := $(sort $(shell find $(ROOMS) -name '*.c'))
HEADERS := $(sort $(shell find $(ROOMS) -name '*.h' -o -name '*.def'))
SHELLS  := $(sort $(shell grep -rlE --exclude-dir=man '^\#!(/usr/bin/env |/bin/)(ba|da)?sh' .ci packaging systemd tests lua))
MANUALS := $(sort $(wildcard packaging/man/*.[1-9]))
FORMAT  := clang-format-14
TIDY    := $(if $(shell command -v clang-tidy-14),clang-tidy-14,clang-tidy)

format: need-format ## rewrite the C sources as .clang-format says
	@$(FORMAT) -i $(C_FILES) $(filter %.h,$(HEADERS))

need-format:
	@command -v $(FORMAT) >/dev/null || { echo "make format needs exactly $(FORMAT) (Debian 12: \
	packaging/install-deps lint); another version would move lines back and forth" >&2; exit 1; }

lint: lint-format lint-tidy lint-cppcheck lint-musl lint-shell lint-manuals ## clang-format, clang-tidy, cppcheck, musl, shellcheck, mandoc

lint-format: need-format
	@$(FORMAT) --dry-run -Werror $(C_FILES) $(filter %.h,$(HEADERS))

lint-tidy: $(patsubst %.c,$(O)/tidy/%.ok,$(C_FILES))

# The list macros are read from their headers. Off: a null pointer constant without a cast, which POSIX allows,
# and an order of evaluation that designated initializers do have (the compilers' own check stays).
lint-cppcheck:
	@cppcheck --quiet --std=c11 --language=c --enable=warning,performance,portability --inline-suppr \
		--suppress=missingIncludeSystem --suppress=varFuncNullUB --suppress=unknownEvaluationOrder \
		$(foreach header,bsd/sys/queue.h bsd/sys/tree.h uthash.h,--include=/usr/include/$(header)) \
		--error-exitcode=1 -j $(JOBS) -D_GNU_SOURCE -I. $(C_FILES)

$(O)/tidy/%.ok: %.c $(HEADERS) .clang-tidy
	@mkdir -p $(@D)
	@$(TIDY) --quiet $< -- $(CPPFLAGS) $(LUA_CFLAGS) -std=c11 -D_GNU_SOURCE 2>$@.err || { cat $@.err; exit 1; }
	@touch $@

# The programs compile against musl, too. Debian has none of their libraries for it, but the headers do for both.
MUSL_HEADERS := event2 hiredis yaml.h jansson.h jansson_config.h uthash.h utlist.h bsd/sys/queue.h bsd/sys/cdefs.h

lint-musl: $(patsubst %.c,$(O)/musl/%.ok,$(filter-out tests/%,$(C_FILES)))

$(O)/musl/include:
	@mkdir -p $@.new/bsd/sys
	@for header in $(MUSL_HEADERS); do ln -sf /usr/include/$$header $@.new/$$header || exit 1; done
	@mv $@.new $@

$(O)/musl/%.ok: %.c $(HEADERS) | $(O)/musl/include
	@command -v musl-gcc >/dev/null || { echo "make lint-musl needs: packaging/install-deps lint" >&2; exit 1; }
	@mkdir -p $(@D)
	@musl-gcc $(CPPFLAGS) -std=c11 -D_GNU_SOURCE $(WARN) -isystem $(O)/musl/include -fsyntax-only $<
	@touch $@

lint-shell:
	@shellcheck $(SHELLS)

lint-manuals:
	@mandoc -T lint -W warning $(MANUALS)

# --- installation -----------------------------------------------------------------------------------------
sysconfdir ?= /etc
sbindir    ?= $(prefix)/sbin
unitdir    ?= $(prefix)/lib/systemd/system
docdir     ?= $(prefix)/share/doc/holdfast

# Paths in units and manuals are those of prefix=/usr; another prefix is written in on the way.
install: ## install under DESTDIR and prefix (default /usr)
	$(MAKE) O=$(RELEASE) LTO=yes all
	install -d $(DESTDIR)$(sbindir) $(DESTDIR)$(prefix)/bin $(DESTDIR)$(unitdir)
	install -m 755 $(RELEASE)/holdfastd $(DESTDIR)$(sbindir)/holdfastd
	install -m 755 $(RELEASE)/holdfast $(DESTDIR)$(prefix)/bin/holdfast
	sed 's|/usr/sbin|$(sbindir)|' systemd/holdfastd.service >$(DESTDIR)$(unitdir)/holdfastd.service
	install -m 644 systemd/holdfastd.socket $(DESTDIR)$(unitdir)/holdfastd.socket
	chmod 644 $(DESTDIR)$(unitdir)/holdfastd.service
	install -D -m 644 systemd/holdfast.sysusers $(DESTDIR)$(prefix)/lib/sysusers.d/holdfast.conf
	install -D -m 644 systemd/holdfast.tmpfiles $(DESTDIR)$(prefix)/lib/tmpfiles.d/holdfast.conf
	for page in $(MANUALS); do \
		install -D -m 644 $$page $(DESTDIR)$(prefix)/share/man/man$${page##*.}/$${page##*/} || exit 1; done
	install -D -m 644 packaging/completions/holdfast.bash $(DESTDIR)$(prefix)/share/bash-completion/completions/holdfast
	install -D -m 644 packaging/completions/_holdfast $(DESTDIR)$(prefix)/share/zsh/vendor-completions/_holdfast
	install -D -m 644 packaging/completions/holdfast.fish $(DESTDIR)$(prefix)/share/fish/vendor_completions.d/holdfast.fish
	install -D -m 644 packaging/holdfast.yml $(DESTDIR)$(sysconfdir)/holdfast/holdfast.yml
	install -d $(DESTDIR)$(sysconfdir)/holdfast/holdfast.d
	install -D -m 644 conf/holdfast.yml $(DESTDIR)$(docdir)/holdfast.yml

# dpkg wants debian/ at the top of the tree, the project keeps it in packaging/: the package is built in a copy.
DEB := $(O)/deb/holdfast-$(VERSION)

deb: ## build the Debian package into $(O)/deb
	@command -v dpkg-buildpackage >/dev/null || { echo "make deb needs: packaging/install-deps deb" >&2; exit 1; }
	rm -rf $(O)/deb && mkdir -p $(DEB)
	cp -a .clang-format .clang-tidy LICENSE Makefile README.md $(ROOMS) lua packaging systemd $(DEB)
	cp -a packaging/debian $(DEB)/debian
	cd $(DEB) && env -u MAKEFLAGS -u MAKELEVEL -u O -u CC dpkg-buildpackage -us -uc
	@ls $(O)/deb/*.deb

SUITES ?= bookworm trixie

prove: ## prove README's commands and the package on clean Debian roots (as root; takes a while)
	for suite in $(SUITES); do \
		packaging/prove $$suite commands && packaging/prove $$suite package || exit 1; done

-include $(shell find $(O)/obj $(O)/plain -name '*.d' 2>/dev/null)

clean: ## remove the build directory
	rm -rf $(O)

help: ## list the targets
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "%-14s %s\n", $$1, $$2}' Makefile
