/*
 * terminal: job control of the terminal: which process group is in the foreground, and how to stop like a
 * job.
 */
#ifndef CLIENT_TERMINAL_H
#define CLIENT_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>

/* Whether this process is in the foreground of its controlling terminal. Its standard streams do not matter:
 * in `a | holdfast run x -- b | less` none of them is the terminal. */
bool terminal_foreground(void);

/* Whether this process has a controlling terminal. */
bool terminal_exists(void);

/* Makes a process group of this session the foreground group. */
void terminal_give(pid_t group);

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
