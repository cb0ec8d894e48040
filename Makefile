# holdfast: everything is built, checked and installed from here; `make help` lists the targets.
#
#   O=DIR      where to build (default: build)
#   SAN=LIST   sanitizers, e.g. SAN=address,undefined
#   CC=clang   the other compiler; both must build without a warning
#   LTO=yes    link-time optimization of the daemon: a fifteenth less CPU, and a longer build.
#              `make install`, `make deb` and `make bench` use it, in $(O)/release
#   V=1        show every command

O       ?= build
SAN     ?=
prefix  ?= /usr
DESTDIR ?=
VERSION := 0.1.0

# Prints one line for each file that is made; with V=1 the whole command.
Q   := $(if $(V),,@)
say  = $(if $(V),,@printf '%-5s %s\n' $(1) $@)

CFLAGS   ?= -O2 -g
CPPFLAGS += -I. -I$(O)/gen -DHOLDFAST_VERSION='"$(VERSION)"'
WARN     := -Wall -Wextra -Wshadow -Wconversion -Wformat-security -Werror
ALL_CFLAGS  = -std=c11 -D_GNU_SOURCE $(WARN) -fstack-protector-strong $(HARDEN) $(FORTIFY) $(CFLAGS) $(SAN_FLAGS)
ALL_LDFLAGS = $(PIE) $(LDFLAGS) -Wl,-z,relro,-z,now,-z,noexecstack $(SAN_FLAGS) $(LTO_LINK)
SAN_FLAGS   = $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all)

# Each build is hardened as that of a package, whatever the compiler does by itself: `make install` must not be the weaker
# one. What the compiler does not know on this machine is left out. Sanitizers do the same better, and get none of it.
# _FORTIFY_SOURCE needs an optimizing compiler; a package may ask for another level. tests/check-hardening looks at the result.
compiles = $(shell echo 'int main(void) { return 0; }' | $(CC) -Werror $(1) -x c -o /dev/null - 2>/dev/null && echo '$(1)')
HARDEN_TRY := -fPIE -fstack-clash-protection -fcf-protection
HARDEN      = $(eval HARDEN := $(if $(SAN),,$(or $(call compiles,$(HARDEN_TRY)),$(foreach flag,$(HARDEN_TRY),$(call compiles,$(flag))))))$(HARDEN)
FORTIFY    := $(if $(SAN)$(findstring _FORTIFY_SOURCE,$(CFLAGS) $(CPPFLAGS)),,$(if $(filter -O%,$(filter-out -O0,$(CFLAGS))),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2))
PIE         = $(if $(filter -fPIE,$(HARDEN)),-pie)

# The daemon has many small files, and calls between them, with cold caches after each wake-up, are a large part of a
# request's cost. So the installed daemon is built with link-time optimization. The same objects can be linked without it,
# as all tests do. It is off if the compiler does not support it, and where code must stay at its source line.
LTO       ?=
LTO_TRY   := -flto=auto -ffat-lto-objects
LTO_CAN    = $(shell echo 'int main(void) { return 0; }' | $(CC) -Werror $(LTO_TRY) -x c -o /dev/null - 2>/dev/null && echo yes)
LTO_FLAGS := $(if $(LTO),$(if $(SAN)$(filter -O0 -flto% --coverage,$(CFLAGS)),,$(if $(LTO_CAN),$(LTO_TRY))))
LTO_LINK   = $(if $(filter -flto%,$(CFLAGS)),,-fno-lto)
RELEASE   := $(if $(LTO),$(O),$(O)/release)

TLS_LIBS    := -lssl -lcrypto
DAEMON_LIBS := -levent_core -levent_extra -lhiredis -lyaml -lcrypt $(TLS_LIBS)
CLIENT_LIBS := -ljansson -lncursesw -ltinfo
TEST_LIBS   := $(shell pkg-config --libs check 2>/dev/null)
# LuaJIT takes four fifths of the time, and the same steps. Debian calls the other one lua5.1, Fedora lua-5.1.
LUA         := $(shell for name in luajit lua5.1 lua-5.1; do ! pkg-config --exists $$name || { echo $$name; break; }; done 2>/dev/null)
LUA_CFLAGS  := $(if $(LUA),$(shell pkg-config --cflags $(LUA)))
LUA_LIBS    := $(if $(LUA),$(shell pkg-config --libs $(LUA)))

# One library for each part of the programs, so that a test links what it tests and no list of files is needed.
CORE_SRC   := $(sort $(wildcard daemon/core/*.c daemon/core/*/*.c))
PROTO_SRC  := $(sort $(wildcard proto/*.c))
BASE_SRC   := $(sort $(wildcard daemon/base/*.c))
DAEMON_SRC := $(filter-out daemon/main.c,$(sort $(wildcard daemon/*.c daemon/net/*.c daemon/redis/*.c daemon/request/*.c daemon/admin/*.c daemon/http/*.c conf/*.c)))
CLIENT_SRC := $(filter-out client/main.c client/manual.c,$(sort $(wildcard client/*.c $(addsuffix /*.c,$(addprefix client/,bench doctor job top wire)))))
SUPPORT_SRC := $(sort $(wildcard tests/support/*.c))
MODEL_SRC  := $(sort $(wildcard tests/model/*.c))
HISTORY_SRC := $(filter-out tests/history/main.c,$(sort $(wildcard tests/history/*.c)))
SIM_SRC    := $(sort $(wildcard tests/sim/*/*.c))
CHECK_SRC  := $(sort $(wildcard tests/unit/*/check_*.c))
CHECKS     := $(addprefix $(O)/tests/,$(basename $(notdir $(CHECK_SRC))))
SCRIPTS    := $(sort $(wildcard lua/*.lua))

obj = $(patsubst %.c,$(O)/obj/%.o,$(1))
BASE_OBJ := $(call obj,$(PROTO_SRC) $(BASE_SRC))
LIB_OBJ  := $(BASE_OBJ) $(call obj,$(CORE_SRC) $(DAEMON_SRC)) $(O)/obj/gen/scripts.o $(O)/obj/gen/status.o
$(LIB_OBJ) $(O)/obj/daemon/main.o: ALL_CFLAGS += $(LTO_FLAGS)

.PHONY: FORCE all check check-hardening test measure-house measure-acquire measure-acquire-run check-tour check-tour-run check-unit check-e2e check-layers check-go \
	check-node check-java check-c check-rust soak-client told interop rivals recipes counter outages soak replace nemesis \
	sim model mutants fuzz corpus fuzz-run bench bench-quick bench-run cover asan format need-format need-clang \
	lint lint-format lint-tidy lint-cppcheck lint-musl lint-shell lint-manuals lint-mutants install install-library deb rpm \
	image prove clean durations help
.SECONDARY:

COMPLETIONS := $(addprefix $(O)/completions/,holdfast.bash _holdfast holdfast.fish)
MADE_DOCUMENTS := $(O)/doc/PROTOCOL.md $(O)/doc/REPORTS.md
MADE_MANUALS := $(patsubst packaging/man/%.in,$(O)/man/%,$(sort $(wildcard packaging/man/*.in)))

all: $(O)/holdfastd $(O)/holdfast $(O)/holdfast-tls $(O)/libholdfast.so $(O)/libholdfast.a $(COMPLETIONS) $(MADE_MANUALS) \
	$(MADE_DOCUMENTS)

# Objects are made anew when the flags change: a build never mixes two kinds.
FLAGS = $(WARN) $(HARDEN) $(FORTIFY) $(CFLAGS) $(SAN_FLAGS) $(LTO_FLAGS)
$(O)/flags: FORCE
	@mkdir -p $(@D) && echo '$(FLAGS)' | cmp -s - $@ || echo '$(FLAGS)' >$@
FORCE:

$(O)/holdfastd: LTO_LINK := $(or $(LTO_FLAGS),$(LTO_LINK))
$(O)/holdfastd: $(O)/obj/daemon/main.o $(O)/libholdfastd.a
	$(call say,LD)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(DAEMON_LIBS)

$(O)/holdfast: $(O)/obj/client/main.o $(O)/libclient.a $(O)/libbase.a
	$(call say,LD)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(CLIENT_LIBS)

# The client prints the completions of itself.
$(O)/completions/holdfast.bash: SHELL_OF := bash
$(O)/completions/_holdfast:     SHELL_OF := zsh
$(O)/completions/holdfast.fish: SHELL_OF := fish
$(COMPLETIONS): $(O)/holdfast
	@mkdir -p $(@D)
	$(Q)$(abspath $<) completion $(SHELL_OF) >$@.new && mv $@.new $@

# Manuals list what the tables of proto/, client/ and conf/ and the header of the library have.
$(O)/print-manual: $(O)/obj/client/manual.o $(O)/libclient.a $(O)/libbase.a
	$(call say,LD)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(CLIENT_LIBS)

$(O)/man/%: packaging/man/%.in $(O)/print-manual
	@mkdir -p $(@D)
	$(Q)$(abspath $(O)/print-manual) <$< >$@.new && mv $@.new $@

$(O)/man/holdfast.3: packaging/man/holdfast.3.in client/c/print-manual client/c/holdfast.h client/c/README.md
	@mkdir -p $(@D)
	$(Q)client/c/print-manual client/c/holdfast.h client/c/README.md <$< >$@.new && mv $@.new $@

$(O)/man/holdfast.yml.5: packaging/man/holdfast.yml.5.in conf/print-keys conf/schema.def conf/holdfast.yml
	@mkdir -p $(@D)
	$(Q)conf/print-keys conf/schema.def conf/holdfast.yml <$< >$@.new && mv $@.new $@

$(O)/doc/PROTOCOL.md: proto/PROTOCOL.md $(O)/print-manual
	@mkdir -p $(@D)
	$(Q)$(abspath $(O)/print-manual) <$< >$@.new && mv $@.new $@

# The document of what a daemon reports has all counters, events, keys of maps and lines of INFO.
$(O)/doc/REPORTS.md: proto/REPORTS.md daemon/base/print-reports daemon/base/stats.def daemon/core/base/note.def daemon/admin/shown.def \
		daemon/http/metrics.c
	@mkdir -p $(@D)
	$(Q)daemon/base/print-reports $(filter %.def %.c,$^) <$< >$@.new && mv $@.new $@

# The same with OpenSSL, which holdfast becomes for an address with TLS: OpenSSL takes longer to load than all the rest.
$(O)/holdfast-tls: $(O)/obj/client/main.o $(O)/obj/daemon/base/tls.o $(O)/libclient.a $(O)/libbase.a
	$(call say,LD)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(CLIENT_LIBS) $(TLS_LIBS)

# The library for C programs has the parts of the client that speak to the daemon. Its objects are independent of the place
# where they are loaded, and of its many names a program sees only those of holdfast.h.
LIBRARY_SRC := $(sort $(wildcard client/c/*.c client/wire/*.c)) daemon/base/tls.c $(addprefix proto/,answer.c buffer.c escape.c name.c reply.c slice.c)
LIBRARY_OBJ := $(patsubst %.c,$(O)/pic/%.o,$(LIBRARY_SRC))
LIBRARY_ABI := 0

$(O)/pic/%.o: %.c $(O)/flags
	@mkdir -p $(@D)
	$(call say,PIC)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -fPIC -pthread -MMD -MP -c -o $@ $<

$(O)/libholdfast.so.$(VERSION): PIE :=
$(O)/libholdfast.so.$(VERSION): $(LIBRARY_OBJ) client/c/holdfast.map
	$(call say,LD)
	$(Q)$(CC) $(ALL_LDFLAGS) -shared -pthread -Wl,-soname,libholdfast.so.$(LIBRARY_ABI) \
		-Wl,--version-script=client/c/holdfast.map $(if $(SAN),,-Wl,-z,defs) -o $@ $(LIBRARY_OBJ) $(TLS_LIBS)

$(O)/libholdfast.so: $(O)/libholdfast.so.$(VERSION)
	@ln -sf libholdfast.so.$(VERSION) $(O)/libholdfast.so.$(LIBRARY_ABI) && ln -sf libholdfast.so.$(VERSION) $@

$(O)/libholdfast.a: $(LIBRARY_OBJ)
	$(call say,AR)
	$(Q)$(CC) $(LTO_LINK) -r -nostdlib -o $(O)/libholdfast.o $^
	@objcopy --wildcard --keep-global-symbol='holdfast_*' $(O)/libholdfast.o && rm -f $@ && ar rcs $@ $(O)/libholdfast.o

# The archives only name their objects: one edited file costs its compilation and one link. The client has no part of the
# daemon but libbase.a.
$(O)/libbase.a: $(BASE_OBJ)
$(O)/libholdfastd.a: $(LIB_OBJ)
$(O)/libclient.a: $(call obj,$(CLIENT_SRC))
$(O)/libsupport.a: $(call obj,$(SUPPORT_SRC) $(SIM_SRC) $(HISTORY_SRC))
$(addprefix $(O)/,libbase.a libholdfastd.a libclient.a libsupport.a):
	@rm -f $@ && ar rcs --thin $@ $^

# The scripts that run at the masters, embedded with their SHA1.
$(O)/gen/scripts.c: lua/embed $(SCRIPTS) $(wildcard lua/*.inc)
	@mkdir -p $(@D) && lua/embed $(SCRIPTS) >$@.tmp && mv $@.tmp $@

# The status page, cut into the parts between which the daemon writes.
$(O)/gen/status.c: daemon/http/embed daemon/http/status.html
	@mkdir -p $(@D) && daemon/http/embed daemon/http/status.html >$@.tmp && mv $@.tmp $@

$(O)/obj/gen/%.o: $(O)/gen/%.c $(O)/flags
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(O)/obj/tests/%.o: CPPFLAGS += $(LUA_CFLAGS)
$(O)/obj/%.o: %.c $(O)/flags
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# A suite compiles in half the time with -O1; what it checks is compiled as it is delivered.
$(call obj,$(CHECK_SRC)): CFLAGS := $(patsubst -O2,-O1,$(CFLAGS))

# A suite is found by its name, in whichever room it is.
$(foreach source,$(CHECK_SRC),$(eval $(O)/tests/$(basename $(notdir $(source))): $(call obj,$(source))))
FUZZERS := $(patsubst tests/%.c,$(O)/tests/%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
$(FUZZERS): $(O)/tests/%: $(O)/obj/tests/%.o

# The same targets, with each byte of the images in tests/fuzz/corpus changed.
EACH_BYTE := $(addprefix $(O)/tests/each-byte-,state ledger)
$(EACH_BYTE): $(O)/tests/each-byte-%: $(O)/obj/tests/fuzz/each_byte.o $(O)/obj/tests/fuzz/fuzz_%.o

$(CHECKS) $(FUZZERS) $(EACH_BYTE): $(O)/libsupport.a $(O)/libclient.a $(O)/libholdfastd.a
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(TEST_LIBS) $(DAEMON_LIBS) $(CLIENT_LIBS) $(LUA_LIBS)

# Programs that use the library as a program of others does: by its header, and as it will be installed.
LIBRARY_TESTS := $(patsubst client/c/test/%.c,$(O)/tests/c/%,$(sort $(wildcard client/c/test/*.c)))

$(LIBRARY_TESTS): $(O)/tests/c/%: client/c/test/%.c client/c/holdfast.h $(O)/libholdfast.so
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -pthread $(ALL_LDFLAGS) -o $@ $< -L$(O) -lholdfast -Wl,-rpath,$(abspath $(O))

$(O)/tests/check_protocol $(O)/tests/check_client $(O)/tests/check_conf_print: | $(MADE_MANUALS) $(MADE_DOCUMENTS)

# For tests that let allocations fail.
$(O)/tests/check_reserve: LDFLAGS += -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free,--wrap=core_step

$(O)/tests/sim/holdfast-sim: $(O)/obj/tests/sim/main.o $(O)/libsupport.a $(O)/libholdfastd.a
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(DAEMON_LIBS) $(LUA_LIBS)

# The judge of histories knows nothing of the daemon, and links none of its code.
HISTORY := $(O)/tests/history/holdfast-history
$(HISTORY): $(call obj,$(HISTORY_SRC) tests/history/main.c)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^

$(O)/tests/model/holdfast-model: $(call obj,$(MODEL_SRC))
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^

# --- tests ------------------------------------------------------------------------------------------------
# tests/run counts single tests and prints the closing line.
E2E   := $(sort $(wildcard tests/e2e/check_*))
JOBS  ?= $(shell nproc)
# A scene mostly waits: so many run at a time. How long each took is remembered, and the longest begin first.
SCENES ?= $(shell expr 4 '*' $(JOBS))
RUN   := tests/run -j $(JOBS) -e $(SCENES) -d $(O)/tests/durations
MODEL := $(O)/tests/model/holdfast-model
# Sanitizers and the count of what ran add calls and variables of their own.
HOUSE_OBJ := $(if $(SAN)$(findstring --coverage,$(CFLAGS)),,$(filter-out $(O)/obj/gen/%,$(LIB_OBJ)) $(call obj,$(CLIENT_SRC)) $(filter $(O)/pic/client/c/%,$(LIBRARY_OBJ)))
PURE_OBJ := $(filter $(O)/obj/daemon/core/% $(O)/obj/proto/%,$(HOUSE_OBJ))
HOUSE := "tests/check-layers selftest" "tests/check-layers includes" "tests/sim/mutants plant" $(if $(HOUSE_OBJ),\
	"tests/check-layers purity $(PURE_OBJ)" "tests/check-layers rooms $(PURE_OBJ)" "tests/check-layers globals $(HOUSE_OBJ)")

# Of builds without sanitizers and with optimization.
HARDENED := $(if $(FORTIFY),"tests/check-hardening $(addprefix $(O)/,holdfastd holdfast holdfast-tls libholdfast.so)")

export CC
export HOLDFAST_BUILD = $(abspath $(O))

# Libraries that are preloaded into real servers and daemons: a clock that can be stepped, memory that runs out, and
# random numbers that repeat. They must not be built with sanitizers, which the program under test may have.
SHIM := $(O)/tests/shim/clock.so $(O)/tests/shim/memory.so $(O)/tests/shim/random.so

# Suites about scripts have a server whose clock stands still.
$(CHECKS): | $(O)/tests/shim/clock.so

$(SHIM) $(O)/tests/shim/calls.so: $(O)/%.so: %.c
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE $(WARN) -O2 -g -fPIC -shared -o $@ $<

# Programs of the bench. They measure from outside and link none of our code.
BENCH   := $(addprefix $(O)/bench/,load rival hold delay bare)

$(O)/bench/load: $(call obj,$(addprefix tests/bench/,load.c dial.c judge.c request.c samples.c tally.c usage.c))
$(O)/bench/rival: $(call obj,$(addprefix tests/bench/,rival.c dial.c request.c))
$(O)/bench/hold: $(call obj,$(addprefix tests/bench/,hold.c dial.c request.c))
$(O)/bench/delay: $(call obj,$(addprefix tests/bench/,delay.c dial.c))
$(O)/bench/bare: $(call obj,$(addprefix tests/bench/,bare.c dial.c))
$(BENCH):
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -levent_core

# 2000 worlds of the simulator, in parts of half a minute: with one master, three and five, and with Sentinel.
SIM    := $(O)/tests/sim/holdfast-sim
WORLDS := $(foreach n,1..250 251..500 501..750 751..1000,"$(SIM) --masters 1 --seeds $(n)") \
	$(foreach n,1..170 171..340 341..500,"$(SIM) --masters 3 --seeds $(n)") "$(SIM) --masters 5 --seeds 1..100" \
	$(foreach n,1..130 131..260 261..400,"$(SIM) --masters sentinel --seeds $(n)")

IMAGES := $(foreach noun,state ledger,"$(O)/tests/each-byte-$(noun) tests/fuzz/corpus/$(noun)")

check: all $(LIBRARY_TESTS) $(SHIM) $(HISTORY) $(BENCH) $(CHECKS) $(HOUSE_OBJ) $(MODEL) $(SIM) $(EACH_BYTE) ## run every test; the last line has the totals
	@$(RUN) -t 900 -s $(O)/tests/sum $(HOUSE) $(HARDENED) $(CHECKS) $(IMAGES) $(MODEL) $(WORLDS) $(E2E)

check-unit: $(CHECKS) ## run only the Check suites
	@tests/run -j $(JOBS) $(CHECKS)

check-e2e: all $(LIBRARY_TESTS) $(SHIM) $(HISTORY) $(BENCH) ## run only the tests against a real redis-server
	@$(RUN) $(E2E)

check-layers: $(HOUSE_OBJ) ## check the layers of #includes and calls, the core's purity, that no object has globals, and that mutants apply
	@tests/run -j $(JOBS) $(HOUSE)

check-hardening: all ## check that the programs and the library are hardened as those of a package are
	@$(if $(HARDENED),tests/run -j 1 $(HARDENED),echo 'a build with sanitizers or without optimization is not hardened' >&2; exit 2)

# T=check_core runs a suite, T="check_core check_lease" each of them. T=check_locks.py, or T="check_locks.py one_scene", runs scenes
# against a real server. Without T, scenes that take long are left out, and so are those beside the main paths.
PROMPT := 1.5
MAIN   := $(patsubst %,tests/e2e/check_%.py,client handover http latch locks multi primitives quorum reload sessions users wire)

test: $(if $(T),$(if $(filter check_%.py,$(T)),all $(LIBRARY_TESTS) $(SHIM) $(HISTORY) $(BENCH),$(addprefix $(O)/tests/,$(filter check_%,$(T)))),all $(SHIM) $(HISTORY) $(CHECKS) $(HOUSE_OBJ)) ## what to run before each commit, in 90 s; or suites, one file of scenes, or one scene: T=check_core, T="check_locks.py test_loss_before_lock"
	@$(if $(T),tests/run -v -j 1 -e $(SCENES) $(if $(filter check_%.py,$(T)),"tests/e2e/$(T)",$(addprefix $(O)/tests/,$(T))),$(RUN) -q $(PROMPT) $(HOUSE) $(CHECKS) $(MAIN))

measure-house: ## count lines, files, nouns and flags [BESIDE="ROOT...": also of other source trees]
	@tests/measure-house $(if $(BESIDE),--beside $(BESIDE))

# The calls are counted in a build of its own: each function says that it begins and ends. Clang can leave out those that
# it expands in their callers.
measure-acquire: ## count the calls, functions and files that a LOCK, an UNLOCK and a wake-up pass through; V=1 shows each call, INLINED=1 counts what clang leaves
	@$(MAKE) $(if $(INLINED),O=$(O)/calls-inlined CC=clang CFLAGS='-O2 -g -finstrument-functions-after-inlining',O=$(O)/calls \
		CFLAGS='-O1 -g -gdwarf-4 -finstrument-functions') LTO= measure-acquire-run

measure-acquire-run: all $(O)/tests/shim/calls.so
	@tests/measure-acquire $(if $(V),-v)

check-tour: ## compare the tour of doc/ARCHITECTURE.md with the calls of a daemon
	@$(MAKE) O=$(O)/calls CFLAGS='-O1 -g -gdwarf-4 -finstrument-functions' LTO= check-tour-run

check-tour-run: $(O)/holdfastd $(O)/tests/shim/calls.so
	@tests/measure-acquire tour

SEEDS ?= 2000

sim: $(O)/tests/sim/holdfast-sim ## simulate SEEDS worlds (2000) of daemons, clients and failing masters; MASTERS=3|5 or SENTINEL=1, default one master
	@$< --seeds 1..$(SEEDS) --jobs $(JOBS) $(if $(SENTINEL),--masters sentinel,$(if $(MASTERS),--masters $(MASTERS)))

# A greater DEPTH allows more parties and steps, and takes far longer. SHOW=1 prints step by step how each wrong variant
# breaks its promise. ONLY=tokens or ONLY='tokens/count up' explores only that part.
DEPTH ?= 1

model: $(MODEL) ## explore every state of tests/model, a small model of the protocol; DEPTH=2 and more widens it
	@$< --depth $(DEPTH) $(if $(SHOW),--show) $(if $(ONLY),"$(ONLY)")

# In how many worlds a planted bug may remain undetected.
MUTANT_SEEDS ?= 3000

mutants: $(O)/tests/sim/holdfast-sim ## plant each bug of mutants.def in a copy of the sources; the simulator or a suite must detect it
	@tests/sim/mutants $(MUTANT_SEEDS) $(JOBS)

check-go: all ## test client/go, the module for Go programs, with Go's race detector
	@tests/run -v -j 1 tests/interop/check-go

check-node: all ## test client/node, the package for Node programs, and its types
	@tests/run -v -j 1 tests/e2e/check_node

check-java: all ## test client/java, the package for Java programs [T=testName]
	@tests/run -v -j 1 "tests/interop/check-java $(T)"

check-rust: all ## test client/rust, the crate for Rust programs [T=test_name]
	@tests/run -v -j 1 "tests/interop/check-rust $(T)"

check-c: all $(LIBRARY_TESTS) ## test client/c, the library for C programs
	@tests/run -v -j 1 tests/e2e/check_library.py

# CLIENT has no default.
soak-client: all $(LIBRARY_TESTS) $(HISTORY) ## let programs with client/CLIENT (c, go, java, node, python, rust) lock at random through kills until OPERATIONS (1000000) locks were granted, for SECONDS (3600) at most, and judge their history; SEED= repeats the faults
	@$(if $(SEED),SEED=$(SEED)) tests/run -v -j 1 -t 7200 "tests/interop/soak $(CLIENT) \
		$(or $(if $(filter command environment,$(origin SECONDS)),$(SECONDS)),3600) $(or $(OPERATIONS),1000000)"

# Bounds are generous: it wants a quiet machine, and is to be read.
told: all $(LIBRARY_TESTS) ## measure how soon holders with the clients for C, Python, Go, Node and Java are told of a loss: BREAK (p99), daemon gone, master gone
	@tests/run -v -j 1 "tests/e2e/check_library.py test_told test_master_gone test_daemon_gone" \
		"tests/e2e/check_python.py test_told_while_working test_master_gone test_daemon_gone" \
		"tests/interop/check-go -run '^Test(Broken|MasterGone|DaemonGone)\$$'" \
		"tests/e2e/check_node --test-name-pattern '^a (lock that is broken|daemon that does not come back|master that is gone)'" \
		"tests/interop/check-java testBroken testMasterGone testDaemonGone"

interop: all $(HISTORY) ## test the daemon with unmodified Redis client libraries; missing ones are fetched, or skipped (OPERATIONS=n)
	@$(if $(OPERATIONS),OPERATIONS=$(OPERATIONS)) tests/interop/run

rivals: all ## test that locks of Redisson, redsync, Spring and others exclude ours, and ours theirs (ROUNDS=n)
	@$(if $(ROUNDS),ROUNDS=$(ROUNDS)) tests/interop/rivals/run

recipes: all ## test the adapters of doc/frameworks with the real frameworks, and the package for Node with Deno and Bun; missing ones are fetched, or skipped
	@tests/run -v -j 1 -t 3600 tests/interop/recipes/run

counter: all $(HISTORY) ## count in all languages at once: 1,000 clients, two daemons, three masters, for SECONDS (5)
	@$(if $(filter command environment,$(origin SECONDS)),SECONDS=$(SECONDS)) tests/run -v -j 1 -t 7200 tests/interop/check-counter

outages: all ## measure which locks are held through outages of the only master, by every way to hold one: the table of doc/CHOOSING.md
	@tests/interop/outages

# This test also checks times, so it needs a machine of its own.
SOAK := $(patsubst %,tests/e2e/check_%.py,counter run client locks wire faults network crowd flush kinds latch multi http) tests/e2e/depth.py

soak: all $(HISTORY) ## run 100,000 increments over three daemons, check times, run ten minutes of random faults and HANDOVERS (1000) hand-overs, then `make replace`
	@HOLDFAST_MEASURE=1 HOLDFAST_SOAK=100000 HANDOVERS=$(or $(HANDOVERS),1000) tests/run -v -j 1 -t 1200 $(SOAK) \
		"tests/e2e/soak.py 600" tests/e2e/handovers.py
	@$(MAKE) replace

# Three times: with one master, with three, with a private redis-server. Without SEED a random seed is used, and printed.
replace: all ## replace the daemon COUNT (1000) times, or for DURATION seconds, with PAUSE=2-5 seconds between; WAYS=handover,crash; SEED= repeats a run
	@COUNT=$(or $(COUNT),1000) $(foreach name,WAYS DURATION PAUSE SEED,$(if $($(name)),$(name)=$($(name)))) tests/e2e/replace.py $(REPLACE)

# Without SEED a random seed is used, and printed. SENTINEL=1: a master with two replicas, which three sentinels fail over.
# CHANGE=1: masters are replaced and added during the faults. CLUSTER=1: a Redis Cluster of three masters, each with a replica.
nemesis: all $(SHIM) $(HISTORY) ## run SECONDS (600) of faults with MASTERS (3) real masters [CHANGE=1], SENTINEL=1 or CLUSTER=1, 3 daemons and 64 clients; SEED= repeats a run
	@tests/e2e/nemesis.py $(if $(SENTINEL),--sentinel,$(if $(CLUSTER),--cluster,--masters $(or $(MASTERS),3))) $(if $(CHANGE),--change) --keep $(O)/nemesis $(if $(SEED),--seed $(SEED)) \
		$(if $(filter command environment,$(origin SECONDS)),--seconds $(SECONDS)) $(NEMESIS)

bench: ## compare the speed with a bare loop, Redis itself and others; slices of SECONDS (default 0.5), PARTS=...
	@$(MAKE) O=$(RELEASE) LTO=yes FIGURES=$(O)/bench.json bench-run

bench-quick: ## run the bench in under 50 s: only ratios, and which goals are met
	@$(MAKE) O=$(RELEASE) LTO=yes FIGURES=$(O)/bench-quick.json QUICK=--quick bench-run

bench-run: all $(BENCH)
	@tests/bench/bench.py $(QUICK) $(if $(SECONDS),-s $(SECONDS)) -o $(FIGURES) $(PARTS)

asan: ## run every test under the address and undefined behaviour sanitizers
	$(MAKE) O=$(O)/asan SAN=address,undefined CFLAGS='-O1 -g' check

# Each tests/fuzz/fuzz_NOUN.c is a libFuzzer target that starts from tests/fuzz/corpus/NOUN.
FUZZ_SECONDS ?= 60
$(FUZZERS): LDFLAGS += -fsanitize=fuzzer

fuzz: need-clang ## fuzz every parser for FUZZ_SECONDS each (default 60)
	$(MAKE) O=$(O)/fuzz CC=clang SAN=fuzzer-no-link,address,undefined CFLAGS='-O1 -g' fuzz-run

# libFuzzer is a separate package: linking a small program shows whether it is installed.
need-clang:
	@printf 'int LLVMFuzzerTestOneInput(const char *p, unsigned long n) { return !p && n; }' | \
	clang -x c -fsanitize=fuzzer,address,undefined -o /dev/null - 2>/dev/null || { \
	echo "make fuzz needs clang with libFuzzer: packaging/install-deps fuzz" >&2; exit 1; }

# What a parser gets first is written by hand; the states and ledgers are saved by stories, again after a change of their format.
corpus: $(O)/tests/check_state $(O)/tests/check_ledger ## save the states and ledgers that fuzz_state and fuzz_ledger begin with
	@mkdir -p tests/fuzz/corpus/ledger
	@rm -f tests/fuzz/corpus/state/* tests/fuzz/corpus/ledger/*
	HOLDFAST_CORPUS=tests/fuzz/corpus/state $(O)/tests/check_state
	HOLDFAST_CORPUS=tests/fuzz/corpus/ledger $(O)/tests/check_ledger

fuzz-run: $(FUZZERS)
	@for fuzzer in $(FUZZERS); do \
		noun=$${fuzzer##*/fuzz_}; found=$(O)/found/$$noun; mkdir -p $$found; \
		seeds=$$(ls -d tests/fuzz/corpus/$$noun 2>/dev/null); echo "fuzz $$noun for $(FUZZ_SECONDS) s"; \
		$$fuzzer -max_total_time=$(FUZZ_SECONDS) -max_len=8192 -artifact_prefix=$$found- \
			$$found $$seeds 2>$$found.log || { tail -50 $$found.log; exit 1; }; done

cover: ## run every test and show the line coverage of each source
	@rm -rf $(O)/cover
	$(MAKE) O=$(O)/cover CFLAGS='-O0 -g --coverage -fprofile-update=atomic' LDFLAGS=--coverage check
	@tests/cover $(O)/cover/obj

# --- the format of the sources ----------------------------------------------------------------------------
ROOMS   := proto conf daemon client tests
C_FILES := $(sort $(shell find $(ROOMS) -name '*.c'))
HEADERS := $(sort $(shell find $(ROOMS) -name '*.h' -o -name '*.def'))
SHELLS  := $(sort $(shell grep -rlE --exclude-dir=man '^\#!(/usr/bin/env |/bin/)(ba|da)?sh' .ci doc packaging systemd tests lua))
MANUALS := $(sort $(wildcard packaging/man/*.[1-9])) $(MADE_MANUALS)
FORMAT  := clang-format-14
TIDY    := $(if $(shell command -v clang-tidy-14),clang-tidy-14,clang-tidy)

format: need-format ## rewrite the C sources as .clang-format says
	@$(FORMAT) -i $(C_FILES) $(filter %.h,$(HEADERS))

need-format:
	@command -v $(FORMAT) >/dev/null || { echo "make format needs exactly $(FORMAT) (Debian 12: \
	packaging/install-deps lint); another version would move lines back and forth" >&2; exit 1; }

lint: lint-format lint-tidy lint-cppcheck lint-musl lint-shell lint-manuals lint-mutants ## clang-format, clang-tidy, cppcheck, musl, shellcheck, mandoc, and that planted bugs compile

lint-format: need-format
	@$(FORMAT) --dry-run -Werror $(C_FILES) $(filter %.h,$(HEADERS))
	@! command -v gofmt >/dev/null || { files=$$(gofmt -l client/go tests) && [ -z "$$files" ] || { echo "gofmt -w $$files" >&2; exit 1; }; }

# How many states of a function the analyzer explores: of one of the tests fewer, which takes a third of the time. Its own bound,
# 225000, takes three times as long: before a release, and then for all.
NODES   ?= 75000
nodes    = $(if $(filter 75000,$(NODES)),$(if $(filter tests/%,$<),10000,$(NODES)),$(NODES))
TIDY_OK := $(O)/tidy/$(NODES)

lint-tidy: $(patsubst %.c,$(TIDY_OK)/%.ok,$(C_FILES))

# cppcheck reads the list macros from their headers. Disabled: a null pointer constant without a cast, which POSIX allows,
# and the order of evaluation in designated initializers (the compilers' own check remains).
lint-cppcheck:
	@cppcheck --quiet --std=c11 --language=c --enable=warning,performance,portability --inline-suppr \
		--suppress=missingIncludeSystem --suppress=varFuncNullUB --suppress=unknownEvaluationOrder \
		$(foreach header,bsd/sys/queue.h bsd/sys/tree.h uthash.h,--include=/usr/include/$(header)) \
		--error-exitcode=1 -j $(JOBS) -D_GNU_SOURCE -I. $(C_FILES)

$(TIDY_OK)/%.ok: %.c $(HEADERS) .clang-tidy
	@mkdir -p $(@D)
	@$(TIDY) --quiet $< -- $(CPPFLAGS) $(LUA_CFLAGS) -std=c11 -D_GNU_SOURCE \
		-Xclang -analyzer-config -Xclang max-nodes=$(nodes) 2>$@.err || { cat $@.err; exit 1; }
	@touch $@

# The programs also compile against musl. Debian has no musl builds of their libraries, but the headers are the same.
# That of libxcrypt, which takes the place of musl's, wants three macros of glibc.
MUSL_HEADERS := crypt.h event2 hiredis yaml.h jansson.h jansson_config.h curses.h ncurses_dll.h unctrl.h uthash.h utlist.h bsd/sys/queue.h bsd/sys/cdefs.h

lint-musl: $(patsubst %.c,$(O)/musl/%.ok,$(filter-out tests/%,$(C_FILES)))

$(O)/musl/include:
	@mkdir -p $@.new/bsd/sys $@.new/sys $@.new/openssl
	@printf '#define %s\n' __BEGIN_DECLS __END_DECLS __THROW >$@.new/sys/cdefs.h
	@for header in $(MUSL_HEADERS); do ln -sf /usr/include/$$header $@.new/$$header || exit 1; done
	@ln -sf /usr/include/openssl/*.h /usr/include/*/openssl/*.h $@.new/openssl
	@mv $@.new $@

$(O)/musl/%.ok: %.c $(HEADERS) | $(O)/musl/include
	@command -v musl-gcc >/dev/null || { echo "make lint-musl needs: packaging/install-deps lint" >&2; exit 1; }
	@mkdir -p $(@D)
	@musl-gcc $(CPPFLAGS) -std=c11 -D_GNU_SOURCE $(WARN) -isystem $(O)/musl/include -fsyntax-only $<
	@touch $@

lint-shell:
	@shellcheck $(SHELLS)

lint-manuals: $(MANUALS)
	@mandoc -T lint -W warning $(MANUALS)

lint-mutants: $(LIB_OBJ)
	@tests/sim/mutants compile

# --- installation -----------------------------------------------------------------------------------------
sysconfdir ?= /etc
sbindir    ?= $(prefix)/sbin
unitdir    ?= $(prefix)/lib/systemd/system
docdir     ?= $(prefix)/share/doc/holdfast
libdir     ?= $(prefix)/lib
includedir ?= $(prefix)/include

install-library: $(O)/libholdfast.so $(O)/libholdfast.a ## install only the library for C programs
	install -d $(DESTDIR)$(libdir)/pkgconfig $(DESTDIR)$(includedir)
	install -m 644 $(O)/libholdfast.so.$(VERSION) $(O)/libholdfast.a $(DESTDIR)$(libdir)
	ln -sf libholdfast.so.$(VERSION) $(DESTDIR)$(libdir)/libholdfast.so.$(LIBRARY_ABI)
	ln -sf libholdfast.so.$(LIBRARY_ABI) $(DESTDIR)$(libdir)/libholdfast.so
	install -m 644 client/c/holdfast.h $(DESTDIR)$(includedir)
	sed 's|@prefix@|$(prefix)|; s|@libdir@|$(libdir)|; s|@includedir@|$(includedir)|; s|@version@|$(VERSION)|' \
		client/c/holdfast.pc.in >$(DESTDIR)$(libdir)/pkgconfig/holdfast.pc
	chmod 644 $(DESTDIR)$(libdir)/pkgconfig/holdfast.pc

# Units and manuals have the paths of prefix=/usr; the installation replaces them by another prefix.
install: ## install under DESTDIR and prefix (default /usr)
	$(MAKE) O=$(RELEASE) LTO=yes all
	$(MAKE) O=$(RELEASE) LTO=yes install-library
	install -d $(DESTDIR)$(sbindir) $(DESTDIR)$(prefix)/bin $(DESTDIR)$(unitdir)
	install -m 755 $(RELEASE)/holdfastd $(DESTDIR)$(sbindir)/holdfastd
	install -m 755 $(RELEASE)/holdfast $(DESTDIR)$(prefix)/bin/holdfast
	install -D -m 755 $(RELEASE)/holdfast-tls $(DESTDIR)$(prefix)/lib/holdfast/holdfast-tls
	sed 's|/usr/sbin|$(sbindir)|' systemd/holdfastd.service >$(DESTDIR)$(unitdir)/holdfastd.service
	install -m 644 systemd/holdfastd.socket $(DESTDIR)$(unitdir)/holdfastd.socket
	chmod 644 $(DESTDIR)$(unitdir)/holdfastd.service
	install -D -m 644 systemd/holdfast.sysusers $(DESTDIR)$(prefix)/lib/sysusers.d/holdfast.conf
	install -D -m 644 systemd/holdfast.tmpfiles $(DESTDIR)$(prefix)/lib/tmpfiles.d/holdfast.conf
	for page in $(filter-out $(O)/%,$(MANUALS)) $(patsubst $(O)/%,$(RELEASE)/%,$(MADE_MANUALS)); do \
		install -D -m 644 $$page $(DESTDIR)$(prefix)/share/man/man$${page##*.}/$${page##*/} || exit 1; done
	install -D -m 644 $(RELEASE)/completions/holdfast.bash $(DESTDIR)$(prefix)/share/bash-completion/completions/holdfast
	install -D -m 644 $(RELEASE)/completions/_holdfast $(DESTDIR)$(prefix)/share/zsh/vendor-completions/_holdfast
	install -D -m 644 $(RELEASE)/completions/holdfast.fish $(DESTDIR)$(prefix)/share/fish/vendor_completions.d/holdfast.fish
	install -D -m 644 packaging/holdfast.yml $(DESTDIR)$(sysconfdir)/holdfast/holdfast.yml
	install -d $(DESTDIR)$(sysconfdir)/holdfast/holdfast.d
	install -D -m 644 conf/holdfast.yml $(DESTDIR)$(docdir)/holdfast.yml
	for file in alerts.yml dashboard.json; do \
		install -D -m 644 packaging/monitoring/$$file $(DESTDIR)$(docdir)/monitoring/$$file || exit 1; done
	for file in doc/frameworks/* doc/stores/*; do \
		install -D -m 644 $$file $(DESTDIR)$(docdir)/$${file#doc/} || exit 1; done

# What a package is built from.
SOURCES := .clang-format .clang-tidy LICENSE Makefile README.md $(ROOMS) lua doc packaging systemd

# dpkg needs debian/ at the top of the tree, and the project has it in packaging/, so the package is built in a copy.
DEB := $(O)/deb/holdfast-$(VERSION)

deb: ## build the Debian package into $(O)/deb
	@command -v dpkg-buildpackage >/dev/null || { echo "make deb needs: packaging/install-deps deb" >&2; exit 1; }
	rm -rf $(O)/deb && mkdir -p $(DEB)
	cp -a $(SOURCES) $(DEB)
	cp -a packaging/debian $(DEB)/debian
	cd $(DEB) && env -u MAKEFLAGS -u MAKELEVEL -u O -u CC dpkg-buildpackage -us -uc
	@ls $(O)/deb/*.deb

# --nodeps: on Debian rpm does not know what is installed. RPMBUILD= takes further options, as --without check.
RPMBUILD ?=

rpm: ## build the RPM package into $(O)/rpm, with the unit tests; RPMBUILD="--without check" leaves them out
	@command -v rpmbuild >/dev/null || { echo "make rpm needs: packaging/install-deps rpm" >&2; exit 1; }
	rm -rf $(O)/rpm && mkdir -p $(O)/rpm/SOURCES
	tar --transform 's,^,holdfast-$(VERSION)/,' -czf $(O)/rpm/SOURCES/holdfast-$(VERSION).tar.gz $(SOURCES)
	env -u MAKEFLAGS -u MAKELEVEL -u O -u CC rpmbuild -bb $(if $(shell command -v dpkg),--nodeps) --define '_topdir $(abspath $(O))/rpm' \
		$(RPMBUILD) packaging/holdfast.spec
	@ls $(O)/rpm/RPMS/*/*.rpm

# The image has the libraries of the release that the package was built on.
BUILDER   ?= $(firstword $(foreach tool,buildah podman docker,$(shell command -v $(tool) 2>/dev/null)))
BASE      ?= docker.io/library/debian:$(shell . /etc/os-release && echo $$VERSION_CODENAME)-slim

image: ## build the image holdfast:$(VERSION) from the package in $(O)/deb; BUILDER=buildah|podman|docker, BASE= another Debian image
	@test -n "$(BUILDER)" || { echo "make image needs buildah, podman or docker" >&2; exit 1; }
	@ls $(O)/deb/holdfast_*.deb >/dev/null 2>&1 || { echo "make image needs the package: make deb" >&2; exit 1; }
	rm -rf $(O)/image && mkdir -p $(O)/image
	cp packaging/image/* $(O)/image && cp $(O)/deb/holdfast_*.deb $(O)/image/holdfast.deb
	$(BUILDER) build $(if $(findstring docker,$(BUILDER)),,--format docker) --build-arg BASE=$(BASE) -t holdfast:$(VERSION) \
		-f $(O)/image/Containerfile $(O)/image

SUITES ?= bookworm trixie

prove: ## test README's commands and the package on clean Debian roots (as root; slow)
	for suite in $(SUITES); do \
		packaging/prove $$suite commands && packaging/prove $$suite package || exit 1; done

-include $(shell find $(O)/obj $(O)/pic -name '*.d' 2>/dev/null)

clean: ## remove the build directory
	rm -rf $(O)

durations: ## let a fresh clone know how long each test took in the last `make check`
	@sort -k 2 $(O)/tests/durations >tests/durations

help: ## list the targets
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "%-14s %s\n", $$1, $$2}' Makefile
