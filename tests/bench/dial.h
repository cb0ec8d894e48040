/*
 * dial: connections of the bench's programs. What cannot be had ends the program with 2.
 */
#ifndef BENCH_DIAL_H
#define BENCH_DIAL_H

/* Blocking; place: a path, or 127.0.0.1:PORT. */
int dial(const char *place);
/* On 127.0.0.1:*port, or on a port that is chosen when that is 0. */
int dial_listen(unsigned short *port);
/* As good clients do: small requests leave at once. */
void dial_hurry(int fd);
void dial_nonblock(int fd);
/* As many descriptors as this process may ever have. */
void dial_descriptors(void);

#endif
