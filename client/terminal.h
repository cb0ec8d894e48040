/*
 * terminal: whether people are there, and who has the terminal.
 */
#ifndef CLIENT_TERMINAL_H
#define CLIENT_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>

/* Whether this process is in the foreground of its controlling terminal, wherever its standard streams lead:
 * in `a | holdfast run x -- b | less` none of them is the terminal. */
bool terminal_foreground(void);

/* Whether this process has a controlling terminal. */
bool terminal_exists(void);

/* Makes a process group of this session the foreground. */
void terminal_give(pid_t group);

/*
 * For the keeper of a command that has been stopped by this signal: stops this process likewise, or all of
 * its group, and returns when it is continued. False: it did not stop, because its group is orphaned. The
 * shell takes its terminal back when it sees us stopped, not the command: were we first, the command could
 * still read what is typed next; and one that ignores ^Z keeps the terminal.
 */
bool terminal_stop(int signal, bool all);

/* Ends this process by ^C, as its command was: only when that is seen do loops in shells end, too. all: the
 * command had the terminal alone, and the rest of our group has to hear of it. */
void terminal_interrupted(bool all);

#endif
