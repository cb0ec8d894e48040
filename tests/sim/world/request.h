/*
 * request: chooses the kind of a client's LOCK, and formats requests for the trace.
 */
#ifndef SIM_REQUEST_H
#define SIM_REQUEST_H

#include <stddef.h>

struct request;
struct world;

/* Chooses a kind that the request's name may have. */
void request_choose_kind(struct world *world, struct request *request);

/* For the trace. */
void request_text(const struct request *request, char *out, size_t size);

#endif
