/*
 * supervisor: a small process between the wrapper (holdfast run) and the command.
 *
 *     wrapper ──control──▶ supervisor ──▶ command ──▶ its children
 *        └──────────go──────────────────▶
 *
 * The lock's session is bound to the supervisor, which ends only when the last process of the command's
 * descendants is gone, however the wrapper ends. When the wrapper is killed it stops the descendants: TERM,
 * then KILL. supervisor.c is the wrapper's side, supervise.c the process itself.
 */
#ifndef CLIENT_SUPERVISOR_H
#define CLIENT_SUPERVISOR_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct supervisor_plan {
	char **command;        /* argv for execvp() */
	bool shared;           /* stay in the caller's process group: a terminal's foreground */
	int64_t kill_after_ms; /* from TERM to KILL when the wrapper is gone */
	int64_t limit_ms;   /* CLOCK_BOOTTIME: KILL at the latest then, once the wrapper is gone; INT64_MAX:
			       none */
	sigset_t mask;      /* for the command */
	bool child_ignored; /* SIGCHLD was ignored when the wrapper started; the command gets that back */
};

/* The wrapper's side. */
struct supervisor {
	pid_t pid;
	int pidfd;   /* for SESSION BIND */
	int control; /* readable when there are news */
	int go;      /* the command starts with a byte here, and never when it is closed */
};

enum news_type {
	NEWS_STARTED, /* pid: the command is there, waiting */
	NEWS_FAILED,  /* value: errno of the fork; nothing was started */
	NEWS_STOPPED, /* value: the signal that stopped the command; not STOP in a terminal's foreground, then
			 the supervisor has stopped the wrapper, too, and continues it with the command */
	NEWS_EXIT,    /* value: the command ended with this wait status */
	NEWS_GONE, /* the last process of the descendants ended; the supervisor waits for supervisor_finish()
		    */
	NEWS_LOST  /* the supervisor itself ended */
};

struct news {
	enum news_type type;
	pid_t pid;
	int value;
};

/* Forks. All signals have to be blocked. False and errno when it could not. */
bool supervisor_start(struct supervisor *s, const struct supervisor_plan *plan)
	__attribute__((warn_unused_result));

void supervisor_go(struct supervisor *s);

/* To every process of the descendants; KILL is repeated until none is left. */
void supervisor_signal(struct supervisor *s, int signal);

/* The wrapper was continued, and not by the supervisor. */
void supervisor_continued(struct supervisor *s);

/* Another limit_ms. */
void supervisor_limit(struct supervisor *s, int64_t limit_ms);

/* Blocks. False when a signal interrupted it. */
bool supervisor_read(struct supervisor *s, struct news *news) __attribute__((warn_unused_result));

/* After NEWS_GONE or NEWS_FAILED: lets it end, and waits for that. */
void supervisor_finish(struct supervisor *s);

/* What the wrapper sends. */
enum order_type { ORDER_SIGNAL, ORDER_CONTINUED, ORDER_LIMIT };

struct order {
	enum order_type type;
	int signal;
	int64_t limit_ms;
};

/* The process itself. control and go are its ends, parent the wrapper's pid. */
_Noreturn void supervise(const struct supervisor_plan *plan, int control, int go);

#endif
