/*
 * rig: the whole daemon except main, on a real redis-server, with clients on its sockets. The daemon's loop
 * runs while a client waits for bytes.
 */
#ifndef TESTS_SUPPORT_RIG_H
#define TESTS_SUPPORT_RIG_H

#include "daemon/base/log.h"
#include "daemon/base/notify.h"
#include "daemon/base/stats.h"
#include "daemon/driver.h"
#include "daemon/handover.h"
#include "tests/support/redis.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Leases of names that begin with short/ last so long; all others as long as any test. */
#define RIG_SHORT_MS 1000

struct rig {
	struct redis_server redis;
	struct log log;
	struct stats stats;
	struct notify notify;
	struct driver *driver;
	char path[108];
	char host[16]; /* an address of 127.0.0.0/8 of this process alone */
	uint16_t port;
	char heard[65536]; /* the latest answer */
	int reloads;
	bool reload_fails;
	int relied;           /* how often the daemon has said until when clients may rely on locks */
	int64_t relied_bytes; /* of the ledger, when it said so for the first time */
	struct handover_program program; /* of the next process; there is none unless a test says so */
};

/* One per test process. */
extern struct rig rig;

/* The fixture of a suite. */
void rig_init(void);
void rig_done(void);

/* What the daemon was started with. */
struct driver_settings rig_settings(void);

/* Connected descriptors. */
int rig_client(void);
int rig_client_tcp(void);

void rig_say(int fd, const char *text);
/* Runs the loop until the client has received n bytes or, with n == 0, the end of the stream. */
const char *rig_hear(int fd, size_t n);
const char *rig_hear_line(int fd);
/* All bytes up to the line that ends with `last`. */
const char *rig_hear_until(int fd, const char *last);

/* Sends request, and expects exactly this answer. */
void rig_ask(int fd, const char *request, const char *answer);
/* Sends request, and expects an answer that begins with `begins`. Returns its line. */
const char *rig_ask_line(int fd, const char *request, const char *begins);
/* Sends request, and returns the bulk string of the answer, without its header. */
const char *rig_ask_bulk(int fd, const char *request);
void rig_hello3(int fd);
/* Returns when all requests that were sent before have been handled. */
void rig_sync_all(void);

/* A process that does nothing. The caller kills it and waits for it. */
pid_t rig_child(void);
/* SESSION BIND to that process. */
void rig_bind(int fd, pid_t pid, const char *answer);

#endif
