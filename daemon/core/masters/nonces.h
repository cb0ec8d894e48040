/*
 * nonces: what a server and this daemon know of each other, by which the server knows this process from a
 * copy of it: the nonces that HELLOs carried, and the mark, the greatest token that the server has reported.
 *
 * They belong to the server, whichever slot it is reached through. Those of a server that has left its slot
 * are stored for a while (struct retired_server).
 */
#ifndef CORE_NONCES_H
#define CORE_NONCES_H

#include <stdbool.h>

struct core;
struct master;
struct slice;

/*
 * A nonce for the next HELLO. The master stores the nonce of the last HELLO that it ran. That can be any
 * HELLO since the last answered one, so their nonces are stored; if there is no room for one more, the newest
 * is sent again. It can also be an earlier HELLO, whose connection broke and whose bytes arrived late. So all
 * HELLOs within a second carry the same nonce: a link that breaks after each HELLO does not push out those of
 * the minute before. A copy of this process draws different nonces after a second at most: if the stored
 * nonce was never sent here, a copy sent it.
 */
void nonces_draw(struct core *core, struct master *m);

/* As a HELLO carries them: the newest first. */
struct slice nonces_of(const struct master *m);

/* Takes over the nonces of slots that may have sent this server HELLO; whether there were any that it had
 * not. */
bool nonces_recall(const struct core *core, struct master *m);

/* Takes over what this daemon and the server know of each other, through another slot or one that it has
 * left. */
void nonces_recognise(const struct core *core, struct master *m);

/* The server leaves its slot: what it and this daemon know of each other is stored. */
void nonces_part(struct core *core, const struct master *m);

#endif
