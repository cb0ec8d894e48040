/* master: see master.h. */
#include "tests/sim/world/master.h"

#include "tests/sim/world/engine.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct master {
	struct store *store;
	struct master_health health;
	bool loaded[SCRIPT_COUNT]; /* known to EVALSHA */
	char run_id[41];
	char replid[41];
	char replid2[41]; /* of the master that it was a replica of */
	int64_t received; /* bytes, from that master */
	char info[192];
	master_publish *publish;
	void *publish_arg;
	master_change *change;
	void *change_arg;
	struct store_env env; /* of the script that runs */
	bool written;
};

/* ---- what commands ask of the server around them ---- */

static const char *
master_info(void *arg, struct slice section)
{
	struct master *m = arg;
	if (slice_equal(section, SLICE("server")) && m->health.nameless)
		snprintf(m->info, sizeof(m->info), "# Server\r\n");
	else if (slice_equal(section, SLICE("server")))
		snprintf(m->info, sizeof(m->info), "# Server\r\nrun_id:%s\r\n", m->run_id);
	else if (slice_equal(section, SLICE("stats")))
		snprintf(m->info, sizeof(m->info),
			"# Stats\r\nevicted_keys:%d\r\ntotal_net_repl_input_bytes:%" PRId64 "\r\n",
			m->health.evicted, m->received);
	else if (slice_equal(section, SLICE("replication")))
		snprintf(m->info, sizeof(m->info),
			"# Replication\r\nrole:%s\r\nmaster_replid:%s\r\nmaster_replid2:%s\r\n",
			m->health.readonly ? "slave" : "master", m->replid, m->replid2);
	else if (slice_equal(section, SLICE("cluster")))
		snprintf(m->info, sizeof(m->info), "# Cluster\r\ncluster_enabled:%d\r\n", m->health.cluster);
	else
		snprintf(m->info, sizeof(m->info), "# Memory\r\nmaxmemory_policy:%s\r\n",
			m->health.evicting ? "allkeys-lru" : "noeviction");
	return m->info;
}

static int64_t
master_published(void *arg, struct slice channel, struct slice message)
{
	struct master *m = arg;
	return m->publish != NULL ? m->publish(m->publish_arg, channel, message) : 0;
}

static redisReply *
master_command(void *arg, size_t argc, const struct slice *argv)
{
	struct master *m = arg;
	redisReply *reply = store_run(m->store, &m->env, argc, argv);
	if (m->change != NULL && store_changed(argv[0], reply))
		m->change(m->change_arg, argc, argv);
	return reply;
}

/* ---- the server ---- */

static void
hex_id(char *out, uint64_t seed, uint64_t salt)
{
	snprintf(out, 41, "%016" PRIx64 "%016" PRIx64 "%08x", seed,
		seed * UINT64_C(0x9e3779b97f4a7c15) + salt, (unsigned)salt);
}

static void
master_identify(struct master *m, uint64_t seed)
{
	hex_id(m->run_id, seed, 1);
	hex_id(m->replid, seed, 2);
	memset(m->replid2, '0', sizeof(m->replid2) - 1);
	m->received = 0;
}

struct master *
master_new(uint64_t seed)
{
	struct master *m = calloc(1, sizeof(*m));
	assert(m != NULL);
	m->store = store_new();
	master_identify(m, seed);
	return m;
}

void
master_free(struct master *m)
{
	if (m == NULL)
		return;
	store_free(m->store);
	free(m);
}

void
master_restart(struct master *m, uint64_t seed, struct store *store)
{
	if (store != m->store)
		store_free(m->store);
	m->store = store != NULL ? store : store_new();
	m->health = (struct master_health){0};
	master_identify(m, seed);
	master_forget_scripts(m);
}

void
master_take(struct master *m, struct store *store)
{
	store_free(m->store);
	m->store = store;
}

void
master_promote(struct master *m, uint64_t seed)
{
	memcpy(m->replid2, m->replid, sizeof(m->replid2));
	hex_id(m->replid, seed, 2);
	m->received++;
}

void
master_forget_scripts(struct master *m)
{
	memset(m->loaded, 0, sizeof(m->loaded));
}

void
master_load_scripts(struct master *m)
{
	memset(m->loaded, true, sizeof(m->loaded));
}

bool
master_admitted(struct master *m)
{
	static const struct slice node = {"hf:node", 7};
	struct slice run, replid, admitted;
	return store_field(m->store, node, SLICE("run"), &run) && slice_equal(run, slice_of(m->run_id)) &&
	       store_field(m->store, node, SLICE("replid"), &replid) &&
	       slice_equal(replid, slice_of(m->replid)) &&
	       store_field(m->store, node, SLICE("admitted"), &admitted) && slice_equal(admitted, SLICE("1"));
}

struct store *
master_store(struct master *m)
{
	return m->store;
}

struct store *
master_exchange(struct master *m, struct store *store)
{
	struct store *had = m->store;
	m->store = store;
	return had;
}

struct master_health *
master_health(struct master *m)
{
	return &m->health;
}

void
master_on_publish(struct master *m, master_publish *publish, void *arg)
{
	m->publish = publish;
	m->publish_arg = arg;
}

void
master_on_change(struct master *m, master_change *change, void *arg)
{
	m->change = change;
	m->change_arg = arg;
}

static int
script_by_sha1(const char *sha1, size_t n)
{
	for (int op = 0; op < SCRIPT_COUNT; op++)
		if (n == 40 && memcmp(scripts[op].sha1, sha1, 40) == 0)
			return op;
	return -1;
}

static int
script_by_text(const char *text, size_t n)
{
	for (int op = 0; op < SCRIPT_COUNT; op++)
		if (scripts[op].length == n && memcmp(scripts[op].text, text, n) == 0)
			return op;
	return -1;
}

redisReply *
master_run(struct master *m, int64_t wall_us, int argc, const char *const *argv, const size_t *argvlen)
{
	assert(argc >= 3);
	bool by_sha1 = argvlen[0] == 7 && memcmp(argv[0], "EVALSHA", 7) == 0;
	assert(by_sha1 || (argvlen[0] == 4 && memcmp(argv[0], "EVAL", 4) == 0));
	if (m->health.loading)
		return answer_error("LOADING Redis is loading the dataset in memory");
	int op = by_sha1 ? script_by_sha1(argv[1], argvlen[1]) : script_by_text(argv[1], argvlen[1]);
	if (by_sha1 && (op < 0 || !m->loaded[op]))
		return answer_error("NOSCRIPT No matching script. Please use EVAL.");
	if (op >= 0)
		m->loaded[op] = true;
	int numkeys = atoi(argv[2]);
	if (numkeys < 0 || numkeys > argc - 3)
		return answer_error("ERR Number of keys can't be greater than number of args");
	m->written = false;
	m->env = (struct store_env){.wall_us = wall_us,
		.full = m->health.full,
		.readonly = m->health.readonly,
		.misconf = m->health.misconf,
		.written = &m->written,
		.info = master_info,
		.publish = master_published,
		.arg = m};
	return engine_run(engine_shared(), op, (struct slice){argv[1], argvlen[1]}, numkeys, argc - 3,
		argv + 3, argvlen + 3, master_command, m);
}
