/*
 * passwords: see passwords.h. The thread shares nothing with the loop but its question, which the loop does
 * not touch between pthread_create() and pthread_join(), and the descriptor that says that it is done.
 */
#include "daemon/net/passwords.h"

#include "daemon/base/clock.h"
#include "daemon/base/thread.h"
#include "daemon/net/connections.h"
#include "proto/reply.h"

#include <bsd/sys/queue.h>
#include <crypt.h>
#include <event2/event.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Hashes that need memory map it themselves. */
#define THREAD_STACK_BYTES (256 << 10)

/* A connection that waits for the answer. */
struct asker {
	TAILQ_ENTRY(asker) entry;
	conn_id id;
	struct buffer request; /* as a RESP array */
};

struct question {
	TAILQ_ENTRY(question) entry;
	TAILQ_HEAD(askers, asker) askers;
	struct guess_source source; /* of the first one */
	int done;                   /* the descriptor to write to */
	bool right;
	struct crypt_data scratch;
	char *hash;
	char password[ACCESS_PASSWORD_MAX + 1];
};

struct passwords {
	struct connections *connections;
	struct access *const *access;
	const struct guesses *guesses;
	TAILQ_HEAD(questions, question) questions; /* the first is in work, if works */
	size_t count;
	bool works;
	pthread_t thread;
	int done; /* an eventfd */
	struct event *event;
};

/* ---- the thread ---- */

/* Compares each byte, wherever the first difference is. */
static bool
hash_equal(const char *one, const char *other)
{
	size_t n = strlen(one);
	volatile unsigned char differs = n != strlen(other);
	for (size_t i = 0; i < n && !differs; i++) {
		differs |= (unsigned char)(one[i] ^ other[i]);
	}
	return !differs;
}

static void *
question_work(void *arg)
{
	struct question *q = arg;
	const uint64_t one = 1;
	const char *hash = crypt_rn(q->password, q->hash, &q->scratch, (int)sizeof q->scratch);
	q->right = hash && hash_equal(hash, q->hash);
	/* Its counter cannot be full. */
	while (write(q->done, &one, sizeof one) < 0) {
	}
	return NULL;
}

static bool
question_begin(struct passwords *p, struct question *q)
{
	q->done = p->done;
	return thread_begin(&p->thread, THREAD_STACK_BYTES, THREAD_JOINED, question_work, q);
}

/* ---- questions ---- */

static void
asker_free(struct question *q, struct asker *asker)
{
	TAILQ_REMOVE(&q->askers, asker, entry);
	explicit_bzero(buffer_bytes(&asker->request), buffer_length(&asker->request));
	buffer_done(&asker->request);
	free(asker);
}

/* Each connection that asked gets its request back. compared: the mark of the password if it has been
 * compared; 0: it has not. */
static void
question_release(struct passwords *p, struct question *q, uint64_t compared)
{
	struct asker *asker;
	while ((asker = TAILQ_FIRST(&q->askers))) {
		struct connection *c = connections_find(p->connections, asker->id);
		if (c) {
			connection_identity(c)->compared = compared;
			connection_ask_again(c, (struct slice){buffer_bytes(&asker->request),
							buffer_length(&asker->request)});
		}
		asker_free(q, asker);
	}
}

static void
question_free(struct passwords *p, struct question *q)
{
	while (!TAILQ_EMPTY(&q->askers)) {
		asker_free(q, TAILQ_FIRST(&q->askers));
	}
	TAILQ_REMOVE(&p->questions, q, entry);
	p->count--;
	free(q->hash);
	explicit_bzero(q, sizeof *q);
	free(q);
}

/* Begins the first question that may be answered. The requests of the others are served again: they are
 * refused because logins from their address have failed meanwhile, or find no thread. */
static void
passwords_next(struct passwords *p)
{
	struct question *q;
	while (!p->works && (q = TAILQ_FIRST(&p->questions))) {
		p->works = guesses_wait_ms(p->guesses, &q->source, clock_ms()) == 0 && question_begin(p, q);
		if (!p->works) {
			question_release(p, q, 0);
			question_free(p, q);
		}
	}
}

static void
passwords_end(struct passwords *p)
{
	struct question *q = TAILQ_FIRST(&p->questions);
	pthread_join(p->thread, NULL);
	p->works = false;
	struct slice password = slice_of(q->password);
	if (q->right) {
		access_remember(*p->access, q->hash, password);
	}
	question_release(p, q, access_mark(*p->access, q->hash, password));
	question_free(p, q);
}

static void
passwords_done(evutil_socket_t fd, short what, void *arg)
{
	struct passwords *p = arg;
	uint64_t count;
	(void)what;
	if (read(fd, &count, sizeof count) == sizeof count && p->works) {
		passwords_end(p);
		passwords_next(p);
	}
}

/* ---- for the handshake ---- */

static struct question *
question_find(struct passwords *p, const char *hash, struct slice password)
{
	struct question *q;
	TAILQ_FOREACH (q, &p->questions, entry) {
		if (strcmp(q->hash, hash) == 0 && slice_equal(slice_of(q->password), password)) {
			return q;
		}
	}
	return NULL;
}

static struct question *
question_add(struct passwords *p, const char *hash, struct slice password, const struct guess_source *source)
{
	struct question *q = p->count < PASSWORDS_QUESTIONS ? calloc(1, sizeof *q) : NULL;
	char *copy = q ? strdup(hash) : NULL;
	if (!copy) {
		free(q);
		return NULL;
	}
	TAILQ_INIT(&q->askers);
	q->source = *source;
	q->hash = copy;
	memcpy(q->password, password.p, password.n);
	TAILQ_INSERT_TAIL(&p->questions, q, entry);
	p->count++;
	return q;
}

static bool
asker_add(struct question *q, struct connection *c, const struct command *request)
{
	struct asker *asker = calloc(1, sizeof *asker);
	if (!asker) {
		return false;
	}
	asker->id = connection_identity(c)->id;
	buffer_init(&asker->request, SIZE_MAX / 4);
	reply_write_array(&asker->request, request->argc + 1);
	reply_write_bulk(&asker->request, command_info(request->verb)->word);
	for (size_t i = 0; i < request->argc; i++) {
		reply_write_bulk(&asker->request, request->argv[i]);
	}
	TAILQ_INSERT_TAIL(&q->askers, asker, entry);
	if (asker->request.failed) {
		asker_free(q, asker);
		return false;
	}
	return true;
}

bool
passwords_ask(struct passwords *p, struct connection *c, const char *hash, struct slice password,
	const struct command *request, const struct guess_source *source)
{
	struct question *found = question_find(p, hash, password);
	struct question *q = found ? found : question_add(p, hash, password, source);
	if (!q) {
		return false;
	}
	bool first = !p->works;
	if (!asker_add(q, c, request) || (first && !question_begin(p, q))) {
		if (!found) {
			question_free(p, q);
		}
		return false;
	}
	p->works = true;
	connection_wait(c);
	return true;
}

void
passwords_give_back(struct passwords *p)
{
	struct question *q, *next;
	for (q = TAILQ_FIRST(&p->questions); q; q = next) {
		next = TAILQ_NEXT(q, entry);
		question_release(p, q, 0);
		if (q != TAILQ_FIRST(&p->questions) || !p->works) {
			question_free(p, q);
		}
	}
}

struct passwords *
passwords_new(struct event_base *base, struct connections *connections, struct access *const *access,
	const struct guesses *guesses)
{
	struct passwords *p = calloc(1, sizeof *p);
	if (!p) {
		return NULL;
	}
	*p = (struct passwords){.connections = connections, .access = access, .guesses = guesses};
	TAILQ_INIT(&p->questions);
	p->done = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	p->event = p->done < 0 ? NULL : event_new(base, p->done, EV_READ | EV_PERSIST, passwords_done, p);
	if (!p->event || event_add(p->event, NULL) != 0) {
		passwords_free(p);
		return NULL;
	}
	return p;
}

void
passwords_free(struct passwords *p)
{
	if (!p) {
		return;
	}
	if (p->works) {
		pthread_join(p->thread, NULL);
	}
	while (!TAILQ_EMPTY(&p->questions)) {
		question_free(p, TAILQ_FIRST(&p->questions));
	}
	if (p->event) {
		event_free(p->event);
	}
	if (p->done >= 0) {
		close(p->done);
	}
	free(p);
}
