/*
 * user: checks an item of users: how its clients are known, and what they may do. A part of verify.c.
 */
#ifndef CONF_USER_H
#define CONF_USER_H

struct conf_user;
struct node;
struct verify;

/* Checks an item of users, and finds the accounts of this host that it names. */
void user_verify(const struct verify *v, const struct node *node, struct conf_user *user);

#endif
