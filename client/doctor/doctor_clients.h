/*
 * doctor_clients: what is wrong with a client of this host's daemon: it waits for long, it keeps the daemon
 * busy, or it has nearly all locks that it may have; see doctor.h. doctor.c calls it.
 */
#ifndef CLIENT_DOCTOR_CLIENTS_H
#define CLIENT_DOCTOR_CLIENTS_H

struct doctor;
struct wire;

/* Checks the clients of this host, with further requests: one that waits for long, one that keeps the
 * daemon busy, and one that has nearly all locks that its user may have. */
void doctor_check_clients(struct doctor *d, struct wire *w);

#endif
