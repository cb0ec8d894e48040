/*
 * dial: resolves and connects. Called by the link; must never block and never keep a socket it did not hand
 * over.
 */
#include "daemon/redis/dial.h"

#include <assert.h>
#include <errno.h>
#include <event2/dns.h>
#include <event2/event.h>
#include <event2/util.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

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
	struct evutil_addrinfo *current; /* NULL: not connecting over TCP */
	unsigned skip;                   /* addresses that did not answer, counted on from the first */
	struct event *writable;          /* of the socket that connects */
	int fd;                          /* -1: none */
};

static void dial_next(struct dial *dial, const char *why);

static void
dial_clear(struct dial *dial)
{
	if (dial->writable)
		event_free(dial->writable);
	dial->writable = NULL;
	if (dial->fd >= 0)
		close(dial->fd);
	dial->fd = -1;
}

static void
dial_forget(struct dial *dial)
{
	dial_clear(dial);
	if (dial->addresses)
		evutil_freeaddrinfo(dial->addresses);
	dial->addresses = NULL;
	dial->current = NULL;
}

static void
dial_fail(struct dial *dial, const char *why)
{
	dial_forget(dial);
	dial->done(dial->arg, -1, why);
}

static void
dial_succeed(struct dial *dial)
{
	int fd = dial->fd;

	dial->fd = -1;
	dial_forget(dial);
	dial->done(dial->arg, fd, NULL);
}

/* What connect() says, in words that do not depend on the locale. */
static const char *
connect_error(int error)
{
	switch (error) {
	case ECONNREFUSED:
		return "connection refused";
	case ETIMEDOUT:
		return "connection timed out";
	case ENOENT:
		return "no such socket";
	case EACCES:
		return "permission denied";
	case EHOSTUNREACH:
		return "no route to host";
	case ENETUNREACH:
		return "network is unreachable";
	case EMFILE:
	case ENFILE:
		return "too many open files";
	default:
		return strerror(error);
	}
}

static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct dial *dial = arg;
	int error = 0;
	socklen_t size = sizeof error;

	(void)what;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
		error = errno;
	if (error == 0)
		dial_succeed(dial);
	else
		dial_next(dial, connect_error(error));
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

/* 0: connected or connecting; else an errno, nothing is open. */
static int
dial_connect(struct dial *dial, const struct sockaddr *address, socklen_t size)
{
	int error;

	dial_clear(dial);
	dial->fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (dial->fd < 0)
		return errno;
	if (address->sa_family != AF_UNIX)
		set_options(dial->fd);
	if (connect(dial->fd, address, size) != 0 && errno != EINPROGRESS) {
		error = errno;
		dial_clear(dial);
		return error;
	}
	dial->writable = event_new(dial->base, dial->fd, EV_WRITE, on_writable, dial);
	if (dial->writable && event_add(dial->writable, NULL) == 0)
		return 0;
	dial_clear(dial);
	return ENOMEM;
}

/* The address in turn did not work: the one after it, or the end of the attempt. */
static void
dial_next(struct dial *dial, const char *why)
{
	int error = 0;

	while (dial->current) {
		dial->current = dial->current->ai_next;
		if (!dial->current)
			break;
		error = dial_connect(dial, dial->current->ai_addr, (socklen_t)dial->current->ai_addrlen);
		if (error == 0)
			return;
		why = connect_error(error);
	}
	dial->skip = 0;
	dial_fail(dial, why);
}

static void
dial_addresses(struct dial *dial)
{
	struct evutil_addrinfo *address;
	unsigned count = 0, skip;
	int error;

	for (address = dial->addresses; address; address = address->ai_next)
		count++;
	assert(count > 0);
	dial->current = dial->addresses;
	for (skip = dial->skip % count; skip > 0; skip--)
		dial->current = dial->current->ai_next;
	error = dial_connect(dial, dial->current->ai_addr, (socklen_t)dial->current->ai_addrlen);
	if (error != 0)
		dial_next(dial, connect_error(error));
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

static void
dial_unix(struct dial *dial)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t n = strlen(dial->path);
	int error;

	if (n >= sizeof address.sun_path) {
		dial_fail(dial, "path of the socket is too long");
		return;
	}
	memcpy(address.sun_path, dial->path, n);
	error = dial_connect(dial, (struct sockaddr *)&address, sizeof address);
	/* A Unix socket whose queue is full says EAGAIN and would not become writable. */
	if (error != 0)
		dial_fail(dial, error == EAGAIN ? "its queue of connections is full" : connect_error(error));
}

void
dial_start(struct dial *dial)
{
	dial_stop(dial);
	if (dial->path)
		dial_unix(dial);
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
	dial->fd = -1;
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

	assert(!dial->lookup && dial->fd < 0 && !dial->path);
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
