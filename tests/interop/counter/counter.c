/*
 * counter: the counter (tests/interop/check-counter) by client/c: a thread for each client.
 *
 *     counter FOLDER CLIENTS SECONDS
 */
#include "client/c/holdfast.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define CLIENTS_MAX 1000

struct counter {
	struct holdfast *hf;
	time_t end;
	atomic_long counted;
};

__attribute__((noreturn)) static void
die(const char *what)
{
	fprintf(stderr, "counter: %s\n", what);
	exit(1);
}

static FILE *
open_file(const char *name, const char *mode)
{
	FILE *file = fopen(name, mode);

	if (file == NULL)
		die(name);
	return file;
}

/* Only the holder may do this. */
static void
increment(int64_t token)
{
	FILE *file = open_file("counter", "r");
	long number;

	if (fscanf(file, "%ld", &number) != 1)
		die("the counter is no number");
	fclose(file);
	file = open_file("counter", "w");
	fprintf(file, "%ld", number + 1);
	fclose(file);
	file = open_file("tokens", "a");
	fprintf(file, "%lld\n", (long long)token);
	fclose(file);
}

/* A daemon that does not answer in time is on a busy machine. */
static struct holdfast_lock *
take(struct holdfast *hf)
{
	struct holdfast_error error;
	struct holdfast_lock *lock;

	do {
		lock = holdfast_lock(hf, "counter", NULL, &error);
	} while (lock == NULL && error.status == HOLDFAST_UNREACHABLE);
	if (lock == NULL)
		die(error.text);
	return lock;
}

static void *
work(void *arg)
{
	struct counter *c = arg;
	struct holdfast_error error;

	do {
		struct holdfast_lock *lock = take(c->hf);

		increment(holdfast_token(lock));
		if (holdfast_unlock(lock, &error) != HOLDFAST_OK)
			die(error.text);
		c->counted++;
	} while (time(NULL) < c->end);
	return NULL;
}

int
main(int argc, char **argv)
{
	static pthread_t clients[CLIENTS_MAX];
	struct holdfast_error error;
	struct counter c = {0};
	int n = argc == 4 ? atoi(argv[2]) : 0;

	if (n < 1 || n > CLIENTS_MAX || chdir(argv[1]) != 0)
		die("counter FOLDER CLIENTS SECONDS");
	c.end = time(NULL) + atoi(argv[3]);
	c.hf = holdfast_open(NULL, &error);
	if (c.hf == NULL)
		die(error.text);
	for (int i = 0; i < n; i++) {
		if (pthread_create(&clients[i], NULL, work, &c) != 0)
			die("no thread");
	}
	for (int i = 0; i < n; i++)
		pthread_join(clients[i], NULL);
	holdfast_close(c.hf);
	printf("counted %ld\n", (long)c.counted);
	return 0;
}
