/*
 * clients: CLIENT INFO and CLIENT LIST, a line for each connection (PROTOCOL.md 8).
 */
#ifndef ADMIN_CLIENTS_H
#define ADMIN_CLIENTS_H

#include "daemon/request/context.h"

context_verb clients_info;
context_verb clients_list;

#endif
