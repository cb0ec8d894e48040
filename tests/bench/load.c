/*
 * load: clients in a closed loop, who time their requests and judge the answers. Run by bench.py.
 *
 *     load [-c CLIENTS] [-t SECONDS] [-p PAUSE_MS] [-s SHA1] KIND PLACE...
 *
 * PLACE is a path, or 127.0.0.1:PORT; KIND is
 *
 *     handoff       LOCK and UNLOCK of NAMES names (1), client by client in turn
 *     lock          the same, each client its own name
 *     first         the same, a new name each time
 *     permits       LOCK and UNLOCK of a permit of NAMES semaphores, of 100 permits each
 *     ping          PING
 *     direct        SET NX PX and EVALSHA SHA1 at a Redis, each client its own name
 *     direct-first  the same, a new name each time
 *     renew         EVALSHA SHA1 of a key that is there
 *     slock         LOCK and UNLOCK at an slock, NAMES as with handoff
 *
 * A cycle is all requests of its kind, one after the other, each sent when the one before is answered, and
 * when all that had arrived by then was read: a hold lasts long enough for another to be seen beside it.
 * Clients are dealt out to the places in turn, and begin when each was answered a PING (not by an slock):
 * only then the order of requests is the order in which they can be heard. What happens in the SECONDS of -w
 * does not count. After those of -t no cycle begins; those under way come to their end, so that nothing is
 * left behind. Prints one line of JSON, with the CPU that the processes of -m used. Exit 1: an answer broke a
 * promise; 2: it could not measure.
 */
#include "tests/bench/dial.h"
#include "tests/bench/judge.h"
#include "tests/bench/request.h"
#include "tests/bench/samples.h"
#include "tests/bench/tally.h"
#include "tests/bench/tick.h"
#include "tests/bench/usage.h"

#include <err.h>
#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STEPS_MAX   2
#define CLIENTS_MAX 100000
#define PLACES_MAX  8
#define SPOTS_MAX   2         /* places of the name in one request */
#define NAME        "(name)"  /* stands for the name of the client's lock */
#define OWNER       "(owner)" /* the same in every cycle */
#define SHA1        "(sha1)"
#define COUNTER     "-0000000000"        /* ends a name that is new each time */
#define SLOCK_DONE  "*12\r\n$1\r\n0\r\n" /* begins its answer of so many lines: */
#define SLOCK_LINES 25

struct step {
	const char *words[REQUEST_WORDS_MAX + 1]; /* NULL ends them */
	const char *answer;                       /* how it begins; NULL: a token */
};

#define LOCK_UNLOCK                                                                                          \
	{                                                                                                    \
		{{"LOCK", NAME}, NULL},                                                                      \
		{                                                                                            \
			{"UNLOCK", NAME}, ":0"                                                               \
		}                                                                                            \
	}
#define SET_EVALSHA                                                                                          \
	{                                                                                                    \
		{{"SET", NAME, OWNER, "NX", "PX", "10000"}, "+OK"},                                          \
		{                                                                                            \
			{"EVALSHA", SHA1, "1", NAME, OWNER}, ":1"                                            \
		}                                                                                            \
	}

static const struct kind {
	const char *name;
	bool shared; /* the clients have names in common */
	bool judged;
	bool fresh;     /* a new name in each cycle */
	unsigned lines; /* of an answer */
	bool quiet;     /* knows no PING */
	struct step steps[STEPS_MAX];
} kinds[] = {
	{"handoff", true, true, false, 1, false, LOCK_UNLOCK},
	{"lock", false, true, false, 1, false, LOCK_UNLOCK},
	{"first", false, true, true, 1, false, LOCK_UNLOCK},
	{"permits", true, false, false, 1, false,
		{{{"LOCK", NAME, "LIMIT", "100"}, NULL}, {{"UNLOCK", NAME}, ":0"}}},
	{"direct", false, false, false, 1, false, SET_EVALSHA},
	{"direct-first", false, false, true, 1, false, SET_EVALSHA},
	{"renew", false, false, false, 1, false, {{{"EVALSHA", SHA1, "1", NAME, OWNER, "10000"}, ":1"}}},
	{"slock", true, true, false, SLOCK_LINES, true,
		{{{"LOCK", NAME, "LOCK_ID", OWNER, "TIMEOUT", "60"}, SLOCK_DONE},
			{{"UNLOCK", NAME, "LOCK_ID", OWNER}, SLOCK_DONE}}},
	{"ping", false, false, false, 1, false, {{{"PING"}, "+PONG"}}},
};

struct client {
	struct load *load;
	struct judge *judge;
	struct party party;
	int fd;
	struct event *readable;
	struct event *pause;
	STAILQ_ENTRY(client) entry; /* of those that send next */
	struct request requests[STEPS_MAX];
	char *spots[STEPS_MAX * SPOTS_MAX + 1]; /* of the counters in the requests; NULL ends them */
	unsigned step;
	int64_t began_ns;
	char answer[512];
	size_t answer_n;
	unsigned lines; /* of it, so far */
};

STAILQ_HEAD(client_queue, client);

struct load {
	const struct kind *kind;
	struct event_base *base;
	struct client *clients;
	unsigned client_n;
	char **places;
	unsigned place_n;
	unsigned name_n; /* of those that are shared */
	struct judge *judges;
	struct client_queue next; /* who sends, when all that arrived was read */
	struct event *send;
	double warm_seconds, seconds;
	struct timeval pause;
	const char *sha1;
	unsigned steps;
	unsigned busy; /* clients with a cycle under way */
	bool over;
	int64_t began_ns;
	int64_t ended_ns;
	uint64_t cycles; /* with those that ended after the time was over */
	struct samples samples;
	struct samples waits; /* for the first answer of a cycle */
	struct usage usage;
	const char *redis; /* NULL: nobody counts commands */
	struct tally tally;
};

/* --- one client ----------------------------------------------------------------------------------------- */

static void
client_make(struct client *client, unsigned step, const char *name, const char *owner)
{
	const char *const *words = client->load->kind->steps[step].words;
	const char *made[REQUEST_WORDS_MAX + 1] = {0};

	for (unsigned i = 0; words[i]; i++)
		made[i] = strcmp(words[i], NAME) == 0    ? name
			  : strcmp(words[i], OWNER) == 0 ? owner
			  : strcmp(words[i], SHA1) == 0  ? client->load->sha1
							 : words[i];
	request_make(&client->requests[step], made);
}

static void
client_words(struct client *client, unsigned number)
{
	struct load *load = client->load;
	bool fresh = load->kind->fresh;
	unsigned spot_n = 0;
	char name[64], owner[32];

	snprintf(owner, sizeof owner, "bench:%u", number);
	if (fresh)
		snprintf(name, sizeof name, "%s:%d" COUNTER, owner, (int)getpid());
	else
		snprintf(name, sizeof name, "bench:%u", load->kind->shared ? number % load->name_n : number);
	for (unsigned i = 0; i < load->steps; i++) {
		char *spot = NULL;
		client_make(client, i, name, owner);
		while (fresh && (spot = request_find(&client->requests[i], COUNTER, spot)) != NULL)
			client->spots[spot_n++] = spot;
	}
}

/* The next name: counts in place, in each request. Tokens grow for each name. */
static void
client_rename(struct client *client)
{
	for (char **spot = client->spots; *spot; spot++) {
		char *digit = *spot + strlen(COUNTER) - 1;
		while (*digit == '9')
			*digit-- = '0';
		++*digit;
	}
	client->judge->token = 0;
}

static const struct step *
client_step(const struct client *client)
{
	return &client->load->kind->steps[client->step];
}

static void
client_send(struct client *client)
{
	if (client->load->kind->judged && client->step == 0)
		judge_ask(client->judge, &client->party);
	else if (client->load->kind->judged)
		judge_release(client->judge);
	request_send(&client->requests[client->step], client->fd);
}

static void
client_begin(struct client *client)
{
	client->load->busy++;
	if (client->load->kind->fresh)
		client_rename(client);
	client->began_ns = tick_ns();
	client_send(client);
}

/* A whole answer of one line: ":" and a number that is no 0. False when it is anything else. */
static bool
token_read(const char *answer, uint64_t *token)
{
	uint64_t n = 0;

	if (*answer++ != ':')
		return false;
	while (*answer >= '0' && *answer <= '9')
		n = n * 10 + (uint64_t)(*answer++ - '0');
	*token = n;
	return *answer == '\0' && n > 0;
}

static void
client_judge(struct client *client)
{
	const struct step *step = client_step(client);
	const char *broken = NULL;
	uint64_t token = client->judge->token + 1; /* of who gives none */

	if (step->answer && strncmp(client->answer, step->answer, strlen(step->answer)) != 0)
		broken = "another answer than ";
	else if (!step->answer && !token_read(client->answer, &token))
		broken = "no token";
	else if (client->step == 0 && client->load->kind->judged)
		broken = judge_grant(client->judge, &client->party, token);
	else if (client->step == 0)
		client->party.grants++;
	if (broken)
		errx(1, "%s to %s: %s%s", client->answer, step->words[0], broken,
			step->answer ? step->answer : "");
}

/* Behind those that are active already. */
static void
client_next(struct client *client)
{
	struct load *load = client->load;

	if (STAILQ_EMPTY(&load->next))
		event_active(load->send, EV_TIMEOUT, 1);
	STAILQ_INSERT_TAIL(&load->next, client, entry);
}

static void
client_end(struct client *client)
{
	struct load *load = client->load;

	load->busy--;
	load->cycles++;
	if (load->over) {
		if (load->busy == 0)
			event_base_loopbreak(load->base);
		return;
	}
	samples_add(&load->samples, tick_ns() - client->began_ns);
	client->step = 0;
	if (load->pause.tv_sec || load->pause.tv_usec)
		event_add(client->pause, &load->pause);
	else
		client_next(client);
}

static void
client_answered(struct client *client)
{
	struct load *load = client->load;

	client_judge(client);
	if (client->step == 0 && load->kind->shared && !load->over)
		samples_add(&load->waits, tick_ns() - client->began_ns);
	if (++client->step < load->steps)
		client_next(client);
	else
		client_end(client);
}

static void
client_readable(evutil_socket_t fd, short what, void *arg)
{
	struct client *client = arg;
	ssize_t n = read(fd, client->answer + client->answer_n, sizeof client->answer - 1 - client->answer_n);

	(void)what;
	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0)
		errx(1, "a connection ended after %" PRIu64 " cycles", client->load->cycles);
	for (ssize_t i = 0; i < n; i++)
		client->lines += client->answer[client->answer_n++] == '\n';
	if (client->lines < client->load->kind->lines)
		return;
	client->answer[client->answer_n - 2] = '\0'; /* one request under way, one answer */
	client->answer_n = 0;
	client->lines = 0;
	client_answered(client);
}

static void
client_pause(evutil_socket_t fd, short what, void *arg)
{
	struct client *client = arg;

	(void)fd;
	(void)what;
	if (!client->load->over)
		client_begin(client);
}

static void
client_init(struct client *client, struct load *load, unsigned number)
{
	client->load = load;
	client->judge = &load->judges[load->kind->shared ? number % load->name_n : number];
	client_words(client, number);
	dial_nonblock(client->fd);
	/* Whatever has arrived is read at once, so the kernel need not look again: an eighth of a request's
	 * cost. */
	client->readable =
		event_new(load->base, client->fd, EV_READ | EV_PERSIST | EV_ET, client_readable, client);
	client->pause = evtimer_new(load->base, client_pause, client);
	if (!client->readable || !client->pause || event_add(client->readable, NULL) != 0)
		errx(2, "no event for a client");
}

/* Of any kind. */
static void
client_hear_line(struct client *client)
{
	char end = '\0';

	for (size_t n = 0; end != '\n'; n++) {
		if (n == sizeof client->answer - 1 || read(client->fd, &end, 1) != 1)
			errx(1, "no answer to PING");
		client->answer[n] = end;
		client->answer[n + 1] = '\0';
	}
	if (client->answer[0] == '-')
		errx(1, "%s", client->answer);
}

static void
client_done(struct client *client)
{
	event_free(client->pause);
	event_free(client->readable);
	close(client->fd);
}

/* --- the run -------------------------------------------------------------------------------------------- */

static void
load_send(evutil_socket_t fd, short what, void *arg)
{
	struct load *load = arg;
	struct client *client;

	(void)fd;
	(void)what;
	while ((client = STAILQ_FIRST(&load->next)) != NULL) {
		STAILQ_REMOVE_HEAD(&load->next, entry);
		if (client->step > 0)
			client_send(client);
		else if (!load->over)
			client_begin(client);
	}
}

static void
load_over(evutil_socket_t fd, short what, void *arg)
{
	struct load *load = arg;

	(void)fd;
	(void)what;
	load->over = true;
	load->ended_ns = tick_ns();
	if (load->busy == 0)
		event_base_loopbreak(load->base);
}

/* Forgets what was before: from now on it counts. */
static void
load_warm(evutil_socket_t fd, short what, void *arg)
{
	struct load *load = arg;
	struct timeval end = tick_timeval((int64_t)(load->seconds * 1e6));

	(void)fd;
	(void)what;
	for (unsigned i = 0; i < load->client_n; i++) {
		load->clients[i].party.grants = 0;
		load->judges[i].changes = 0;
		load->judges[i].overtaken = 0;
	}
	load->cycles = 0;
	load->samples.n = 0;
	load->waits.n = 0;
	if (load->redis)
		tally_begin(&load->tally, load->redis);
	usage_begin(&load->usage);
	load->began_ns = tick_ns();
	event_base_once(load->base, -1, EV_TIMEOUT, load_over, load, &end);
}

/* Who has connected may still wait to be accepted, and would be asking before it can be heard: all are
 * answered once before the first request is sent. */
static void
load_connect(struct load *load)
{
	struct request ping;

	request_make(&ping, (const char *[]){"PING", NULL});
	for (unsigned i = 0; i < load->client_n; i++)
		load->clients[i].fd = dial(load->places[i % load->place_n]);
	for (unsigned i = 0; i < load->client_n && !load->kind->quiet; i++)
		request_send(&ping, load->clients[i].fd);
	for (unsigned i = 0; i < load->client_n && !load->kind->quiet; i++)
		client_hear_line(&load->clients[i]);
}

static void
load_init(struct load *load)
{
	struct event_config *config = event_config_new();

	if (!config || event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER) != 0)
		errx(2, "no event loop");
	load->base = event_base_new_with_config(config);
	event_config_free(config);
	load->clients = calloc(load->client_n, sizeof *load->clients);
	load->judges = calloc(load->client_n, sizeof *load->judges);
	STAILQ_INIT(&load->next);
	load->send = load->base ? evtimer_new(load->base, load_send, load) : NULL;
	if (!load->send || !load->clients || !load->judges)
		errx(2, "no memory for %u clients", load->client_n);
	while (load->steps < STEPS_MAX && load->kind->steps[load->steps].words[0])
		load->steps++;
	load_connect(load);
	for (unsigned i = 0; i < load->client_n; i++) {
		judge_init(&load->judges[i]);
		client_init(&load->clients[i], load, i);
	}
}

static void
load_run(struct load *load)
{
	struct timeval warm = tick_timeval((int64_t)(load->warm_seconds * 1e6));

	event_base_once(load->base, -1, EV_TIMEOUT, load_warm, load, &warm);
	for (unsigned i = 0; i < load->client_n; i++)
		client_begin(&load->clients[i]);
	event_base_dispatch(load->base);
	usage_end(&load->usage);
	tally_end(&load->tally);
}

/* The least and the most that one place's clients got, of a fair share. */
static void
load_print_places(const struct load *load, uint64_t grants)
{
	uint64_t own[PLACES_MAX] = {0}, least = UINT64_MAX, most = 0;
	double fair = grants ? (double)grants / load->place_n : 1;

	for (unsigned i = 0; i < load->client_n; i++)
		own[i % load->place_n] += load->clients[i].party.grants;
	for (unsigned i = 0; i < load->place_n; i++) {
		least = own[i] < least ? own[i] : least;
		most = own[i] > most ? own[i] : most;
	}
	printf("\"least_place\": %.4f, \"most_place\": %.4f, ", (double)least / fair, (double)most / fair);
}

static void
load_print(struct load *load)
{
	double seconds = (double)(load->ended_ns - load->began_ns) / 1e9;
	uint64_t changes = 0, overtaken = 0, least = UINT64_MAX, most = 0, grants = 0;

	for (unsigned i = 0; i < load->client_n; i++) {
		uint64_t own = load->clients[i].party.grants;
		changes += load->judges[i].changes;
		overtaken += load->judges[i].overtaken;
		grants += own;
		least = own < least ? own : least;
		most = own > most ? own : most;
	}
	double fair = grants ? (double)grants / load->client_n : 1;
	printf("{\"cycles\": %" PRIu64 ", \"per_second\": %.1f, \"changes_per_second\": %.1f, ", load->cycles,
		(double)load->samples.n / seconds, (double)changes / seconds);
	printf("\"p50_us\": %.2f, \"p99_us\": %.2f, ", samples_percentile(&load->samples, 50),
		samples_percentile(&load->samples, 99));
	printf("\"wait_p50_us\": %.2f, \"wait_p99_us\": %.2f, ", samples_percentile(&load->waits, 50),
		samples_percentile(&load->waits, 99));
	load_print_places(load, grants);
	usage_print(&load->usage, load->cycles);
	printf(", \"commands\": %.6f", (double)load->tally.count / (double)(load->cycles ? load->cycles : 1));
	printf(", \"least_share\": %.4f, \"most_share\": %.4f, \"overtaken\": %" PRIu64 "}\n",
		(double)least / fair, (double)most / fair, overtaken);
}

static void
load_done(struct load *load)
{
	for (unsigned i = 0; i < load->client_n; i++)
		client_done(&load->clients[i]);
	free(load->clients);
	free(load->judges);
	samples_done(&load->samples);
	samples_done(&load->waits);
	event_free(load->send);
	event_base_free(load->base);
}

static const struct kind *
kind_find(const char *name)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strcmp(kinds[i].name, name) == 0)
			return &kinds[i];
	errx(2, "no kind of load is called %s", name);
}

static void
load_option(struct load *load, int option, const char *value)
{
	if (option == 'c')
		load->client_n = (unsigned)strtoul(value, NULL, 10);
	else if (option == 'n')
		load->name_n = (unsigned)strtoul(value, NULL, 10);
	else if (option == 't')
		load->seconds = strtod(value, NULL);
	else if (option == 'w')
		load->warm_seconds = strtod(value, NULL);
	else if (option == 'm')
		usage_watch(&load->usage, (int)strtol(value, NULL, 10));
	else if (option == 'r')
		load->redis = value;
	else if (option == 'p')
		load->pause = tick_timeval((int64_t)strtoul(value, NULL, 10) * 1000);
	else if (option == 's')
		load->sha1 = value;
	else
		errx(2, "usage: load [-c CLIENTS] [-n NAMES] [-w SECONDS] [-t SECONDS] [-p PAUSE_MS] [-s "
			"SHA1] [-m "
			"PID]... "
			"KIND PLACE...");
}

int
main(int argc, char **argv)
{
	struct load load = {.client_n = 1, .name_n = 1, .seconds = 1, .sha1 = ""};
	int option;

	while ((option = getopt(argc, argv, "c:n:w:t:p:s:m:r:")) != -1)
		load_option(&load, option, optarg);
	if (argc - optind < 2 || argc - optind > 1 + PLACES_MAX)
		errx(2, "it needs a KIND and 1 to %d PLACEs", PLACES_MAX);
	if (load.client_n == 0 || load.client_n > CLIENTS_MAX)
		errx(2, "%u clients: 1 to %d", load.client_n, CLIENTS_MAX);
	if (load.name_n == 0 || load.name_n > load.client_n)
		errx(2, "%u names: 1 to as many as clients", load.name_n);
	load.kind = kind_find(argv[optind]);
	load.places = argv + optind + 1;
	load.place_n = (unsigned)(argc - optind - 1);
	dial_descriptors();
	load_init(&load);
	load_run(&load);
	load_print(&load);
	load_done(&load);
	return 0;
}
