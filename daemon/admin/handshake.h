/*
 * handshake: what client libraries send on their own when they connect: HELLO, AUTH, names, PING and the
 * like. Each is answered as Redis answers it.
 *
 * dispatch.c calls the handlers; none of them touches a lock.
 */
#ifndef ADMIN_HANDSHAKE_H
#define ADMIN_HANDSHAKE_H

#include "daemon/admin/context.h"

context_verb handshake_ping;
context_verb handshake_echo;
context_verb handshake_hello;
context_verb handshake_auth;
context_verb handshake_select;
context_verb handshake_reset;
context_verb handshake_quit;
context_verb handshake_config_get;
context_verb handshake_catalog; /* COMMAND, and the HELP of CLIENT, SESSION, COMMAND and CONFIG */
context_verb handshake_client_id;
context_verb handshake_client_getname;
context_verb handshake_client_setname;
context_verb handshake_client_setinfo;
context_verb handshake_client_tracking;

#endif
