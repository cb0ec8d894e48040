/*
 * fleet_peers: the daemons that the masters name, and how one of them is asked. Called by fleet.c. What a
 * master says is taken apart word by word; a line that makes no sense is left out.
 */
#ifndef ADMIN_FLEET_PEERS_H
#define ADMIN_FLEET_PEERS_H

#include "proto/command.h"
#include "proto/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fleet;
struct fleet_open;
struct fleet_peer;
struct fleet_peers;
struct lookup_answer;

/* Takes over the daemons that a master has. sure: the master remembers all registrations; otherwise a
 * daemon that it does not list stays known until its registration is over. */
void peers_take(struct fleet_peers *peers, unsigned master, const struct lookup_answer *answer, bool sure,
	int64_t now_ms);
/* A new one, out of order. NULL: out of memory, or there are too many. */
struct fleet_peer *peers_add(struct fleet_peers *peers, struct slice id);
/* NULL: unknown. */
struct fleet_peer *peers_find(const struct fleet_peers *peers, struct slice id);
/* The first daemon whose id is above this one; "": the first of all. NULL: there is none. */
struct fleet_peer *peers_after(const struct fleet_peers *peers, const char *id);
/* The first daemon whose id is not below these leading digits; NULL: there is none. */
struct fleet_peer *peers_from(const struct fleet_peers *peers, uint64_t digits);
uint64_t peer_digits(const char *id);
/* Whether it is asked now; otherwise it is silent, and was asked a moment ago. */
bool peer_is_asked(const struct fleet_peer *peer, enum verb verb, int64_t now_ms);
/* When an ask of now counts as not answered. */
int64_t peer_until_ms(const struct fleet_peer *peer, int64_t now_ms);
/* The words that a daemon tells its masters of itself (main_about.c); _public: without its secret. */
void peer_describe(struct fleet_peer *peer, struct slice *about);
void peer_describe_public(struct fleet_peer *peer, struct slice *about);
/* Its HELLO at a master, by the clock there: now that is time_ms. 0: unknown. */
void peer_seen(struct fleet_peer *peer, int64_t hello_ms, int64_t time_ms, int64_t now_ms);
/* It has answered what it was asked at asked_ms; 0: that is unknown. */
void peer_answered(struct fleet_peer *peer, int64_t asked_ms, int64_t now_ms);

/* A line of what a master says: words separated by one space. False: that was all. */
bool text_next_line(struct slice *text, struct slice *line);
/* 0: the word is no number. */
int64_t line_next_number(struct slice *line);
bool is_daemon_id(struct slice id);
/* The daemon of a line of holders. */
struct slice line_daemon(struct slice line);

/* Bytes of an answer of one daemon to this request, about. */
size_t peer_answer_bytes(const struct fleet *fleet, const struct command *command);

/* Sends the request by every master: any of them may be cut off from that daemon. False: no master that
 * answers has it. */
bool peer_ask(struct fleet *fleet, struct fleet_peer *peer, const struct fleet_open *open,
	const struct command *command, int64_t now_ms);

#endif
