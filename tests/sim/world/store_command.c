/*
 * store_command: the commands the scripts use, as Redis 7 answers them inside a script.
 *
 * Called through store_run(). A command that is not in the table is an error, so that a script which starts
 * to use another one fails here first.
 */
#include "tests/sim/world/store.h"
#include "tests/sim/world/store_data.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct args {
	struct store *store;
	const struct store_env *env;
	size_t n;
	const struct slice *v; /* v[0] is the command's name */
};

static redisReply *
wrong_type(void)
{
	return answer_error("WRONGTYPE Operation against a key holding the wrong kind of value");
}

static bool
arg_is(struct slice s, const char *word)
{
	return s.n == strlen(word) && strncasecmp(s.p, word, s.n) == 0;
}

static bool
arg_number(struct slice s, int64_t *n)
{
	char text[32];
	if (s.n == 0 || s.n >= sizeof(text))
		return false;
	memcpy(text, s.p, s.n);
	text[s.n] = '\0';
	char *end;
	*n = strtoll(text, &end, 10);
	return *end == '\0' && text[0] != ' ' && text[0] != '+';
}

/* The key v[i], when it is of this type or absent; else *wrong. */
static struct entry *
key_of(const struct args *a, size_t i, enum type type, bool *wrong)
{
	struct entry *entry = entry_find(a->store, a->env->wall_us, a->v[i]);
	*wrong = entry != NULL && entry->type != type;
	return entry;
}

static redisReply *
do_get(const struct args *a)
{
	bool wrong;
	struct entry *entry = key_of(a, 1, TYPE_STRING, &wrong);
	if (wrong)
		return wrong_type();
	return entry != NULL ? answer_text(text_slice(&entry->string)) : answer_nil();
}

/* Never an error: what is no string is nothing here. */
static redisReply *
do_mget(const struct args *a)
{
	redisReply *r = answer_array(a->n - 1);
	for (size_t i = 1; i < a->n; i++) {
		bool wrong;
		struct entry *entry = key_of(a, i, TYPE_STRING, &wrong);
		answer_set(r, i - 1,
			wrong || entry == NULL ? answer_nil() : answer_text(text_slice(&entry->string)));
	}
	return r;
}

/* SET key value [NX] [PX ms] */
static redisReply *
do_set(const struct args *a)
{
	int64_t px = 0;
	bool fresh = a->n > 3 && arg_is(a->v[3], "NX");
	size_t at = fresh ? 4 : 3;
	if (a->n == at + 2 && arg_is(a->v[at], "PX")) {
		if (!arg_number(a->v[at + 1], &px))
			return answer_error("ERR value is not an integer or out of range");
		if (px <= 0)
			return answer_error("ERR invalid expire time in 'set' command");
	} else if (a->n != at) {
		return answer_error("ERR syntax error");
	}
	struct entry *entry = entry_find(a->store, a->env->wall_us, a->v[1]);
	if (entry != NULL && fresh)
		return answer_nil();
	if (entry != NULL)
		entry_remove(a->store, entry);
	entry = entry_add(a->store, a->v[1], TYPE_STRING);
	entry->string = text_dup(a->v[2]);
	entry->expire_ms = px > 0 ? a->env->wall_us / 1000 + px : 0;
	return answer_status("OK");
}

static redisReply *
do_del(const struct args *a)
{
	int64_t n = 0;
	for (size_t i = 1; i < a->n; i++) {
		struct entry *entry = entry_find(a->store, a->env->wall_us, a->v[i]);
		if (entry == NULL)
			continue;
		entry_remove(a->store, entry);
		n++;
	}
	return answer_int(n);
}

static redisReply *
do_exists(const struct args *a)
{
	int64_t n = 0;
	for (size_t i = 1; i < a->n; i++)
		n += entry_find(a->store, a->env->wall_us, a->v[i]) != NULL;
	return answer_int(n);
}

static redisReply *
do_type(const struct args *a)
{
	static const char *const words[] = {"string", "hash", "zset"};
	const struct entry *entry = entry_find(a->store, a->env->wall_us, a->v[1]);
	return answer_status(entry != NULL ? words[entry->type] : "none");
}

static redisReply *
do_pttl(const struct args *a)
{
	const struct entry *entry = entry_find(a->store, a->env->wall_us, a->v[1]);
	if (entry == NULL)
		return answer_int(-2);
	return answer_int(entry->expire_ms == 0 ? -1 : entry->expire_ms - a->env->wall_us / 1000);
}

static redisReply *
do_pexpire(const struct args *a)
{
	int64_t ms;
	if (!arg_number(a->v[2], &ms))
		return answer_error("ERR value is not an integer or out of range");
	struct entry *entry = entry_find(a->store, a->env->wall_us, a->v[1]);
	/* GT: only later than now; without an expiry it never ends, and nothing is later. */
	bool later = a->n < 4 || (entry != NULL && entry->expire_ms > 0 &&
					 a->env->wall_us / 1000 + ms > entry->expire_ms);
	if (entry == NULL || !later)
		return answer_int(0);
	if (ms <= 0)
		entry_remove(a->store, entry);
	else
		entry->expire_ms = a->env->wall_us / 1000 + ms;
	return answer_int(1);
}

static redisReply *
do_persist(const struct args *a)
{
	struct entry *entry = entry_find(a->store, a->env->wall_us, a->v[1]);
	if (entry == NULL || entry->expire_ms == 0)
		return answer_int(0);
	entry->expire_ms = 0;
	return answer_int(1);
}

static redisReply *
hash_field(struct entry *entry, struct slice field)
{
	struct pair *pair = entry != NULL ? pair_find(entry, field) : NULL;
	return pair != NULL ? answer_text(text_slice(&pair->value)) : answer_nil();
}

static redisReply *
do_hget(const struct args *a)
{
	bool wrong;
	struct entry *entry = key_of(a, 1, TYPE_HASH, &wrong);
	return wrong ? wrong_type() : hash_field(entry, a->v[2]);
}

static redisReply *
do_hmget(const struct args *a)
{
	bool wrong;
	struct entry *entry = key_of(a, 1, TYPE_HASH, &wrong);
	if (wrong)
		return wrong_type();
	redisReply *r = answer_array(a->n - 2);
	for (size_t i = 2; i < a->n; i++)
		answer_set(r, i - 2, hash_field(entry, a->v[i]));
	return r;
}

static redisReply *
do_hgetall(const struct args *a)
{
	bool wrong;
	struct entry *entry = key_of(a, 1, TYPE_HASH, &wrong);
	if (wrong)
		return wrong_type();
	size_t n = entry != NULL ? entry->n : 0;
	redisReply *r = answer_array(2 * n);
	for (size_t i = 0; i < n; i++) {
		answer_set(r, 2 * i, answer_text(text_slice(&entry->pairs[i].field)));
		answer_set(r, 2 * i + 1, answer_text(text_slice(&entry->pairs[i].value)));
	}
	return r;
}

static redisReply *
do_hkeys(const struct args *a)
{
	bool wrong;
	struct entry *entry = key_of(a, 1, TYPE_HASH, &wrong);
	if (wrong)
		return wrong_type();
	size_t n = entry != NULL ? entry->n : 0;
	redisReply *r = answer_array(n);
	for (size_t i = 0; i < n; i++)
		answer_set(r, i, answer_text(text_slice(&entry->pairs[i].field)));
	return r;
}

static redisReply *
do_hexists(const struct args *a)
{
	bool wrong;
	struct entry *entry = key_of(a, 1, TYPE_HASH, &wrong);
	return wrong ? wrong_type() : answer_int(entry != NULL && pair_find(entry, a->v[2]) != NULL);
}

static redisReply *
do_hlen(const struct args *a)
{
	bool wrong;
	struct entry *entry = key_of(a, 1, TYPE_HASH, &wrong);
	return wrong ? wrong_type() : answer_int(entry != NULL ? (int64_t)entry->n : 0);
}

static redisReply *
do_hset(const struct args *a)
{
	bool wrong;
	if (a->n % 2 != 0)
		return answer_error("ERR wrong number of arguments for 'hset' command");
	struct entry *entry = key_of(a, 1, TYPE_HASH, &wrong);
	if (wrong)
		return wrong_type();
	if (entry == NULL)
		entry = entry_add(a->store, a->v[1], TYPE_HASH);
	int64_t added = 0;
	for (size_t i = 2; i < a->n; i += 2) {
		struct pair *pair = pair_find(entry, a->v[i]);
		if (pair == NULL) {
			pair = pair_add(entry, a->v[i]);
			added++;
		}
		text_set(&pair->value, a->v[i + 1]);
	}
	return answer_int(added);
}

static redisReply *
do_hincrby(const struct args *a)
{
	bool wrong;
	int64_t by, n = 0;
	char text[24];
	struct entry *entry = key_of(a, 1, TYPE_HASH, &wrong);
	if (!arg_number(a->v[3], &by))
		return answer_error("ERR value is not an integer or out of range");
	if (wrong)
		return wrong_type();
	if (entry == NULL)
		entry = entry_add(a->store, a->v[1], TYPE_HASH);
	struct pair *pair = pair_find(entry, a->v[2]);
	if (pair != NULL && !arg_number(text_slice(&pair->value), &n))
		return answer_error("ERR hash value is not an integer");
	if (by > 0 ? n > INT64_MAX - by : n < INT64_MIN - by)
		return answer_error("ERR increment or decrement would overflow");
	if (pair == NULL)
		pair = pair_add(entry, a->v[2]);
	snprintf(text, sizeof(text), "%" PRId64, n + by);
	text_set(&pair->value, slice_of(text));
	return answer_int(n + by);
}

/* HDEL and ZREM: an aggregate that becomes empty is gone. */
static redisReply *
pairs_delete(const struct args *a, enum type type)
{
	bool wrong;
	struct entry *entry = key_of(a, 1, type, &wrong);
	if (wrong)
		return wrong_type();
	int64_t n = 0;
	for (size_t i = 2; entry != NULL && i < a->n; i++) {
		struct pair *pair = pair_find(entry, a->v[i]);
		if (pair == NULL)
			continue;
		pair_remove(entry, pair);
		n++;
	}
	if (entry != NULL && entry->n == 0)
		entry_remove(a->store, entry);
	return answer_int(n);
}

static redisReply *
do_hdel(const struct args *a)
{
	return pairs_delete(a, TYPE_HASH);
}

static redisReply *
do_zrem(const struct args *a)
{
	return pairs_delete(a, TYPE_ZSET);
}

static int
member_order(const void *left, const void *right)
{
	const struct pair *l = left, *r = right;
	if (l->score != r->score)
		return l->score < r->score ? -1 : 1;
	size_t n = l->field.n < r->field.n ? l->field.n : r->field.n;
	int order = memcmp(l->field.p, r->field.p, n);
	return order != 0 ? order : (l->field.n > r->field.n) - (l->field.n < r->field.n);
}

static redisReply *
do_zadd(const struct args *a)
{
	bool wrong;
	char score[64];
	if (a->v[2].n == 0 || a->v[2].n >= sizeof(score))
		return answer_error("ERR value is not a valid float");
	memcpy(score, a->v[2].p, a->v[2].n);
	score[a->v[2].n] = '\0';
	char *end;
	double value = strtod(score, &end);
	if (*end != '\0')
		return answer_error("ERR value is not a valid float");
	struct entry *entry = key_of(a, 1, TYPE_ZSET, &wrong);
	if (wrong)
		return wrong_type();
	if (entry == NULL)
		entry = entry_add(a->store, a->v[1], TYPE_ZSET);
	struct pair *pair = pair_find(entry, a->v[3]);
	bool added = pair == NULL;
	if (added)
		pair = pair_add(entry, a->v[3]);
	pair->score = value;
	qsort(entry->pairs, entry->n, sizeof(*entry->pairs), member_order);
	return answer_int(added);
}

static redisReply *
do_zcard(const struct args *a)
{
	bool wrong;
	struct entry *entry = key_of(a, 1, TYPE_ZSET, &wrong);
	if (wrong)
		return wrong_type();
	return answer_int(entry != NULL ? (int64_t)entry->n : 0);
}

static redisReply *
do_zscore(const struct args *a)
{
	bool wrong;
	struct entry *entry = key_of(a, 1, TYPE_ZSET, &wrong);
	if (wrong)
		return wrong_type();
	struct pair *pair = entry != NULL ? pair_find(entry, a->v[2]) : NULL;
	return pair != NULL ? answer_number(pair->score) : answer_nil();
}

/* ZRANGE and ZREVRANGE key start stop [WITHSCORES], by rank. */
static redisReply *
do_zrange(const struct args *a)
{
	bool wrong, reverse = arg_is(a->v[0], "ZREVRANGE");
	int64_t start, stop;
	bool scores = a->n == 5 && arg_is(a->v[4], "WITHSCORES");
	if (a->n == 5 && !scores)
		return answer_error("ERR syntax error");
	if (!arg_number(a->v[2], &start) || !arg_number(a->v[3], &stop))
		return answer_error("ERR value is not an integer or out of range");
	struct entry *entry = key_of(a, 1, TYPE_ZSET, &wrong);
	if (wrong)
		return wrong_type();
	int64_t n = entry != NULL ? (int64_t)entry->n : 0;
	start = start < 0 ? start + n : start;
	stop = stop < 0 ? stop + n : stop;
	start = start < 0 ? 0 : start;
	stop = stop >= n ? n - 1 : stop;
	if (start > stop)
		return answer_array(0);
	size_t each = scores ? 2 : 1;
	redisReply *r = answer_array((size_t)(stop - start + 1) * each);
	for (int64_t i = start; i <= stop; i++) {
		const struct pair *pair = &entry->pairs[reverse ? n - 1 - i : i];
		size_t at = (size_t)(i - start) * each;
		answer_set(r, at, answer_text(text_slice(&pair->field)));
		if (scores)
			answer_set(r, at + 1, answer_number(pair->score));
	}
	return r;
}

static redisReply *
do_publish(const struct args *a)
{
	return answer_int(a->env->publish != NULL ? a->env->publish(a->env->arg, a->v[1], a->v[2]) : 0);
}

static redisReply *
do_time(const struct args *a)
{
	char text[32];
	redisReply *r = answer_array(2);
	snprintf(text, sizeof(text), "%lld", (long long)(a->env->wall_us / 1000000));
	answer_set(r, 0, answer_text(slice_of(text)));
	snprintf(text, sizeof(text), "%lld", (long long)(a->env->wall_us % 1000000));
	answer_set(r, 1, answer_text(slice_of(text)));
	return r;
}

static redisReply *
do_info(const struct args *a)
{
	const char *text = a->env->info != NULL ? a->env->info(a->env->arg, a->v[1]) : "";
	return answer_text(slice_of(text));
}

static const struct command_row {
	const char *name;
	size_t args_min;
	size_t args_max;
	bool write;
	bool needs_memory;
	redisReply *(*run)(const struct args *a);
} rows[] = {
	{"GET", 2, 2, false, false, do_get},
	{"MGET", 2, 99, false, false, do_mget},
	{"SET", 3, 6, true, true, do_set},
	{"DEL", 2, 99, true, false, do_del},
	{"EXISTS", 2, 99, false, false, do_exists},
	{"TYPE", 2, 2, false, false, do_type},
	{"PTTL", 2, 2, false, false, do_pttl},
	{"PEXPIRE", 3, 4, true, false, do_pexpire},
	{"PERSIST", 2, 2, true, false, do_persist},
	{"HGET", 3, 3, false, false, do_hget},
	{"HMGET", 3, 8000, false, false, do_hmget},
	{"HGETALL", 2, 2, false, false, do_hgetall},
	{"HKEYS", 2, 2, false, false, do_hkeys},
	{"HEXISTS", 3, 3, false, false, do_hexists},
	{"HLEN", 2, 2, false, false, do_hlen},
	{"HSET", 4, 8000, true, true, do_hset},
	{"HDEL", 3, 8000, true, false, do_hdel},
	{"HINCRBY", 4, 4, true, true, do_hincrby},
	{"ZADD", 4, 4, true, true, do_zadd},
	{"ZREM", 3, 99, true, false, do_zrem},
	{"ZCARD", 2, 2, false, false, do_zcard},
	{"ZSCORE", 3, 3, false, false, do_zscore},
	{"ZRANGE", 4, 5, false, false, do_zrange},
	{"ZREVRANGE", 4, 5, false, false, do_zrange},
	{"PUBLISH", 3, 3, false, false, do_publish},
	{"TIME", 1, 1, false, false, do_time},
	{"INFO", 2, 2, false, false, do_info},
};

static const struct command_row *
row_of(struct slice name)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (arg_is(name, rows[i].name))
			return &rows[i];
	return NULL;
}

bool
store_changed(struct slice name, const redisReply *reply)
{
	const struct command_row *row = row_of(name);
	bool always = arg_is(name, "HSET") || arg_is(name, "HINCRBY") || arg_is(name, "ZADD");
	if (row == NULL || reply->type == REDIS_REPLY_ERROR || reply->type == REDIS_REPLY_NIL)
		return false;
	return arg_is(name, "PUBLISH") ||
	       (row->write && (always || reply->type != REDIS_REPLY_INTEGER || reply->integer != 0));
}

redisReply *
store_run(struct store *store, const struct store_env *env, size_t argc, const struct slice *argv)
{
	assert(argc > 0);
	const struct command_row *row = row_of(argv[0]);
	if (row == NULL)
		return answer_error("ERR Unknown Redis command called from script");
	if (argc < row->args_min || argc > row->args_max)
		return answer_error("ERR Wrong number of args calling Redis command from script");
	if (row->write && env->readonly)
		return answer_error("READONLY You can't write against a read only replica.");
	if (row->write && env->misconf)
		return answer_error(
			"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to "
			"persist to disk.");
	if (row->needs_memory && env->full && !*env->written)
		return answer_error("OOM command not allowed when used memory > 'maxmemory'.");
	if (row->write && env->written != NULL)
		*env->written = true;
	struct args a = {store, env, argc, argv};
	/* cppcheck-suppress returnDanglingLifetime ; what it returns is a reply of its own */
	return row->run(&a);
}
