/*
 * terminal: whether people are there, and who has the terminal.
 */
#ifndef CLIENT_TERMINAL_H
#define CLIENT_TERMINAL_H

#include <stdbool.h>

/* Whether this process is in the foreground of its controlling terminal, wherever its standard streams lead:
 * in `a | holdfast run x -- b | less` none of them is the terminal. */
bool terminal_foreground(void);

/*
 * For who shares the foreground with a command, when that has been stopped by this signal: stops this process
 * likewise, and returns when it is continued. The shell takes its terminal back when it sees us stopped, not
 * the command: were we first, the command could still read what is typed next; and one that ignores ^Z keeps
 * the terminal.
 */
void terminal_stop(int signal);

/* Ends this process by ^C, as its command was: only when that is seen do loops in shells end, too. */
void terminal_interrupted(void);

#endif
