/*
 * main_password: holdfastd --hash-password: reads a password, and prints its hash for the configuration. A
 * part of main.c; no daemon runs then.
 */
#include "daemon/main_password.h"

#include "daemon/main_inner.h"
#include "daemon/net/access.h"

#include <crypt.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <termios.h>
#include <unistd.h>

/* Reads a line from standard input; on a terminal it is asked for, and not shown. False: there is none. */
static bool
line_read(const char *ask, char *line, size_t room)
{
	struct termios shown, hidden;
	bool terminal = tcgetattr(STDIN_FILENO, &shown) == 0;
	if (terminal) {
		hidden = shown;
		hidden.c_lflag &= ~(tcflag_t)ECHO;
		tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden);
		fputs(ask, stderr);
	}
	bool got = fgets(line, (int)room, stdin) != NULL;
	if (terminal) {
		tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown);
		fputc('\n', stderr);
	}
	if (got) {
		line[strcspn(line, "\n")] = '\0';
	}
	return got;
}

/* On a terminal a mistyped password would not be seen, so it is asked for twice. */
static const char *
password_read(char *password, size_t room)
{
	char again[ACCESS_PASSWORD_MAX + 3];
	const char *wrong = NULL;
	if (!line_read("password: ", password, room) || password[0] == '\0') {
		return "no password: give it as the first line of standard input";
	}
	if (strlen(password) > ACCESS_PASSWORD_MAX) {
		return "the password is too long: at most 511 bytes can be hashed";
	}
	if (isatty(STDIN_FILENO)) {
		bool same = line_read("again: ", again, sizeof again) && strcmp(again, password) == 0;
		wrong = same ? NULL : "the two passwords differ";
		explicit_bzero(again, sizeof again);
	}
	return wrong;
}

int
password_hash(void)
{
	char password[ACCESS_PASSWORD_MAX + 3];
	const char *wrong = password_read(password, sizeof password);
	char *setting = wrong ? NULL : crypt_gensalt_ra(NULL, 0, NULL, 0);
	void *data = NULL;
	int size = 0;
	const char *hash = setting ? crypt_ra(password, setting, &data, &size) : NULL;
	if (hash) {
		puts(hash);
	} else {
		fprintf(stderr, "holdfastd: --hash-password: %s\n", wrong ? wrong : strerror(errno));
	}
	explicit_bzero(password, sizeof password);
	free(setting);
	free(data);
	return hash ? EX_OK : EX_DATAERR;
}
