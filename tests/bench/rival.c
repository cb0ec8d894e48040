/*
 * rival: clients that share one lock at a Redis without a coordinator, in a closed loop. Run by bench.py.
 *
 *     rival [-c CLIENTS] [-t SECONDS] [-r TRY] [-u RELEASE] KIND PLACE      TRY, RELEASE: SHA1 of scripts
 *
 *     redsync   SET NX PX; refused, it sleeps 50 to 250 ms and tries again; RELEASE compares and deletes
 *     redisson  TRY answers null, or for how many ms it is somebody's; refused, it subscribes to the lock's
 *               channel and tries at each message, or after so many ms; RELEASE deletes and publishes
 *
 * Each client is a host of its own: it has its own connection, with "redisson" a second one for messages, and
 * knows of the others through Redis alone. A hold lasts until all that arrived meanwhile was read, as in
 * load. After SECONDS nobody tries any more. Prints one line of JSON. Exit 1: two held at once; 2: it could
 * not measure.
 */
#include "tests/bench/dial.h"
#include "tests/bench/judge.h"
#include "tests/bench/request.h"
#include "tests/bench/samples.h"
#include "tests/bench/tick.h"

#include <err.h>
#include <event2/event.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CLIENTS_MAX 10000
#define TTL_MS      "10000"
#define KEY         "bench:rival"
#define CHANNEL     "bench:rival:free"
#define SLEEP_MS    50 /* redsync's, and up to this much more: */
#define SLEEP_MORE  200
#define SETTLE_US   250000

enum state {
	TRYING,
	ASLEEP,      /* refused: until the timer, or a message */
	SUBSCRIBING, /* tries again when that is done */
	HOLDING,     /* until all that arrived was read */
	RELEASING
};

struct client {
	struct rival *rival;
	struct party party;
	enum state state;
	int fd;
	int messages_fd; /* -1: none */
	struct event *readable;
	struct event *messages_readable;
	struct event *timer;
	struct request try, release;
	bool subscribed;
	bool missed; /* a message came while a try was under way */
	int64_t began_ns;
	char answer[64];
	size_t answer_n;
	char line[64]; /* of the messages, as far as it came */
	size_t line_n;
};

struct rival {
	bool redisson;
	const char *try_sha1, *release_sha1;
	struct event_base *base;
	struct client *clients;
	unsigned client_n;
	const char *place;
	struct request subscribe, unsubscribe;
	struct judge judge;
	uint64_t token;
	double seconds;
	unsigned busy; /* clients with a try or a release under way, or a hold */
	bool over;
	int64_t began_ns, ended_ns; /* of what counts */
	uint64_t began_token, began_changes;
	struct samples waits;
};

static void
client_try(struct client *client)
{
	if (client->rival->over)
		return;
	client->rival->busy++;
	client->state = TRYING;
	client->missed = false;
	request_send(&client->try, client->fd);
}

static void
client_begin(struct client *client)
{
	if (client->rival->over)
		return;
	client->began_ns = tick_ns();
	judge_ask(&client->rival->judge, &client->party);
	client_try(client);
}

static void
client_idle(struct rival *rival)
{
	if (--rival->busy == 0 && rival->over)
		event_base_loopbreak(rival->base);
}

static void
client_hold(struct client *client)
{
	struct rival *rival = client->rival;
	const char *broken = judge_grant(&rival->judge, &client->party, ++rival->token);

	if (broken)
		errx(1, "%s", broken);
	if (!rival->over)
		samples_add(&rival->waits, tick_ns() - client->began_ns);
	if (client->subscribed)
		request_send(&rival->unsubscribe, client->messages_fd);
	client->subscribed = false;
	client->state = HOLDING;
	event_active(client->timer, EV_TIMEOUT, 1); /* behind what is active already */
}

static void
client_sleep(struct client *client, int64_t ms)
{
	struct timeval until = tick_timeval(ms * 1000);

	client->state = ASLEEP;
	event_add(client->timer, &until);
}

static void
client_refused(struct client *client)
{
	struct rival *rival = client->rival;

	client_idle(rival);
	if (rival->over)
		return;
	if (!rival->redisson) {
		client_sleep(client, SLEEP_MS + random() % SLEEP_MORE);
	} else if (!client->subscribed) {
		client->state = SUBSCRIBING;
		request_send(&rival->subscribe, client->messages_fd);
	} else if (client->missed) {
		client_try(client);
	} else {
		client_sleep(client, strtol(client->answer + 1, NULL, 10));
	}
}

static void
client_answered(struct client *client)
{
	bool granted = client->rival->redisson ? client->answer[0] == '$' : client->answer[0] == '+';

	if (client->answer[0] == '-')
		errx(2, "%s", client->answer);
	if (client->state == TRYING && granted)
		client_hold(client);
	else if (client->state == TRYING)
		client_refused(client);
	else if (client->answer[1] != '1')
		errx(1, "released what somebody else had: %s", client->answer);
	else {
		client_idle(client->rival);
		client_begin(client);
	}
}

static void
client_readable(evutil_socket_t fd, short what, void *arg)
{
	struct client *client = arg;
	ssize_t n = read(fd, client->answer + client->answer_n, sizeof client->answer - 1 - client->answer_n);

	(void)what;
	if (n <= 0)
		errx(2, "a connection ended");
	client->answer_n += (size_t)n;
	client->answer[client->answer_n] = '\0';
	if (client->answer[client->answer_n - 1] != '\n')
		return;
	client->answer_n = 0;
	client_answered(client);
}

/* A message, or that the subscription stands, is known by one line of its array; nobody else's lines are so.
 */
static void
client_line(struct client *client)
{
	if (strcmp(client->line, "subscribe\r") == 0) {
		client->subscribed = true;
		client_try(client);
	} else if (strcmp(client->line, "message\r") == 0 && client->state == ASLEEP) {
		event_del(client->timer);
		client_try(client);
	} else if (strcmp(client->line, "message\r") == 0) {
		client->missed = true;
	}
}

static void
client_messages(evutil_socket_t fd, short what, void *arg)
{
	struct client *client = arg;
	char bytes[1024];
	ssize_t n = read(fd, bytes, sizeof bytes);

	(void)what;
	if (n <= 0)
		errx(2, "a subscription ended");
	for (ssize_t i = 0; i < n; i++) {
		if (bytes[i] != '\n' && client->line_n < sizeof client->line - 1) {
			client->line[client->line_n++] = bytes[i];
			continue;
		}
		client->line[client->line_n] = '\0';
		client->line_n = 0;
		client_line(client);
	}
}

static void
client_timer(evutil_socket_t fd, short what, void *arg)
{
	struct client *client = arg;

	(void)fd;
	(void)what;
	if (client->state == ASLEEP) {
		client_try(client);
	} else {
		judge_release(&client->rival->judge);
		client->state = RELEASING;
		request_send(&client->release, client->fd);
	}
}

static struct event *
client_event(struct client *client, int fd, event_callback_fn callback)
{
	struct event *event = event_new(client->rival->base, fd, EV_READ | EV_PERSIST, callback, client);

	dial_nonblock(fd);
	if (!event || event_add(event, NULL) != 0)
		errx(2, "no event for a client");
	return event;
}

static void
client_init(struct client *client, struct rival *rival, unsigned number)
{
	char owner[32];

	client->rival = rival;
	snprintf(owner, sizeof owner, "owner:%u", number);
	if (rival->redisson) {
		request_make(&client->try,
			(const char *[]){"EVALSHA", rival->try_sha1, "1", KEY, owner, TTL_MS, NULL});
		request_make(&client->release,
			(const char *[]){"EVALSHA", rival->release_sha1, "2", KEY, CHANNEL, owner, NULL});
		client->messages_fd = dial(rival->place);
		client->messages_readable = client_event(client, client->messages_fd, client_messages);
	} else {
		request_make(&client->try, (const char *[]){"SET", KEY, owner, "NX", "PX", TTL_MS, NULL});
		request_make(&client->release,
			(const char *[]){"EVALSHA", rival->release_sha1, "1", KEY, owner, NULL});
	}
	client->fd = dial(rival->place);
	client->readable = client_event(client, client->fd, client_readable);
	client->timer = evtimer_new(rival->base, client_timer, client);
	if (!client->timer)
		errx(2, "no timer for a client");
}

static void
client_done(struct client *client)
{
	if (client->messages_readable) {
		event_free(client->messages_readable);
		close(client->messages_fd);
	}
	event_free(client->readable);
	event_free(client->timer);
	close(client->fd);
}

static void
rival_over(evutil_socket_t fd, short what, void *arg)
{
	struct rival *rival = arg;

	(void)fd;
	(void)what;
	rival->over = true;
	rival->ended_ns = tick_ns();
	if (rival->busy == 0)
		event_base_loopbreak(rival->base);
}

static void
rival_settled(evutil_socket_t fd, short what, void *arg)
{
	struct rival *rival = arg;
	struct timeval end = tick_timeval((int64_t)(rival->seconds * 1e6));

	(void)fd;
	(void)what;
	rival->began_ns = tick_ns();
	rival->began_token = rival->token;
	rival->began_changes = rival->judge.changes;
	event_base_once(rival->base, -1, EV_TIMEOUT, rival_over, rival, &end);
}

static void
rival_init(struct rival *rival)
{
	request_make(&rival->subscribe, (const char *[]){"SUBSCRIBE", CHANNEL, NULL});
	request_make(&rival->unsubscribe, (const char *[]){"UNSUBSCRIBE", CHANNEL, NULL});
	judge_init(&rival->judge);
	rival->base = event_base_new();
	rival->clients = calloc(rival->client_n, sizeof *rival->clients);
	if (!rival->base || !rival->clients)
		errx(2, "no memory for %u clients", rival->client_n);
	for (unsigned i = 0; i < rival->client_n; i++)
		client_init(&rival->clients[i], rival, i);
}

static void
rival_run(struct rival *rival)
{
	struct timeval settled = tick_timeval(SETTLE_US);

	event_base_once(rival->base, -1, EV_TIMEOUT, rival_settled, rival, &settled);
	for (unsigned i = 0; i < rival->client_n; i++)
		client_begin(&rival->clients[i]);
	event_base_dispatch(rival->base);
}

static void
rival_print(struct rival *rival)
{
	double seconds = (double)(rival->ended_ns - rival->began_ns) / 1e9;
	unsigned starved = 0;

	for (unsigned i = 0; i < rival->client_n; i++)
		starved += rival->clients[i].party.grants == 0;
	printf("{\"cycles\": %" PRIu64 ", \"per_second\": %.1f, \"changes_per_second\": %.1f, ", rival->token,
		(double)rival->token / seconds, (double)rival->judge.changes / seconds);
	printf("\"wait_p50_us\": %.2f, \"wait_p99_us\": %.2f, \"starved\": %u}\n",
		samples_percentile(&rival->waits, 50), samples_percentile(&rival->waits, 99), starved);
}

static void
rival_option(struct rival *rival, int option, const char *value)
{
	if (option == 'c')
		rival->client_n = (unsigned)strtoul(value, NULL, 10);
	else if (option == 't')
		rival->seconds = strtod(value, NULL);
	else if (option == 'r')
		rival->try_sha1 = value;
	else if (option == 'u')
		rival->release_sha1 = value;
	else
		errx(2, "usage: rival [-c CLIENTS] [-t SECONDS] [-r TRY] [-u RELEASE] KIND PLACE");
}

int
main(int argc, char **argv)
{
	struct rival rival = {.client_n = 1, .seconds = 1, .try_sha1 = "", .release_sha1 = ""};
	int option;

	while ((option = getopt(argc, argv, "c:t:r:u:")) != -1)
		rival_option(&rival, option, optarg);
	if (argc - optind != 2)
		errx(2, "it needs a KIND and a PLACE");
	rival.redisson = strcmp(argv[optind], "redisson") == 0;
	if (!rival.redisson && strcmp(argv[optind], "redsync") != 0)
		errx(2, "no rival is called %s", argv[optind]);
	if (rival.client_n == 0 || rival.client_n > CLIENTS_MAX)
		errx(2, "%u clients: 1 to %d", rival.client_n, CLIENTS_MAX);
	rival.place = argv[optind + 1];
	dial_descriptors();
	rival_init(&rival);
	rival_run(&rival);
	rival_print(&rival);
	for (unsigned i = 0; i < rival.client_n; i++)
		client_done(&rival.clients[i]);
	free(rival.clients);
	samples_done(&rival.waits);
	event_base_free(rival.base);
	return 0;
}
