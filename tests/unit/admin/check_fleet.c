/*
 * Tests of admin/fleet_peers and the heads of messages: what masters and other daemons say is taken apart
 * word by word, and what makes no sense is left out.
 */
#include "daemon/admin/fleet_inner.h"
#include "daemon/admin/fleet_peers.h"
#include "daemon/admin/fleet_refused.h"
#include "daemon/admin/fleet_serve.h"
#include "daemon/admin/fleet_sign.h"
#include "daemon/admin/fleet_top.h"
#include "daemon/redis/call.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define A       "a1234567890abcdef1234567890abcde"
#define B       "b1234567890abcdef1234567890abcde"
#define C       "c1234567890abcdef1234567890abcde"
#define NOW_MS  100000
#define TIME_US INT64_C(1760000000000000)

static void
take(struct fleet_peers *peers, unsigned master, const char *daemons)
{
	const struct lookup_answer answer = {.time_us = TIME_US, .daemons = slice_of(daemons)};

	peers_take(peers, master, &answer, true, NOW_MS);
}

START_TEST(a_daemon_is_described_by_its_words)
{
	struct fleet_peers peers = {0};
	const struct fleet_peer *peer;

	take(&peers, 0,
		A " 1760000010000000 1 app-07 0.1.0 4711 1759999000 lease=10s,rules=[] 10.0.0.7:5625 " C
		  " 1759999999000");
	ck_assert_uint_eq(peers.n, 1);
	peer = peers_find(&peers, SLICE(A));
	ck_assert_ptr_nonnull(peer);
	ck_assert_str_eq(peer->host, "app-07");
	ck_assert_str_eq(peer->version, "0.1.0");
	ck_assert_int_eq(peer->pid, 4711);
	ck_assert_int_eq(peer->begun_s, 1759999000);
	ck_assert_str_eq(peer->settings, "lease=10s,rules=[]");
	ck_assert_str_eq(peer->address, "10.0.0.7:5625");
	ck_assert_str_eq(peer->secret, C);
	ck_assert_int_eq(peer->seen_ms, NOW_MS - 1000);
	free(peers.list);
}
END_TEST

START_TEST(lines_that_make_no_sense_are_left_out)
{
	struct fleet_peers peers = {0};
	char text[4096];

	take(&peers, 0, "");
	take(&peers, 0, "\n\n \n");
	take(&peers, 0, "short 1760000010000000 1 x y");
	take(&peers, 0, "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz 1760000010000000 1 x y");
	take(&peers, 0, A " never 1 x y");
	take(&peers, 0, A " 1760000000000000 1 x y"); /* over */
	ck_assert_uint_eq(peers.n, 0);
	/* Long words are cut, and missing ones are empty. */
	memset(text, 'h', sizeof text);
	memcpy(text, A " 1760000010000000 1 ", strlen(A) + 20);
	text[sizeof text - 1] = '\0';
	take(&peers, 0, text);
	ck_assert_uint_eq(peers.n, 1);
	ck_assert_uint_eq(strlen(peers.list[0].host), sizeof peers.list[0].host - 1);
	ck_assert_str_eq(peers.list[0].address, "");
	free(peers.list);
}
END_TEST

START_TEST(a_daemon_is_known_as_long_as_one_master_has_it)
{
	struct fleet_peers peers = {0};

	take(&peers, 0, B " 1760000010000000 1 b 0\n" A " 1760000010000000 1 a 0");
	take(&peers, 1, B " 1760000010000000 1 b 0\n" C " 1760000010000000 1 c 0");
	ck_assert_uint_eq(peers.n, 3);
	ck_assert_str_eq(peers.list[0].host, "a"); /* by id */
	ck_assert_ptr_eq(peers_from(&peers, peer_digits(A) + 1), &peers.list[1]);
	ck_assert_ptr_null(peers_from(&peers, peer_digits(C) + 1));
	take(&peers, 0, "");
	ck_assert_uint_eq(peers.n, 2);
	ck_assert_ptr_null(peers_find(&peers, SLICE(A)));
	take(&peers, 1, C " 1760000010000000 1 c 0");
	ck_assert_uint_eq(peers.n, 1);
	free(peers.list);
}
END_TEST

START_TEST(a_master_that_may_have_forgotten_takes_no_daemon_off_before_its_registration_ends)
{
	struct fleet_peers peers = {0};
	const struct lookup_answer empty = {.time_us = TIME_US};

	take(&peers, 0, A " 1760000010000000 1 a 0");
	peers_take(&peers, 0, &empty, false, NOW_MS + 9000);
	ck_assert_uint_eq(peers.n, 1);
	peers_take(&peers, 0, &empty, false, NOW_MS + 11000);
	ck_assert_uint_eq(peers.n, 0);
	take(&peers, 0, A " 1760000010000000 1 a 0");
	peers_take(&peers, 0, &empty, true, NOW_MS + 9000);
	ck_assert_uint_eq(peers.n, 0);
	free(peers.list);
}
END_TEST

static void
take_refused(struct fleet_refusals *refusals, unsigned master, const char *text, int64_t now_ms)
{
	const struct lookup_answer answer = {.time_us = TIME_US, .refused = slice_of(text)};

	refusals_take(refusals, master, &answer, now_ms);
}

START_TEST(a_refused_daemon_is_known_as_long_as_a_master_names_it)
{
	static struct fleet_refusals refusals;
	const struct fleet_refusal *one;

	take_refused(&refusals, 0,
		A " 1760000010000000 app-07 0.1.0 4711 1759999000 lease=10s unix 1759999999000 format 1, the "
		  "others 2",
		NOW_MS);
	one = refusals_find(&refusals, A, NOW_MS);
	ck_assert_ptr_nonnull(one);
	ck_assert_str_eq(one->who.host, "app-07");
	ck_assert_str_eq(one->who.address, "unix");
	ck_assert_str_eq(one->who.secret, "");
	ck_assert_int_eq(one->who.pid, 4711);
	ck_assert_int_eq(one->who.seen_ms, NOW_MS - 1000);
	ck_assert_str_eq(one->why, "format 1, the others 2");
	ck_assert_ptr_null(refusals_find(&refusals, A, NOW_MS + 10000)); /* over */
	/* Another master has it, too; and then the first one no more. */
	take_refused(&refusals, 1, A " 1760000020000000 app-07 0.1.0 4711 1 s unix 1 why", NOW_MS);
	take_refused(&refusals, 0, "", NOW_MS);
	ck_assert_str_eq(refusals_find(&refusals, A, NOW_MS)->why, "why");
	take_refused(&refusals, 1, "", NOW_MS);
	ck_assert_uint_eq(refusals.n, 0);
}
END_TEST

START_TEST(records_of_refused_daemons_that_make_no_sense_are_left_out)
{
	static struct fleet_refusals refusals;
	static char text[FLEET_REFUSED_MAX * 4 * 64];
	size_t n = 0;

	take_refused(&refusals, 0,
		"\n\n x\n" A "\n" A " never h\n" A " 1760000000000000 over\nshort 1760000010000000 h",
		NOW_MS);
	ck_assert_uint_eq(refusals.n, 0);
	/* For ever is not that long, and what is missing is empty. */
	take_refused(&refusals, 0, A " 4611686018427387903 h", NOW_MS);
	ck_assert_str_eq(refusals.list[0].why, "");
	ck_assert_ptr_null(refusals_find(&refusals, A, NOW_MS + FLEET_REFUSED_MS));
	for (int i = 0; i < FLEET_REFUSED_MAX * 2; i++)
		n += (size_t)snprintf(text + n, sizeof text - n, "%032x 1760000010000000 h\n", i);
	take_refused(&refusals, 0, text, NOW_MS);
	ck_assert_uint_eq(refusals.n, FLEET_REFUSED_MAX);
}
END_TEST

START_TEST(daemons_follow_each_other_by_their_ids)
{
	struct fleet_peers peers = {0};

	ck_assert_ptr_null(peers_after(&peers, ""));
	take(&peers, 0, B " 1760000010000000 1 b 0\n" A " 1760000010000000 1 a 0");
	ck_assert_ptr_eq(peers_after(&peers, ""), &peers.list[0]);
	ck_assert_ptr_eq(peers_after(&peers, A), &peers.list[1]);
	ck_assert_ptr_null(peers_after(&peers, B));
	ck_assert_ptr_null(peers_after(&peers, C));
	free(peers.list);
}
END_TEST

/* Whether a daemon may answer TOP so; the text is RESP. */
static bool
tells_top(const char *text)
{
	const struct answer_limits limits = {.bytes = 4096, .elements = 1000};
	struct answer_parser parser = {0};
	const struct answer *tree = NULL;
	const char *fault;

	ck_assert_int_eq(
		answer_parse(&parser, text, strlen(text), &limits, &tree, &fault), (ssize_t)strlen(text));
	bool good = part_is_top(tree);
	answer_done(&parser);
	return good;
}

START_TEST(what_another_daemon_tells_of_its_locks_is_looked_at_before_it_is_passed_on)
{
#define HOST "*2\r\n%1\r\n$4\r\nhost\r\n$1\r\nx\r\n"

	ck_assert(tells_top(HOST "*0\r\n"));
	ck_assert(tells_top(HOST "*2\r\n*2\r\n$4\r\nname\r\n$5\r\ntoken\r\n*2\r\n$1\r\na\r\n:7\r\n"));
	ck_assert(!tells_top("*2\r\n%0\r\n*0\r\n"));
	ck_assert(!tells_top(HOST ":1\r\n"));
	ck_assert(!tells_top("*1\r\n%1\r\n$4\r\nhost\r\n$1\r\nx\r\n"));
	ck_assert(!tells_top("-ERR no\r\n"));
	ck_assert(!tells_top(HOST "*1\r\n:1\r\n"));
	ck_assert(!tells_top(HOST "*1\r\n*1\r\n$5\r\ntoken\r\n")); /* no name */
	ck_assert(!tells_top(HOST "*1\r\n*2\r\n$4\r\nname\r\n:1\r\n"));
	ck_assert(!tells_top(HOST "*2\r\n*1\r\n$4\r\nname\r\n*0\r\n"));
	ck_assert(!tells_top(HOST "*2\r\n*1\r\n$4\r\nname\r\n*1\r\n*0\r\n"));
	ck_assert(!tells_top(HOST "*2\r\n*1\r\n$4\r\nname\r\n:1\r\n"));
	ck_assert(!tells_top(HOST "*2\r\n*1\r\n$4\r\nname\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n"));
}
END_TEST

START_TEST(a_silent_daemon_is_asked_again_after_a_while_and_to_break_at_any_time)
{
	struct fleet_peer peer = {.sent_ms = NOW_MS};

	ck_assert(peer_is_asked(&peer, VERB_INSPECT, NOW_MS));
	peer.silent = true;
	ck_assert(!peer_is_asked(&peer, VERB_INSPECT, NOW_MS + FLEET_FRESH_MS - 1));
	ck_assert(peer_is_asked(&peer, VERB_INSPECT, NOW_MS + FLEET_FRESH_MS));
	ck_assert(peer_is_asked(&peer, VERB_BREAK, NOW_MS));
}
END_TEST

START_TEST(a_daemon_that_was_silent_is_waited_for_less_and_a_slow_one_longer)
{
	struct fleet_peer peer = {0};

	ck_assert_int_eq(peer_until_ms(&peer, NOW_MS), NOW_MS + FLEET_WAIT_MS);
	peer.asked_ms = NOW_MS - 100; /* and it has not answered that */
	ck_assert_int_eq(peer_until_ms(&peer, NOW_MS), NOW_MS - 100 + FLEET_WAIT_MS);
	peer.silent = true;
	ck_assert_int_eq(peer_until_ms(&peer, NOW_MS), NOW_MS + FLEET_AGAIN_MS);
	peer_answered(&peer, peer.asked_ms, NOW_MS);
	ck_assert(!peer.silent && peer.asked_ms == 0);
	ck_assert_int_gt(peer_until_ms(&peer, NOW_MS), NOW_MS + FLEET_WAIT_MS);
	for (int i = 0; i < 100; i++)
		peer_answered(&peer, NOW_MS - 1000000, NOW_MS); /* it was stopped */
	ck_assert_int_le(peer_until_ms(&peer, NOW_MS), NOW_MS + FLEET_WAIT_MS + 8 * FLEET_SAMPLE_MS + 8);
}
END_TEST

static bool
heads(const char *message)
{
	struct slice text = slice_of(message), from;
	uint64_t number;

	return message_head(&text, &from, &number);
}

START_TEST(a_message_begins_with_a_daemon_and_a_number)
{
	struct slice text = SLICE(A " 0123456789abcdef rest of it"), from;
	uint64_t number;

	ck_assert(message_head(&text, &from, &number));
	ck_assert(slice_equal(from, SLICE(A)) && slice_equal(text, SLICE("rest of it")));
	ck_assert_uint_eq(number, 0x0123456789abcdef);
	ck_assert(!heads(""));
	ck_assert(!heads(" "));
	ck_assert(!heads(A));
	ck_assert(!heads(A " 123"));
	ck_assert(!heads(A " 0123456789abcdeg x"));
	ck_assert(!heads("x" A " 0123456789abcdef x"));
	ck_assert(!heads("zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz 0123456789abcdef x"));
}
END_TEST

/* Sealed, and cut as its receiver has it: without the first word. */
static struct slice
sealed(struct buffer *b, const char *purpose, const char *secret, const char *text)
{
	buffer_init(b, 4096);
	message_begin(b, purpose);
	buffer_put(b, text, strlen(text));
	ck_assert(message_seal(b, purpose, secret));
	ck_assert(strncmp(buffer_bytes(b), purpose, strlen(purpose)) == 0);
	return (struct slice){buffer_bytes(b) + strlen(purpose) + 1, buffer_length(b) - strlen(purpose) - 1};
}

START_TEST(a_message_is_taken_only_by_its_secret_and_as_what_it_was_sent)
{
	static const char words[] = A " 0123456789abcdef 3 4096 *1";
	struct buffer b;
	struct slice text = sealed(&b, "ask", C, words), whole = text;

	ck_assert(message_open(&text, "ask", C));
	ck_assert(slice_equal(text, slice_of(words)));
	text = whole;
	ck_assert(!message_open(&text, "told", C));
	text = whole;
	ck_assert(!message_open(&text, "ask", B));
	text = whole;
	ck_assert(!message_open(&text, "ask", ""));
	/* Each byte counts, and so does each that is missing. */
	for (size_t i = 0; i < whole.n; i++) {
		buffer_bytes(&b)[i + 4] ^= 1;
		text = whole;
		ck_assert(!message_open(&text, "ask", C));
		buffer_bytes(&b)[i + 4] ^= 1;
		text = (struct slice){whole.p, i};
		ck_assert(!message_open(&text, "ask", C));
	}
	buffer_done(&b);
}
END_TEST

/* As HMAC-SHA256 of another program has it. */
START_TEST(the_code_of_a_message_is_an_hmac)
{
	char code[MAC_DIGITS];

	ck_assert(mac_make("ask", C, "text", 4, code));
	ck_assert_mem_eq(code, "7905581e8b4c98bac1a27ec957c15776", MAC_DIGITS);
	ck_assert(mac_is("ask", C, "text", 4, code));
}
END_TEST

START_TEST(a_number_counts_once_and_late_ones_of_a_short_while_too)
{
	struct fleet_senders senders = {0};

	ck_assert(senders_take(&senders, SLICE(A), 100));
	ck_assert(!senders_take(&senders, SLICE(A), 100));
	ck_assert(senders_take(&senders, SLICE(B), 100));
	ck_assert(senders_take(&senders, SLICE(A), 90)); /* overtaken */
	ck_assert(!senders_take(&senders, SLICE(A), 90));
	for (uint64_t n = 101; n < 200; n++)
		ck_assert(senders_take(&senders, SLICE(A), n));
	for (uint64_t n = 0; n < 200; n++)
		ck_assert(!senders_take(&senders, SLICE(A), n));
	ck_assert(senders_take(&senders, SLICE(A), 1000));
	ck_assert(senders_take(&senders, SLICE(A), 300));
	ck_assert(!senders_take(&senders, SLICE(A), 300));
	ck_assert(!senders_take(&senders, SLICE(B), 100));
	senders_done(&senders);
}
END_TEST

START_TEST(senders_are_bounded_and_the_latest_are_kept)
{
	struct fleet_senders senders = {0};
	char id[DAEMON_ID_MAX];

	for (unsigned i = 0; i < 2 * FLEET_PEERS_MAX; i++) {
		snprintf(id, sizeof id, "%032x", i);
		ck_assert(senders_take(&senders, slice_of(id), 7));
		ck_assert(!senders_take(&senders, slice_of(id), 7));
	}
	ck_assert_uint_eq(senders.n, FLEET_PEERS_MAX);
	snprintf(id, sizeof id, "%032x", FLEET_PEERS_MAX + 1);
	ck_assert(!senders_take(&senders, slice_of(id), 7));
	senders_done(&senders);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("fleet", NULL, NULL, a_refused_daemon_is_known_as_long_as_a_master_names_it,
		records_of_refused_daemons_that_make_no_sense_are_left_out,
		a_daemon_is_described_by_its_words, lines_that_make_no_sense_are_left_out,
		a_daemon_is_known_as_long_as_one_master_has_it,
		a_master_that_may_have_forgotten_takes_no_daemon_off_before_its_registration_ends,
		daemons_follow_each_other_by_their_ids,
		what_another_daemon_tells_of_its_locks_is_looked_at_before_it_is_passed_on,
		a_silent_daemon_is_asked_again_after_a_while_and_to_break_at_any_time,
		a_daemon_that_was_silent_is_waited_for_less_and_a_slow_one_longer,
		a_message_begins_with_a_daemon_and_a_number,
		a_message_is_taken_only_by_its_secret_and_as_what_it_was_sent,
		the_code_of_a_message_is_an_hmac, a_number_counts_once_and_late_ones_of_a_short_while_too,
		senders_are_bounded_and_the_latest_are_kept);
}
