/*
 * connect: resolves names, connects, and keeps the password. It must never block: hiredis looks up a name by
 * waiting for it, so it is given addresses only.
 */
#include "daemon/redis/connect.h"

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

/* A question to the name servers. It outlives the connector that asked: a cancelled one is answered later. */
struct lookup {
	struct connector *connector; /* NULL: it was cancelled, and the answer is dropped */
	struct evdns_getaddrinfo_request *request;
};

struct connector {
	struct event_base *base;
	connector_done *done;
	void *arg;
	char *host; /* NULL: path */
	char *path;
	char *where;
	uint16_t port;
	struct tls_context *tls; /* NULL: plain */

	struct evdns_base *dns; /* made when the first name is asked for */
	struct lookup *lookup;  /* under way */
	struct evutil_addrinfo *addresses;
	struct evutil_addrinfo *current; /* handed over last; NULL: none over TCP */
	unsigned skip;                   /* addresses that did not answer, counted on from the first */
};

static void
connector_forget(struct connector *connector)
{
	if (connector->addresses)
		evutil_freeaddrinfo(connector->addresses);
	connector->addresses = NULL;
	connector->current = NULL;
}

static void
connector_fail(struct connector *connector, const char *why)
{
	connector_forget(connector);
	connector->done(connector->arg, NULL, NULL, why);
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
connector_connect(struct connector *connector)
{
	char host[NI_MAXHOST];
	redisAsyncContext *redis;
	struct tls *tls = NULL;

	if (connector->path)
		redis = redisAsyncConnectUnix(connector->path);
	else if (getnameinfo(connector->current->ai_addr, (socklen_t)connector->current->ai_addrlen, host,
			 sizeof host, NULL, 0, NI_NUMERICHOST) == 0)
		redis = redisAsyncConnect(host, connector->port);
	else
		redis = NULL;
	if (!redis) {
		connector_fail(connector, "out of memory");
		return;
	}
	if (!redis->err) {
		(void)fcntl(redis->c.fd, F_SETFD, FD_CLOEXEC);
		if (!connector->path)
			set_options(redis->c.fd);
		tls = connector->tls ? tls_new(connector->tls, redis->c.fd, connector->host) : NULL;
	}
	if (connector->tls && !tls && !redis->err) {
		redisAsyncFree(redis);
		connector_fail(connector, "out of memory");
		return;
	}
	connector->done(connector->arg, redis, tls, NULL);
}

void
connector_next(struct connector *connector, const char *why)
{
	if (connector->current)
		connector->current = connector->current->ai_next;
	if (connector->current) {
		connector_connect(connector);
		return;
	}
	connector->skip = 0;
	connector_fail(connector, why);
}

static void
connector_addresses(struct connector *connector)
{
	struct evutil_addrinfo *address;
	unsigned count = 0, skip;

	for (address = connector->addresses; address; address = address->ai_next)
		count++;
	assert(count > 0);
	connector->current = connector->addresses;
	for (skip = connector->skip % count; skip > 0; skip--)
		connector->current = connector->current->ai_next;
	connector_connect(connector);
}

static void
on_resolved(int result, struct evutil_addrinfo *addresses, void *arg)
{
	struct lookup *lookup = arg;
	struct connector *connector = lookup->connector;
	char why[320];

	free(lookup);
	if (!connector) {
		if (addresses)
			evutil_freeaddrinfo(addresses);
		return;
	}
	connector->lookup = NULL;
	if (result == 0 && addresses) {
		connector->addresses = addresses;
		connector_addresses(connector);
		return;
	}
	snprintf(why, sizeof why, "cannot resolve %.250s: %s", connector->host,
		result ? evutil_gai_strerror(result) : "no address");
	connector_fail(connector, why);
}

/* The name servers as they are configured now: a laptop's or a container's change under a running daemon. */
static bool
connector_prepare_dns(struct connector *connector)
{
	if (!connector->dns)
		connector->dns = evdns_base_new(connector->base, EVDNS_BASE_DISABLE_WHEN_INACTIVE);
	if (!connector->dns)
		return false;
	evdns_base_clear_nameservers_and_suspend(connector->dns);
	evdns_base_clear_host_addresses(connector->dns);
	/* Without the file it asks 127.0.0.1, as resolvers do. */
	(void)evdns_base_resolv_conf_parse(connector->dns, DNS_OPTIONS_ALL, RESOLV_CONF);
	evdns_base_resume(connector->dns);
	return true;
}

static void
connector_resolve(struct connector *connector)
{
	const struct evutil_addrinfo hints = {
		.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_protocol = IPPROTO_TCP};
	struct evdns_getaddrinfo_request *request;
	struct lookup *lookup;
	char port[8];

	lookup = calloc(1, sizeof *lookup);
	if (!lookup || !connector_prepare_dns(connector)) {
		free(lookup);
		connector_fail(connector, "out of memory");
		return;
	}
	snprintf(port, sizeof port, "%u", connector->port);
	lookup->connector = connector;
	connector->lookup = lookup;
	/* NULL: it was answered within the call, and lookup is gone. */
	request = evdns_getaddrinfo(connector->dns, connector->host, port, &hints, on_resolved, lookup);
	if (request)
		lookup->request = request;
}

/* A numeric address needs no name server, and no memory for a resolver. */
static bool
connector_numeric(struct connector *connector)
{
	const struct evutil_addrinfo hints = {.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
		.ai_protocol = IPPROTO_TCP,
		.ai_flags = EVUTIL_AI_NUMERICHOST | EVUTIL_AI_NUMERICSERV};
	char port[8];

	snprintf(port, sizeof port, "%u", connector->port);
	return evutil_getaddrinfo(connector->host, port, &hints, &connector->addresses) == 0 &&
	       connector->addresses;
}

void
connector_start(struct connector *connector)
{
	char why[TLS_WHY_MAX];

	assert(!connector->lookup);
	connector_forget(connector);
	if (connector->tls && !tls_context_load(connector->tls, why))
		connector_fail(connector, why);
	else if (connector->path)
		connector_connect(connector);
	else if (connector_numeric(connector))
		connector_addresses(connector);
	else
		connector_resolve(connector);
}

void
connector_stop(struct connector *connector)
{
	struct lookup *lookup = connector->lookup;

	if (connector->current)
		connector->skip++;
	connector_forget(connector);
	connector->lookup = NULL;
	if (lookup) {
		lookup->connector = NULL;
		evdns_getaddrinfo_cancel(lookup->request);
	}
}

/* NULL: out of memory. */
static char *
address_text(const char *host, uint16_t port, const char *path)
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

struct connector *
connector_new(struct event_base *base, const char *host, uint16_t port, const char *path,
	const struct tls_settings *tls, connector_done *done, void *arg)
{
	struct connector *connector = calloc(1, sizeof *connector);

	if (!connector)
		return NULL;
	connector->base = base;
	connector->done = done;
	connector->arg = arg;
	connector->port = port;
	connector->host = host ? strdup(host) : NULL;
	connector->path = path ? strdup(path) : NULL;
	connector->where = address_text(host, port, path);
	connector->tls = tls->on && !path ? tls_context_new(TLS_CLIENT, tls) : NULL;
	if (connector->where && (connector->tls || !tls->on || path) && (!host || connector->host) &&
		(!path || connector->path))
		return connector;
	connector_free(connector);
	return NULL;
}

bool
connector_aim(struct connector *connector, const char *host, uint16_t port)
{
	char *copy = strdup(host);
	char *where = address_text(host, port, NULL);

	assert(!connector->lookup && !connector->path);
	if (!copy || !where) {
		free(copy);
		free(where);
		return false;
	}
	free(connector->host);
	free(connector->where);
	connector->host = copy;
	connector->where = where;
	connector->port = port;
	connector->skip = 0;
	return true;
}

void
connector_free(struct connector *connector)
{
	if (!connector)
		return;
	/* Not cancelled: libevent would use the resolver once more afterwards. Its end answers the question.
	 */
	if (connector->lookup)
		connector->lookup->connector = NULL;
	connector->lookup = NULL;
	connector_stop(connector);
	if (connector->dns)
		evdns_base_free(connector->dns, 1);
	free(connector->host);
	free(connector->path);
	free(connector->where);
	tls_context_free(connector->tls);
	free(connector);
}

const char *
connector_where(const struct connector *connector)
{
	return connector->where;
}

/* ---- the password ---- */

static void
password_free(char *password)
{
	if (password)
		explicit_bzero(password, strlen(password));
	free(password);
}

static bool
password_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

bool
credentials_set(struct credentials *c, const char *password)
{
	char *copy = password ? strdup(password) : NULL;

	if (password && !copy)
		return false;
	if (password_same(c->password, password)) {
		password_free(copy);
		return true;
	}
	/* After several changes in a row, the password before the first change is the one that worked. */
	if (c->changed)
		password_free(c->password);
	else
		c->before = c->password;
	c->password = copy;
	c->changed = true;
	c->fallback = false;
	return true;
}

void
credentials_done(struct credentials *c)
{
	password_free(c->password);
	password_free(c->before);
	*c = (struct credentials){0};
}

const char *
credentials_password(const struct credentials *c)
{
	return c->fallback ? c->before : c->password;
}

void
credentials_refused(struct credentials *c)
{
	c->fallback = c->changed && !c->fallback;
}

void
credentials_worked(struct credentials *c)
{
	if (c->fallback)
		return;
	password_free(c->before);
	c->before = NULL;
	c->changed = false;
}
