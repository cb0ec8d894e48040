/*
 * change: operators, who change the set of masters while things go wrong, and the driver's part in it.
 *
 * A daemon is asked to replace a member, to add two, or to give up what it was asked. At the end, when all
 * is well, the set is made of the first servers of the world, by the same commands: that this can be done is
 * checked. Daemons that start again have the list of the beginning or that of the set in force.
 */
#ifndef SIM_CHANGE_H
#define SIM_CHANGE_H

#include <stdbool.h>

struct action;
struct host;
struct plan;
struct reply;
struct server;
struct vote;
struct world;

void change_watch(struct world *world);
/* After things went wrong. */
void change_finish(struct world *world);

/* Whether the first set of the world has this server. */
bool change_begins_with(const struct plan *plan, unsigned server);
/* Whether it has been a member ever since. */
bool change_stayed(struct world *world, const struct server *server);
/* What stands in the configuration of a daemon that starts now; how many. */
unsigned change_list(struct world *world, unsigned *list);
/* Whether this server may lose its memory: no member lacks any, and it is not the only one. */
bool change_spares(const struct world *world, const struct server *server);

/* ACTION_MASTER: the slot is another server from the next turn on. */
void change_move(struct host *host, const struct action *action);
/* An answer that comes in between is none. */
void change_deafens(struct host *host, const struct vote *vote);
/* What the operator is answered. */
void change_reply(struct host *host, const struct reply *reply);

#endif
