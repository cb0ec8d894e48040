/*
 * reason: why a waiter has not been granted its lock yet, in words. slow-wait notes it, and INSPECT shows it
 * of the first waiter.
 *
 *     held by session 7     a session here has the lock (grant.h)
 *     withheld              or had it: its client may still rely on it (grant_abandon())
 *     behind a waiter       waiters here are served in order (share.c)
 *     had its turn          another daemon's waiter is next (lease_open(), lease_must_yield())
 *     NOMASTER, GUARD, ...  the masters cannot be asked, or did not answer as needed (refusal.c)
 *     held through another  a master refuses it, and names the owner
 *     a master refused it   and names none: lua/place.inc decides between daemons
 */
#ifndef CORE_REASON_H
#define CORE_REASON_H

#include <stddef.h>
#include <stdint.h>

struct core;
struct waiter;

/* Writes it to out, which has room for so many bytes, NUL included; REPLY_TEXT_MAX are enough. */
void wait_reason(const struct core *core, const struct waiter *w, int64_t now_ms, char *out, size_t room);

#endif
