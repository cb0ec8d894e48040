/*
 * waiting: sends INSPECT for the awaited lock from time to time. INSPECT names the holders, SESSIONS the
 * processes that they are bound to, and /proc our ancestors: so a process that waits for itself is detected.
 */
#include "client/waiting.h"

#include "client/fleet.h"
#include "client/list.h"
#include "client/lock.h"
#include "client/message.h"
#include "client/process.h"
#include "client/wire/hello.h"
#include "client/wire/wire.h"
#include "daemon/base/clock.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CYCLE_MS       200   /* after this time a wait is checked by cycle_find() */
#define FIRST_MS       1000  /* no messages about shorter waits */
#define PEOPLE_MS      10000 /* between two updates of the line for people */
#define CHECK_MS       2000  /* time limit of a check */
#define ROUND_MIN      250   /* at least, between two checks of the master */
#define ROUND_MAX      5000
#define LINE_MAX_BYTES 1024
#define OVERDUE_MS     5000 /* behind its WAIT: then a daemon that has not answered counts as stuck */
#define CYCLE_FIND_MS  2000 /* time limit of cycle_find() */

static bool
is_ancestor(int64_t pid)
{
	pid_t at = getppid();

	while (at > 1 && at != pid) {
		at = descendants_parent(at);
	}
	return at > 1;
}

/* The process that a session is bound to; 0: none. */
static int64_t
bound_to(struct wire *w, int64_t session, int64_t until_ms)
{
	const struct answer *page;
	struct pages pages;

	pages_begin(&pages, w, 1, (const char *const[]){"SESSIONS"});
	pages.until_ms = until_ms;
	while ((page = pages_next(&pages)) != NULL) {
		for (size_t i = 0; i < page->count; i++) {
			if (answer_get_int(&page->items[i], "session", 0) == session) {
				return answer_get_int(&page->items[i], "bound_pid", 0);
			}
		}
	}
	return 0;
}

/* Whether the daemon sees the same pids as this process; in another PID namespace it does not. */
static bool
lists_us(const struct answer *inspect)
{
	const struct answer *waiters = answer_get(inspect, "waiters");

	for (size_t i = 0; waiters != NULL && i < waiters->count; i++) {
		if (answer_get_int(&waiters->items[i], "pid", 0) == getpid()) {
			return true;
		}
	}
	return false;
}

/* The session of our ancestor that holds this name; 0: none does. */
static int64_t
holder_above(struct wire *w, const char *name, int64_t until_ms)
{
	const struct answer *page, *holders;
	struct pages pages;
	int64_t above = 0;
	bool seen = false;

	pages_begin(&pages, w, 2, (const char *const[]){"INSPECT", name});
	pages.until_ms = until_ms;
	/* The pages list all holders before the waiters. */
	while (!seen && (page = pages_next(&pages)) != NULL) {
		holders = answer_get(page, "holders");
		for (size_t i = 0; holders != NULL && above == 0 && i < holders->count; i++) {
			if (is_ancestor(answer_get_int(&holders->items[i], "pid", 0))) {
				above = answer_get_int(&holders->items[i], "session", 0);
			}
		}
		seen = lists_us(page);
	}
	return seen ? above : 0;
}

/*
 * The ancestor of this process until whose end one of the locks of o is held; *name is that lock. 0: none was
 * found. Blocks for at most CYCLE_FIND_MS. Works on Unix sockets only.
 */
static int64_t
cycle_find(const struct address *a, const struct options *o, const char **name)
{
	struct wire wire;
	int64_t until_ms = clock_ms() + CYCLE_FIND_MS, session = 0, pid = 0;

	if (!wire_open(&wire, a)) {
		return 0;
	}
	wire_hello(&wire, a, "holdfast");
	(void)wire_flush(&wire);
	(void)wire_wait(&wire, until_ms);
	for (size_t i = 0; session == 0 && i <= o->also.count; i++) {
		*name = i == 0 ? o->name : o->also.names[i - 1];
		session = holder_above(&wire, *name, until_ms);
	}
	if (session > 0) {
		pid = bound_to(&wire, session, until_ms);
	}
	wire_close(&wire);
	return is_ancestor(pid) ? pid : 0;
}

static int64_t
first_check_ms(const struct waiting *w, int64_t now_ms)
{
	int64_t limit = w->o->master_wait_ms;

	if (!w->tells && (limit == 0 || w->o->task == TASK_AWAIT)) {
		return INT64_MAX;
	}
	return now_ms + (limit > 0 && limit < FIRST_MS ? limit / 2 : FIRST_MS);
}

void
waiting_start(struct waiting *w, const struct options *o, const struct address *a, int64_t now_ms)
{
	memset(w, 0, sizeof(*w));
	w->o = o;
	w->a = a;
	w->tried_ms = now_ms;
	w->tells = !o->quiet;
	w->people = w->tells && isatty(STDERR_FILENO) == 1;
	w->reported_position = -1;
	w->over_ms = o->wait_ms < 0 ? INT64_MAX : now_ms + o->wait_ms;
	w->cycle_checked = a->tcp || o->task == TASK_AWAIT || o->slots > 1;
	w->next_ms = w->cycle_checked ? first_check_ms(w, now_ms) : now_ms + CYCLE_MS;
}

static int64_t
my_position(const struct answer *inspect)
{
	const struct answer *waiters = answer_get(inspect, "waiters");

	for (size_t i = 0; waiters != NULL && i < waiters->count; i++) {
		if (answer_get_int(&waiters->items[i], "pid", 0) == getpid()) {
			return answer_get_int(&waiters->items[i], "position", (int64_t)i + 1);
		}
	}
	/* Over TCP the daemon knows no pids. At the first check the last waiter is assumed to be this one. */
	return waiters == NULL ? 0 : (int64_t)waiters->count;
}

/* Prints how many steps of the latch are left. False: there was nothing to print. */
static bool
message_steps(struct waiting *w, const struct answer *inspect)
{
	int64_t left = answer_get_int(inspect, "left", 0);

	if (left == w->reported_position) {
		return true;
	}
	w->reported_position = left;
	if (slice_equal(answer_get_text(inspect, "state"), SLICE("closed"))) {
		message("waiting for the latch %s: %" PRId64 " of %" PRId64 " steps are left", w->o->name,
			left, answer_get_int(inspect, "set", 0));
	} else {
		message("waiting for the latch %s: nobody has made it yet", w->o->name);
	}
	return true;
}

/* Describes the holder on another host. The answer to INSPECT FLEET replaces the one before. */
static void
describe_elsewhere(char *out, size_t room, const struct waiting *w, struct wire *wire)
{
	const struct answer *fleet = fleet_inspect(wire, w->o->name, clock_ms() + CHECK_MS);

	if (fleet == NULL || !fleet_describe(out, room, fleet, !w->a->tcp)) {
		(void)snprintf(out, room, "held through the daemon of another host");
	}
}

/* Prints who holds the lock. False: there was nothing to print. */
static bool
message_holder(struct waiting *w, struct wire *wire, const struct answer *inspect)
{
	const struct answer *holder = answer_get(inspect, "holder");
	struct slice elsewhere = answer_get_text(inspect, "elsewhere");
	struct slice master = answer_get_text(inspect, "master");
	int64_t token = answer_get_int(holder, "token", 0);
	int64_t position = my_position(inspect);
	char line[LINE_MAX_BYTES];

	if (position == 0) {
		return false; /* the wait is over, and the answer is on its way */
	}
	if (token > 0) {
		holder_describe(line, sizeof(line), inspect, "", !w->a->tcp);
	} else if (!slice_equal(master, SLICE("admitted"))) {
		(void)snprintf(line, sizeof(line), "the master is %.*s", SLICE_ARG(master));
	} else if (elsewhere.n > 0) {
		describe_elsewhere(line, sizeof(line), w, wire);
	} else {
		return false;
	}
	/* Only a new holder or a new position is printed. */
	if (token == w->reported_token && position == w->reported_position) {
		return true;
	}
	w->reported_token = token;
	w->reported_position = position;
	message("waiting for %s: %s; number %" PRId64 " in line here", w->o->name, line, position);
	return true;
}

/* A guarded master is there, and says when it grants again. */
static bool
is_there(struct slice state)
{
	return slice_equal(state, SLICE("admitted")) || slice_equal(state, SLICE("guarded"));
}

/* False: the wait would end only when an ancestor of this process ends. */
static bool
cycle_check(struct waiting *w, char *why, size_t room)
{
	const char *name;
	int64_t pid = cycle_find(w->a, w->o, &name);

	w->cycle_checked = true;
	if (pid == 0) {
		return true;
	}
	w->cycle = w->over_ms == INT64_MAX;
	if (w->cycle) {
		(void)snprintf(why, room,
			"%s is held until process %" PRId64 " ends, and this process descends from it: the "
			"wait would never end (-w SECS waits all the "
			"same)",
			name, pid);
	} else if (!w->o->quiet) {
		message("%s is held until process %" PRId64
			" ends, and this process descends from it: the wait may be in vain",
			name, pid);
	}
	return !w->cycle;
}

/* If a daemon serves this client: tells people that it is back, if they know that it was away. */
static void
waiting_back(struct waiting *w, bool served)
{
	if (w->reported_away && served) {
		message("the daemon is back");
		w->reported_away = false;
	}
}

/* True if a master answers the daemon. Only for people it requests all of INSPECT, because a thousand waiters
 * that each read a thousand waiters are too expensive. */
static bool
master_check(struct waiting *w)
{
	struct wire wire;
	const struct answer *answer = NULL;
	int64_t until_ms = clock_ms() + CHECK_MS;
	bool there = false, served;

	if (wire_open(&wire, w->a)) {
		wire_hello(&wire, w->a, "holdfast");
		if (w->tells) {
			wire_ask(&wire, "INSPECT", w->o->name);
		} else {
			wire_ask(&wire, "INFO", "masters");
		}
		(void)wire_flush(&wire);
		answer = wire_wait(&wire, until_ms);
		answer = answer == NULL ? NULL : wire_wait(&wire, until_ms);
	}
	served = answer != NULL && answer->type != ANSWER_ERROR;
	if (answer != NULL && answer->type == ANSWER_MAP) {
		there = is_there(answer_get_text(answer, "master"));
		w->tells = !(w->o->task == TASK_AWAIT ? message_steps(w, answer)
						      : message_holder(w, &wire, answer)) ||
			   w->people;
	} else if (answer != NULL && answer->type == ANSWER_TEXT) {
		/* The best state that a majority of the masters has. */
		there = is_there(answer_info(answer->text, "masters_state"));
	}
	waiting_back(w, served);
	wire_close(&wire);
	return there;
}

static int64_t
next_check_ms(const struct waiting *w, int64_t now)
{
	int64_t limit = w->o->master_wait_ms;
	int64_t every = limit / 4;
	int64_t next;

	if (limit == 0) {
		return w->tells ? now + PEOPLE_MS : INT64_MAX;
	}
	every = every < ROUND_MIN ? ROUND_MIN : every > ROUND_MAX ? ROUND_MAX : every;
	next = now + every;
	return w->away_ms > 0 && w->away_ms + limit < next ? w->away_ms + limit : next;
}

int64_t
waiting_left_ms(const struct waiting *w)
{
	int64_t left = w->over_ms - clock_ms();

	return w->over_ms == INT64_MAX ? -1 : left > 0 ? left : 0;
}

/* When a daemon that does not answer HELLO is given up: -w allows for a slow one. */
static int64_t
hello_over(const struct waiting *w, int64_t now)
{
	int64_t limit = w->o->master_wait_ms, over = w->over_ms;

	over = over < now + SESSION_HELLO_MS ? now + SESSION_HELLO_MS : over;
	if (limit > 0 && (w->away_ms > 0 ? w->away_ms : now) + limit < over) {
		over = (w->away_ms > 0 ? w->away_ms : now) + limit;
	}
	return over;
}

void
waiting_hello(struct waiting *w, struct wire *wire)
{
	int64_t now = clock_ms(), over = hello_over(w, now);

	if (wire_arrived(wire, now + FIRST_MS < over ? now + FIRST_MS : over)) {
		return;
	}
	if (over > now + FIRST_MS && !w->o->quiet && !w->reported_away) {
		message("the daemon does not answer; waiting for it");
		w->reported_away = true;
	}
	if (!wire_arrived(wire, over)) {
		/* So that a daemon that goes on gives no lock to a program that does not listen. */
		wire_ask(wire, "QUIT");
		(void)wire_send(wire);
		wire->answer_ms = 0;
	}
}

/* The daemon is absent for the reason in why; NULL: it is shutting down. */
static bool
waiting_daemon(struct waiting *w, const char *why)
{
	int64_t now = clock_ms(), limit = w->o->master_wait_ms, until = w->over_ms;

	/* The daemon was there meanwhile. */
	if (w->answered && now - w->tried_ms >= FIRST_MS) {
		w->away_ms = 0;
	}
	if (w->away_ms == 0) {
		w->away_ms = w->answered ? now : w->tried_ms;
		w->pause_ms = 0;
		if (until > now && !w->o->quiet) {
			message("%s; waiting for it", why != NULL ? why : "the daemon is shutting down");
			w->reported_away = true;
		}
	}
	if (limit > 0 && w->away_ms + limit < until) {
		until = w->away_ms + limit;
	}
	if (now >= until) {
		return false;
	}
	w->pause_ms = session_pause_after(w->pause_ms);
	(void)poll(NULL, 0, (int)(w->pause_ms < until - now ? w->pause_ms : until - now));
	if (w->reported_away && w->next_ms > clock_ms() + FIRST_MS) {
		w->next_ms = clock_ms() + FIRST_MS; /* waiting_back() */
	}
	return true;
}

bool
waiting_again(struct waiting *w, struct wire *wire, const struct answer *answer)
{
	if (take_away(wire, answer, w->came) && waiting_daemon(w, answer == NULL ? wire->why : NULL)) {
		wire_close(wire);
		w->tried_ms = clock_ms();
		w->answered = false;
		return true;
	}
	waiting_back(w, answer != NULL);
	return false;
}

/* False if the wait is given up. Then why says the reason: no master answers, or (cycle) the lock is held for
 * an ancestor of this process and the wait has no end. */
static bool
waiting_check(struct waiting *w, char *why, size_t room)
{
	bool there;
	int64_t now = clock_ms();
	char duration[DURATION_TEXT_MAX];

	if (!w->cycle_checked) {
		w->next_ms = first_check_ms(w, now - CYCLE_MS);
		return cycle_check(w, why, room);
	}
	there = master_check(w);
	now = clock_ms();
	if (w->o->task == TASK_AWAIT) {
		w->next_ms = w->tells ? now + PEOPLE_MS : INT64_MAX;
		return true;
	}
	if (there) {
		w->away_ms = 0;
	} else if (w->away_ms == 0) {
		w->away_ms = now;
	} else if (w->o->master_wait_ms > 0 && now - w->away_ms >= w->o->master_wait_ms) {
		(void)snprintf(why, room,
			"no master has answered the daemon for %s: holdfast info masters says why",
			duration_text(duration, now - w->away_ms));
		return false;
	}
	w->next_ms = next_check_ms(w, now);
	return true;
}

const struct answer *
waiting_answer(struct waiting *w, struct wire *wire)
{
	int64_t overdue_ms = w->over_ms == INT64_MAX ? INT64_MAX : w->over_ms + OVERDUE_MS;

	w->answered = w->came = true;
	for (;;) {
		const struct answer *answer =
			wire_wait(wire, w->next_ms < overdue_ms ? w->next_ms : overdue_ms);

		if (answer != NULL || wire->ended) {
			return answer;
		}
		if (clock_ms() >= overdue_ms) {
			(void)snprintf(wire->why, sizeof(wire->why), "the daemon does not answer");
			return NULL;
		}
		if (clock_ms() >= w->next_ms && !waiting_check(w, wire->why, sizeof(wire->why))) {
			return NULL;
		}
	}
}
