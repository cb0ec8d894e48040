/*
 * masterset_request: what was asked for here of the set of masters, until it is answered; and the slots
 * behind the members: newcomers that are checked, and servers that have left.
 */
#ifndef CORE_MASTERSET_REQUEST_H
#define CORE_MASTERSET_REQUEST_H

#include "daemon/core/masterset/masterset.h"

#include <stdbool.h>

struct conn;
struct core;
struct master;

/* A HELLO found that it is the server of another slot. False: the slot is no newcomer's. */
bool masterset_known_twin(struct core *core, struct master *m);

/* TIMER_MASTERS. */
void masterset_timer(struct core *core);

/* This daemon ends: refuses a change that was asked for here. */
void masterset_drain(struct core *core, const struct reply *refusal);

/* EVENT_MASTERS: begins a change of the set. single: why there can be no other master; NULL: there can.
 * Answers this connection now, or when the set has changed. */
void masterset_asked(
	struct core *core, conn_id conn, const struct masters_change *change, const char *single);

/* The same for a slot behind the members: a newcomer that is checked, or a server that has left. */
void masterset_ask_behind(const struct master *m, struct call *hello);
enum membership masterset_answered_behind(struct core *core, struct master *m, const struct vote *vote);

/* What was asked for here goes on: a next set is known; another set is in force (masterset_request.c). */
void masterset_request_next(struct core *core);
void masterset_request_done(struct core *core);

#endif
