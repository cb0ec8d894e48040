/*
 * request: what clients ask: of which kind a LOCK is, and how a request is shown.
 */
#ifndef SIM_REQUEST_H
#define SIM_REQUEST_H

#include <stddef.h>

struct request;
struct world;

/* A kind of lock that its name may have. */
void request_choose_kind(struct world *world, struct request *request);

/* For the trace. */
void request_text(const struct request *request, char *out, size_t size);

#endif
