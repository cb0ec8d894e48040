/*
 * address: the address of the daemon, from --socket, $HOLDFAST_URL or the default places.
 *
 *     /run/holdfast/holdfast.sock    unix:PATH    unix://PATH
 *     host:port    tcp://host:port    redis://[user[:password]@]host[:port][/0]
 *
 * A password comes from the environment only, because argv is readable by every process of the host.
 */
#ifndef CLIENT_ADDRESS_H
#define CLIENT_ADDRESS_H

#include <stdbool.h>
#include <sys/un.h>

#define ADDRESS_HOST_MAX   256
#define ADDRESS_PORT_MAX   6
#define ADDRESS_SECRET_MAX 256
#define ADDRESS_TEXT_MAX   (ADDRESS_HOST_MAX + 64)
#define ADDRESS_PORT       "5625"

struct address {
	bool tcp;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* !tcp */
	char host[ADDRESS_HOST_MAX];                            /* tcp; an IPv6 address without brackets */
	char port[ADDRESS_PORT_MAX];
	char user[ADDRESS_SECRET_MAX]; /* "": none */
	char password[ADDRESS_SECRET_MAX];
	const char *other;           /* the next default place that also has a socket; NULL: none */
	char text[ADDRESS_TEXT_MAX]; /* without user and password, for messages and for HOLDFAST_URL */
};

/* False if url has none of these forms. why has room for ADDRESS_TEXT_MAX bytes and contains no secrets. */
bool address_parse(struct address *a, const char *url, char *why) __attribute__((warn_unused_result));

/* Chooses socket (--socket; may be NULL), else url ($HOLDFAST_URL; may be NULL), else the first default place
 * that exists. runtime_dir is $XDG_RUNTIME_DIR or NULL. */
bool address_choose(struct address *a, const char *socket, const char *url, const char *runtime_dir,
	char *why) __attribute__((warn_unused_result));

#endif
