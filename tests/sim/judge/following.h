/*
 * following: the checker's part about replicas-ack. A daemon accepts an answer of a master only if a majority
 * of master and replicas has the change (GUARANTEES): for HELLOs, admissions, leases and latches, however
 * many replicas are connected. A HELLO and a question about a latch write something that replicas can
 * acknowledge only while they follow.
 */
#ifndef SIM_FOLLOWING_H
#define SIM_FOLLOWING_H

struct flight;
struct vote;

/* The daemon gets this answer. */
void following_told(const struct flight *flight, const struct vote *vote);

#endif
