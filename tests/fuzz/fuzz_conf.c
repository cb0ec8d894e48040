/*
 * fuzz_conf: any bytes as a configuration file. Either they are refused with an error that a terminal can
 * show, or they print as a file that loads back to the same.
 */
#include "conf/conf.h"

#include "conf/loader.h"
#include "conf/printer.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *
printed(const struct conf *conf, size_t *n)
{
	char *text = NULL;
	FILE *to = open_memstream(&text, n);

	assert(to != NULL);
	if (conf_print(conf, to) != 0)
		abort();
	fclose(to);
	return text;
}

static void
errors_check(const struct conf_errors *errors)
{
	assert(errors->count > 0 && errors->count <= CONF_ERRORS_MAX);
	for (size_t i = 0; i < errors->count; i++) {
		const char *text = errors->text[i];

		assert(strncmp(text, "fuzz.yml:", 9) == 0);
		for (; *text != '\0'; text++)
			assert((unsigned char)*text >= ' ' && *text != 127);
	}
}

static void
change_refuse(void *arg, const struct conf_change *change)
{
	/* A password in a URL is what printing may lose. */
	(void)arg;
	if (strstr(change->path, "password") == NULL)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct conf_errors errors;
	struct conf *conf = conf_parse("fuzz.yml", (const char *)data, size, &errors);
	struct conf *again;
	char *text;
	size_t n;

	if (conf == NULL) {
		errors_check(&errors);
		return 0;
	}
	text = printed(conf, &n);
	again = conf_parse("fuzz.yml", text, n, &errors);
	if (again == NULL)
		abort();
	if (conf_diff(conf, conf, again, change_refuse, NULL) < 0)
		abort();
	conf_free(again);
	conf_free(conf);
	free(text);
	return 0;
}
