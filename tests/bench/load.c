/*
 * load: clients in a closed loop, who time their requests and judge the answers. Run by bench.py.
 *
 *     load KIND SOCKET CLIENTS SECONDS [PAUSE_MS [SHA1]]       SOCKET: a path, or 127.0.0.1:PORT
 *
 *     handoff  LOCK and UNLOCK of one name by all             lock    the same, each client its own name
 *     direct   SET NX PX and EVALSHA SHA1 at a Redis          ping    PING
 *     idle     one LOCK and UNLOCK each, prints "ready", and keeps the connections until end of input
 *
 * A cycle is all requests of its kind, one after the other, each sent when the one before is answered, and
 * when all that had arrived by then was read: a hold lasts long enough for another to be seen beside it.
 * After SECONDS no cycle begins; those under way come to their end, so that nothing is left behind. Prints
 * one line of JSON. Exit 1: an answer broke a promise; 2: it could not measure.
 */
#include "tests/bench/judge.h"
#include "tests/bench/samples.h"

#include <assert.h>
#include <err.h>
#include <event2/event.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define STEPS_MAX   2
#define WORDS_MAX   6
#define CLIENTS_MAX 100000
#define NAME        "(name)" /* stands for the name of the client's lock */
#define SHA1        "(sha1)"

struct step {
	const char *words[WORDS_MAX + 1]; /* NULL ends them */
	const char *answer;               /* NULL: a token */
};

static const struct kind {
	const char *name;
	bool shared; /* one lock for all */
	bool judged;
	bool once;
	struct step steps[STEPS_MAX];
} kinds[] = {
	{"handoff", true, true, false, {{{"LOCK", NAME}, NULL}, {{"UNLOCK", NAME}, ":0"}}},
	{"lock", false, true, false, {{{"LOCK", NAME}, NULL}, {{"UNLOCK", NAME}, ":0"}}},
	{"idle", false, true, true, {{{"LOCK", NAME}, NULL}, {{"UNLOCK", NAME}, ":0"}}},
	{"direct", false, false, false,
		{{{"SET", NAME, NAME, "NX", "PX", "10000"}, "+OK"},
			{{"EVALSHA", SHA1, "1", NAME, NAME}, ":1"}}},
	{"ping", false, false, false, {{{"PING"}, "+PONG"}}},
};

struct request {
	char text[192];
	size_t n;
};

struct client {
	struct load *load;
	struct judge *judge;
	struct party party;
	int fd;
	struct event *readable;
	struct event *next; /* sends the next request */
	struct request requests[STEPS_MAX];
	unsigned step;
	int64_t began_ns;
	char answer[512];
	size_t answer_n;
};

struct load {
	const struct kind *kind;
	struct event_base *base;
	struct client *clients;
	unsigned client_n;
	struct judge *judges;
	struct timeval pause;
	const char *sha1;
	unsigned steps;
	unsigned busy; /* clients with a cycle under way */
	bool over;
	int64_t began_ns;
	int64_t ended_ns;
	uint64_t cycles; /* with those that ended after the time was over */
	struct samples samples;
};

static int64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* --- requests ------------------------------------------------------------------------------------------- */

static void
request_put(struct request *request, const char *text, size_t n)
{
	int room = (int)(sizeof request->text - request->n);
	int put = snprintf(request->text + request->n, (size_t)room, "$%zu\r\n%s\r\n", n, text);

	assert(put < room);
	request->n += (size_t)put;
}

static void
request_make(struct request *request, const struct step *step, const char *name, const char *sha1)
{
	unsigned n = 0;

	while (step->words[n])
		n++;
	request->n = (size_t)snprintf(request->text, sizeof request->text, "*%u\r\n", n);
	for (unsigned i = 0; i < n; i++) {
		const char *word = step->words[i];
		if (strcmp(word, NAME) == 0)
			word = name;
		else if (strcmp(word, SHA1) == 0)
			word = sha1;
		request_put(request, word, strlen(word));
	}
}

/* --- one client ----------------------------------------------------------------------------------------- */

static const struct step *
client_step(const struct client *client)
{
	return &client->load->kind->steps[client->step];
}

static void
client_send(struct client *client)
{
	const struct request *request = &client->requests[client->step];

	if (client->load->kind->judged && !client_step(client)->answer)
		judge_ask(client->judge, &client->party);
	else if (client->load->kind->judged)
		judge_release(client->judge);
	if (write(client->fd, request->text, request->n) != (ssize_t)request->n)
		err(2, "a request did not leave whole");
}

static void
client_begin(struct client *client)
{
	client->load->busy++;
	client->began_ns = now_ns();
	client_send(client);
}

static void
client_judge(struct client *client)
{
	const struct step *step = client_step(client);
	const char *broken = NULL;
	uint64_t token;
	char rest;

	if (step->answer)
		broken = strcmp(client->answer, step->answer) == 0 ? NULL : "another answer than ";
	else if (sscanf(client->answer, ":%" SCNu64 "%c", &token, &rest) == 1)
		broken = judge_grant(client->judge, &client->party, token);
	else
		broken = "no token";
	if (broken)
		errx(1, "%s to %s: %s%s", client->answer, step->words[0], broken,
			step->answer ? step->answer : "");
}

static void
client_end(struct client *client)
{
	struct load *load = client->load;

	load->busy--;
	load->cycles++;
	if (load->over || load->kind->once) {
		if (load->busy == 0)
			event_base_loopbreak(load->base);
		return;
	}
	samples_add(&load->samples, now_ns() - client->began_ns);
	client->step = 0;
	if (load->pause.tv_sec || load->pause.tv_usec)
		event_add(client->next, &load->pause);
	else
		event_active(client->next, EV_TIMEOUT, 1);
}

static void
client_readable(evutil_socket_t fd, short what, void *arg)
{
	struct client *client = arg;
	ssize_t n = read(fd, client->answer + client->answer_n, sizeof client->answer - 1 - client->answer_n);

	(void)what;
	if (n <= 0)
		errx(1, "a connection ended after %" PRIu64 " cycles", client->load->cycles);
	client->answer_n += (size_t)n;
	client->answer[client->answer_n] = '\0';
	if (client->answer_n < 2 || client->answer[client->answer_n - 1] != '\n')
		return;
	client->answer[client->answer_n - 2] = '\0'; /* one request under way, one line */
	client->answer_n = 0;
	client_judge(client);
	if (++client->step < client->load->steps)
		event_active(client->next, EV_TIMEOUT, 1); /* behind what is active already */
	else
		client_end(client);
}

static void
client_next(evutil_socket_t fd, short what, void *arg)
{
	struct client *client = arg;

	(void)fd;
	(void)what;
	if (client->step > 0)
		client_send(client);
	else if (!client->load->over)
		client_begin(client);
}

static int
connect_unix(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (strlen(path) >= sizeof address.sun_path)
		errx(2, "%s: too long for a socket", path);
	strcpy(address.sun_path, path);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof address) != 0)
		err(2, "%s", path);
	return fd;
}

/* Small requests leave at once, as with every good client. */
static int
connect_tcp(const char *place)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	const char *port = strchr(place, ':');

	if (!port || strncmp(place, "127.0.0.1:", 10) != 0)
		errx(2, "%s: neither an absolute path nor 127.0.0.1:PORT", place);
	address.sin_port = htons((uint16_t)strtoul(port + 1, NULL, 10));
	if (fd < 0 || setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0 ||
		connect(fd, (const struct sockaddr *)&address, sizeof address) != 0)
		err(2, "%s", place);
	return fd;
}

static void
client_connect(struct client *client, const char *place)
{
	client->fd = place[0] == '/' ? connect_unix(place) : connect_tcp(place);
	if (fcntl(client->fd, F_SETFL, O_NONBLOCK) != 0)
		err(2, "fcntl");
}

static void
client_init(struct client *client, struct load *load, unsigned number, const char *path)
{
	char name[32];

	client->load = load;
	client->judge = &load->judges[load->kind->shared ? 0 : number];
	snprintf(name, sizeof name, "bench:%u", load->kind->shared ? 0 : number);
	for (unsigned i = 0; i < load->steps; i++)
		request_make(&client->requests[i], &load->kind->steps[i], name, load->sha1);
	client_connect(client, path);
	client->readable = event_new(load->base, client->fd, EV_READ | EV_PERSIST, client_readable, client);
	client->next = evtimer_new(load->base, client_next, client);
	if (!client->readable || !client->next || event_add(client->readable, NULL) != 0)
		errx(2, "no event for a client");
}

static void
client_done(struct client *client)
{
	event_free(client->next);
	event_free(client->readable);
	close(client->fd);
}

/* --- the run -------------------------------------------------------------------------------------------- */

static void
load_over(evutil_socket_t fd, short what, void *arg)
{
	struct load *load = arg;

	(void)fd;
	(void)what;
	load->over = true;
	load->ended_ns = now_ns();
	if (load->busy == 0)
		event_base_loopbreak(load->base);
}

static void
load_init(struct load *load, const char *path)
{
	struct event_config *config = event_config_new();

	if (!config || event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER) != 0)
		errx(2, "no event loop");
	load->base = event_base_new_with_config(config);
	event_config_free(config);
	load->clients = calloc(load->client_n, sizeof *load->clients);
	load->judges = calloc(load->client_n, sizeof *load->judges);
	if (!load->base || !load->clients || !load->judges)
		errx(2, "no memory for %u clients", load->client_n);
	while (load->steps < STEPS_MAX && load->kind->steps[load->steps].words[0])
		load->steps++;
	for (unsigned i = 0; i < load->client_n; i++) {
		judge_init(&load->judges[i]);
		client_init(&load->clients[i], load, i, path);
	}
}

static void
load_run(struct load *load, double seconds)
{
	struct timeval end = {.tv_sec = (time_t)seconds};

	end.tv_usec = (suseconds_t)((seconds - (double)end.tv_sec) * 1e6);
	load->began_ns = now_ns();
	if (!load->kind->once)
		event_base_once(load->base, -1, EV_TIMEOUT, load_over, load, &end);
	for (unsigned i = 0; i < load->client_n; i++)
		client_begin(&load->clients[i]);
	event_base_dispatch(load->base);
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
	printf("\"least_share\": %.4f, \"most_share\": %.4f, \"overtaken\": %" PRIu64 "}\n",
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
	event_base_free(load->base);
}

static void
descriptors_allow(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		err(2, "getrlimit");
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
		err(2, "setrlimit");
}

static const struct kind *
kind_find(const char *name)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strcmp(kinds[i].name, name) == 0)
			return &kinds[i];
	errx(2, "no kind of load is called %s", name);
}

int
main(int argc, char **argv)
{
	struct load load = {.sha1 = argc > 6 ? argv[6] : ""};

	if (argc < 5)
		errx(2, "usage: load KIND SOCKET CLIENTS SECONDS [PAUSE_MS [SHA1]]");
	load.kind = kind_find(argv[1]);
	load.client_n = (unsigned)strtoul(argv[3], NULL, 10);
	if (load.client_n == 0 || load.client_n > CLIENTS_MAX)
		errx(2, "%s clients: 1 to %d", argv[3], CLIENTS_MAX);
	if (argc > 5) {
		unsigned long pause_ms = strtoul(argv[5], NULL, 10);
		load.pause.tv_sec = (time_t)(pause_ms / 1000);
		load.pause.tv_usec = (suseconds_t)(pause_ms % 1000 * 1000);
	}
	descriptors_allow();
	load_init(&load, argv[2]);
	load_run(&load, strtod(argv[4], NULL));
	if (load.kind->once) {
		puts("ready");
		fflush(stdout);
		while (getchar() != EOF)
			;
	} else {
		load_print(&load);
	}
	load_done(&load);
	return 0;
}
