/*
 * rig: the whole daemon but main, on a real redis-server, and clients that speak to it over its sockets. The
 * daemon turns while a client listens.
 */
#ifndef TESTS_SUPPORT_RIG_H
#define TESTS_SUPPORT_RIG_H

#include "daemon/base/log.h"
#include "daemon/base/notify.h"
#include "daemon/base/stats.h"
#include "daemon/driver.h"
#include "tests/support/redis.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct rig {
	struct redis_server redis;
	struct log log;
	struct stats stats;
	struct notify notify;
	struct driver *driver;
	char path[108];
	uint16_t port;
	char heard[65536]; /* the latest answer */
	int reloads;
	bool reload_fails;
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
/* Turns until the client has heard n bytes or, with n == 0, the end. */
const char *rig_hear(int fd, size_t n);
const char *rig_hear_line(int fd);
/* All up to the line that ends so. */
const char *rig_hear_until(int fd, const char *last);

/* The answer, byte for byte. */
void rig_ask(int fd, const char *request, const char *answer);
/* The answer begins so; all of its line is taken. */
const char *rig_ask_line(int fd, const char *request, const char *begins);
/* A bulk string, without its header. */
const char *rig_ask_bulk(int fd, const char *request);
void rig_hello3(int fd);
/* Whatever was said before has arrived. */
void rig_sync_all(void);

/* A process that does nothing; the caller's to kill and to wait for. */
pid_t rig_child(void);
/* SESSION BIND to that process. */
void rig_bind(int fd, pid_t pid, const char *answer);

#endif
