/*
 * change: simulates operators that change the set of masters during faults, and the driver's part in that.
 *
 * A daemon is asked to replace a member, to add two, or to abort a change. After the faults, the same
 * commands make a set of the first servers of the world, and the checker requires that this succeeds. A
 * daemon that starts again has the first list or the list of the set in force.
 */
#ifndef SIM_CHANGE_H
#define SIM_CHANGE_H

#include <stdbool.h>
#include <stdint.h>

struct action;
struct host;
struct plan;
struct reply;
struct server;
struct vote;
struct world;

void change_watch(struct world *world);
/* After the faults. */
void change_finish(struct world *world);

/* Whether the first set of the world has this server. */
bool change_begins_with(const struct plan *plan, unsigned server);
/* Whether it has been a member since then. */
bool change_stayed(struct world *world, const struct server *server);
/* The masters in the configuration of a daemon that starts now; returns their number. first: the first list.
 */
unsigned change_list(struct world *world, bool first, unsigned *list);
/* The servers that are members of the set in force, a bit for each, and its generation. */
unsigned change_members(const struct world *world, int64_t *generation);
/* Whether this server may lose its memory: no member lacks its own, and it is not the only member. */
bool change_spares(const struct world *world, const struct server *server);

/* ACTION_MASTER: the slot is another server from the next turn on. */
void change_move(struct host *host, const struct action *action);
/* An answer that arrives before that turn does not count. */
void change_deafens(struct host *host, const struct vote *vote);
/* The answer to the operator. */
void change_reply(struct host *host, const struct reply *reply);

#endif
