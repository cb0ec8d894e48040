/*
 * address: where the daemon listens, from $HOLDFAST_URL, --socket or the default places.
 *
 *     /run/holdfast/holdfast.sock    unix:PATH    unix://PATH
 *     host:port    tcp://host:port    redis://[user[:password]@]host[:port][/0]
 *
 * A password is taken from the environment only: everybody can read argv.
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
	char user[ADDRESS_SECRET_MAX]; /* "" when there is none */
	char password[ADDRESS_SECRET_MAX];
	const char *other; /* a default place behind the one that was chosen, where there is a socket, too;
			      NULL: none */
	char text[ADDRESS_TEXT_MAX]; /* for messages and for HOLDFAST_URL: without user and password */
};

/* False when url is none of the above; why (ADDRESS_TEXT_MAX bytes) says what is wrong, without secrets. */
bool address_parse(struct address *a, const char *url, char *why) __attribute__((warn_unused_result));

/* The address to use: socket (--socket; may be NULL), else url ($HOLDFAST_URL; may be NULL), else the first
 * default place that exists; runtime_dir is $XDG_RUNTIME_DIR or NULL. */
bool address_choose(struct address *a, const char *socket, const char *url, const char *runtime_dir,
	char *why) __attribute__((warn_unused_result));

#endif
