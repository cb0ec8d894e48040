/*
 * engine: see engine.h. Scripts take most of the time of a simulation, so that what they do most often is
 * short here: memory, and numbers as decimal digits.
 */
#include "tests/sim/world/engine.h"

#include "tests/sim/world/arena.h"

#include <assert.h>
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARGS_MAX   1024
#define EXACT_MOST 9007199254740992.0 /* 2^53 */

struct engine {
	lua_State *lua;
	struct arena pieces;
	int compiled[SCRIPT_COUNT]; /* registry references; LUA_NOREF: not yet */
	engine_command *command;    /* of the script that runs */
	void *arg;
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

static redisReply *
run_from_lua(struct engine *e, lua_State *lua)
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
	return e->command(e->arg, (size_t)argc, argv);
}

static int
redis_command(lua_State *lua, bool raise)
{
	struct engine *e = lua_touserdata(lua, lua_upvalueindex(1));
	answer_scratch(true);
	redisReply *reply = run_from_lua(e, lua);
	bool error = reply->type == REDIS_REPLY_ERROR;
	push_reply(lua, reply);
	answer_scratch(false);
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

/* ---- what scripts call most, short ---- */

/* The library's own function, from the first upvalue, with the same arguments. */
static int
as_ever(lua_State *lua)
{
	lua_pushvalue(lua, lua_upvalueindex(1));
	lua_insert(lua, 1);
	lua_call(lua, lua_gettop(lua) - 1, LUA_MULTRET);
	return lua_gettop(lua);
}

static const char *
text_at(lua_State *lua, int index, size_t *n)
{
	return lua_type(lua, index) == LUA_TSTRING ? lua_tolstring(lua, index, n) : NULL;
}

/* string.format('%.0f', n) of a whole number */
static int
short_format(lua_State *lua)
{
	size_t n;
	const char *format = text_at(lua, 1, &n);
	bool plain =
		format != NULL && n == 4 && memcmp(format, "%.0f", 4) == 0 && lua_type(lua, 2) == LUA_TNUMBER;
	lua_Number number = plain ? lua_tonumber(lua, 2) : 0.5;
	if (!(number >= 1 && number <= EXACT_MOST) || number != (lua_Number)(int64_t)number)
		return as_ever(lua);
	char digits[20], *p = digits + sizeof(digits);
	for (int64_t left = (int64_t)number; left > 0; left /= 10)
		*--p = (char)('0' + left % 10);
	lua_pushlstring(lua, p, (size_t)(digits + sizeof(digits) - p));
	return 1;
}

/* tonumber('123') */
static int
short_tonumber(lua_State *lua)
{
	size_t n;
	const char *text = text_at(lua, 1, &n);
	if (text == NULL || lua_gettop(lua) != 1 || n == 0 || n > 18)
		return as_ever(lua);
	int64_t number = 0;
	for (size_t i = 0; i < n; i++) {
		if (text[i] < '0' || text[i] > '9')
			return as_ever(lua);
		number = number * 10 + (text[i] - '0');
	}
	lua_pushnumber(lua, (lua_Number)number);
	return 1;
}

/* string.find(s, '^%d+$') */
static int
short_find(lua_State *lua)
{
	size_t n, pattern_n;
	const char *text = text_at(lua, 1, &n), *pattern = text_at(lua, 2, &pattern_n);
	if (text == NULL || pattern == NULL || lua_gettop(lua) != 2 || pattern_n != 5 ||
		memcmp(pattern, "^%d+$", 5) != 0)
		return as_ever(lua);
	size_t digits = 0;
	while (digits < n && text[digits] >= '0' && text[digits] <= '9')
		digits++;
	if (n == 0 || digits < n)
		return 0;
	lua_pushnumber(lua, 1);
	lua_pushnumber(lua, (lua_Number)n);
	return 2;
}

/* string.match(text, '[\r\n]FIELD:([^\r\n]*)'): a field of INFO */
static int
short_match(lua_State *lua)
{
	static const char head[] = "[\r\n]", tail[] = ":([^\r\n]*)";
	size_t n, pattern_n, around = strlen(head) + strlen(tail);
	const char *text = text_at(lua, 1, &n), *pattern = text_at(lua, 2, &pattern_n);
	if (text == NULL || pattern == NULL || lua_gettop(lua) != 2 || pattern_n <= around ||
		memcmp(pattern, head, strlen(head)) != 0 ||
		memcmp(pattern + pattern_n - strlen(tail), tail, strlen(tail)) != 0)
		return as_ever(lua);
	const char *field = pattern + strlen(head);
	size_t field_n = pattern_n - around;
	if (strspn(field, "abcdefghijklmnopqrstuvwxyz_") < field_n)
		return as_ever(lua);
	for (const char *p = text; (p = strpbrk(p, "\r\n")) != NULL;) {
		if (strncmp(++p, field, field_n) != 0 || p[field_n] != ':')
			continue;
		p += field_n + 1;
		lua_pushlstring(lua, p, strcspn(p, "\r\n"));
		return 1;
	}
	lua_pushnil(lua);
	return 1;
}

/* Puts it in the place of the function of that name, which it still knows, in the table on top. */
static void
shorten(lua_State *lua, const char *name, lua_CFunction function)
{
	lua_getfield(lua, -1, name);
	lua_pushcclosure(lua, function, 1);
	lua_setfield(lua, -2, name);
}

/* ---- the state ---- */

static void
engine_add_redis(struct engine *e)
{
	lua_State *lua = e->lua;
	lua_newtable(lua);
	lua_pushlightuserdata(lua, e);
	lua_pushcclosure(lua, redis_call, 1);
	lua_setfield(lua, -2, "call");
	lua_pushlightuserdata(lua, e);
	lua_pushcclosure(lua, redis_pcall, 1);
	lua_setfield(lua, -2, "pcall");
	lua_setglobal(lua, "redis");
	lua_pushcfunction(lua, redis_lua_pcall);
	lua_setglobal(lua, "pcall");
}

static void
engine_open(struct engine *e)
{
	/* As much as Redis gives a script. */
	static const lua_CFunction libraries[] = {luaopen_base, luaopen_table, luaopen_string, luaopen_math};
	lua_State *lua = e->lua = lua_newstate(arena_alloc, &e->pieces);
	assert(lua != NULL);
	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		lua_pushcfunction(lua, libraries[i]);
		lua_call(lua, 0, 0);
	}
	engine_add_redis(e);
	lua_pushvalue(lua, LUA_GLOBALSINDEX);
	shorten(lua, "tonumber", short_tonumber);
	lua_getfield(lua, -1, "string");
	shorten(lua, "format", short_format);
	shorten(lua, "find", short_find);
	shorten(lua, "match", short_match);
	lua_settop(lua, 0);
	lua_newtable(lua);
	lua_pushcfunction(lua, global_refused);
	lua_setfield(lua, -2, "__index");
	lua_pushcfunction(lua, global_refused);
	lua_setfield(lua, -2, "__newindex");
	lua_setmetatable(lua, LUA_GLOBALSINDEX);
	/* Nearly all memory is garbage after each script: collected in one go, but before it outgrows the
	 * caches. */
	lua_gc(lua, LUA_GCSETPAUSE, 200);
	lua_gc(lua, LUA_GCSETSTEPMUL, 1000);
}

struct engine *
engine_shared(void)
{
	static struct engine *shared;
	if (shared != NULL)
		return shared;
	shared = calloc(1, sizeof(*shared));
	assert(shared != NULL);
	for (size_t i = 0; i < SCRIPT_COUNT; i++)
		shared->compiled[i] = LUA_NOREF;
	engine_open(shared);
	return shared;
}

/* ---- a script ---- */

static void
set_global_strings(lua_State *lua, const char *name, int n, const char *const *argv, const size_t *argvlen)
{
	lua_pushstring(lua, name);
	lua_createtable(lua, n, 0);
	for (int i = 0; i < n; i++) {
		lua_pushlstring(lua, argv[i], argvlen[i]);
		lua_rawseti(lua, -2, i + 1);
	}
	lua_rawset(lua, LUA_GLOBALSINDEX);
}

/* Leaves the compiled script on the stack, or an error text. */
static bool
push_script(struct engine *e, int op, struct slice text)
{
	if (op >= 0 && e->compiled[op] != LUA_NOREF) {
		lua_rawgeti(e->lua, LUA_REGISTRYINDEX, e->compiled[op]);
		return true;
	}
	if (op >= 0)
		text = (struct slice){scripts[op].text, scripts[op].length};
	if (luaL_loadbuffer(e->lua, text.p, text.n, "@user_script") != 0)
		return false;
	if (op >= 0) {
		lua_pushvalue(e->lua, -1);
		e->compiled[op] = luaL_ref(e->lua, LUA_REGISTRYINDEX);
	}
	return true;
}

redisReply *
engine_run(struct engine *e, int op, struct slice text, int numkeys, int argc, const char *const *argv,
	const size_t *argvlen, engine_command *command, void *arg)
{
	lua_State *lua = e->lua;
	e->command = command;
	e->arg = arg;
	set_global_strings(lua, "KEYS", numkeys, argv, argvlen);
	set_global_strings(lua, "ARGV", argc - numkeys, argv + numkeys, argvlen + numkeys);
	bool good = push_script(e, op, text) && lua_pcall(lua, 0, 1, 0) == 0;
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
