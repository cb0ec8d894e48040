/* conns: see conns.h. */
#include "tests/sim/world/conns.h"

#include "tests/sim/world/host.h"

#include <stdlib.h>

void
conns_init(struct conns *conns)
{
	LIST_INIT(&conns->all);
	for (unsigned i = 0; i < CONNS_BUCKETS; i++) {
		LIST_INIT(&conns->tagged[i]);
		LIST_INIT(&conns->closed[i]);
	}
	for (unsigned i = 0; i < PLAN_HOSTS_MAX; i++)
		LIST_INIT(&conns->open[i]);
}

void
conns_free(struct conns *conns)
{
	struct conn *c;
	while ((c = LIST_FIRST(&conns->all)) != NULL) {
		LIST_REMOVE(c, in_world);
		free(c);
	}
}

const struct conn_list *
conns_tagged(const struct conns *conns, uint64_t tag)
{
	return &conns->tagged[tag % CONNS_BUCKETS];
}

const struct conn_list *
conns_closed(const struct conns *conns, session_id session)
{
	return &conns->closed[session % CONNS_BUCKETS];
}

static void
put_tagged(struct conns *conns, struct conn *c)
{
	struct conn_list *list = &conns->tagged[c->tag % CONNS_BUCKETS];
	struct conn *at = LIST_FIRST(list), *before = NULL;
	for (; at != NULL && at->id > c->id; at = LIST_NEXT(at, in_tag))
		before = at;
	if (before == NULL)
		LIST_INSERT_HEAD(list, c, in_tag);
	else
		LIST_INSERT_AFTER(before, c, in_tag);
}

static void
put_place(struct conn_list *list, struct conn *c)
{
	struct conn *at = LIST_FIRST(list), *before = NULL;
	for (; at != NULL && at->id > c->id; at = LIST_NEXT(at, in_place))
		before = at;
	if (before == NULL)
		LIST_INSERT_HEAD(list, c, in_place);
	else
		LIST_INSERT_AFTER(before, c, in_place);
}

void
conns_add(struct conns *conns, struct conn *c)
{
	LIST_INSERT_HEAD(&conns->all, c, in_world);
	put_tagged(conns, c);
}

void
conns_move(struct conns *conns, struct conn *c, uint64_t tag)
{
	LIST_REMOVE(c, in_tag);
	c->tag = tag;
	put_tagged(conns, c);
}

void
conns_open(struct conns *conns, struct conn *c)
{
	c->open = true;
	put_place(&conns->open[c->host->index], c);
}

void
conns_close(struct conns *conns, struct conn *c)
{
	c->open = false;
	LIST_REMOVE(c, in_place);
	put_place(&conns->closed[c->session % CONNS_BUCKETS], c);
}
