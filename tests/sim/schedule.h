/*
 * schedule: what happens when, in virtual time. Jobs of the same microsecond run in the order they were
 * added.
 */
#ifndef SIM_SCHEDULE_H
#define SIM_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void job_run(void *arg, uint64_t a, void *data);

struct job {
	int64_t at_us;
	uint64_t serial;
	job_run *run;
	void *arg;
	uint64_t a;
	void *data; /* freed with free() when the job never runs */
};

struct schedule {
	struct job *heap;
	size_t n;
	size_t room;
	uint64_t serial;
	struct job current; /* the one that runs */
};

void schedule_add(struct schedule *schedule, int64_t at_us, job_run *run, void *arg, uint64_t a, void *data);
/* Puts the job that runs off; among those of the same time it keeps its place by the order of their adding.
 */
void schedule_again(struct schedule *schedule, int64_t at_us);
/* Runs the next job that is due until then; false: there is none. *now_us is set to its time before. */
bool schedule_run(struct schedule *schedule, int64_t until_us, int64_t *now_us);
void schedule_done(struct schedule *schedule);

#endif
