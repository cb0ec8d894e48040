/*
 * dial: resolves and connects. Called by the link; must never block: hiredis looks up a name by waiting for
 * it, so it is given addresses only.
 */
#include "daemon/redis/dial.h"

#include <assert.h>
#include <event2/dns.h>
#include <event2/event.h>
#include <event2/util.h>
#include <fcntl.h>
#include <hiredis/async.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define RESOLV_CONF "/etc/resolv.conf"

/* A question to the name servers. It outlives the dial that asked: a cancelled one is answered later. */
struct lookup {
	struct dial *dial; /* NULL: nobody waits for the answer */
	struct evdns_getaddrinfo_request *request;
};

struct dial {
	struct event_base *base;
	dial_done *done;
	void *arg;
	char *host; /* NULL: path */
	char *path;
	char *where;
	uint16_t port;

	struct evdns_base *dns; /* made when the first name is asked for */
	struct lookup *lookup;  /* under way */
	struct evutil_addrinfo *addresses;
	struct evutil_addrinfo *current; /* handed over last; NULL: none over TCP */
	unsigned skip;                   /* addresses that did not answer, counted on from the first */
};

static void
dial_forget(struct dial *dial)
{
	if (dial->addresses)
		evutil_freeaddrinfo(dial->addresses);
	dial->addresses = NULL;
	dial->current = NULL;
}

static void
dial_fail(struct dial *dial, const char *why)
{
	dial_forget(dial);
	dial->done(dial->arg, NULL, why);
}

/* A peer that vanished is noticed by the kernel too, in about 20 s; the link's own limit is shorter. */
static void
set_options(int fd)
{
	const int on = 1, idle_s = 8, interval_s = 3, probes = 4, unread_ms = 20000;

	/* They only sharpen what the link watches anyway: without them it works as well. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unread_ms, sizeof unread_ms);
}

/* Hands over a connection to the path or to the address in turn. */
static void
dial_connect(struct dial *dial)
{
	char host[NI_MAXHOST];
	redisAsyncContext *redis;

	if (dial->path)
		redis = redisAsyncConnectUnix(dial->path);
	else if (getnameinfo(dial->current->ai_addr, (socklen_t)dial->current->ai_addrlen, host, sizeof host,
			 NULL, 0, NI_NUMERICHOST) == 0)
		redis = redisAsyncConnect(host, dial->port);
	else
		redis = NULL;
	if (!redis) {
		dial_fail(dial, "out of memory");
		return;
	}
	if (!redis->err) {
		(void)fcntl(redis->c.fd, F_SETFD, FD_CLOEXEC);
		if (!dial->path)
			set_options(redis->c.fd);
	}
	dial->done(dial->arg, redis, NULL);
}

void
dial_next(struct dial *dial, const char *why)
{
	if (dial->current)
		dial->current = dial->current->ai_next;
	if (dial->current) {
		dial_connect(dial);
		return;
	}
	dial->skip = 0;
	dial_fail(dial, why);
}

static void
dial_addresses(struct dial *dial)
{
	struct evutil_addrinfo *address;
	unsigned count = 0, skip;

	for (address = dial->addresses; address; address = address->ai_next)
		count++;
	assert(count > 0);
	dial->current = dial->addresses;
	for (skip = dial->skip % count; skip > 0; skip--)
		dial->current = dial->current->ai_next;
	dial_connect(dial);
}

static void
on_resolved(int result, struct evutil_addrinfo *addresses, void *arg)
{
	struct lookup *lookup = arg;
	struct dial *dial = lookup->dial;
	char why[320];

	free(lookup);
	if (!dial) {
		if (addresses)
			evutil_freeaddrinfo(addresses);
		return;
	}
	dial->lookup = NULL;
	if (result == 0 && addresses) {
		dial->addresses = addresses;
		dial_addresses(dial);
		return;
	}
	snprintf(why, sizeof why, "cannot resolve %.250s: %s", dial->host,
		result ? evutil_gai_strerror(result) : "no address");
	dial_fail(dial, why);
}

/* The name servers as they are configured now: a laptop's or a container's change under a running daemon. */
static bool
dial_prepare_dns(struct dial *dial)
{
	if (!dial->dns)
		dial->dns = evdns_base_new(dial->base, EVDNS_BASE_DISABLE_WHEN_INACTIVE);
	if (!dial->dns)
		return false;
	evdns_base_clear_nameservers_and_suspend(dial->dns);
	evdns_base_clear_host_addresses(dial->dns);
	/* Without the file it asks 127.0.0.1, as resolvers do. */
	(void)evdns_base_resolv_conf_parse(dial->dns, DNS_OPTIONS_ALL, RESOLV_CONF);
	evdns_base_resume(dial->dns);
	return true;
}

static void
dial_resolve(struct dial *dial)
{
	const struct evutil_addrinfo hints = {
		.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_protocol = IPPROTO_TCP};
	struct evdns_getaddrinfo_request *request;
	struct lookup *lookup;
	char port[8];

	lookup = calloc(1, sizeof *lookup);
	if (!lookup || !dial_prepare_dns(dial)) {
		free(lookup);
		dial_fail(dial, "out of memory");
		return;
	}
	snprintf(port, sizeof port, "%u", dial->port);
	lookup->dial = dial;
	dial->lookup = lookup;
	/* NULL: it was answered within the call, and lookup is gone. */
	request = evdns_getaddrinfo(dial->dns, dial->host, port, &hints, on_resolved, lookup);
	if (request)
		lookup->request = request;
}

/* An address needs nobody to ask, and no memory for a resolver. */
static bool
dial_numeric(struct dial *dial)
{
	const struct evutil_addrinfo hints = {.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
		.ai_protocol = IPPROTO_TCP,
		.ai_flags = EVUTIL_AI_NUMERICHOST | EVUTIL_AI_NUMERICSERV};
	char port[8];

	snprintf(port, sizeof port, "%u", dial->port);
	return evutil_getaddrinfo(dial->host, port, &hints, &dial->addresses) == 0 && dial->addresses;
}

void
dial_start(struct dial *dial)
{
	assert(!dial->lookup);
	dial_forget(dial);
	if (dial->path)
		dial_connect(dial);
	else if (dial_numeric(dial))
		dial_addresses(dial);
	else
		dial_resolve(dial);
}

void
dial_stop(struct dial *dial)
{
	struct lookup *lookup = dial->lookup;

	if (dial->current)
		dial->skip++;
	dial_forget(dial);
	dial->lookup = NULL;
	if (lookup) {
		lookup->dial = NULL;
		evdns_getaddrinfo_cancel(lookup->request);
	}
}

/* NULL: out of memory. */
static char *
place_text(const char *host, uint16_t port, const char *path)
{
	bool six = host && strchr(host, ':');
	char *text = NULL;
	int n;

	if (host)
		n = asprintf(&text, "%s%s%s:%u", six ? "[" : "", host, six ? "]" : "", port);
	else
		n = asprintf(&text, "%s", path ? path : "nowhere yet");
	return n < 0 ? NULL : text;
}

struct dial *
dial_new(struct event_base *base, const char *host, uint16_t port, const char *path, dial_done *done,
	void *arg)
{
	struct dial *dial = calloc(1, sizeof *dial);

	if (!dial)
		return NULL;
	dial->base = base;
	dial->done = done;
	dial->arg = arg;
	dial->port = port;
	dial->host = host ? strdup(host) : NULL;
	dial->path = path ? strdup(path) : NULL;
	dial->where = place_text(host, port, path);
	if (dial->where && (!host || dial->host) && (!path || dial->path))
		return dial;
	dial_free(dial);
	return NULL;
}

bool
dial_aim(struct dial *dial, const char *host, uint16_t port)
{
	char *copy = strdup(host);
	char *where = place_text(host, port, NULL);

	assert(!dial->lookup && !dial->path);
	if (!copy || !where) {
		free(copy);
		free(where);
		return false;
	}
	free(dial->host);
	free(dial->where);
	dial->host = copy;
	dial->where = where;
	dial->port = port;
	dial->skip = 0;
	return true;
}

void
dial_free(struct dial *dial)
{
	if (!dial)
		return;
	/* Not cancelled: libevent would use the resolver once more afterwards. Its end answers the question.
	 */
	if (dial->lookup)
		dial->lookup->dial = NULL;
	dial->lookup = NULL;
	dial_stop(dial);
	if (dial->dns)
		evdns_base_free(dial->dns, 1);
	free(dial->host);
	free(dial->path);
	free(dial->where);
	free(dial);
}

const char *
dial_where(const struct dial *dial)
{
	return dial->where;
}
