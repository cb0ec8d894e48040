/*
 * terminal: whether people are there, and who has the terminal.
 */
#ifndef CLIENT_TERMINAL_H
#define CLIENT_TERMINAL_H

#include <stdbool.h>

/* Whether this process is in the foreground of its controlling terminal, wherever its standard streams lead:
 * in `a | holdfast run x -- b | less` none of them is the terminal. */
bool terminal_foreground(void);

#endif
