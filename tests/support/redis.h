/*
 * redis: a private redis-server (or valkey-server, $HOLDFAST_REDIS_SERVER) for one test.
 *
 * It listens on a Unix socket in a temporary directory, on request also on a free TCP port of loopback, keeps
 * nothing on disk unless told to, and dies with the test's process. Every function here aborts the test with
 * a message when it cannot do what it says.
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
	const char *args[REDIS_ARGS_MAX]; /* options beyond ours, kept by reference; NULL ends them */
};

/* args: more options, {"--maxclients", "3", NULL}; NULL: none. Returns when it takes commands. */
void redis_init(struct redis_server *server, bool tcp, const char *const *args);
/* Stops it if it runs, and removes its directory. */
void redis_done(struct redis_server *server);

/* The steps of redis_init() for tests that kill it in between. The port, socket and directory stay the same.
 */
void redis_start(struct redis_server *server);
/* As redis_start(), but returns as soon as it listens, while it may still be loading its data. */
void redis_start_loading(struct redis_server *server);
void redis_kill(struct redis_server *server);     /* kill -9, and waits for its end */
void redis_pause(struct redis_server *server);    /* SIGSTOP, and waits until it has stopped */
void redis_continue(struct redis_server *server); /* SIGCONT */

/* A command as in redisCommand(), on a connection of its own. The caller frees the reply; an error reply is
 * returned like any other. */
redisReply *redis_command(struct redis_server *server, const char *format, ...)
	__attribute__((format(printf, 2, 3), warn_unused_result));
/* For commands of which only success matters: aborts on an error reply. */
void redis_run(struct redis_server *server, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* For commands that answer an integer. */
int64_t redis_integer(struct redis_server *server, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A TCP port of loopback that nobody listened on a moment ago. */
uint16_t free_port(void);

#endif
