/*
 * loader: reads configuration files into a struct conf, by the schema.
 */
#ifndef CONF_LOADER_H
#define CONF_LOADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct conf;
struct conf_errors;
struct conf_rule;

/*
 * Each of these returns NULL on failure, with at least one error in *errors; otherwise a conf for
 * conf_free(). conf_load() reads the file, which must exist only if `needed`. If its name ends in .yml,
 * conf_load() also reads each *.yml in the directory with .d in place of .yml, in the order of their names: a
 * later value replaces an earlier one, and items of a list are appended. conf_parse() parses a text, and file
 * is its name in errors. conf_default() parses an empty file. All three also read password files and the
 * environment.
 */
struct conf *conf_load(const char *file, bool needed, struct conf_errors *errors)
	__attribute__((warn_unused_result));
struct conf *conf_parse(const char *file, const char *text, size_t n, struct conf_errors *errors)
	__attribute__((warn_unused_result));
struct conf *conf_default(struct conf_errors *errors) __attribute__((warn_unused_result));

/* Wipes the secrets; NULL is allowed. */
void conf_free(struct conf *conf);

/* The longest lease of any name, in ms. A guard has to be longer. */
int64_t conf_longest_lease_ms(const struct conf *conf);

/* The template of the key at the master; "": NAMESPACE:{NAME}. An interop has one that its library
 * prescribes. */
const char *conf_rule_key(const struct conf_rule *rule);

/* The number of rules, from the first on, that determine the keys of a name at the master: up to the last
 * rule with a key or an interop of its own. A reload must not change these. */
size_t conf_layout_rules(const struct conf *conf);

#endif
