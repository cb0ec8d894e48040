/*
 * puppet: a program that uses libholdfast as tests/e2e/check_library.py says, line by line on standard input.
 *
 *     lock ID NAME[,NAME...] [OPTION...]    in a thread of its own, as holdfast_lock_all() blocks
 *     begin ID NAME[,NAME...] [OPTION...]   holdfast_begin(), and holdfast_wait() when the descriptor says so
 *     cancel ID                             makes the cancel_fd of this lock readable
 *     check ID | valid ID | extend ID MS | share ID | unlock ID
 *     fork ID                               what the functions answer in a child, which then locks by itself
 *     linger                                a child that lives on; its process id is told
 *     close                                 holdfast_close(), and a new handle
 *     handle                                one more handle, which is used from now on
 *     watch                                 holdfast_watch(), whose events are told as `seen`
 *     unwatch                               and no more
 *     spin N                                a thread of its own locks and unlocks N times
 *
 * `\n` in a NAME is a line feed. OPTION: wait=MS (-1: try once), lease=MS, hold=MS, limit=N, permits=N,
 * shared=1, why=WORD, owner=WORD, tell=1: on_wait. The answers:
 *
 *     held ID TOKEN...    failed ID STATUS CODE TEXT    lost ID STATUS CODE TEXT: the descriptor is readable
 *     VERB ID STATUS CODE TEXT    valid ID MS    child PID
 *     waits ID NAME POSITION HOLDER MS    seen KIND NAME TOKEN TEXT    HOLDER:
 * CLIENT,PID,UID,TOKEN,OWNER,HOST
 */
#include "client/c/holdfast.h"

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAMES_MAX      8
#define ITEMS_MAX      256
#define LINE_MAX_BYTES 1024

struct item {
	char id[32];
	char names[LINE_MAX_BYTES]; /* cut into words */
	const char *name[NAMES_MAX];
	size_t count;
	struct holdfast_options options;
	struct holdfast_lock *lock; /* under the mutex; NULL: not held */
	bool begun;                 /* by holdfast_begin(), and not decided */
	bool told;                  /* the loss */
	int cancel;
};

static struct puppet {
	struct holdfast *hf;
	pthread_mutex_t mutex;
	int news; /* eventfd: a lock is held */
	struct item *items[ITEMS_MAX];
	size_t count;
} puppet = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void
tell(const char *verb, const char *id, int status, const struct holdfast_error *error)
{
	(void)printf("%s %s %d %s %s\n", verb, id, status, error->code[0] != '\0' ? error->code : "-",
		error->text);
}

static void
tell_held(const struct item *item)
{
	char tokens[NAMES_MAX * 24] = "";

	for (size_t i = 0; i < item->count; i++) {
		size_t n = strlen(tokens);

		(void)snprintf(tokens + n, sizeof(tokens) - n, " %" PRId64, holdfast_token_of(item->lock, i));
	}
	(void)printf("held %s%s\n", item->id, tokens);
}

static void *
item_lock(void *argument)
{
	struct item *item = argument;
	struct holdfast_error error = {.status = -1};
	struct holdfast_lock *lock =
		holdfast_lock_all(puppet.hf, item->name, item->count, &item->options, &error);
	const uint64_t one = 1;

	if (lock == NULL) {
		tell("failed", item->id, error.status, &error);
		return NULL;
	}
	(void)pthread_mutex_lock(&puppet.mutex);
	item->lock = lock;
	tell_held(item);
	(void)pthread_mutex_unlock(&puppet.mutex);
	(void)!write(puppet.news, &one, sizeof(one));
	return NULL;
}

static void
thread_start(void *(*run)(void *), void *argument)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, argument) != 0) {
		abort();
	}
	(void)pthread_detach(thread);
}

static void
say_holder(const char *verb, const char *id, const struct holdfast_event *event)
{
	const struct holdfast_holder *h = event->holder;

	(void)printf("%s %s %s %" PRId64 " %s,%" PRId64 ",%" PRId64 ",%" PRId64 ",%s,%s %" PRId64 "\n", verb,
		id, event->name, event->position, h->client, h->pid, h->uid, h->token, h->owner, h->host,
		event->ms);
}

static void
item_waits(const struct holdfast_event *event, void *context)
{
	const struct item *item = context;

	say_holder("waits", item->id, event);
}

static void
seen(const struct holdfast_event *event, void *context)
{
	(void)context;
	if (event->kind == HOLDFAST_WAITS) {
		say_holder("seen", "4", event);
		return;
	}
	(void)printf("seen %d %s %" PRId64 " %s\n", event->kind, event->name[0] != '\0' ? event->name : "-",
		event->token, event->text);
}

static void
item_option(struct item *item, const char *word)
{
	struct holdfast_options *o = &item->options;
	const char *value = strchr(word, '=') + 1;
	size_t n = (size_t)(value - word) - 1;
	int64_t number = strtoll(value, NULL, 10);

	if (strncmp(word, "why", n) == 0) {
		o->why = value;
	} else if (strncmp(word, "owner", n) == 0) {
		o->owner = value;
	} else if (strncmp(word, "tell", n) == 0) {
		o->on_wait = item_waits;
		o->context = item;
	} else if (strncmp(word, "shared", n) == 0) {
		o->shared = (int)number;
	} else {
		*(strncmp(word, "wait", n) == 0          ? &o->wait_ms
			: strncmp(word, "lease", n) == 0 ? &o->lease_ms
			: strncmp(word, "hold", n) == 0  ? &o->max_hold_ms
			: strncmp(word, "limit", n) == 0 ? &o->limit
							 : &o->permits) = number;
	}
}

/* words: ID NAME,... OPTION... */
static struct item *
item_new(char *words)
{
	struct item *item = calloc(1, sizeof(*item));
	char *rest, *inner;

	if (item == NULL || puppet.count == ITEMS_MAX) {
		abort();
	}
	(void)snprintf(item->names, sizeof(item->names), "%s", words);
	(void)snprintf(item->id, sizeof(item->id), "%s", strtok_r(item->names, " ", &rest));
	for (char *name = strtok_r(strtok_r(NULL, " ", &rest), ",", &inner); name != NULL;
		name = strtok_r(NULL, ",", &inner)) {
		char *feed = strstr(name, "\\n");

		if (feed != NULL) {
			*feed = '\n';
			(void)memmove(feed + 1, feed + 2, strlen(feed + 2) + 1);
		}
		item->name[item->count++] = name;
	}
	for (char *word = strtok_r(NULL, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
		item_option(item, word);
	}
	item->cancel = eventfd(0, EFD_CLOEXEC);
	item->options.cancel_fd = item->cancel;
	puppet.items[puppet.count++] = item;
	return item;
}

/* The latest of this name. */
static struct item *
item_find(const char *id)
{
	for (size_t i = puppet.count; i > 0; i--) {
		if (strcmp(puppet.items[i - 1]->id, id) == 0) {
			return puppet.items[i - 1];
		}
	}
	abort();
}

static void
item_begin(struct item *item)
{
	struct holdfast_error error = {.status = -1};

	item->lock = holdfast_begin(puppet.hf, item->name, item->count, &item->options, &error);
	item->begun = item->lock != NULL;
	if (item->lock == NULL) {
		tell("failed", item->id, error.status, &error);
	}
}

/* Its descriptor is readable. */
static void
item_event(struct item *item)
{
	struct holdfast_error error = {.status = -1};
	int status;

	if (item->begun) {
		item->begun = false;
		status = holdfast_wait(item->lock, 0, &error);
		if (status == HOLDFAST_OK) {
			tell_held(item);
			return;
		}
		tell("failed", item->id, status, &error);
		(void)holdfast_unlock(item->lock, NULL);
		item->lock = NULL;
		return;
	}
	item->told = true;
	status = holdfast_check(item->lock, &error);
	tell("lost", item->id, status, &error);
}

/* In a child: each function says so, a lock of its own works, and the parent's is untouched. */
static void
child_run(struct item *item)
{
	struct holdfast_error error = {.status = -1};
	struct holdfast *own;
	struct holdfast_lock *lock;

	if (holdfast_check(item->lock, &error) != HOLDFAST_FORKED || holdfast_fd(item->lock) != -1 ||
		holdfast_valid_ms(item->lock) != 0 ||
		holdfast_extend(item->lock, 1, NULL) != HOLDFAST_FORKED ||
		holdfast_downgrade(item->lock, NULL) != HOLDFAST_FORKED || holdfast_token(item->lock) != 0 ||
		holdfast_unlock(item->lock, NULL) != HOLDFAST_FORKED ||
		holdfast_lock(puppet.hf, "x", NULL, &error) != NULL || error.status != HOLDFAST_FORKED) {
		_exit(1);
	}
	holdfast_close(puppet.hf);
	own = holdfast_open(NULL, &error);
	lock = holdfast_lock(own, "child", &(struct holdfast_options){.wait_ms = 50000}, &error);
	if (lock == NULL || holdfast_check(lock, &error) != HOLDFAST_OK) {
		_exit(2);
	}
	_exit(holdfast_unlock(lock, &error) == HOLDFAST_OK ? 0 : 3);
}

static void
item_fork(struct item *item)
{
	struct holdfast_error none = {.status = 0};
	pid_t child = fork();
	int status;

	if (child == 0) {
		child_run(item);
	}
	if (waitpid(child, &status, 0) == child) {
		tell("fork", item->id, WIFEXITED(status) ? WEXITSTATUS(status) : 99, &none);
	}
}

static void *
spin(void *argument)
{
	const char *count = argument;
	struct holdfast_error error = {.status = 0};

	for (long left = strtol(count, NULL, 10); left > 0 && error.status == 0; left--) {
		struct holdfast_lock *lock = holdfast_lock(puppet.hf, "spin", NULL, &error);

		(void)holdfast_unlock(lock, lock != NULL ? &error : NULL);
	}
	tell("spin", "-", error.status, &error);
	free(argument);
	return NULL;
}

static void
item_do(struct item *item, const char *verb, char *rest)
{
	struct holdfast_error error = {.status = -1};
	const uint64_t one = 1;

	if (strcmp(verb, "cancel") == 0) {
		(void)!write(item->cancel, &one, sizeof(one));
	} else if (strcmp(verb, "check") == 0) {
		tell(verb, item->id, holdfast_check(item->lock, &error), &error);
	} else if (strcmp(verb, "valid") == 0) {
		(void)printf("valid %s %" PRId64 "\n", item->id, holdfast_valid_ms(item->lock));
	} else if (strcmp(verb, "extend") == 0) {
		tell(verb, item->id, holdfast_extend(item->lock, strtoll(rest, NULL, 10), &error), &error);
	} else if (strcmp(verb, "share") == 0) {
		tell(verb, item->id, holdfast_downgrade(item->lock, &error), &error);
	} else if (strcmp(verb, "fork") == 0) {
		item_fork(item);
	} else if (strcmp(verb, "unlock") == 0) {
		tell(verb, item->id, holdfast_unlock(item->lock, &error), &error);
		item->lock = NULL;
		item->begun = false;
	}
}

static void
puppet_open(const char *verb)
{
	struct holdfast_error error;

	puppet.hf = holdfast_open(NULL, &error);
	tell(verb, "-", error.status, &error);
}

static void
puppet_close(void)
{
	holdfast_close(puppet.hf);
	for (size_t i = 0; i < puppet.count; i++) {
		puppet.items[i]->lock = NULL;
	}
	puppet_open("close");
}

static void
puppet_do(char *line)
{
	char *rest;
	const char *verb = strtok_r(line, " ", &rest);
	struct item *item;
	pid_t child;

	if (strcmp(verb, "lock") == 0) {
		thread_start(item_lock, item_new(rest));
	} else if (strcmp(verb, "begin") == 0) {
		item_begin(item_new(rest));
	} else if (strcmp(verb, "close") == 0) {
		puppet_close();
	} else if (strcmp(verb, "handle") == 0) {
		puppet_open(verb);
	} else if (strcmp(verb, "watch") == 0) {
		holdfast_watch(puppet.hf, seen, NULL);
	} else if (strcmp(verb, "unwatch") == 0) {
		holdfast_watch(puppet.hf, NULL, NULL);
	} else if (strcmp(verb, "spin") == 0) {
		thread_start(spin, strdup(rest));
	} else if (strcmp(verb, "linger") == 0) {
		child = fork();
		if (child == 0) {
			holdfast_close(puppet.hf);
			(void)pause();
		}
		(void)printf("child %d\n", (int)child);
	} else {
		item = item_find(strtok_r(NULL, " ", &rest));
		(void)pthread_mutex_lock(&puppet.mutex);
		item_do(item, verb, rest);
		(void)pthread_mutex_unlock(&puppet.mutex);
	}
}

/* False: standard input has ended. */
static bool
puppet_turn(void)
{
	struct pollfd p[ITEMS_MAX + 2] = {{STDIN_FILENO, POLLIN, 0}, {puppet.news, POLLIN, 0}};
	char line[LINE_MAX_BYTES];
	uint64_t count;

	(void)pthread_mutex_lock(&puppet.mutex);
	for (size_t i = 0; i < puppet.count; i++) {
		const struct item *item = puppet.items[i];

		p[i + 2] = (struct pollfd){
			item->lock != NULL && !item->told ? holdfast_fd(item->lock) : -1, POLLIN, 0};
	}
	count = puppet.count;
	(void)pthread_mutex_unlock(&puppet.mutex);
	if (poll(p, count + 2, -1) < 0) {
		return true;
	}
	for (size_t i = 0; i < count; i++) {
		if (p[i + 2].revents != 0) {
			item_event(puppet.items[i]);
		}
	}
	if (p[1].revents != 0) {
		(void)!read(puppet.news, &count, sizeof(count));
	}
	if (p[0].revents == 0) {
		return true;
	}
	if (fgets(line, sizeof(line), stdin) == NULL) {
		return false;
	}
	line[strcspn(line, "\n")] = '\0';
	puppet_do(line);
	return true;
}

int
main(void)
{
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	(void)setvbuf(stdin, NULL, _IONBF, 0);
	puppet.news = eventfd(0, EFD_CLOEXEC);
	puppet_open("ready");
	while (puppet_turn()) {
	}
	holdfast_close(puppet.hf);
	(void)puts("closed");
	return 0;
}
