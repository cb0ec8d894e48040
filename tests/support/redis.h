/*
 * redis: a private redis-server (or valkey-server, $HOLDFAST_REDIS_SERVER) for one test.
 *
 * It listens on a Unix socket in a temporary directory, on request also on a free TCP port of loopback. It
 * stores nothing on disk unless args ask for it, and dies with the test's process. Every function here aborts
 * the test with a message if it fails.
 */
#ifndef SUPPORT_REDIS_H
#define SUPPORT_REDIS_H

#include "tests/support/tempdir.h"

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdint.h>

#define REDIS_ARGS_MAX 32

struct redis_server {
	struct tempdir dir;
	char path[96]; /* of the Unix socket */
	uint16_t port; /* 0: no TCP */
	pid_t pid;     /* 0: not running */
	int log;       /* its standard output */
	redisContext *control;
	_Atomic int64_t *clock_us;        /* its clock, which stands still; NULL: that of the machine */
	const char *args[REDIS_ARGS_MAX]; /* more options, kept by reference, ended by NULL */
};

/* args: more options, {"--maxclients", "3", NULL}; NULL: none. Returns when it accepts commands. */
void redis_init(struct redis_server *server, bool tcp, const char *const *args);
/* The same, without TCP and more options, for a server whose clock stands still at wall_us, µs since 1970.
 * redis_clock() sets the clock from then on. */
void redis_init_still(struct redis_server *server, int64_t wall_us);
void redis_clock(const struct redis_server *server, int64_t wall_us);
/* Stops the server if it runs, and removes its directory. */
void redis_done(struct redis_server *server);

/* The steps of redis_init(), for tests that kill the server in between. Port, socket and directory remain the
 * same.
 */
void redis_start(struct redis_server *server);
/* As redis_start(), but returns as soon as it listens, while it may still be loading its data. */
void redis_start_loading(struct redis_server *server);
void redis_kill(struct redis_server *server);     /* kill -9, and waits for its end */
void redis_pause(struct redis_server *server);    /* SIGSTOP, and waits until it has stopped */
void redis_continue(struct redis_server *server); /* SIGCONT */

/* A command as in redisCommand(), on a connection of its own. The caller frees the reply, which may be an
 * error reply. */
redisReply *redis_command(struct redis_server *server, const char *format, ...)
	__attribute__((format(printf, 2, 3), warn_unused_result));
/* For commands without a result of interest: aborts on an error reply. */
void redis_run(struct redis_server *server, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* For commands that answer an integer. */
int64_t redis_integer(struct redis_server *server, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A TCP port of loopback on which no process listened a moment ago. While this process lives no other test
 * gets it, and the system gives it to no connection: what is down for a moment finds it again. */
uint16_t free_port(void);

#endif
