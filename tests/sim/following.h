/*
 * following: with replicas-ack a daemon believes nothing of a master that a majority of master and replicas
 * does not have (GUARANTEES): no greeting, no admission, no lease and nothing of a latch; however many of the
 * replicas are connected. A greeting and a question about a latch leave something that replicas can
 * acknowledge only while they follow.
 */
#ifndef SIM_FOLLOWING_H
#define SIM_FOLLOWING_H

struct flight;
struct vote;

/* This answer is told to its daemon. */
void following_told(const struct flight *flight, const struct vote *vote);

#endif
