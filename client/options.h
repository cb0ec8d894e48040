/*
 * options: the command line: its verbs, options and exit codes are the tables of options.def.
 *
 * options_parse() reads argv by these tables. Strings point into argv. It uses no environment, no files and
 * no output. --help, the completion scripts and the guess for a misspelled word are made from the same
 * tables.
 */
#ifndef CLIENT_OPTIONS_H
#define CLIENT_OPTIONS_H

#include "proto/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum task {
#define TASK(id, word, arguments, summary, about) TASK_##id,
#include "client/options.def"
#undef TASK
	TASK_COUNT
};

/* Sets of tasks, for options.def. */
#define ON(task)   (1u << (TASK_##task))
#define TAKERS     (ON(RUN) | ON(LOCK) | ON(HOLD))
/* Their NAME goes into a request for a lock or a latch. */
#define ASKERS     (TAKERS | ON(UNLOCK) | ON(CHECK) | ON(LATCH) | ON(AWAIT))
#define EVERYWHERE ((1u << TASK_COUNT) - 1)

#define OPTION_STEPS_MAX    1000000              /* of a latch */
#define OPTION_CLIENTS_MAX  10000                /* of a bench, and of its names */
#define OPTION_BENCH_MAX    INT64_C(3600000)     /* ms: an hour */
#define OPTION_SECONDS_MAX  INT64_C(31536000000) /* ms: a year, as COMMAND_MS_MAX */
#define OPTION_LONG_WAIT_MS INT64_C(60000)
#define OPTION_SLOTS_MAX    10000 /* as LIMIT */
#define OPTION_TOKEN_MAX    (INT64_C(1) << 53)

#define OPTION_ALSO_MAX 63 /* MLOCK takes one more */

struct also {
	const char *names[OPTION_ALSO_MAX];
	size_t count;
};

enum loss_way {
	LOSS_TERM,  /* TERM in time before the deadline, KILL at the deadline */
	LOSS_KILL,  /* KILL at the deadline */
	LOSS_WARN,  /* only print a message */
	LOSS_SIGNAL /* send one signal, never KILL */
};

struct loss {
	enum loss_way way;
	int signal; /* LOSS_SIGNAL */
};

/* Absent values: NULL, false, and what options_parse() says for numbers. */
struct options {
	enum task task;       /* TASK_COUNT: none named (--help, --version) */
	const char *name;     /* NAME, GLOB, SECTION or shell; NULL: not given */
	const char *words[2]; /* TASK_LATCH, TASK_MASTERS: what follows the name; NULL: not given */
	char **command;       /* TASK_RUN: what to run, NULL-terminated as argv is */
	struct also also;     /* TASK_RUN: more names, held all together or not at all */
	const char *shell;    /* TASK_RUN: a line for the shell, instead of a command */
	bool nonblock;
	int64_t wait_ms;    /* -1: as the daemon's rule for the name says; --nonblock makes it 0 */
	int64_t warning_ms; /* -1: no bound; so is critical_ms */
	int64_t critical_ms;
	int64_t long_wait_ms; /* a minute */
	int64_t busy_status;  /* STATUS_BUSY */
	bool exclusive;
	bool shared;
	int64_t slots;    /* 0: no semaphore */
	int64_t lease_ms; /* 0: renewed while it is held */
	const char *why;
	int64_t master_wait_ms; /* 30 s */
	bool skip_ok;
	bool close;   /* TASK_RUN: no tether */
	bool no_fork; /* TASK_RUN: read, and not used */
	bool unlock;  /* TASK_RUN becomes TASK_UNLOCK */
	struct loss on_lost;
	int64_t kill_after_ms; /* 5 s */
	int64_t max_run_ms;    /* 0: no limit */
	int64_t min_hold_ms;   /* 0: until COMMAND ends */
	int64_t status_fd;     /* 0: none */
	int64_t pid;           /* 0: the parent */
	const char *token_file;
	int64_t token; /* 0: any */
	int64_t clients;
	int64_t names; /* 0: as the kind of bench says */
	int64_t bench_ms;
	bool durable;      /* TASK_BENCH */
	bool here;         /* not FLEET */
	bool begin;        /* TASK_DRAIN */
	const char *level; /* TASK_WATCH; NULL: all, as the next one */
	const char *event;
	bool batch;         /* TASK_TOP, as the next three */
	int64_t iterations; /* 0: as many as it takes */
	int64_t delay_ms;   /* 0: 2 s */
	const char *by;     /* NULL: each lock by itself */
	const char *sort;   /* NULL: top: by waiters; sessions: by their numbers */
	bool json;
	bool quiet;
	bool verbose;
	const char *socket;
	bool help;
	bool version;
};

#define OPTIONS_TEXT_MAX 256

enum option_kind {
	OPTION_FLAG,
	OPTION_SECONDS,
	OPTION_WAIT,
	OPTION_NUMBER,
	OPTION_TEXT,
	OPTION_LOSS,
	OPTION_ALSO
};

/* A row of OPTION. */
struct option_entry {
	enum option_kind kind;
	char letter; /* 0: none */
	const char *word;
	const char *argument; /* NULL: takes none */
	int64_t least, most;
	unsigned tasks;
	const char *help;
	size_t offset; /* of the field in struct options */
};

/* A row of TASK. */
struct task_entry {
	const char *word;
	const char *arguments;
	const char *summary;
	const char *about; /* more sentences; "": none */
};

/* All options; the last one has word NULL. */
const struct option_entry *options_list(void);
const struct task_entry *options_task(enum task task);

/* The option that the letter means for this verb, or for any if it is TASK_COUNT; of two that fit, the later
 * one in options.def. NULL: none. */
const struct option_entry *options_letter(char letter, enum task task);

/*
 * False if argv is wrong; then why (OPTIONS_TEXT_MAX bytes) says what was read and what is allowed. argv[0]
 * is skipped.
 */
bool options_parse(struct options *o, int argc, char **argv, char *why) __attribute__((warn_unused_result));

/* "1.5", "500ms", "10s", "5m", "2h", "1.5d" to ms; a bare number is seconds. False if text has none of these
 * forms. */
bool options_seconds(const char *text, int64_t *ms) __attribute__((warn_unused_result));

/* The verbs. Each returns an exit code. */
struct address;
#define TASK(id, word, arguments, summary, about)                                                            \
	int task_##word(const struct options *o, const struct address *a);
#include "client/options.def"
#undef TASK

/* Finds the known word that is nearest to a misspelled one. */
struct guess {
	struct slice text;
	const char *best;  /* nearest word; NULL: none is near enough */
	size_t distance;   /* of best */
	const char *meant; /* our word for what other programs call by this text; NULL: none */
};

#endif
