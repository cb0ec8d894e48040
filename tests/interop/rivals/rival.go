// What the rivals of Go (tests/interop/rivals/run) have in common.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
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

// perform obeys the lines; contend, if there is one, the line `contend`.
func perform(open func(expiry time.Duration) locker, contend func(count, ms int, own bool)) {
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
			contend(number(words[1]), number(words[2]), words[3] == "own")
		default:
			count(counted, number(words[1]), os.Args[3])
		}
	}
}
