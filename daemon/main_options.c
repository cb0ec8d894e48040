/*
 * main_options: the command line of holdfastd; see main_settings.h. main.c calls it first.
 */
#include "daemon/main_options.h"

#include "daemon/main_settings.h"

#include <getopt.h>
#include <stdio.h>

enum { OPTION_PRINT_CONFIG = 256, OPTION_LOG_LEVEL, OPTION_VERSION, OPTION_HASH_PASSWORD };

static const struct option options_long[] = {
	{"config", required_argument, NULL, 'c'},
	{"test", no_argument, NULL, 't'},
	{"print-config", no_argument, NULL, OPTION_PRINT_CONFIG},
	{"log-level", required_argument, NULL, OPTION_LOG_LEVEL},
	{"hash-password", no_argument, NULL, OPTION_HASH_PASSWORD},
	{"version", no_argument, NULL, OPTION_VERSION},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

void
options_help(FILE *to)
{
	fputs("usage: holdfastd [-c FILE] [-t] [--print-config] [--log-level LEVEL]\n"
	      "\n"
	      "  -c, --config FILE    the configuration; default /etc/holdfast/holdfast.yml if it exists,\n"
	      "                       else a private Redis and a socket in $XDG_RUNTIME_DIR/holdfast or\n"
	      "                       /run/holdfast. After NAME.yml the files NAME.d/*.yml are read\n"
	      "  -t, --test           check the configuration and stop\n"
	      "      --print-config   show the effective configuration and stop\n"
	      "      --log-level LEVEL  error, warning, info or debug, whatever the configuration says\n"
	      "      --hash-password  read a password, and print its hash for users in the configuration\n"
	      "      --version\n"
	      "  -h, --help\n",
		to);
}

static void
options_take(struct options *options, int option)
{
	switch (option) {
	case 'c':
		options->config = optarg;
		break;
	case 't':
		options->test = true;
		break;
	case 'h':
		options->help = true;
		break;
	case OPTION_PRINT_CONFIG:
		options->print_config = true;
		break;
	case OPTION_LOG_LEVEL:
		options->log_level = optarg;
		break;
	case OPTION_VERSION:
		options->version = true;
		break;
	case OPTION_HASH_PASSWORD:
		options->hash_password = true;
		break;
	}
}

int
options_parse(struct options *options, int argc, char **argv)
{
	int option;
	*options = (struct options){0};
	while ((option = getopt_long(argc, argv, "c:th", options_long, NULL)) != -1) {
		if (option == '?') {
			options_help(stderr);
			return -1;
		}
		options_take(options, option);
	}
	if (optind < argc) {
		fprintf(stderr, "holdfastd: %s: takes options only; see --help\n", argv[optind]);
		return -1;
	}
	return 0;
}
