/*
 * defaults: values that a configuration leaves out and that follow from others or from the environment.
 */
#ifndef CONF_DEFAULTS_H
#define CONF_DEFAULTS_H

struct conf;
struct verify;

/* Fills in what no file says and what follows from other values or from the environment. */
void defaults_fill(const struct verify *v, struct conf *conf);

#endif
