/*
 * clients: CLIENT INFO and CLIENT LIST, a line for each connection (PROTOCOL.md 8); and which client sends
 * most.
 */
#ifndef ADMIN_CLIENTS_H
#define ADMIN_CLIENTS_H

#include "daemon/request/context.h"

context_verb clients_info;
context_verb clients_list;

/* Of all connections the one with most requests in its latest second. It walks through all of them. */
struct busiest {
	int64_t session; /* 0: none has sent anything */
	int64_t requests_s;
	int64_t busy_us_s; /* how long the daemon was busy with them */
};
void clients_busiest(const struct context *context, struct busiest *out);

/* From so many requests a second on, people are shown who it is. */
#define BUSIEST_LEAST_S 1000

#endif
