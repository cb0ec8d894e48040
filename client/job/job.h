/*
 * job: stops and continues the command with this process, and lends it the terminal. It uses /dev/tty, and
 * sends this process the signal that the terminal sent its command.
 */
#ifndef CLIENT_JOB_H
#define CLIENT_JOB_H

#include <stdbool.h>

struct job;
struct supervisor;

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
