/*
 * audit: who logged in, what administrators asked for, and with which result. The dispatch calls it when such
 * a request has been answered, or waits. It writes to the audit log, which is the log unless the
 * configuration names another.
 */
#ifndef REQUEST_AUDIT_H
#define REQUEST_AUDIT_H

#include "daemon/request/context.h"

/* Whether this request is logged with its client and its result; and logs it, once it is answered or
 * waits (identity.answered). */
bool audit_wants(const struct command *command);
void audit_request(struct context *context, struct connection *connection, const struct command *command);
#define AUDIT_WHO_MAX 160 /* bytes of a text of audit_who() */
/* Who a client is, for people on other hosts, too: "ops from 10.0.0.7:4711", "uid 1000 on app-1". */
void audit_who(const struct context *context, const struct identity *who, char *out, size_t room);
/* A certificate has logged a client in as this user, or was refused (identity.answered). */
void audit_certificate(struct context *context, struct connection *connection, struct slice user);

/* A certificate has logged a client of HTTP in as this user. */
void audit_page(struct context *context, const struct peer *peer, const char *user);

#endif
