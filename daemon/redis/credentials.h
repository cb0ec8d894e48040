/*
 * credentials: the password with which a link logs in, while it is being changed at both ends.
 *
 * An operator changes it in the configuration and at the server, in any order. So a new password does not
 * replace the old one until it has worked: whenever the server refuses one of the two, the next attempt takes
 * the other. link is the only user.
 */
#ifndef REDIS_CREDENTIALS_H
#define REDIS_CREDENTIALS_H

#include <stdbool.h>

/* All zero: no password. Texts are wiped before they are freed. */
struct credentials {
	char *password; /* NULL: none */
	char *before;   /* if changed: the last one that worked; NULL: none */
	bool changed;   /* the password is new, and has not worked yet */
	bool fallback;  /* if changed: the next attempt takes before */
};

/* Sets the password, which is copied; NULL: none. False: out of memory, nothing has changed. */
bool credentials_set(struct credentials *credentials, const char *password)
	__attribute__((warn_unused_result));
void credentials_done(struct credentials *credentials);

/* The password for the next attempt; NULL: no login. */
const char *credentials_password(const struct credentials *credentials);

/* The server has refused that password, or has accepted it. */
void credentials_refused(struct credentials *credentials);
void credentials_worked(struct credentials *credentials);

#endif
