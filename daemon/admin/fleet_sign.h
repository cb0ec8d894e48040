/*
 * fleet_sign: which messages are of a daemon, and new. Called by the other files of the fleet.
 */
#ifndef ADMIN_FLEET_SIGN_H
#define ADMIN_FLEET_SIGN_H

#include "proto/slice.h"

#include <stdbool.h>
#include <stdint.h>

struct buffer;
struct fleet;
struct fleet_senders;

/* A number for a request: above all that this daemon has used, also in the process before a
 * hand-over. The last digits are random. */
uint64_t fleet_number(struct fleet *fleet);
/* Begins a message in an empty buffer, with room for its code. */
void message_begin(struct buffer *b, const char *purpose);
/* The message is complete: adds its code. False: no memory. */
bool message_seal(struct buffer *b, const char *purpose, const char *secret)
	__attribute__((warn_unused_result));
/* Takes the code off the head of what follows the first word. False: it is not by this secret; "": of no
 * daemon. */
bool message_open(struct slice *text, const char *purpose, const char *secret)
	__attribute__((warn_unused_result));
/* Whether the number comes from this daemon for the first time; of a number that is far behind the largest it
 * is not sure, and says no. */
bool senders_take(struct fleet_senders *senders, struct slice id, uint64_t number)
	__attribute__((warn_unused_result));
void senders_done(struct fleet_senders *senders);

#endif
