// A rival (tests/interop/rivals/run) by redsync.
package main

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// So many goroutines for so many ms, behind as many that warm them up, with all defaults of redsync; each its own
// client, or all the same.
func contend(make func() *redsync.Redsync, name string, count, ms int, own bool) {
	var counts, over atomic.Bool
	var former, changes, acquisitions int // whoever holds the lock counts
	var done sync.WaitGroup
	shared := make()
	for i := 1; i <= count; i++ {
		mine := shared
		if own {
			mine = make()
		}
		done.Add(1)
		go func(me int) {
			defer done.Done()
			for mutex := mine.NewMutex(name); !over.Load(); {
				if mutex.Lock() != nil {
					continue
				}
				if counts.Load() {
					acquisitions++
					if former != me {
						changes++
					}
				}
				former = me
				if _, err := mutex.Unlock(); err != nil {
					panic(err)
				}
			}
		}(i)
	}
	time.Sleep(time.Duration(ms) * time.Millisecond)
	counts.Store(true)
	time.Sleep(time.Duration(ms) * time.Millisecond)
	over.Store(true)
	done.Wait()
	fmt.Println("contended", changes, "of", acquisitions)
}

func main() {
	name := os.Args[2]
	create := func() *redsync.Redsync {
		return redsync.New(goredis.NewPool(redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + os.Args[1]})))
	}
	shared := create()
	open := func(expiry time.Duration) locker {
		mutex := shared.NewMutex(name, redsync.WithExpiry(expiry), redsync.WithTries(1000000),
			redsync.WithRetryDelay(5*time.Millisecond))
		return locker{
			lock: func() { must(mutex.Lock()) },
			unlock: func() {
				_, err := mutex.Unlock()
				must(err)
			},
		}
	}
	perform(open, func(count, ms int, own bool) { contend(create, name, count, ms, own) })
}
