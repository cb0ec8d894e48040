// A rival (tests/interop/rivals/run) by redsync.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sys/unix"
)

func now() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err)
	}
	return t.Nano()
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func inside(counter string) int {
	overlaps := 0
	file, err := os.OpenFile(counter+".inside", os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		overlaps = 1
	} else {
		file.Close()
	}
	text, err := os.ReadFile(counter)
	must(err)
	number, err := strconv.Atoi(string(text))
	must(err)
	must(os.WriteFile(counter, []byte(strconv.Itoa(number+1)), 0o600))
	os.Remove(counter + ".inside")
	return overlaps
}

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
	name, counter := os.Args[2], os.Args[3]
	create := func() *redsync.Redsync {
		return redsync.New(goredis.NewPool(redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + os.Args[1]})))
	}
	shared := create()
	lock := func(expiry time.Duration) *redsync.Mutex {
		return shared.NewMutex(name, redsync.WithExpiry(expiry), redsync.WithTries(1000000),
			redsync.WithRetryDelay(5*time.Millisecond))
	}
	held := lock(3 * time.Second)
	fmt.Println("ready")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		words := strings.Fields(lines.Text())
		switch words[0] {
		case "lock":
			fmt.Println("locking")
			must(held.Lock())
			fmt.Println("locked", now())
		case "unlock":
			before := now()
			_, err := held.Unlock()
			must(err)
			fmt.Println("unlocked", before)
		case "contend":
			count, err := strconv.Atoi(words[1])
			must(err)
			ms, err := strconv.Atoi(words[2])
			must(err)
			contend(create, name, count, ms, words[3] == "own")
		default:
			rounds, err := strconv.Atoi(words[1])
			must(err)
			overlaps := 0
			mutex := lock(10 * time.Second)
			for i := 0; i < rounds; i++ {
				must(mutex.Lock())
				overlaps += inside(counter)
				_, err := mutex.Unlock()
				must(err)
			}
			fmt.Println("counted", rounds, "overlaps", overlaps)
		}
	}
}
