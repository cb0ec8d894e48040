/*
 * tasks: one function for each verb of task.def, called by main.c. Each returns an exit code.
 */
#ifndef CLIENT_TASKS_H
#define CLIENT_TASKS_H

#include "client/options.h"
#include "client/wire.h"

/* run.c */
int task_run(const struct options *o, const struct address *a);
/* script.c */
int task_lock(const struct options *o, const struct address *a);
int task_unlock(const struct options *o, const struct address *a);
int task_check(const struct options *o, const struct address *a);
/* latch.c */
int task_latch(const struct options *o, const struct address *a);
int task_await(const struct options *o, const struct address *a);
/* keep.c */
int task_hold(const struct options *o, const struct address *a);
/* see.c */
int task_ls(const struct options *o, const struct address *a);
int task_sessions(const struct options *o, const struct address *a);
/* show.c */
int task_show(const struct options *o, const struct address *a);
/* ask.c */
int task_watch(const struct options *o, const struct address *a);
int task_ping(const struct options *o, const struct address *a);
int task_info(const struct options *o, const struct address *a);
int task_break(const struct options *o, const struct address *a);
/* health.c */
int task_health(const struct options *o, const struct address *a);
/* verbs.c */
int task_drain(const struct options *o, const struct address *a);
/* masters.c */
int task_masters(const struct options *o, const struct address *a);
/* bench.c */
int task_bench(const struct options *o, const struct address *a);

#endif
