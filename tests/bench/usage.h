/*
 * usage: CPU that other processes have used, between two moments of a load.
 */
#ifndef BENCH_USAGE_H
#define BENCH_USAGE_H

#include <stdint.h>

#define USAGE_MAX 8

/* Zeroed: nobody is watched. */
struct usage {
	int pids[USAGE_MAX];
	int64_t began_ns[USAGE_MAX];
	int64_t used_ns[USAGE_MAX];
	unsigned n;
};

/* Ends the program when there are too many. */
void usage_watch(struct usage *usage, int pid);
void usage_begin(struct usage *usage);
void usage_end(struct usage *usage);
/* "used_us": how many us each used, per so many cycles, in the order in which they were named. */
void usage_print(const struct usage *usage, uint64_t cycles);

#endif
