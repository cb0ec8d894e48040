/*
 * holdfast-model: explores the models of this directory and compares what it finds with what variants.def
 * expects.
 *
 *     holdfast-model [--depth N] [--room STATES] [--plain] [--show] [MODEL[/VARIANT]]...
 *
 * One line for each variant, which tests/run can count: ok or not ok, the states met, the verdict, what was
 * expected. --show prints how each wrong variant breaks its promise, step by step; of a verdict that was not
 * expected the steps are always printed. --plain takes no advantage of symmetry, which must not change a
 * verdict. Exit 1: a verdict differs; 2: wrong usage.
 */
#include "tests/model/explorer.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_STATES 60000000
#define DEPTH_MAX   9

struct options {
	struct bounds bounds;
	bool show;
	char **names; /* argv's end; all models when there is none */
	int name_count;
};

static const struct model *const models[] = {&jugs_model, &tokens_model, &leases_model, &undo_model,
	&permits_model, &latch_model, &making_model, &change_model};

static _Noreturn void
usage(void)
{
	fprintf(stderr, "usage: holdfast-model [--depth N] [--room STATES] [--plain] [--show] "
			"[MODEL[/VARIANT]]...\nmodels:");
	for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
		fprintf(stderr, " %s", models[i]->name);
	fprintf(stderr, "\n");
	exit(2);
}

static size_t
number_read(const char *text, size_t max)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);
	if (*end != '\0' || number == 0 || number > max)
		usage();
	return number;
}

static void
options_read(struct options *o, int argc, char **argv)
{
	int i = 1;
	for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
		if (strcmp(argv[i], "--show") == 0)
			o->show = true;
		else if (strcmp(argv[i], "--plain") == 0)
			o->bounds.plain = true;
		else if (strcmp(argv[i], "--depth") == 0 && i + 1 < argc)
			o->bounds.depth = (unsigned)number_read(argv[++i], DEPTH_MAX);
		else if (strcmp(argv[i], "--room") == 0 && i + 1 < argc)
			o->bounds.states_max = number_read(argv[++i], 2000000000);
		else
			usage();
	}
	o->names = argv + i;
	o->name_count = argc - i;
}

static bool
wanted(const struct options *o, const struct model *model, const struct variant *variant)
{
	size_t length = strlen(model->name);
	bool any = o->name_count == 0;
	for (int i = 0; i < o->name_count; i++) {
		const char *name = o->names[i];
		any |= strncmp(name, model->name, length) == 0 &&
		       (name[length] == '\0' ||
			       (name[length] == '/' && strcmp(name + length + 1, variant->name) == 0));
	}
	return any;
}

static bool
expected(const struct variant *variant, const struct finding *finding)
{
	if (!variant->breaks)
		return finding->verdict == VERDICT_HOLDS;
	return finding->verdict == VERDICT_REFUTED && strcmp(finding->promise, variant->breaks) == 0;
}

static void
finding_word(const struct finding *finding, char *text, size_t size)
{
	switch (finding->verdict) {
	case VERDICT_HOLDS:
		snprintf(text, size, "holds");
		return;
	case VERDICT_REFUTED:
		snprintf(text, size, "refuted in %u steps", finding->steps);
		return;
	case VERDICT_EMPTY:
		snprintf(text, size, "never meets %s", finding->promise);
		return;
	case VERDICT_LARGE:
		snprintf(text, size, "too large");
		return;
	}
}

/* Whether the variant does what is expected of it. */
static bool
variant_run(const struct options *o, const struct model *model, const struct variant *variant)
{
	char *steps = NULL;
	size_t length = 0;
	FILE *trace = open_memstream(&steps, &length);
	if (!trace) {
		perror("model");
		exit(1);
	}
	struct finding finding = explorer_run(model, variant, &o->bounds, trace);
	fclose(trace);

	char verdict[64];
	bool ok = expected(variant, &finding);
	finding_word(&finding, verdict, sizeof verdict);
	printf("%-6s  %-8s %-22s %9zu  %-20s  %-8s  %s\n", ok ? "ok" : "not ok", model->name, variant->name,
		finding.states, verdict, variant->breaks ? "refuted" : "holds", variant->rule);
	if (o->show || !ok)
		fputs(steps, stdout);
	fflush(stdout);
	free(steps);
	return ok;
}

int
main(int argc, char **argv)
{
	struct options o = {.bounds = {.depth = 1, .states_max = ROOM_STATES}};
	unsigned run = 0;
	unsigned differing = 0;

	options_read(&o, argc, argv);
	printf("        %-8s %-22s %9s  %-20s  %-8s  %s\n", "model", "variant", "states", "verdict",
		"expected", "rule");
	for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
		for (size_t j = 0; j < models[i]->variant_count; j++) {
			const struct variant *variant = &models[i]->variants[j];
			if (variant->depth > o.bounds.depth || !wanted(&o, models[i], variant))
				continue;
			run++;
			differing += !variant_run(&o, models[i], variant);
		}
	}
	if (run == 0)
		usage();
	printf("%u variants, %u not as expected\n", run, differing);
	return differing > 0;
}
