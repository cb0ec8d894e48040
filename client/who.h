/*
 * who: names whoever is at the other end of a session, for people.
 */
#ifndef CLIENT_WHO_H
#define CLIENT_WHO_H

#include "proto/answer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WHO_PROGRAM_MAX 32
#define WHO_TEXT_MAX    320

/* The name of a process' program, as ps(1) shows it; "" when it is not there. */
void who_program(int64_t pid, char name[WHO_PROGRAM_MAX]);

/* When the daemon is on this host and the session is one of `holdfast run`, the command that this runs, with
 * its arguments; else the name that the session gave itself; else, on this host, the program of its process;
 * else
 * "-". May have control bytes. map has client, pid and address (PROTOCOL.md 6). Returns out. */
const char *who_name(char out[WHO_TEXT_MAX], const struct answer *map, bool local);

/* Its process, "pid 4711", else its address. Returns out. */
const char *who_place(char out[WHO_TEXT_MAX], const struct answer *map);

#endif
