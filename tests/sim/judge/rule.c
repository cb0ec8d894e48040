/* rule: see rule.h. */
#include "tests/sim/judge/rule.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const struct rule_info rule_table[RULE_COUNT] = {
#define RULE(x, word, sentence, guarantees, protocol) {word, sentence, guarantees, protocol},
	RULES(RULE, 0)
#undef RULE
};

unsigned
rule_of(const char *message)
{
	unsigned i = 0;
	for (; i < RULE_COUNT; i++) {
		size_t n = strlen(rule_table[i].word);
		if (strncmp(message, rule_table[i].word, n) == 0 && message[n] == ':')
			break;
	}
	return i;
}

/* Its sentence, and where it stands. */
static void
print_rule(const struct rule_info *r)
{
	bool both = r->guarantees[0] != '\0' && r->protocol[0] != '\0';
	printf("%s: %s (%s%s%s%s%s)\n", r->word, r->sentence,
		r->guarantees[0] != '\0' ? "GUARANTEES.md " : "", r->guarantees, both ? "; " : "",
		r->protocol[0] != '\0' ? "PROTOCOL.md " : "", r->protocol);
}

void
rule_print(const struct failure *f)
{
	unsigned rule = rule_of(f->why);
	printf("  %s\n", f->why);
	if (rule == RULE_COUNT)
		return;
	printf("  when: %s\n  rule: ", f->when);
	print_rule(&rule_table[rule]);
}

void
rules_print(const uint64_t failed[RULE_COUNT])
{
	for (unsigned i = 0; i < RULE_COUNT; i++) {
		if (failed[i] == 0)
			continue;
		printf("failed: %10" PRIu64 " seeds, ", failed[i]);
		print_rule(&rule_table[i]);
	}
}
