/*
 * set_notice: the checker's part about changes of the set of masters. A member that stays takes up the next
 * set only when each daemon that is registered there has heard of it (6.16): who was registered before the
 * next set came there, and has not greeted since, has not.
 */
#ifndef SIM_SET_NOTICE_H
#define SIM_SET_NOTICE_H

#define HEARD_SET  512
#define HEARD_TEXT 96
#define HEARD_MOST 8

struct call;
struct server;

/* At one master: the next set that is stored there, "" without one, and who has not heard of it. */
struct set_notice {
	char next[HEARD_SET];
	unsigned n;
	struct {
		char daemon[40]; /* the field of its registration, */
		char text[HEARD_TEXT];
	} of[HEARD_MOST];
};

/* What the master does: it has run this. */
void set_notice_ran(struct server *server, const struct call *call);

#endif
