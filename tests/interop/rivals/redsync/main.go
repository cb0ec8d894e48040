// A rival (tests/interop/rivals/run) by redsync.
package main

import (
	"os"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

func main() {
	name := os.Args[2]
	create := func() *redsync.Redsync {
		return redsync.New(goredis.NewPool(redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + os.Args[1]})))
	}
	shared := create()
	unlock := func(mutex *redsync.Mutex) {
		_, err := mutex.Unlock()
		must(err)
	}
	open := func(expiry time.Duration) locker {
		mutex := shared.NewMutex(name, redsync.WithExpiry(expiry), redsync.WithTries(1000000),
			redsync.WithRetryDelay(5*time.Millisecond))
		return locker{lock: func() { must(mutex.Lock()) }, unlock: func() { unlock(mutex) }}
	}
	// With all defaults of redsync.
	perform(open, func(name string, _ int, own bool) locker {
		client := shared
		if own {
			client = create()
		}
		mutex := client.NewMutex(name)
		return locker{
			lock: func() {
				for mutex.Lock() != nil { // it gives up after 32 tries
				}
			},
			unlock: func() { unlock(mutex) },
		}
	})
}
