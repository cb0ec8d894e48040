/*
 * job: lets the command of holdfast run take part in the shell's job control. The command stops and continues
 * together with this process, and gets the terminal if it needs it.
 *
 * A command that shares the foreground group (supervisor_plan.shared) gets the terminal's signals directly. A
 * command that was started in the background has a group of its own, which the shell does not know: job
 * passes on the shell's signals to our group, and the terminal.
 */
#ifndef CLIENT_JOB_H
#define CLIENT_JOB_H

#include "client/supervisor.h"

#include <stdbool.h>
#include <sys/types.h>

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

#endif
