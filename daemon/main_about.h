/*
 * main_about: what this daemon writes about itself at its masters, for people who inspect the fleet
 * (PROTOCOL.md 6.23): host, version, pid, start, settings and address; and behind them, for other daemons,
 * the secret of its messages, which no report shows. A part of main.c.
 */
#ifndef DAEMON_MAIN_ABOUT_H
#define DAEMON_MAIN_ABOUT_H

struct main;

/* Makes host and about, by the latest configuration. */
void about_make(struct main *m);

/* Makes dates, by the latest configuration, and logs which certificates are not valid now. */
void dates_make(struct main *m);

/* Makes secrets, by the latest configuration, and logs which of them others may read. */
void secrets_make(struct main *m);

#endif
