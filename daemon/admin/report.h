/*
 * report: what operators look at: INSPECT, LOCKS, SESSIONS, CLIENT LIST and CLIENT INFO (PROTOCOL.md 6).
 * dispatch.c calls the handlers. They show the views of the core and change nothing.
 */
#ifndef ADMIN_REPORT_H
#define ADMIN_REPORT_H

#include "daemon/admin/context.h"

context_verb report_inspect;
context_verb report_locks;
context_verb report_sessions;
context_verb report_client_info;
context_verb report_client_list;

#endif
