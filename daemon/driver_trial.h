/*
 * driver_trial: before the daemon becomes the next program, it tries it. A part of the driver.
 */
#ifndef DAEMON_DRIVER_TRIAL_H
#define DAEMON_DRIVER_TRIAL_H

#include <stdbool.h>
#include <sys/types.h>

struct connection;
struct driver;

/* As child_known, for the children that the driver has started. */
bool driver_reaped(struct driver *driver, pid_t pid, int status);

/* For the verb RESTART and for SIGUSR2, with the driver as arg: tries the program, and then hands the daemon
 * over to a new process of it. c waits for the answer, from either process (admin_restarted(),
 * admin_not_restarted()); NULL: none does. It may have been closed before that. */
void driver_hand_over(void *arg, struct connection *c);
/* Ends the trial, if there is one, as this process ends; who asked for the hand-over is answered. */
void driver_stop_trial(struct driver *driver);

#endif
