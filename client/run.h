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

/*
 * Makes one, unless -o is given, and connects its anchor, for as long as the hold is good. All descriptors
 * are close-on-exec. Returns STATUS_DONE, also if the daemon is one that does not know of anchors; else an
 * exit code, after a message.
 */
int tether_make(struct tether *t, const struct taking *taking, const struct grant *g, bool nested)
	__attribute__((warn_unused_result));

/* In the command's process, before exec: passes the tether on. Its parent is the supervisor. */
void tether_inherit(const struct tether *t);

/* The wrapper has started the supervisor, and has no part in the tether any more, but for that of the outer
 * run. */
void tether_leave(struct tether *t);

/* Whether a process has the pipe whose writing end this is; -1: none has. */
bool tether_holds(int watch);

void tether_close(struct tether *t);

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

/* Forks. The caller has blocked all signals. False and errno on failure. */
bool supervisor_start(struct supervisor *s, const struct supervisor_plan *plan)
	__attribute__((warn_unused_result));

void supervisor_go(struct supervisor *s);

/* Sends a signal to all descendants; TERM, KILL, STOP and CONT also to those that have left the group with
 * the tether. KILL is repeated until none is left. */
void supervisor_signal(struct supervisor *s, int signal);

/* The wrapper was continued, but not by the supervisor. */
void supervisor_continued(struct supervisor *s);

/* Changes limit_ms of the plan. */
void supervisor_limit(struct supervisor *s, int64_t limit_ms);

/* Blocks. False if a signal interrupted it. */
bool supervisor_read(struct supervisor *s, struct news *news) __attribute__((warn_unused_result));

/* After NEWS_GONE or NEWS_FAILED: lets the supervisor end, and waits for its end. */
void supervisor_finish(struct supervisor *s);

/* After NEWS_LOST: what the supervisor has left is our children now. Kills all that counts, and returns when
 * nothing of it is left. child: 0: it never started. */
void supervisor_kill_orphans(const struct supervisor_plan *plan, pid_t child, bool child_ended);

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

void job_start(struct job *j, struct supervisor *s, bool shared);

/* Sends a signal to every process of the command. After a signal that may end the command, and for CONT, call
 * job_continue(). */
void job_signal(struct job *j, int signal);

/* The command was stopped by this signal. This process stops in the same way, and the call returns when it is
 * continued. If the command wants the terminal and we have it, the command gets it instead. */
void job_stopped(struct job *j, int signal);

/* It is unknown whether the lock is still held: stops the command until job_continue(). */
void job_pause(struct job *j);

/* Continues the command if that is due. Call it only while the lock is held, or after the command has been
 * told to end. */
void job_continue(struct job *j);

/* The command is gone: takes the terminal back if the command had it. */
void job_end(struct job *j);

/* The terminal: which process group is in the foreground, and how to stop like a job. */

/* Whether this process is in the foreground of its controlling terminal. Its standard streams do not matter:
 * in `a | holdfast run x -- b | less` none of them is the terminal. */
bool terminal_foreground(void);

/*
 * Call it after this signal has stopped the command. Stops this process, or all of its group, by the same
 * signal, and returns when it is continued. False: it did not stop, because its group is orphaned. The shell
 * takes the terminal back when it sees this process stopped, not the command. So the command has to stop
 * first: otherwise it could read what is typed next. A command that ignores ^Z keeps the terminal.
 */
bool terminal_stop(int signal, bool all);

/* Ends this process by SIGINT, as its command ended: a loop in a shell ends only if it sees that. all: the
 * command had the terminal alone, so the rest of our group gets the signal, too. */
void terminal_interrupted(bool all);

#endif
