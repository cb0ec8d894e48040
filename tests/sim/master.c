/* master: see master.h. */
#include "tests/sim/master.h"

#include <assert.h>
#include <inttypes.h>
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARGS_MAX 1024

struct master {
	lua_State *lua;
	struct store *store;
	struct master_health health;
	int compiled[CALL_OP_COUNT]; /* registry references; LUA_NOREF: not yet */
	bool loaded[CALL_OP_COUNT];  /* known to EVALSHA */
	char run_id[41];
	char replid[41];
	char info[160];
	master_publish *publish;
	void *publish_arg;
	int64_t wall_us;
	bool written;
};

/* ---- values between Lua and replies ---- */

static void
push_reply(lua_State *lua, const redisReply *reply)
{
	switch (reply->type) {
	case REDIS_REPLY_INTEGER:
		lua_pushnumber(lua, (lua_Number)reply->integer);
		return;
	case REDIS_REPLY_STRING:
		lua_pushlstring(lua, reply->str, (size_t)reply->len);
		return;
	case REDIS_REPLY_STATUS:
	case REDIS_REPLY_ERROR:
		lua_newtable(lua);
		lua_pushlstring(lua, reply->str, (size_t)reply->len);
		lua_setfield(lua, -2, reply->type == REDIS_REPLY_STATUS ? "ok" : "err");
		return;
	case REDIS_REPLY_ARRAY:
		lua_createtable(lua, (int)reply->elements, 0);
		for (size_t i = 0; i < reply->elements; i++) {
			push_reply(lua, reply->element[i]);
			lua_rawseti(lua, -2, (int)i + 1);
		}
		return;
	default:
		lua_pushboolean(lua, 0);
	}
}

static redisReply *take_reply(lua_State *lua, int index, int depth);

static redisReply *
take_array(lua_State *lua, int index, int depth)
{
	size_t n = 0;
	for (;; n++) {
		lua_rawgeti(lua, index, (int)n + 1);
		bool end = lua_isnil(lua, -1);
		lua_pop(lua, 1);
		if (end)
			break;
	}
	redisReply *reply = answer_array(n);
	for (size_t i = 0; i < n; i++) {
		lua_rawgeti(lua, index, (int)i + 1);
		answer_set(reply, i, take_reply(lua, lua_gettop(lua), depth + 1));
		lua_pop(lua, 1);
	}
	return reply;
}

/* The field of a table, when it is a string, as a status or an error. */
static redisReply *
take_marked(lua_State *lua, int index, const char *field, redisReply *(*make)(const char *text))
{
	lua_getfield(lua, index, field);
	redisReply *reply = lua_isstring(lua, -1) ? make(lua_tostring(lua, -1)) : NULL;
	lua_pop(lua, 1);
	return reply;
}

/* As Redis turns what a script returns into a reply. */
static redisReply *
take_reply(lua_State *lua, int index, int depth)
{
	size_t n;
	const char *text;
	assert(depth < 8);
	switch (lua_type(lua, index)) {
	case LUA_TNUMBER:
		return answer_int((int64_t)lua_tonumber(lua, index));
	case LUA_TSTRING:
		text = lua_tolstring(lua, index, &n);
		return answer_text((struct slice){text, n});
	case LUA_TBOOLEAN:
		return lua_toboolean(lua, index) ? answer_int(1) : answer_nil();
	case LUA_TTABLE: {
		redisReply *reply = take_marked(lua, index, "err", answer_error);
		if (reply == NULL)
			reply = take_marked(lua, index, "ok", answer_status);
		return reply != NULL ? reply : take_array(lua, index, depth);
	}
	default:
		return answer_nil();
	}
}

/* ---- redis.call ---- */

static const char *
master_info(void *arg, struct slice section)
{
	struct master *m = arg;
	if (slice_equal(section, SLICE("server")))
		snprintf(m->info, sizeof(m->info), "# Server\r\nrun_id:%s\r\n", m->run_id);
	else if (slice_equal(section, SLICE("replication")))
		snprintf(m->info, sizeof(m->info), "# Replication\r\nrole:%s\r\nmaster_replid:%s\r\n",
			m->health.readonly ? "slave" : "master", m->replid);
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
run_from_lua(struct master *m, lua_State *lua)
{
	struct slice argv[ARGS_MAX];
	int argc = lua_gettop(lua);
	assert(argc <= ARGS_MAX);
	for (int i = 0; i < argc; i++) {
		if (!lua_isstring(lua, i + 1))
			return answer_error(
				"ERR Lua redis lib command arguments must be strings or integers");
		argv[i].p = lua_tolstring(lua, i + 1, &argv[i].n);
	}
	if (argc == 0)
		return answer_error("ERR Please specify at least one argument for this redis lib call");
	struct store_env env = {
		.wall_us = m->wall_us,
		.full = m->health.full,
		.readonly = m->health.readonly,
		.misconf = m->health.misconf,
		.written = &m->written,
		.info = master_info,
		.publish = master_published,
		.arg = m,
	};
	return store_run(m->store, &env, (size_t)argc, argv);
}

static int
redis_command(lua_State *lua, bool raise)
{
	struct master *m = lua_touserdata(lua, lua_upvalueindex(1));
	redisReply *reply = run_from_lua(m, lua);
	bool error = reply->type == REDIS_REPLY_ERROR;
	push_reply(lua, reply);
	freeReplyObject(reply);
	return raise && error ? lua_error(lua) : 1;
}

static int
redis_call(lua_State *lua)
{
	return redis_command(lua, true);
}

static int
redis_pcall(lua_State *lua)
{
	return redis_command(lua, false);
}

/* Redis' own pcall() gives the text of an error where the raised value is its table. */
static int
redis_lua_pcall(lua_State *lua)
{
	int argc = lua_gettop(lua);
	lua_pushboolean(lua, 1);
	lua_insert(lua, 1);
	if (lua_pcall(lua, argc - 1, LUA_MULTRET, 0) == 0)
		return lua_gettop(lua);
	if (lua_istable(lua, -1)) {
		lua_getfield(lua, -1, "err");
		if (lua_isstring(lua, -1))
			lua_replace(lua, -2);
	}
	lua_pushboolean(lua, 0);
	lua_replace(lua, 1);
	return 2;
}

/* Redis forbids globals; so does this, or a forgotten `local` would be found only there. */
static int
global_refused(lua_State *lua)
{
	return luaL_error(lua, "Script attempted to access nonexistent global variable '%s'",
		lua_isstring(lua, 2) ? lua_tostring(lua, 2) : "?");
}

static void
master_open_lua(struct master *m)
{
	lua_State *lua = m->lua = luaL_newstate();
	assert(lua != NULL);
	/* As much as Redis gives a script. */
	static const lua_CFunction libraries[] = {luaopen_base, luaopen_table, luaopen_string, luaopen_math};
	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		lua_pushcfunction(lua, libraries[i]);
		lua_call(lua, 0, 0);
	}
	lua_newtable(lua);
	lua_pushlightuserdata(lua, m);
	lua_pushcclosure(lua, redis_call, 1);
	lua_setfield(lua, -2, "call");
	lua_pushlightuserdata(lua, m);
	lua_pushcclosure(lua, redis_pcall, 1);
	lua_setfield(lua, -2, "pcall");
	lua_setglobal(lua, "redis");
	lua_pushcfunction(lua, redis_lua_pcall);
	lua_setglobal(lua, "pcall");
	lua_newtable(lua);
	lua_pushcfunction(lua, global_refused);
	lua_setfield(lua, -2, "__index");
	lua_pushcfunction(lua, global_refused);
	lua_setfield(lua, -2, "__newindex");
	lua_setmetatable(lua, LUA_GLOBALSINDEX);
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
}

struct master *
master_new(uint64_t seed)
{
	struct master *m = calloc(1, sizeof(*m));
	assert(m != NULL);
	m->store = store_new();
	for (size_t i = 0; i < CALL_OP_COUNT; i++)
		m->compiled[i] = LUA_NOREF;
	master_identify(m, seed);
	master_open_lua(m);
	return m;
}

void
master_free(struct master *m)
{
	if (m == NULL)
		return;
	lua_close(m->lua);
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

static void
set_global_strings(lua_State *lua, const char *name, int n, const char *const *argv, const size_t *argvlen)
{
	lua_createtable(lua, n, 0);
	for (int i = 0; i < n; i++) {
		lua_pushlstring(lua, argv[i], argvlen[i]);
		lua_rawseti(lua, -2, i + 1);
	}
	lua_pushstring(lua, name);
	lua_insert(lua, -2);
	lua_rawset(lua, LUA_GLOBALSINDEX);
}

/* Leaves the compiled script on the stack, or an error text. */
static bool
push_script(struct master *m, int op, struct slice text)
{
	if (op >= 0 && m->compiled[op] != LUA_NOREF) {
		lua_rawgeti(m->lua, LUA_REGISTRYINDEX, m->compiled[op]);
		return true;
	}
	if (luaL_loadbuffer(m->lua, text.p, text.n, "@user_script") != 0)
		return false;
	if (op >= 0) {
		lua_pushvalue(m->lua, -1);
		m->compiled[op] = luaL_ref(m->lua, LUA_REGISTRYINDEX);
	}
	return true;
}

static redisReply *
run_script(struct master *m, int op, struct slice text, int numkeys, int argc, const char *const *argv,
	const size_t *argvlen)
{
	lua_State *lua = m->lua;
	lua_settop(lua, 0);
	m->written = false;
	set_global_strings(lua, "KEYS", numkeys, argv, argvlen);
	set_global_strings(lua, "ARGV", argc - numkeys, argv + numkeys, argvlen + numkeys);
	bool good = push_script(m, op, text) && lua_pcall(lua, 0, 1, 0) == 0;
	redisReply *reply;
	if (!good && lua_isstring(lua, -1)) {
		char error[512];
		snprintf(error, sizeof(error), "ERR %s", lua_tostring(lua, -1));
		reply = answer_error(error);
	} else {
		reply = take_reply(lua, lua_gettop(lua), 0);
	}
	lua_settop(lua, 0);
	return reply;
}

static int
script_by_sha1(const char *sha1, size_t n)
{
	for (int op = 0; op < CALL_OP_COUNT; op++)
		if (n == 40 && memcmp(scripts[op].sha1, sha1, 40) == 0)
			return op;
	return -1;
}

static int
script_by_text(const char *text, size_t n)
{
	for (int op = 0; op < CALL_OP_COUNT; op++)
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
	m->wall_us = wall_us;
	struct slice text = {argv[1], argvlen[1]};
	if (op >= 0)
		text = (struct slice){scripts[op].text, scripts[op].length};
	return run_script(m, op, text, numkeys, argc - 3, argv + 3, argvlen + 3);
}
