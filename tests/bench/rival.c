/*
 * rival: clients that share one lock, each a process of its own, in a closed loop. Run by bench.py.
 *
 *     rival [-c CLIENTS] [-w SECONDS] [-t SECONDS] [-r TRY] [-u RELEASE] KIND PLACE
 *
 * TRY and RELEASE are SHA1 of scripts; KIND is
 *
 *     redsync   SET NX PX; refused, it runs RELEASE all the same, sleeps 50 to 250 ms and tries again;
 *               RELEASE compares and deletes
 *     redisson  TRY answers null, or for how many ms it is somebody's; refused, it subscribes to the
 *               lock's channel, and tries once for each message, or after so many ms; RELEASE deletes
 *               and publishes
 *     holdfast  LOCK and UNLOCK; PLACE is a daemon's socket
 *
 * The first two send what redsync 4.18 and Redisson 4.7 (RLock.lock()) send, in the same order, with a
 * Redisson of its own for each client: each is as if on a host of its own, with a connection for requests and
 * one for messages, and knows of the others through Redis alone. It is not what threads do that share one
 * Redisson: of these a message wakes one. Nothing is renewed here, and a release is what it is when its
 * answer never gets lost.
 *
 * They are processes, as applications are, so that the kernel decides who is first. An event loop that plays
 * all of them decides it by its own order: there a try after a sleep left always behind the next LOCK or
 * before the UNLOCK, so that it hardly ever found the lock free, and whoever had released either won again or
 * never did, a whole run long. A hold lasts until it was written down. What happens in the SECONDS of -w does
 * not count; after those of -t nobody tries any more. Prints one line of JSON. Exit 1: two held at once; 2:
 * it could not measure.
 */
#include "tests/bench/dial.h"
#include "tests/bench/request.h"
#include "tests/bench/tick.h"

#include <err.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define CLIENTS_MAX 10000
#define TTL_MS      "10000"
#define KEY         "bench:rival"
#define CHANNEL     "bench:rival:free"
#define SLEEP_MS    50 /* redsync's, and up to this much more: */
#define SLEEP_MORE  200

/* What all processes see. Only who holds the lock counts grants. */
struct board {
	atomic_bool over;
	atomic_uint holder; /* 0: nobody */
	atomic_uint previous;
	atomic_uint_fast64_t token;
	atomic_uint_fast64_t changes;
	atomic_uint_fast64_t grants[]; /* by client; at 0 of all together */
};

struct rival {
	const struct kind *kind;
	const char *place;
	const char *try_sha1, *release_sha1;
	unsigned client_n;
	double warm_seconds, seconds;
	struct board *board;
	int over[2]; /* a pipe that ends when it is over */
};

struct client {
	const struct rival *rival;
	struct board *board;
	unsigned number; /* from 1 */
	struct request try, release, subscribe, unsubscribe;
	int fd;
	int messages_fd; /* -1: none */
	char answer[64];
	char line[64]; /* of the messages, as far as it came */
	size_t line_n;
	bool subscribed;
	unsigned messages; /* since then, less the tries for them */
};

static bool
client_over(const struct client *client)
{
	return atomic_load(&client->board->over);
}

/* Asks for one line. */
static const char *
client_ask(struct client *client, const struct request *request)
{
	size_t n = 0;

	request_send(request, client->fd);
	while (n == 0 || client->answer[n - 1] != '\n') {
		ssize_t got = read(client->fd, client->answer + n, sizeof client->answer - 1 - n);
		if (got <= 0)
			errx(2, "a connection ended");
		n += (size_t)got;
	}
	client->answer[n] = '\0';
	if (client->answer[0] == '-')
		errx(2, "%s", client->answer);
	return client->answer;
}

/* Until so many ms went by, or there is something to read (true), or all is over. */
static bool
client_sleep(const struct client *client, int64_t ms)
{
	struct pollfd fds[] = {{.fd = client->messages_fd, .events = POLLIN}, {.fd = client->rival->over[0]}};

	return poll(fds, 2, (int)ms) > 0 && fds[0].revents != 0;
}

/* --- messages ------------------------------------------------------------------------------------------- */

/* What came is known by one line of its array; nobody else's lines are so. */
static void
client_line(struct client *client)
{
	if (strcmp(client->line, "subscribe\r") == 0) {
		client->subscribed = true;
		client->messages = 0;
	} else if (strcmp(client->line, "message\r") == 0) {
		client->messages++;
	}
}

static void
client_listen(struct client *client)
{
	char bytes[4096];
	ssize_t n = read(client->messages_fd, bytes, sizeof bytes);

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
client_subscribe(struct client *client)
{
	request_send(&client->subscribe, client->messages_fd);
	while (!client->subscribed)
		client_listen(client);
}

/* For one message, which may have come long ago. */
static void
client_await(struct client *client, int64_t ms)
{
	int64_t until_ns = tick_ns() + ms * 1000000;

	while (client->messages == 0 && client_sleep(client, ms)) {
		client_listen(client);
		ms = (until_ns - tick_ns() + 999999) / 1000000;
		ms = ms < 0 ? 0 : ms;
	}
	client->messages -= client->messages > 0;
}

/* --- how each kind locks -------------------------------------------------------------------------------- */

/* Each: whether it has the lock; else it is over. */
static bool
lock_redisson(struct client *client)
{
	while (!client_over(client)) {
		const char *answer = client_ask(client, &client->try);
		if (answer[0] == '$')
			return true;
		if (client->subscribed)
			client_await(client, strtol(answer + 1, NULL, 10));
		else
			client_subscribe(client);
	}
	return false;
}

static bool
lock_redsync(struct client *client)
{
	while (!client_over(client)) {
		if (client_ask(client, &client->try)[0] == '+')
			return true;
		if (client_ask(client, &client->release)[1] != '0')
			errx(1, "refused what it had");
		client_sleep(client, SLEEP_MS + random() % SLEEP_MORE);
	}
	return false;
}

static bool
lock_holdfast(struct client *client)
{
	if (client_over(client))
		return false;
	if (client_ask(client, &client->try)[0] != ':')
		errx(1, "no token: %s", client->answer);
	return true;
}

static const struct kind {
	const char *name;
	bool (*lock)(struct client *client);
	const char *released; /* how the answer begins */
	const char *try[REQUEST_WORDS_MAX];
	const char *release[REQUEST_WORDS_MAX];
} kinds[] = {
	{"redisson", lock_redisson, ":1", {"EVALSHA", "(try)", "1", KEY, "(owner)", TTL_MS},
		{"EVALSHA", "(release)", "2", KEY, CHANNEL, "(owner)"}},
	{"redsync", lock_redsync, ":1", {"SET", KEY, "(owner)", "NX", "PX", TTL_MS},
		{"EVALSHA", "(release)", "1", KEY, "(owner)"}},
	{"holdfast", lock_holdfast, ":0", {"LOCK", KEY}, {"UNLOCK", KEY}},
};

static const struct kind *
kind_find(const char *name)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strcmp(kinds[i].name, name) == 0)
			return &kinds[i];
	errx(2, "no rival is called %s", name);
}

/* --- one client ----------------------------------------------------------------------------------------- */

static void
client_hold(struct client *client)
{
	struct board *board = client->board;
	bool fenced = client->rival->kind->lock == lock_holdfast;
	uint64_t token = fenced ? strtoull(client->answer + 1, NULL, 10) : 0;

	if (atomic_exchange(&board->holder, client->number) != 0)
		errx(1, "granted while another holds it");
	if (fenced && token <= board->token)
		errx(1, "granted with a token that does not grow");
	board->token = token;
	board->changes += board->previous != client->number;
	board->previous = client->number;
	board->grants[client->number]++;
	board->grants[0]++;
	if (client->subscribed)
		request_send(&client->unsubscribe, client->messages_fd);
	client->subscribed = false;
	atomic_store(&board->holder, 0);
}

static void
client_run(struct client *client)
{
	const struct kind *kind = client->rival->kind;

	while (kind->lock(client)) {
		client_hold(client);
		if (strncmp(client_ask(client, &client->release), kind->released, strlen(kind->released)) !=
			0)
			errx(1, "released what somebody else had: %s", client->answer);
	}
}

static void
client_make(const struct client *client, struct request *request, const char *const *words)
{
	const struct rival *rival = client->rival;
	const char *made[REQUEST_WORDS_MAX + 1] = {0};
	char owner[32];

	snprintf(owner, sizeof owner, "owner:%u", client->number);
	for (unsigned i = 0; i < REQUEST_WORDS_MAX && words[i]; i++)
		made[i] = strcmp(words[i], "(owner)") == 0     ? owner
			  : strcmp(words[i], "(try)") == 0     ? rival->try_sha1
			  : strcmp(words[i], "(release)") == 0 ? rival->release_sha1
							       : words[i];
	request_make(request, made);
}

/* A process. */
static void
client_main(const struct rival *rival, unsigned number)
{
	struct client client = {.rival = rival, .board = rival->board, .number = number, .messages_fd = -1};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(rival->over[1]);
	srandom(number);
	client_make(&client, &client.try, rival->kind->try);
	client_make(&client, &client.release, rival->kind->release);
	request_make(&client.subscribe, (const char *[]){"SUBSCRIBE", CHANNEL, NULL});
	request_make(&client.unsubscribe, (const char *[]){"UNSUBSCRIBE", CHANNEL, NULL});
	client.fd = dial(rival->place);
	if (rival->kind->lock == lock_redisson)
		client.messages_fd = dial(rival->place);
	client_run(&client);
	close(client.fd);
	if (client.messages_fd >= 0)
		close(client.messages_fd);
}

/* --- the run -------------------------------------------------------------------------------------------- */

/* What was seen at a moment. */
struct sight {
	int64_t ns;
	uint64_t changes;
	uint64_t *grants;
};

static struct sight
sight_take(const struct rival *rival)
{
	struct sight sight = {.ns = tick_ns(), .changes = rival->board->changes};

	sight.grants = calloc(rival->client_n + 1, sizeof *sight.grants);
	if (!sight.grants)
		err(2, "grants");
	for (unsigned i = 0; i <= rival->client_n; i++)
		sight.grants[i] = rival->board->grants[i];
	return sight;
}

static void
sight_print(const struct rival *rival, struct sight began, struct sight ended)
{
	double seconds = (double)(ended.ns - began.ns) / 1e9;
	unsigned starved = 0;

	for (unsigned i = 1; i <= rival->client_n; i++)
		starved += ended.grants[i] == began.grants[i];
	printf("{\"cycles\": %" PRIuFAST64
	       ", \"per_second\": %.1f, \"changes_per_second\": %.1f, \"starved\": %u}\n",
		rival->board->grants[0], (double)(ended.grants[0] - began.grants[0]) / seconds,
		(double)(ended.changes - began.changes) / seconds, starved);
	free(began.grants);
	free(ended.grants);
}

/* Lets so much time go by; false when a client ended before. */
static bool
rival_pass(int64_t us)
{
	struct timespec left = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
	sigset_t ends;

	sigemptyset(&ends);
	sigaddset(&ends, SIGCHLD);
	return sigtimedwait(&ends, NULL, &left) < 0;
}

/* The worst exit status of all clients. */
static int
rival_wait(void)
{
	int worst = 0, status;

	while (wait(&status) > 0) {
		status = WIFEXITED(status) ? WEXITSTATUS(status) : 2;
		if (status != 0 && (worst == 0 || status < worst))
			worst = status;
	}
	return worst;
}

static void
rival_init(struct rival *rival)
{
	size_t bytes = sizeof *rival->board + (rival->client_n + 1) * sizeof rival->board->grants[0];
	sigset_t ends;

	rival->board = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (rival->board == MAP_FAILED || pipe(rival->over) != 0)
		err(2, "a board for %u clients", rival->client_n);
	sigemptyset(&ends);
	sigaddset(&ends, SIGCHLD);
	sigprocmask(SIG_BLOCK, &ends, NULL);
}

static int
rival_run(const struct rival *rival)
{
	struct sight began, ended;
	bool whole;
	int status;

	for (unsigned i = 1; i <= rival->client_n; i++) {
		pid_t pid = fork();
		if (pid < 0)
			err(2, "client %u", i);
		if (pid == 0) {
			client_main(rival, i);
			_exit(0);
		}
	}
	whole = rival_pass((int64_t)(rival->warm_seconds * 1e6));
	began = sight_take(rival);
	if (whole)
		rival_pass((int64_t)(rival->seconds * 1e6));
	ended = sight_take(rival);
	rival->board->over = true;
	close(rival->over[1]);
	status = rival_wait();
	if (status == 0)
		sight_print(rival, began, ended);
	return status;
}

static void
rival_option(struct rival *rival, int option, const char *value)
{
	if (option == 'c')
		rival->client_n = (unsigned)strtoul(value, NULL, 10);
	else if (option == 'w')
		rival->warm_seconds = strtod(value, NULL);
	else if (option == 't')
		rival->seconds = strtod(value, NULL);
	else if (option == 'r')
		rival->try_sha1 = value;
	else if (option == 'u')
		rival->release_sha1 = value;
	else
		errx(2, "usage: rival [-c CLIENTS] [-w SECONDS] [-t SECONDS] [-r TRY] [-u RELEASE] KIND "
			"PLACE");
}

int
main(int argc, char **argv)
{
	struct rival rival = {.client_n = 1, .seconds = 1, .try_sha1 = "", .release_sha1 = ""};
	int option;

	while ((option = getopt(argc, argv, "c:w:t:r:u:")) != -1)
		rival_option(&rival, option, optarg);
	if (argc - optind != 2)
		errx(2, "it needs a KIND and a PLACE");
	rival.kind = kind_find(argv[optind]);
	if (rival.client_n == 0 || rival.client_n > CLIENTS_MAX)
		errx(2, "%u clients: 1 to %d", rival.client_n, CLIENTS_MAX);
	rival.place = argv[optind + 1];
	rival_init(&rival);
	return rival_run(&rival);
}
