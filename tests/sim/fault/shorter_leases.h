/*
 * shorter_leases: all daemons are killed and start again with shorter leases, as when a fleet gets another
 * configuration, and a master forgets at about that time. What clients were told under the longer leases is
 * in the ledgers alone then, and the guard of that master has to wait for it (GUARANTEES, Other settings).
 *
 *     longer leases ──all killed, a master forgets──▶ shorter ones ──all killed──▶ longer ones ──▶ and so on
 *
 * G3 assumes that the ledgers can be read. So in such a world each daemon goes on from its ledger, and one
 * that has none does not begin with shorter leases.
 */
#ifndef SIM_SHORTER_LEASES_H
#define SIM_SHORTER_LEASES_H

struct plan;
struct world;

/* Whether the world has this fault, of those where daemons go on from their ledgers with other leases. */
void shorter_leases_draw(struct plan *plan);

/* Strikes again and again, in a world that has this fault. */
void shorter_leases_watch(struct world *world);

#endif
