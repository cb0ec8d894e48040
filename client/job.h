/*
 * job: the command of holdfast run as a job of a shell: it stops and goes on with this process, and has the
 * terminal when it needs it.
 *
 * A command that shares the group of the foreground (supervisor_plan.shared) gets what the terminal sends by
 * itself. One that was started in the background has a group of its own, which no shell knows of: whatever a
 * shell does to our group is passed on here, and the terminal with it.
 */
#ifndef CLIENT_JOB_H
#define CLIENT_JOB_H

#include "client/supervisor.h"

#include <stdbool.h>
#include <sys/types.h>

struct job {
	struct supervisor *supervisor;
	pid_t command;       /* 0: not started */
	bool shared;         /* our group is the command's */
	bool stopped;        /* the command, by a signal, and nobody has continued it that we know of */
	bool wants_terminal; /* it read from it, or set it, in the background */
	bool has_terminal;   /* the command's group was given it */
	bool continues;      /* CONT is due */
};

void job_start(struct job *j, struct supervisor *s, bool shared);

/* To every process of the command. After a signal that may end it, and for CONT, job_continue() is due. */
void job_signal(struct job *j, int signal);

/* The command was stopped by this signal: this process stops likewise, and returns when it is continued. A
 * command that wants the terminal we have is given it instead. */
void job_stopped(struct job *j, int signal);

/* Nobody knows whether the lock is still held: the command stands still until job_continue(). */
void job_pause(struct job *j);

/* Continues the command if that is due. Only while the lock is held, or the command has been told to end. */
void job_continue(struct job *j);

/* The command is gone: takes back the terminal that it has. */
void job_end(struct job *j);

#endif
