/*
 * message: prints messages to people, on stderr. An error says what happened, where, and what to do.
 */
#ifndef CLIENT_MESSAGE_H
#define CLIENT_MESSAGE_H

/* Prints one line, "holdfast: ...". Control bytes in the result are escaped. */
__attribute__((format(printf, 1, 2))) void message(const char *format, ...);

#endif
