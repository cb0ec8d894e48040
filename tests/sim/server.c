/* server: see server.h. */
#include "tests/sim/server.h"

#include "tests/sim/world.h"

#include <stdlib.h>
#include <string.h>

#define WALL_START_US INT64_C(1760000000000000)

static int64_t
on_publish(void *arg, struct slice channel, struct slice message)
{
	struct world *w = arg;
	int64_t heard = 0;
	for (unsigned i = 0; i < w->plan.hosts; i++)
		heard += host_published(&w->hosts[i], channel, message);
	return heard;
}

void
server_init(struct world *w)
{
	struct server *s = &w->server;
	s->master = master_new(rng_next(&w->rng));
	master_on_publish(s->master, on_publish, w);
	s->up = true;
	s->life = 1;
	s->ppm = rng_range(&w->rng, -4000, 4000);
	s->backup = store_new();
}

void
server_done(struct world *w)
{
	master_free(w->server.master);
	store_free(w->server.backup);
}

int64_t
server_wall_us(const struct world *w)
{
	const struct server *s = &w->server;
	return WALL_START_US + s->wall_offset_us + w->now_us + w->now_us * s->ppm / 1000000;
}

redisReply *
server_run(struct world *w, int argc, const char *const *argv, const size_t *argvlen)
{
	return master_run(w->server.master, server_wall_us(w), argc, argv, argvlen);
}

void
server_meddle(struct world *w, const char *script, const char *key)
{
	const char *argv[] = {"EVAL", script, "1", key};
	const size_t argvlen[] = {4, strlen(script), 1, strlen(key)};
	struct master_health saved = *master_health(w->server.master);
	*master_health(w->server.master) = (struct master_health){0};
	freeReplyObject(server_run(w, 4, argv, argvlen));
	*master_health(w->server.master) = saved;
}

static void
server_back(void *arg, uint64_t life, void *data)
{
	struct world *w = arg;
	(void)data;
	if (w->server.life != life)
		return;
	w->server.up = true;
	trace_line(&w->trace, w->now_us, "m      is up again");
}

void
server_crash(struct world *w, struct store *store, int64_t down_us)
{
	struct server *s = &w->server;
	s->up = false;
	s->life++;
	s->stopped_until_us = 0;
	memset(s->token, 0, sizeof(s->token));
	master_restart(s->master, rng_next(&w->rng), store);
	for (unsigned i = 0; i < w->plan.hosts; i++)
		host_server_gone(&w->hosts[i]);
	world_after(w, down_us, server_back, w, s->life, NULL);
}

void
server_flush(struct world *w)
{
	store_flush(master_store(w->server.master));
	memset(w->server.token, 0, sizeof(w->server.token));
}

void
server_backup(struct world *w)
{
	store_free(w->server.backup);
	w->server.backup = store_copy(master_store(w->server.master));
}
