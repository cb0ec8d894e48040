/*
 * schedule: the jobs of a world in virtual time. Jobs of the same microsecond run in the order they were
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
	void *data; /* freed with free() if the job never runs */
};

struct schedule {
	struct job *heap;
	size_t n;
	size_t room;
	uint64_t serial;
	struct job current; /* the running job */
};

void schedule_add(struct schedule *schedule, int64_t at_us, job_run *run, void *arg, uint64_t a, void *data);
/* Postpones the running job. Among jobs of the same time it keeps its place in the order of addition.
 */
void schedule_again(struct schedule *schedule, int64_t at_us);
/* Sets *now_us to the time of the next job that is due until until_us, and runs it; false: there is none. */
bool schedule_run(struct schedule *schedule, int64_t until_us, int64_t *now_us);
void schedule_done(struct schedule *schedule);

#endif
