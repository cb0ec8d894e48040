/*
 * player: a program that uses libholdfast as README.md says. It does what it is told line by line, as the
 * programs in tests/conformance, which have the same words.
 *
 *     ID lock NAME [wait=S] [lease=S] [max_hold=S] [limit=N] [permits=N] [shared=1] [why=TEXT]
 *             [owner=TAG] [watch=ID]
 *     ID holder
 *     ID check | ID valid | ID extend S | ID unlock | ID crowd N NAME[,NAME...] S
 *
 * Times are in seconds: `forever` is the longest one, `long` a year and a day. NAME and TEXT are escaped as
 * in an URL. The answers begin with ID and the verb; an error is a word, whether it is transient, and its
 * text. `ID told REASON` tells a loss.
 */
#include "client/c/holdfast.h"

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define WORDS_MAX   12
#define TEXT_BYTES  1024
#define LOCKS_MAX   64
#define STACK_BYTES 65536

/* A line, cut into words. */
struct line {
	char text[TEXT_BYTES];
	char *words[WORDS_MAX];
	size_t count;
};

struct crowd {
	const char *names[WORDS_MAX];
	size_t count;
	int64_t wait_ms;
	atomic_int inside, most, granted;
	pthread_mutex_t mutex;
	struct holdfast_error error; /* the first */
};

static struct player {
	struct holdfast *hf;
	pthread_mutex_t mutex;
	char ids[LOCKS_MAX][32];
	struct holdfast_lock *locks[LOCKS_MAX];
	size_t count;
	/* Who had what was not granted. */
	char late_ids[LOCKS_MAX][32];
	struct holdfast_holder late[LOCKS_MAX];
	size_t late_count;
} player = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void
say_status(const struct line *line, int status, const struct holdfast_error *error)
{
	static const char *const words[] = {"ok", "busy", "timeout", "cancelled",
		"lost:", "refused:", "unreachable", "invalid", "forked", "system"};

	(void)printf("%s %s %s%s %d %s\n", line->words[0], line->words[1], words[status], error->code,
		error->transient, error->text);
}

/* ms */
static int64_t
time_of(const char *text)
{
	return strcmp(text, "forever") == 0 ? INT64_MAX
	       : strcmp(text, "long") == 0  ? INT64_C(366) * 86400 * 1000
					    : (int64_t)(strtod(text, NULL) * 1000);
}

/* Takes the %XX out of a text. */
static char *
plain(char *text)
{
	char *to = text;

	for (const char *from = text; *from != '\0'; from++) {
		char digits[3] = {0};

		if (*from != '%') {
			*to++ = *from;
			continue;
		}
		memcpy(digits, from + 1, 2);
		*to++ = (char)strtol(digits, NULL, 16);
		from += 2;
	}
	*to = '\0';
	return text;
}

static void
told_wait(const struct holdfast_event *event, void *context)
{
	const char *id = context;

	(void)printf("%s waits %" PRId64 " %" PRId64 " %" PRId64 "\n", id, event->holder->pid,
		event->position, event->ms);
}

static void
option_set(struct holdfast_options *o, char *word)
{
	char *value = strchr(word, '=') + 1;

	if (strncmp(word, "wait", 4) == 0) {
		/* 0 is no bound; less than no time is no time to send, either. */
		o->wait_ms = time_of(value) == 0 ? HOLDFAST_TRY : time_of(value);
	} else if (strncmp(word, "lease", 5) == 0) {
		o->lease_ms = time_of(value);
	} else if (strncmp(word, "max_hold", 8) == 0) {
		o->max_hold_ms = time_of(value);
	} else if (strncmp(word, "limit", 5) == 0) {
		o->limit = strtoll(value, NULL, 10);
	} else if (strncmp(word, "permits", 7) == 0) {
		o->permits = strtoll(value, NULL, 10);
	} else if (strncmp(word, "shared", 6) == 0) {
		o->shared = 1;
	} else if (strncmp(word, "owner", 5) == 0) {
		o->owner = plain(value);
	} else if (strncmp(word, "watch", 5) == 0) {
		o->on_wait = told_wait;
		o->context = value;
	} else {
		o->why = plain(value);
	}
}

static struct holdfast_lock *
lock_of(const char *id)
{
	struct holdfast_lock *lock = NULL;

	(void)pthread_mutex_lock(&player.mutex);
	for (size_t i = 0; i < player.count; i++) {
		lock = strcmp(player.ids[i], id) == 0 ? player.locks[i] : lock;
	}
	(void)pthread_mutex_unlock(&player.mutex);
	return lock;
}

static void
late_keep(const char *id, const struct holdfast_error *error)
{
	(void)pthread_mutex_lock(&player.mutex);
	if (error->holder.known != 0 && player.late_count < LOCKS_MAX) {
		(void)snprintf(player.late_ids[player.late_count], sizeof(player.late_ids[0]), "%s", id);
		player.late[player.late_count++] = error->holder;
	}
	(void)pthread_mutex_unlock(&player.mutex);
}

static void
do_holder(const struct line *line)
{
	const struct holdfast_holder *late = NULL;

	(void)pthread_mutex_lock(&player.mutex);
	for (size_t i = 0; i < player.late_count; i++) {
		late = strcmp(player.late_ids[i], line->words[0]) == 0 ? &player.late[i] : late;
	}
	(void)pthread_mutex_unlock(&player.mutex);
	if (late == NULL) {
		(void)printf("%s holder nobody\n", line->words[0]);
	} else {
		(void)printf("%s holder pid %" PRId64 " %" PRId64 " %s\n", line->words[0], late->pid,
			late->token, late->why);
	}
}

static void
do_lock(struct line *line)
{
	struct holdfast_options options = {0};
	struct holdfast_error error;
	struct holdfast_lock *lock;
	struct pollfd p = {-1, POLLIN, 0};

	for (size_t i = 3; i < line->count; i++) {
		option_set(&options, line->words[i]);
	}
	lock = holdfast_lock(player.hf, line->count > 2 ? plain(line->words[2]) : "", &options, &error);
	if (lock == NULL) {
		late_keep(line->words[0], &error);
		say_status(line, error.status, &error);
		return;
	}
	(void)pthread_mutex_lock(&player.mutex);
	if (player.count == LOCKS_MAX) {
		abort();
	}
	(void)snprintf(player.ids[player.count], sizeof(player.ids[0]), "%s", line->words[0]);
	player.locks[player.count++] = lock;
	p.fd = holdfast_fd(lock);
	(void)printf("%s lock held %" PRId64 "\n", line->words[0], holdfast_token(lock));
	(void)pthread_mutex_unlock(&player.mutex);
	/* The unlock closes the descriptor, and this thread takes no further lock. */
	while (poll(&p, 1, 100) == 0 && lock_of(line->words[0]) != NULL) {
	}
	if (lock_of(line->words[0]) != NULL && holdfast_check(lock, &error) == HOLDFAST_LOST) {
		(void)printf("%s told %s\n", line->words[0], error.code);
	}
}

static void *
crowd_one(void *argument)
{
	struct crowd *crowd = argument;
	const struct holdfast_options options = {.wait_ms = crowd->wait_ms};
	struct holdfast_error error;
	struct holdfast_lock *lock =
		holdfast_lock_all(player.hf, crowd->names, crowd->count, &options, &error);
	int inside;

	if (lock != NULL) {
		inside = atomic_fetch_add(&crowd->inside, 1) + 1;
		if (inside > atomic_load(&crowd->most)) {
			atomic_store(&crowd->most, inside);
		}
		atomic_fetch_sub(&crowd->inside, 1);
		if (holdfast_unlock(lock, &error) == HOLDFAST_OK) {
			atomic_fetch_add(&crowd->granted, 1);
			return NULL;
		}
	}
	(void)pthread_mutex_lock(&crowd->mutex);
	if (crowd->error.status == HOLDFAST_OK) {
		crowd->error = error;
	}
	(void)pthread_mutex_unlock(&crowd->mutex);
	return NULL;
}

static void
do_crowd(struct line *line)
{
	struct crowd crowd = {.wait_ms = time_of(line->words[4]), .mutex = PTHREAD_MUTEX_INITIALIZER};
	size_t count = strtoul(line->words[2], NULL, 10);
	pthread_t *threads = calloc(count, sizeof(*threads));
	pthread_attr_t attributes;
	char *rest;

	for (char *name = strtok_r(line->words[3], ",", &rest); name != NULL && crowd.count < WORDS_MAX;
		name = strtok_r(NULL, ",", &rest)) {
		crowd.names[crowd.count++] = name;
	}
	(void)pthread_attr_init(&attributes);
	(void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
	for (size_t i = 0; threads != NULL && i < count; i++) {
		if (pthread_create(&threads[i], &attributes, crowd_one, &crowd) != 0) {
			abort();
		}
	}
	for (size_t i = 0; threads != NULL && i < count; i++) {
		(void)pthread_join(threads[i], NULL);
	}
	(void)pthread_attr_destroy(&attributes);
	free(threads);
	(void)printf("%s crowd %d %d %s\n", line->words[0], atomic_load(&crowd.granted),
		atomic_load(&crowd.most), crowd.error.text[0] != '\0' ? crowd.error.text : "-");
}

static void
do_unlock(const struct line *line)
{
	struct holdfast_lock *lock = lock_of(line->words[0]);
	struct holdfast_error error;

	(void)pthread_mutex_lock(&player.mutex);
	for (size_t i = 0; i < player.count; i++) {
		player.locks[i] = player.locks[i] == lock ? NULL : player.locks[i];
	}
	(void)pthread_mutex_unlock(&player.mutex);
	say_status(line, holdfast_unlock(lock, &error), &error);
}

static void *
do_line(void *argument)
{
	struct line *line = argument;
	const char *verb = line->words[1];
	struct holdfast_error error;

	if (strcmp(verb, "lock") == 0) {
		do_lock(line);
	} else if (strcmp(verb, "holder") == 0) {
		do_holder(line);
	} else if (strcmp(verb, "crowd") == 0) {
		do_crowd(line);
	} else if (strcmp(verb, "valid") == 0) {
		(void)printf(
			"%s valid %" PRId64 "\n", line->words[0], holdfast_valid_ms(lock_of(line->words[0])));
	} else if (strcmp(verb, "check") == 0) {
		say_status(line, holdfast_check(lock_of(line->words[0]), &error), &error);
	} else if (strcmp(verb, "extend") == 0) {
		say_status(line, holdfast_extend(lock_of(line->words[0]), time_of(line->words[2]), &error),
			&error);
	} else {
		do_unlock(line);
	}
	free(line);
	return NULL;
}

int
main(void)
{
	char text[TEXT_BYTES];
	struct rlimit files;
	struct holdfast_error error;

	/* Each lock of a crowd has a descriptor. */
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	player.hf = holdfast_open(NULL, &error);
	if (player.hf == NULL) {
		(void)puts(error.text);
		return 1;
	}
	(void)puts("- ready");
	while (fgets(text, sizeof(text), stdin) != NULL) {
		struct line *line = calloc(1, sizeof(*line));
		pthread_t thread;
		char *rest;

		if (line == NULL) {
			abort();
		}
		text[strcspn(text, "\n")] = '\0';
		memcpy(line->text, text, sizeof(text));
		for (char *word = strtok_r(line->text, " ", &rest); word != NULL && line->count < WORDS_MAX;
			word = strtok_r(NULL, " ", &rest)) {
			line->words[line->count++] = word;
		}
		if (pthread_create(&thread, NULL, do_line, line) != 0) {
			abort();
		}
		(void)pthread_detach(thread);
	}
	return 0;
}
