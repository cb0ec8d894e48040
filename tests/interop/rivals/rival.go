// What the rivals of Go (tests/interop/rivals/run) have in common.
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

	"golang.org/x/sys/unix"
)

// A lock of the library, whose holder has it for as long as the maker was told.
type locker struct{ lock, unlock func() }

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

func number(word string) int {
	n, err := strconv.Atoi(word)
	must(err)
	return n
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
	must(os.WriteFile(counter, []byte(strconv.Itoa(number(string(text))+1)), 0o600))
	os.Remove(counter + ".inside")
	return overlaps
}

func count(l locker, rounds int, counter string) {
	overlaps := 0
	for range rounds {
		l.lock()
		overlaps += inside(counter)
		l.unlock()
	}
	fmt.Println("counted", rounds, "overlaps", overlaps)
}

// What the holders of one lock have seen.
type tally struct{ previous, changes, acquisitions int }

func (t *tally) enter(me int, counts bool) {
	if counts {
		t.acquisitions++
		if t.previous != me {
			t.changes++
		}
	}
	t.previous = me
}

// contend lets so many goroutines want nothing but a lock for so many ms, behind as many that warm them up. open gives
// each its own: form says with which client, and whether it is the lock of all.
func contend(count, ms int, form string, open func(name string, me int, own bool) locker) {
	lockers, tallies := make([]locker, count), make([]tally, count)
	seen := make([]*tally, count)
	for me := range lockers {
		name, of := os.Args[2], 0
		if form == "each" {
			name, of = fmt.Sprint(name, "-", me), me
		}
		lockers[me], seen[me] = open(name, me, form != "shared"), &tallies[of]
	}
	var counts, over atomic.Bool
	var done sync.WaitGroup
	for me, l := range lockers {
		done.Go(func() {
			for !over.Load() {
				l.lock()
				seen[me].enter(me+1, counts.Load())
				l.unlock()
			}
		})
	}
	time.Sleep(time.Duration(ms) * time.Millisecond)
	counts.Store(true)
	time.Sleep(time.Duration(ms) * time.Millisecond)
	over.Store(true)
	done.Wait()
	var sum tally
	for _, t := range tallies {
		sum.changes += t.changes
		sum.acquisitions += t.acquisitions
	}
	fmt.Println("contended", sum.changes, "of", sum.acquisitions)
}

// spin takes one lock after the other, for so many ms, each of a new name or all of one.
func spin(ms int, names string, open func(name string, me int, own bool) locker) {
	begun, done := time.Now(), 0
	for time.Since(begun) < time.Duration(ms)*time.Millisecond {
		name := "spin"
		if names == "new" {
			name = fmt.Sprintf("spin-%d-%d", begun.UnixNano(), done)
		}
		l := open(name, 0, false)
		l.lock()
		l.unlock()
		done++
	}
	fmt.Println("spun", done)
}

// perform obeys the lines; the lines `contend` and `spin` with the locks that contender gives, if it is there.
func perform(open func(expiry time.Duration) locker, contender func(name string, me int, own bool) locker) {
	held, counted := open(3*time.Second), open(10*time.Second)
	fmt.Println("ready")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		words := strings.Fields(lines.Text())
		switch words[0] {
		case "lock":
			fmt.Println("locking")
			held.lock()
			fmt.Println("locked", now())
		case "unlock":
			before := now()
			held.unlock()
			fmt.Println("unlocked", before)
		case "contend":
			contend(number(words[1]), number(words[2]), words[3], contender)
		case "spin":
			spin(number(words[1]), words[2], contender)
		default:
			count(counted, number(words[1]), os.Args[3])
		}
	}
}
