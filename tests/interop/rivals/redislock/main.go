// A rival (tests/interop/rivals/run) by bsm/redislock.
package main

import (
	"context"
	"os"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

func main() {
	client := redislock.New(redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + os.Args[1]}))
	ctx := context.Background()
	perform(func(expiry time.Duration) locker {
		// Tries end with the context, and without a deadline after the expiry; the next call tries again.
		again := &redislock.Options{RetryStrategy: redislock.LinearBackoff(5 * time.Millisecond)}
		var held *redislock.Lock
		return locker{
			lock: func() {
				err := redislock.ErrNotObtained
				for err == redislock.ErrNotObtained {
					held, err = client.Obtain(ctx, os.Args[2], expiry, again)
				}
				must(err)
			},
			unlock: func() { must(held.Release(ctx)) },
		}
	}, nil)
}
