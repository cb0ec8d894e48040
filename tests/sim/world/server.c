/* server: see server.h. */
#include "tests/sim/world/server.h"

#include "tests/sim/fault/foreign_writes.h"
#include "tests/sim/judge/hellos.h"
#include "tests/sim/world/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t
on_publish(void *arg, struct slice channel, struct slice message)
{
	struct server *s = arg;
	int64_t heard = 0;
	herald_add(&s->herald, channel, message);
	for (unsigned i = 0; i < s->world->plan.hosts; i++)
		heard += inbox_published(&s->world->hosts[i], s, channel, message);
	return heard;
}

void
server_init(struct world *w, unsigned index)
{
	struct server *s = &w->servers[index];
	*s = (struct server){.world = w, .index = index, .up = true, .life = 1};
	s->master = master_new(rng_next(&w->rng));
	master_on_publish(s->master, on_publish, s);
	s->ppm = rng_range(&w->rng, -4000, 4000);
	clock_error_step(
		&s->drift, w->now_us, rng_range(&w->rng, -w->plan.wall_apart_us, w->plan.wall_apart_us));
	s->backup = store_new();
	s->other = store_new();
}

void
server_done(struct server *s)
{
	master_free(s->master);
	store_free(s->backup);
	store_free(s->other);
}

void
server_step_clock(struct server *s, int64_t step_us)
{
	clock_error_step(&s->drift, s->world->now_us, step_us);
}

void
server_run_fast(struct server *s, int64_t for_us, int64_t percent)
{
	const struct plan *plan = &s->world->plan;
	clock_error_fast(&s->drift, s->world->now_us, for_us, percent);
	s->lacks_until_us = s->world->now_us + for_us + (plan->lease_ms + plan->margin_ms) * 2200;
}

/* It runs too fast for two leases and then as much too slowly: wrong rates, but no drift that adds up. */
int64_t
server_wall_us(const struct server *s)
{
	int64_t now_us = s->world->now_us, half_us = s->world->plan.lease_ms * 2000;
	int64_t phase_us = now_us % (2 * half_us);
	int64_t fast_us = phase_us < half_us ? phase_us : 2 * half_us - phase_us;
	return WORLD_WALL_US + now_us + fast_us * s->ppm / 1000000 + clock_error_ahead_us(&s->drift, now_us);
}

redisReply *
server_run(struct server *s, int argc, const char *const *argv, const size_t *argvlen)
{
	int64_t wall_us = server_wall_us(s);
	if (wall_us > s->peak_us)
		s->peak_us = wall_us;
	redisReply *reply = master_run(s->master, wall_us, argc, argv, argvlen);
	replication_commit(s);
	hellos_ran(s);
	return reply;
}

void
server_meddle(struct server *s, const char *script, const char *key)
{
	const char *argv[] = {"EVAL", script, "1", key};
	const size_t argvlen[] = {4, strlen(script), 1, strlen(key)};
	struct master_health saved = *master_health(s->master);
	*master_health(s->master) = (struct master_health){0};
	freeReplyObject(server_run(s, 4, argv, argvlen));
	*master_health(s->master) = saved;
}

static void
server_back(void *arg, uint64_t life, void *data)
{
	struct server *s = arg;
	(void)data;
	if (s->life != life)
		return;
	s->up = true;
	trace_line(&s->world->trace, s->world->now_us, "m%u     is up again", s->index);
}

void
server_crash(struct server *s, struct store *store, int64_t down_us)
{
	struct world *w = s->world;
	s->up = false;
	s->life++;
	s->ended_us = w->now_us;
	s->evicted_us = 0;
	s->forgot_us = store == master_store(s->master) ? s->forgot_us : w->now_us;
	s->stopped_until_us = 0;
	memset(s->token, 0, sizeof(s->token));
	hellos_lost(s);
	master_restart(s->master, rng_next(&w->rng), store);
	if (w->plan.replicas > 0)
		replication_crashed(s);
	for (unsigned i = 0; i < w->plan.hosts; i++)
		host_server_gone(&w->hosts[i], s);
	world_after(w, down_us, server_back, s, s->life, NULL);
}

void
server_hang_up(struct server *s)
{
	s->life++;
	for (unsigned i = 0; i < s->world->plan.hosts; i++)
		host_server_gone(&s->world->hosts[i], s);
}

/* Client tracking tells those who listen. */
void
server_flush(struct server *s)
{
	store_flush(master_store(s->master));
	s->forgot_us = s->world->now_us;
	memset(s->token, 0, sizeof(s->token));
	hellos_lost(s);
	for (unsigned i = 0; i < s->world->plan.hosts; i++)
		inbox_flushed(&s->world->hosts[i], s);
}

void
server_backup(struct server *s)
{
	store_free(s->backup);
	s->backup = store_copy(master_store(s->master));
}

static int64_t
remembered(struct store *memory, struct slice field)
{
	struct slice text = {0};
	int64_t n = 0;
	(void)store_field(memory, SLICE("hf:node"), field, &text);
	for (size_t i = 0; i < text.n; i++)
		n = n * 10 + (text.p[i] - '0');
	return n;
}

int64_t
server_highest(struct store *memory)
{
	return remembered(memory, SLICE("highest"));
}

int64_t
server_longest_ms(struct store *memory)
{
	return remembered(memory, SLICE("ttl_max"));
}

bool
server_may_turn_to(const struct server *s, struct store *memory)
{
	int64_t highest = server_highest(memory);
	if (highest == 0)
		return true; /* it knows of nobody */
	for (unsigned i = 0; i < s->world->plan.hosts; i++) {
		const struct route *way = &s->world->hosts[i].ways[s->index];
		if (way->told <= highest || !wires_know(way, highest + 1))
			return false;
	}
	return true;
}

static void
server_turn_to(struct server *s, struct store *memory)
{
	const struct plan *plan = &s->world->plan;
	s->other = master_exchange(s->master, memory);
	memset(s->token, 0, sizeof(s->token));
	hellos_lost(s);
	s->forgot_us = s->world->now_us;
	s->lacks_until_us = s->world->now_us + (plan->lease_ms + plan->margin_ms) * 2200;
	orphan_back(s);
}

void
server_revert(struct server *s)
{
	struct store *other = s->other;
	server_turn_to(s, store_copy(s->backup));
	store_free(s->other);
	s->other = other;
}

void
server_swap(struct server *s)
{
	server_turn_to(s, s->other);
}

bool
server_sound(const struct server *s)
{
	const struct master_health *health = master_health(s->master);
	return s->up && s->world->now_us >= s->stopped_until_us && s->world->now_us >= s->bare_until_us &&
	       !health->full && !health->evicting && !health->readonly && !health->loading &&
	       !health->misconf;
}

bool
server_admitted(const struct server *s)
{
	return s->up && master_admitted(s->master);
}

bool
server_field_is(const struct server *s, const char *field, const char *text)
{
	struct slice found;
	return store_field(master_store(s->master), SLICE("hf:node"), slice_of(field), &found) &&
	       slice_equal(found, slice_of(text));
}

bool
server_agreed(const struct server *s)
{
	return server_field_is(s, "agreement", "3");
}

struct slice
server_lease_key(const struct world *w, unsigned name)
{
	static const struct slice keys[PLAN_NAMES_MAX] = {
		{"hf:{a}", 6}, {"hf:{ab}", 7}, {"hf:{foreign}", 12}};
	if (plan_keyed(&w->plan, name))
		return name == 2 ? w->plan.redisson ? SLICE("foreign") : SLICE("lock:foreign") : SLICE("ab");
	return keys[name];
}

struct slice
server_queue_key(unsigned name)
{
	static const struct slice keys[PLAN_NAMES_MAX] = {
		{"hf:{a}:q", 8}, {"hf:{ab}:q", 9}, {"hf:{foreign}:q", 14}};
	return keys[name];
}

bool
server_owner(const struct server *s, unsigned name, struct slice *owner)
{
	struct slice key = server_lease_key(s->world, name), count;
	struct store *store = master_store(s->master);
	if (s->world->plan.redisson && name == 2)
		return store_pair(store, server_wall_us(s), key, 0, owner, &count);
	return store_get(store, server_wall_us(s), key, owner);
}
