// A rival (tests/interop/rivals/run) by redsync.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
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

func main() {
	name, counter := os.Args[2], os.Args[3]
	sync := redsync.New(goredis.NewPool(redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + os.Args[1]})))
	lock := func(expiry time.Duration) *redsync.Mutex {
		return sync.NewMutex(name, redsync.WithExpiry(expiry), redsync.WithTries(1000000),
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
