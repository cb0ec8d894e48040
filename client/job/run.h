/*
 * run: the parts of holdfast run beside its loop: the supervisor, the command's place in the shell's job
 * control, and the terminal.
 *
 *     wrapper ──control──▶ supervisor ──▶ command ──▶ its children
 *        └──────────go──────────────────▶
 *
 * The supervisor is a small process between the wrapper (holdfast run) and the command. The lock's session is
 * bound to it. However the wrapper ends, the supervisor ends only when the last descendant of the command is
 * gone. If the wrapper is killed, the supervisor stops the descendants: TERM, then KILL.
 */
#ifndef CLIENT_RUN_H
#define CLIENT_RUN_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct taking;
struct grant;

/*
 * The tether: what every descendant of the command inherits, as flock(1) passes on its descriptor. The lock
 * is held as long as one of them has it, whatever is killed.
 *
 *     pipe      its writing end is watched by the supervisor and the wrapper: it has an error when no process
 * has the reading end any more anchor    a connection of the session (SESSION ANCHOR): the daemon keeps the
 * session while it is open, also when wrapper and supervisor have been killed outer     a nested run: the
 * pipe of the outer one
 *
 * A process that closes what it does not know has no tether: it counts only as a member of the command's
 * group.
 */
struct tether {
	int watch;
	int pipe;
	int anchor;
	int outer;
	uint64_t inode; /* of the pipe; 0: there is none */
};

#define TETHER_NONE     ((struct tether){-1, -1, -1, -1, 0})
#define TETHER_WATCH_FD 4 /* in the supervisor */

struct supervisor_plan {
	char **command; /* argv for execvp() */
	struct tether tether;
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

/* What the wrapper sends. */
enum order_type { ORDER_SIGNAL, ORDER_CONTINUED, ORDER_LIMIT };

struct order {
	enum order_type type;
	int signal;
	int64_t limit_ms;
};

/* The supervisor's process. control and go are its ends of the pipes, parent is the wrapper's pid. */
_Noreturn void supervise(const struct supervisor_plan *plan, int control, int go);

/*
 * Job control: the command stops and continues together with this process, and gets the terminal if it needs
 * it. A command that shares the foreground group (supervisor_plan.shared) gets the terminal's signals
 * directly. A command that was started in the background has a group of its own, which the shell does not
 * know: job passes on the shell's signals to our group, and the terminal.
 */
struct job {
	struct supervisor *supervisor;
	pid_t command;       /* 0: not started */
	bool shared;         /* the command is in our process group */
	bool stopped;        /* a signal has stopped the command, and no CONT is known */
	bool wants_terminal; /* the command read from the terminal, or set it, in the background */
	bool has_terminal;   /* the command's group has the terminal */
	bool continues;      /* CONT is due */
};

#endif
