/*
 * finder_cluster: what a finder asks the nodes of a Redis Cluster; see finder_inner.h.
 */
#ifndef REDIS_FINDER_CLUSTER_H
#define REDIS_FINDER_CLUSTER_H

/* CRC16 of the key, or of what its first braces contain. */
unsigned slot_of(const char *key);

#endif
