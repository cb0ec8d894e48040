/*
 * supervisor: a small process between the wrapper (holdfast run) and the command.
 *
 *     wrapper ──control──▶ supervisor ──▶ command ──▶ its children
 *        └──────────go──────────────────▶
 *
 * The lock's session is bound to the supervisor. However the wrapper ends, the supervisor ends only when the
 * last descendant of the command is gone. If the wrapper is killed, the supervisor stops the descendants:
 * TERM, then KILL. supervisor.c is the wrapper's side, supervise.c the process itself.
 */
#ifndef CLIENT_SUPERVISOR_H
#define CLIENT_SUPERVISOR_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct supervisor_plan {
	char **command;        /* argv for execvp() */
	bool shared;           /* stay in the caller's process group, the terminal's foreground */
	int64_t kill_after_ms; /* from TERM to KILL when the wrapper is gone */
	int64_t limit_ms;      /* CLOCK_BOOTTIME: if the wrapper is gone, KILL at this time at the latest;
				  INT64_MAX: none */
	sigset_t mask;         /* for the command */
	bool child_ignored; /* SIGCHLD was ignored when the wrapper started, and is ignored for the command */
};

/* The wrapper's side. */
struct supervisor {
	pid_t pid;
	int pidfd;   /* for SESSION BIND */
	int control; /* readable if there is news */
	int go;      /* a byte here starts the command; if go is closed first, the command never starts */
};

enum news_type {
	NEWS_STARTED, /* pid: the command's process exists and waits for go */
	NEWS_FAILED,  /* value: errno of fork(); nothing was started */
	NEWS_STOPPED, /* value: the signal that stopped the command. Not sent for STOP in a terminal's
			 foreground: there the supervisor stops the wrapper, and continues it together with
			 the command */
	NEWS_EXIT,    /* value: the command ended with this wait status */
	NEWS_GONE,    /* the last descendant ended; the supervisor waits for supervisor_finish() */
	NEWS_LOST     /* the supervisor itself ended */
};

struct news {
	enum news_type type;
	pid_t pid;
	int value;
};

/* Forks. The caller has blocked all signals. False and errno on failure. */
bool supervisor_start(struct supervisor *s, const struct supervisor_plan *plan)
	__attribute__((warn_unused_result));

void supervisor_go(struct supervisor *s);

/* Sends a signal to all descendants. KILL is repeated until none is left. */
void supervisor_signal(struct supervisor *s, int signal);

/* The wrapper was continued, but not by the supervisor. */
void supervisor_continued(struct supervisor *s);

/* Changes limit_ms of the plan. */
void supervisor_limit(struct supervisor *s, int64_t limit_ms);

/* Blocks. False if a signal interrupted it. */
bool supervisor_read(struct supervisor *s, struct news *news) __attribute__((warn_unused_result));

/* After NEWS_GONE or NEWS_FAILED: lets the supervisor end, and waits for its end. */
void supervisor_finish(struct supervisor *s);

/* What the wrapper sends. */
enum order_type { ORDER_SIGNAL, ORDER_CONTINUED, ORDER_LIMIT };

struct order {
	enum order_type type;
	int signal;
	int64_t limit_ms;
};

/* The supervisor's process. control and go are its ends of the pipes, parent is the wrapper's pid. */
_Noreturn void supervise(const struct supervisor_plan *plan, int control, int go);

#endif
