/*
 * who: names the client of a session, for people.
 */
#ifndef CLIENT_WHO_H
#define CLIENT_WHO_H

#include "proto/answer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WHO_PROGRAM_MAX 32
#define WHO_TEXT_MAX    320

/* The name of a process's program, as ps(1) shows it; "": there is no such process. */
void who_program(int64_t pid, char name[WHO_PROGRAM_MAX]);

/* The first of these that is known: on this host, the command of a `holdfast run` with its arguments; the
 * name that the client gave its connection; on this host, the program of the process; "-". It may contain
 * control bytes. map has client, pid and address (PROTOCOL.md 6). Returns out. */
const char *who_name(char out[WHO_TEXT_MAX], const struct answer *map, bool local);

/* The process of the client, "pid 4711", else its address. Returns out. */
const char *who_place(char out[WHO_TEXT_MAX], const struct answer *map);

#endif
