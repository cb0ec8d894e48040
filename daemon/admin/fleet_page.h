/*
 * fleet_page: what the pages of HTTP show of all daemons: TOP, HOUR, INSPECT and HISTORY with FLEET. Called
 * by the pages, and by fleet.c when a request is over.
 */
#ifndef ADMIN_FLEET_PAGE_H
#define ADMIN_FLEET_PAGE_H

#include "proto/slice.h"

#include <stdint.h>

struct command;
struct fleet;
struct fleet_open;

/* For pages of HTTP: what TOP, HOUR, INSPECT or HISTORY with FLEET answered last, in RESP3, and how long ago
 * that was; n == 0 and -1: nothing yet. Asks anew if that is a second or longer; the answer is seen the next
 * time. */
struct slice fleet_page(struct fleet *fleet, const struct command *command, int64_t now_ms, int64_t *age_ms);

/* A request of fleet_ask_page() is over. */
void seen_take(struct fleet *fleet, const struct fleet_open *open, int64_t now_ms);
void seen_done(struct fleet *fleet);

#endif
