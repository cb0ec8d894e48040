/*
 * descriptor: numbers that belong to somebody else's program. A library lives in a process that may close all
 * descriptors, as with closefrom(3), or have closed the standard ones before; a number that was ours may then
 * be a file of the program's. So a descriptor is used only by calls that fail on one of another kind, and is
 * closed only if it is still the same.
 */
#ifndef CLIENT_DESCRIPTOR_H
#define CLIENT_DESCRIPTOR_H

#include <stdbool.h>
#include <sys/types.h>

/* The same descriptor, which is closed on exec, with a number that is not one of standard input, output and
 * error: a program whose own are closed would write there. -1 and errno; then fd is closed. fd -1: -1, and
 * errno stays. */
int descriptor_high(int fd) __attribute__((warn_unused_result));

/* The inode of a socket; 0: it is none. */
ino_t descriptor_socket(int fd);
/* Closes the socket, unless the number has another inode now. */
void descriptor_close_socket(int fd, ino_t inode);

/* Closes a timer of wakeup_open(), unless the number is of no timer now. */
void descriptor_close_timer(int fd);

#endif
