/*
 * handover: a daemon hands over to its next process: the core is saved at rest, and loaded as a new one.
 *
 *     stops reading clients ──calls answered, or given up──▶ all links down ──saved, loaded──▶ links up ──▶
 * reads
 *
 * The connections of its clients, its daemon-id and its clock stay. Some of the next processes come up late:
 * what was due meanwhile is overdue then, and other daemons may have what it held.
 */
#ifndef SIM_HANDOVER_H
#define SIM_HANDOVER_H

#include <stdbool.h>

struct host;
struct note;
struct plan;
struct world;

/* Whether the world has this fault: by a chance of its own, so that all else is as it was. */
void handover_draw(struct plan *plan);

/* Begins, unless the daemon is about to end, or hands over already. */
void handover_begin(struct host *host);

/* The daemon has just started: some hand over before they have reached any master. */
void handover_started(struct host *host);

/* What the core notes: no session ends because its requests are not read. */
void handover_note(const struct host *host, const struct note *note);

/* Whether the end of a WAIT may be told later: its daemon has no masters because it hands over, or did just
 * now. */
bool handover_excuses(const struct host *host);

/* Hands over again and again, in a world that has this fault. */
void handover_watch(struct world *world);

#endif
