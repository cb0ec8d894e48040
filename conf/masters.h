/*
 * masters: checks the items of `masters`, and compares them. A part of verify.c.
 */
#ifndef CONF_MASTERS_H
#define CONF_MASTERS_H

struct conf;
struct conf_master;
struct node;
struct verify;

/* Checks an item of masters, and reads its passwords; and the items against each other. */
void master_verify(const struct verify *v, const struct node *node, struct conf_master *master);
void masters_verify(const struct verify *v, const struct conf *conf);

#endif
