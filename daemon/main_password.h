/*
 * main_password: holdfastd --hash-password: reads a password, and prints its hash for the configuration. A
 * part of main.c; no daemon runs then.
 */
#ifndef DAEMON_MAIN_PASSWORD_H
#define DAEMON_MAIN_PASSWORD_H

/* --hash-password: reads a password from standard input, and prints its hash. The exit status. */
int password_hash(void);

#endif
