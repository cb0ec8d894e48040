/*
 * stream: an asynchronous connection of hiredis on the event loop, commands out and replies in.
 *
 *     stream_write() ──▶ hiredis' output ──[tls]──▶ master ──[tls]──▶ hiredis' reader ──▶ reply()
 *
 * The link is the only user; it knows what the commands mean, and when to give up. The connection, its output
 * and its reader are hiredis'. When to write, which reply belongs to which command and what a lost connection
 * means for a command are not: that is what the link is for.
 */
#ifndef REDIS_STREAM_H
#define REDIS_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_base;
struct redisAsyncContext;
struct redisReply;
struct stats;
struct stream;
struct tls;

#define STREAM_ELEMENTS_MAX    128       /* of one array: our scripts answer one per name, at most 64 */
#define STREAM_DEPTH_MAX       7         /* of arrays in arrays: ours need 3 */
#define STREAM_REPLY_BYTES_MAX (1 << 18) /* of one reply: ours are some kilobytes, with all permits 50 */

struct stream_hooks {
	/* From now on there may be commands; a handshake is complete. */
	void (*connected)(void *arg);
	/* One reply; it is freed afterwards. None follows after stream_break(). */
	void (*reply)(void *arg, const struct redisReply *reply);
	/* It did not connect, or the connection is of no more use; every reply that arrived has been
	 * delivered. The callee frees the stream. */
	void (*end)(void *arg, const char *why);
};

/*
 * redis comes fresh from redisAsyncConnect(), connecting or failed, and is owned from here on, as is tls
 * (NULL: none), also when NULL is returned: out of memory. Hooks are called from the event loop only, never
 * from within the functions below. hooks and stats are held by reference.
 */
struct stream *stream_new(struct event_base *base, struct redisAsyncContext *redis, struct tls *tls,
	const struct stream_hooks *hooks, void *arg, struct stats *stats) __attribute__((warn_unused_result));
/* Not from within reply(). Harmless with NULL. */
void stream_free(struct stream *stream);

/* Once connected, and before the end. Appends a command to the output. False: out of memory, nothing was
 * appended. */
bool stream_write(struct stream *stream, int argc, const char *const *argv, const size_t *argvlen)
	__attribute__((warn_unused_result));
/* Likewise. Sends what is there; what the socket does not take follows by itself. */
void stream_flush(struct stream *stream);
/* Likewise. Acknowledges what was read at once, where the kernel would wait for more. Only a matter of time.
 */
void stream_acknowledge(struct stream *stream);
/* Ends it with this reason as soon as the loop turns, unless it ended before. why is copied. */
void stream_break(struct stream *stream, const char *why);

/* Whether the TLS handshake has begun and is not complete. */
bool stream_is_handshaking(const struct stream *stream);

/* Positions in the output, counted from the first byte: a command that ends beyond `sent` never left whole,
 * so it never ran. */
uint64_t stream_written(const struct stream *stream);
uint64_t stream_sent(const struct stream *stream);
/* CLOCK_BOOTTIME ms of the last byte that came in; at first, of its birth. */
int64_t stream_received_ms(const struct stream *stream);

#endif
