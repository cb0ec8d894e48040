/*
 * fake_sentinel: see fake_sentinel.h.
 */
#include "tests/support/fake_sentinel.h"

#include "tests/support/redis.h"

#include <arpa/inet.h>
#include <check.h>
#include <event2/listener.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void
fake_sentinel_init(struct fake_sentinel *fake)
{
	memset(fake, 0, sizeof *fake);
	fake->fd = -1;
	fake->port = free_port();
	fake->host = "10.0.0.1";
	fake->master_port = 6379;
	fake->replicas = 2;
	fake->epoch = 7;
}

static void
fake_say(struct fake_sentinel *fake, const char *text)
{
	if (fake->fd >= 0 && send(fake->fd, text, strlen(text), MSG_NOSIGNAL) < 0)
		ck_abort_msg("send");
}

static void
fake_say_bulk(struct fake_sentinel *fake, const char *text)
{
	char bulk[300];

	snprintf(bulk, sizeof bulk, "$%zu\r\n%s\r\n", strlen(text), text);
	fake_say(fake, bulk);
}

static void
fake_say_number(struct fake_sentinel *fake, const char *key, unsigned number)
{
	char text[16];

	fake_say_bulk(fake, key);
	snprintf(text, sizeof text, "%u", number);
	fake_say_bulk(fake, text);
}

void
fake_sentinel_publish(struct fake_sentinel *fake, const char *text)
{
	fake_say(fake, "*3\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n");
	fake_say_bulk(fake, text);
}

static void
fake_tell_master(struct fake_sentinel *fake)
{
	fake->asked++;
	if (fake->answer) {
		fake_say(fake, fake->answer);
		return;
	}
	fake_say(fake, "*12\r\n");
	fake_say_bulk(fake, "name");
	fake_say_bulk(fake, "mymaster");
	fake_say_bulk(fake, "ip");
	fake_say_bulk(fake, fake->host);
	fake_say_number(fake, "port", fake->master_port);
	fake_say_bulk(fake, "flags");
	fake_say_bulk(fake, "master");
	fake_say_number(fake, "config-epoch", fake->epoch);
	fake_say_number(fake, "num-slaves", fake->replicas);
}

static void
fake_tell_replicas(struct fake_sentinel *fake)
{
	char head[16];
	size_t n = 0;

	while (n < sizeof fake->named / sizeof *fake->named && fake->named[n] != 0)
		n++;
	snprintf(head, sizeof head, "*%zu\r\n", n);
	fake_say(fake, head);
	for (size_t i = 0; i < n; i++) {
		fake_say(fake, "*6\r\n");
		fake_say_bulk(fake, "ip");
		fake_say_bulk(fake, "127.0.0.1");
		fake_say_number(fake, "port", fake->named[i]);
		fake_say_bulk(fake, "flags");
		fake_say_bulk(fake, "slave");
	}
}

static void
fake_command(struct fake_sentinel *fake, const redisReply *command)
{
	const char *verb = command->element[0]->str;

	if (fake->mute)
		return;
	if (fake->subscribed)
		ck_assert_msg(strcmp(verb, "UNSUBSCRIBE") == 0 || strcmp(verb, "PING") == 0, "%s", verb);
	if (strcmp(verb, "SENTINEL") == 0) {
		ck_assert_str_eq(command->element[2]->str, "mymaster");
		if (strcmp(command->element[1]->str, "REPLICAS") == 0) {
			fake_tell_replicas(fake);
		} else {
			ck_assert_str_eq(command->element[1]->str, "MASTER");
			fake_tell_master(fake);
		}
	} else if (strcmp(verb, "SUBSCRIBE") == 0) {
		fake->subscribed = !fake->denies;
		fake_say(fake, fake->denies ? fake->denies
					    : "*3\r\n$9\r\nsubscribe\r\n$14\r\n+switch-master\r\n:1\r\n");
	} else if (strcmp(verb, "UNSUBSCRIBE") == 0) {
		fake->subscribed = false;
		fake_say(fake, "*3\r\n$11\r\nunsubscribe\r\n$14\r\n+switch-master\r\n:0\r\n");
	} else if (strcmp(verb, "AUTH") == 0) {
		snprintf(fake->auth, sizeof fake->auth, "%s %s", command->element[1]->str,
			command->elements > 2 ? command->element[2]->str : "");
		fake_say(fake, "+OK\r\n");
	} else {
		fake_say(fake, strcmp(verb, "PING") == 0 ? "+PONG\r\n" : "+OK\r\n");
	}
}

static void
fake_hang_up(struct fake_sentinel *fake)
{
	if (fake->fd < 0)
		return;
	event_free(fake->readable);
	redisReaderFree(fake->reader);
	close(fake->fd);
	fake->fd = -1;
	fake->subscribed = false;
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct fake_sentinel *fake = arg;
	char bytes[4096];
	ssize_t n = recv(fd, bytes, sizeof bytes, 0);
	void *command;

	(void)what;
	if (n <= 0) {
		fake_hang_up(fake);
		return;
	}
	redisReaderFeed(fake->reader, bytes, (size_t)n);
	while (redisReaderGetReply(fake->reader, &command) == REDIS_OK && command) {
		fake_command(fake, command);
		freeReplyObject(command);
	}
}

static void
on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address, int size, void *arg)
{
	struct fake_sentinel *fake = arg;

	(void)listener;
	(void)address;
	(void)size;
	fake_hang_up(fake);
	fake->fd = fd;
	fake->reader = redisReaderCreate();
	fake->readable = event_new(fake->base, fd, EV_READ | EV_PERSIST, on_readable, fake);
	event_add(fake->readable, NULL);
}

void
fake_sentinel_open(struct fake_sentinel *fake, struct event_base *base)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	fake->base = base;
	fake->fd = -1;
	to.sin_port = htons(fake->port);
	fake->listener = evconnlistener_new_bind(base, on_accept, fake,
		LEV_OPT_CLOSE_ON_FREE | LEV_OPT_REUSEABLE, 8, (struct sockaddr *)&to, sizeof to);
	ck_assert_ptr_nonnull(fake->listener);
}

void
fake_sentinel_close(struct fake_sentinel *fake)
{
	fake_hang_up(fake);
	if (fake->listener)
		evconnlistener_free(fake->listener);
	fake->listener = NULL;
}
