/*
 * run: holds a lock while a command runs.
 *
 *     holdfast run (this process) ──▶ supervisor ──▶ command
 *         │  session bound to the supervisor
 *     holdfastd
 *
 * The lock comes first, then the supervisor, then SESSION BIND. The command starts only when that is
 * acknowledged. From then on one loop handles the daemon, the supervisor, signals and the clock.
 */
#include "client/job/run.h"
#include "client/job/holding.h"
#include "client/job/job.h"
#include "client/job/nest.h"
#include "client/job/supervisor.h"
#include "client/job/tether.h"
#include "client/lock.h"
#include "client/message.h"
#include "client/options.h"
#include "client/output.h"
#include "client/process.h"
#include "client/wire/deadline.h"
#include "client/wire/hello.h"
#include "daemon/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* How long to wait before a message about processes that outlive the command. */
#define LEFT_BEHIND_MS 1000

enum watched { WATCH_WIRE, WATCH_SUPERVISOR, WATCH_SIGNALS, WATCH_TIMER, WATCH_COUNT };

/* The state of stopping the command. */
enum stopping { STOP_NOT, STOP_ASKED, STOP_KILLED };

struct run {
	const struct options *o;
	const struct taking *taking;
	struct wire wire;
	struct grant grant;
	struct holding holding;
	struct supervisor supervisor;
	struct supervisor_plan plan;
	struct job job;
	char *shell[4]; /* of --command */
	struct limits limits;
	pid_t child;
	int child_status;
	bool child_ended;
	bool gone;        /* all descendants have ended */
	bool doubted;     /* the command is paused, because the hold is in doubt */
	bool nested;      /* the hold belongs to an outer run */
	bool interrupted; /* a signal asked for the end: --min-hold does not apply */
	bool timed_out;   /* --max-run is over */
	enum stopping stopping;
	int64_t kill_at_ms;         /* when to send KILL after a loss that was told; INT64_MAX: never */
	int64_t mention_at_ms;      /* when to mention processes that outlive the command; INT64_MAX: never */
	int status;                 /* our exit code; -1: the command's */
	char reason[LOSS_WORD_MAX]; /* of the loss */
	struct pollfd fds[WATCH_COUNT];
};

static const int forwarded[] = {
	SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH, SIGTSTP, SIGCONT};

/* In a terminal's foreground ^Z stops the command directly, and then terminal_stop() stops us; fg continues
 * both. */
static bool
left_to_kernel(const struct run *r, int signal)
{
	return r->plan.shared && (signal == SIGTSTP || signal == SIGWINCH);
}

static bool
signals_open(struct run *r)
{
	struct sigaction children;
	sigset_t all;
	sigset_t read;

	(void)sigemptyset(&read);
	for (size_t i = 0; i < sizeof(forwarded) / sizeof(forwarded[0]); i++) {
		if (!left_to_kernel(r, forwarded[i])) {
			(void)sigaddset(&read, forwarded[i]);
		}
	}
	if (getpid() == 1) {
		(void)sigaddset(&read, SIGCHLD);
	}
	/* If SIGCHLD is ignored, children are reaped without a status. */
	(void)sigaction(SIGCHLD, NULL, &children);
	r->plan.child_ignored = children.sa_handler == SIG_IGN;
	(void)signal(SIGCHLD, SIG_DFL);
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &r->plan.mask);
	wire_unguard(&r->wire, &r->plan.mask);
	r->fds[WATCH_SIGNALS] = (struct pollfd){signalfd(-1, &read, SFD_CLOEXEC | SFD_NONBLOCK), POLLIN, 0};
	r->fds[WATCH_TIMER] = (struct pollfd){wakeup_open(), POLLIN, 0};
	return r->fds[WATCH_SIGNALS].fd >= 0 && r->fds[WATCH_TIMER].fd >= 0;
}

/* The supervisor was started with every signal blocked. From here on only the signals that we read remain
 * blocked. */
static void
signals_settle(const struct run *r)
{
	sigset_t unblocked;

	(void)sigemptyset(&unblocked);
	(void)sigaddset(&unblocked, SIGTTOU);
	if (r->plan.shared) {
		(void)sigprocmask(SIG_UNBLOCK, &unblocked, NULL);
	}
}

/* The command has these streams now. Closes ours, so that a pipe ends when the command closes it. */
static void
streams_drop(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null >= 0) {
		(void)dup2(null, STDIN_FILENO);
		(void)dup2(null, STDOUT_FILENO);
		(void)close(null);
	}
}

/* The next holder must not start before our command has ended. So the session ends with the supervisor. */
static int
bind_supervisor(struct run *r)
{
	const struct answer *answer;

	if (!r->wire.local || r->nested) {
		return STATUS_DONE;
	}
	answer = holding_bind(&r->holding, r->supervisor.pidfd);
	if (answer == NULL || answer->type == ANSWER_ERROR) {
		return take_refusal(&r->wire, answer, "cannot bind the lock to the command");
	}
	return STATUS_DONE;
}

static int
command_start(struct run *r)
{
	int status;

	r->plan.command = r->shell[0] != NULL ? r->shell : r->o->command;
	r->plan.kill_after_ms = r->o->kill_after_ms;
	r->plan.limit_ms = r->wire.local ? INT64_MAX : r->grant.expire_ms;
	status = tether_make(&r->plan.tether, r->taking, &r->grant, r->nested);
	if (status != STATUS_DONE) {
		return status;
	}
	/* If the supervisor is killed, its processes become our children. */
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (!supervisor_start(&r->supervisor, &r->plan)) {
		message("cannot start the command: %s", strerror(errno));
		return STATUS_INTERNAL;
	}
	tether_leave(&r->plan.tether);
	streams_drop();
	holding_start(&r->holding, &r->wire, r->taking, &r->grant, r->o->kill_after_ms);
	status = bind_supervisor(r);
	if (status != STATUS_DONE) {
		supervisor_finish(&r->supervisor);
		return status;
	}
	r->fds[WATCH_SUPERVISOR] = (struct pollfd){r->supervisor.control, POLLIN, 0};
	limits_start(&r->limits, clock_ms(), r->o->max_run_ms, r->o->kill_after_ms, r->o->min_hold_ms);
	job_start(&r->job, &r->supervisor, r->plan.shared);
	supervisor_go(&r->supervisor);
	signals_settle(r);
	return STATUS_DONE;
}

/* The lock is lost, or will be before the daemon can answer: the first step of stopping. */
static void
stop_ask(struct run *r)
{
	struct loss loss = r->o->on_lost;

	r->stopping = STOP_ASKED;
	(void)snprintf(r->reason, sizeof(r->reason), "%s", holding_reason(&r->holding));
	if (loss.way != LOSS_WARN && !r->timed_out) {
		r->status = STATUS_LOST;
	}
	message("the lock %s is lost: %s%s", r->o->name,
		r->holding.why[0] != '\0' ? r->holding.why : "the daemon does not answer",
		loss.way == LOSS_WARN ? "" : ": stopping the command");
	if (loss.way == LOSS_TERM) {
		job_signal(&r->job, SIGTERM);
	} else if (loss.way == LOSS_SIGNAL) {
		job_signal(&r->job, loss.signal);
	}
}

static void
stop_kill(struct run *r)
{
	enum loss_way way = r->o->on_lost.way;

	r->stopping = STOP_KILLED;
	if (way == LOSS_TERM || way == LOSS_KILL) {
		supervisor_signal(&r->supervisor, SIGKILL);
	}
}

/* The daemon told of the loss. The deadline that was told before remains valid, but there is no reason to use
 * it up. */
static void
loss_report(struct run *r)
{
	int64_t kill_at = clock_ms() + (r->o->on_lost.way == LOSS_KILL ? 0 : r->o->kill_after_ms);

	r->kill_at_ms = kill_at < r->holding.deadline.expire_ms ? kill_at : r->holding.deadline.expire_ms;
	stop_ask(r);
}

/* If this process is killed over TCP, or while the daemon is away, only the supervisor knows how long the
 * command may continue. */
static void
tell_limit(struct run *r)
{
	bool there = r->wire.local && !r->holding.away && !r->holding.gone;
	int64_t limit_ms = there ? INT64_MAX : r->holding.deadline.expire_ms;

	if (r->plan.limit_ms != limit_ms) {
		r->plan.limit_ms = limit_ms;
		supervisor_limit(&r->supervisor, limit_ms);
	}
}

static bool
in_doubt(const struct run *r)
{
	return deadline_doubts(&r->holding.deadline, clock_ms());
}

static void
check_lock(struct run *r)
{
	enum deadline_step step = holding_step(&r->holding);

	tell_limit(r);
	if (!r->doubted && in_doubt(r)) {
		job_pause(&r->job);
	}
	r->doubted = in_doubt(r);
	if (!r->o->quiet && r->stopping == STOP_NOT) {
		holding_tell(&r->holding);
	}
	if (r->child_ended && r->gone) {
		return;
	}
	if (r->holding.lost && r->stopping == STOP_NOT) {
		loss_report(r);
	}
	if (step == DEADLINE_STOP && r->stopping == STOP_NOT) {
		if (r->o->on_lost.way != LOSS_KILL) {
			stop_ask(r);
		}
	}
	if (step == DEADLINE_EXPIRE || clock_ms() >= r->kill_at_ms) {
		if (r->stopping == STOP_NOT) {
			stop_ask(r);
		}
		if (r->stopping == STOP_ASKED) {
			stop_kill(r);
		}
	}
}

static void
check_limits(struct run *r)
{
	char duration[DURATION_TEXT_MAX];

	if (r->gone) {
		return;
	}
	switch (limits_step(&r->limits, clock_ms())) {
	case LIMITS_WAIT:
		break;
	case LIMITS_STOP:
		r->timed_out = true;
		if (r->status < 0) {
			r->status = STATUS_TIMED_OUT;
		}
		message("the command has run for %s: stopping it", duration_text(duration, r->o->max_run_ms));
		job_signal(&r->job, SIGTERM);
		break;
	case LIMITS_KILL:
		supervisor_signal(&r->supervisor, SIGKILL);
		break;
	}
}

/* Process 1 also gets the orphans of others, as of a `docker exec`. The supervisor is kept until the end, so
 * that its pid is not reused. */
static void
reap_strangers(const struct run *r)
{
	siginfo_t info = {.si_pid = 0};

	while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid > 0 &&
		info.si_pid != r->supervisor.pid) {
		(void)waitpid(info.si_pid, NULL, 0);
		info.si_pid = 0;
	}
}

static void
signals_read(struct run *r)
{
	struct signalfd_siginfo info;

	while (read(r->fds[WATCH_SIGNALS].fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		int signal = (int)info.ssi_signo;
		bool keys = signal == SIGINT || signal == SIGQUIT;

		if (signal == SIGCHLD) {
			reap_strangers(r);
			continue;
		}
		r->interrupted |= keys || signal == SIGTERM || signal == SIGHUP;
		if (r->gone) {
			continue;
		}
		if (r->plan.shared && signal == SIGCONT) {
			if ((pid_t)info.ssi_pid != r->supervisor.pid) {
				supervisor_continued(&r->supervisor);
			}
			continue;
		}
		/* In the foreground the terminal's signals reach the command directly. */
		if (r->plan.shared && (keys || info.ssi_code == SI_KERNEL)) {
			continue;
		}
		job_signal(&r->job, signal);
	}
}

/* The supervisor was killed. The session ends with it, or else with the last process that has the tether. No
 * process of the command may continue. */
static void
supervisor_killed(struct run *r)
{
	message("the supervisor of the command was killed, and the lock is lost with it: killing the "
		"command");
	supervisor_kill_orphans(&r->plan, r->child, r->child_ended);
	(void)snprintf(r->reason, sizeof(r->reason), "session");
	r->status = STATUS_LOST;
	r->gone = true;
	r->child_ended = true;
}

static void
news_read(struct run *r)
{
	struct news news;

	if (!supervisor_read(&r->supervisor, &news)) {
		return;
	}
	switch (news.type) {
	case NEWS_STARTED:
		r->child = news.pid;
		r->job.command = news.pid;
		break;
	case NEWS_FAILED:
		message("cannot start the command: %s", strerror(news.value));
		r->status = STATUS_INTERNAL;
		r->gone = true;
		break;
	case NEWS_STOPPED:
		job_stopped(&r->job, news.value);
		break;
	case NEWS_EXIT:
		r->child_ended = true;
		r->child_status = news.value;
		r->mention_at_ms = clock_ms() + LEFT_BEHIND_MS;
		break;
	case NEWS_GONE:
		r->gone = true;
		break;
	case NEWS_LOST:
		supervisor_killed(r);
		break;
	}
}

static void
mention_left_behind(struct run *r)
{
	r->mention_at_ms = INT64_MAX;
	if (!r->o->quiet) {
		bool near = r->plan.shared || kill(-r->child, 0) == 0;

		message("the command has ended, but processes %s run on: %s is kept until they end",
			near ? "of its group" : "that it has started", r->o->name);
	}
}

static int64_t
next_ms(const struct run *r)
{
	int64_t next = r->stopping == STOP_KILLED ? INT64_MAX : holding_next(&r->holding);

	if (r->stopping == STOP_ASKED && r->kill_at_ms < next) {
		next = r->kill_at_ms;
	}
	if (r->gone) {
		return r->limits.keep_ms < next ? r->limits.keep_ms : next;
	}
	if (limits_next(&r->limits) < next) {
		next = limits_next(&r->limits);
	}
	return r->mention_at_ms < next ? r->mention_at_ms : next;
}

static void
turn(struct run *r)
{
	(void)wakeup_set(r->fds[WATCH_TIMER].fd, next_ms(r));
	holding_watch(&r->holding, &r->fds[WATCH_WIRE]);
	if (poll(r->fds, WATCH_COUNT, -1) < 0) {
		return;
	}
	if (r->fds[WATCH_SUPERVISOR].revents != 0) {
		news_read(r);
	}
	if (r->fds[WATCH_WIRE].fd >= 0 && r->fds[WATCH_WIRE].revents != 0) {
		holding_read(&r->holding);
	}
	if (r->fds[WATCH_SIGNALS].revents != 0) {
		signals_read(r);
	}
	check_lock(r);
	check_limits(r);
	if (!in_doubt(r)) {
		job_continue(&r->job);
	}
	if (clock_ms() >= r->mention_at_ms && !r->gone) {
		mention_left_behind(r);
	}
}

static int
command_status(const struct run *r)
{
	if (r->status >= 0) {
		return r->status;
	}
	return WIFEXITED(r->child_status) ? WEXITSTATUS(r->child_status) : 128 + WTERMSIG(r->child_status);
}

/* Whether to keep the lock for --min-hold after the end of the command, if it is still held. */
static bool
keeps_on(const struct run *r)
{
	int64_t now = clock_ms();

	return now < r->limits.keep_ms && !r->interrupted && r->stopping == STOP_NOT && !r->holding.lost &&
	       !r->holding.gone && now < r->holding.deadline.expire_ms;
}

/* False: it was lost before. A nested run leaves the hold to the outer run. */
static bool
give_back(struct run *r)
{
	return r->nested ? !r->holding.lost : holding_release(&r->holding);
}

static int
run_command(struct run *r)
{
	int status = command_start(r);

	if (status != STATUS_DONE) {
		return status;
	}
	while (!r->gone || keeps_on(r)) {
		turn(r);
	}
	job_end(&r->job);
	/* The supervisor waits for us, and the session is still bound to it. */
	if (r->stopping == STOP_NOT && !give_back(r) && r->status < 0) {
		message("the lock %s was lost while the command ran: %s", r->o->name, r->holding.why);
		(void)snprintf(r->reason, sizeof(r->reason), "%s", holding_reason(&r->holding));
		r->status = r->o->on_lost.way == LOSS_WARN ? -1 : STATUS_LOST;
	}
	supervisor_finish(&r->supervisor);
	tether_close(&r->plan.tether);
	return command_status(r);
}

static enum outcome
outcome_of(const struct run *r, int status)
{
	if (r->grant.busy) {
		return OUTCOME_BUSY;
	}
	if (r->status == STATUS_LOST) {
		return OUTCOME_LOST;
	}
	if (r->timed_out) {
		return OUTCOME_TIMED_OUT;
	}
	return r->child_ended && status != STATUS_INTERNAL ? OUTCOME_ENDED : OUTCOME_FAILED;
}

/* For --status-fd. */
static int
report(const struct run *r, int fd, int64_t began_ms, int status)
{
	int64_t now = clock_ms();
	const struct record record = {.name = r->o->name,
		.outcome = outcome_of(r, status),
		.reason = r->reason[0] != '\0' ? r->reason : NULL,
		.exit = status,
		.ended = r->child_ended,
		.child_status = r->child_status,
		.token = r->grant.token,
		.waited_ms = (r->grant.granted_ms > 0 ? r->grant.granted_ms : now) - began_ms,
		.held_ms = r->grant.granted_ms > 0 ? now - r->grant.granted_ms : 0};

	if (fd < 0 || record_write(fd, &record)) {
		return status;
	}
	message("cannot write to --status-fd %lld: %s", (long long)r->o->status_fd, strerror(errno));
	return status == STATUS_DONE ? STATUS_INTERNAL : status;
}

static int
run_locked(struct run *r)
{
	int status = take_report(r->o, &r->grant);

	if (status != STATUS_DONE) {
		return status;
	}
	r->plan.shared = terminal_foreground();
	nest_export(r->o, r->taking->a, &r->grant);
	return signals_open(r) ? run_command(r) : STATUS_INTERNAL;
}

int
task_run(const struct options *o, const struct address *a)
{
	char label[WIRE_LABEL_MAX];
	const struct taking taking = {.o = o, .a = a, .pidfd = -1, .label = label};
	struct run r = {
		.o = o, .taking = &taking, .kill_at_ms = INT64_MAX, .mention_at_ms = INT64_MAX, .status = -1};
	int64_t began_ms = clock_ms();
	int fd = o->status_fd > 0 ? record_open(o->status_fd) : -1;
	int status;

	if (o->status_fd > 0 && fd < 0) {
		message("--status-fd %lld: %s: open it first, as in 3>FILE", (long long)o->status_fd,
			strerror(errno));
		return STATUS_USAGE;
	}
	if (o->shell != NULL) {
		r.shell[0] = "/bin/sh";
		r.shell[1] = "-c";
		r.shell[2] = (char *)(uintptr_t)o->shell;
	}
	wire_label(label, o->shell != NULL ? r.shell[0] : o->command[0]);
	if (nest_overlaps(o)) {
		message("the holdfast run that this is a part of has some of these locks: --also takes all "
			"of "
			"them or "
			"none");
		return STATUS_USAGE;
	}
	r.nested = nest_join(&r.wire, &taking, &r.grant);
	if (r.nested && o->verbose) {
		message("%s is held by the holdfast run that this is a part of: joining it", o->name);
	}
	if (r.nested || take_lock(&r.wire, &taking, &r.grant, &status)) {
		status = run_locked(&r);
	}
	if (r.nested) {
		wire_close(&r.wire);
	} else {
		wire_goodbye(&r.wire);
	}
	status = report(&r, fd, began_ms, status);
	if ((r.plan.shared || r.job.has_terminal) && status == 128 + SIGINT && WIFSIGNALED(r.child_status)) {
		terminal_interrupted(r.job.has_terminal);
	}
	return status;
}
