//go:build unix

package holdfast

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"os"
	"strconv"
	"sync/atomic"
	"time"
)

// locker locks at random, and writes down what it asked and was told, in the words of tests/history/HISTORY.md.
// Each line is one write, so that a process that is killed leaves all it knew.
type locker struct {
	c    *Client
	file *os.File
}

// soak is this program again, as tests/interop/soak starts it: PATH LOCKERS unix|tcp. Each locker writes to PATH.NUMBER.
// It ends when its standard input does.
func soak(path, lockers, way string) {
	var stop atomic.Bool
	c, err := Open("")
	n, bad := strconv.Atoi(lockers)
	if err = errors.Join(err, bad); err != nil {
		panic(err)
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop.Store(true)
	}()
	crowd(n, func(i int) {
		file, err := os.OpenFile(fmt.Sprintf("%s.%d", path, i), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			panic(err)
		}
		defer file.Close()
		l := locker{c, file}
		l.tell("open " + way)
		l.tell("grace %d", grace.Milliseconds())
		l.tell("graced")
		if way == "unix" {
			l.tell("bind")
			l.tell("bound 0")
		}
		for !stop.Load() {
			l.turn()
		}
	})
	if err = c.Close(); err != nil {
		panic(err)
	}
}

func (l *locker) tell(format string, words ...any) {
	if _, err := fmt.Fprintf(l.file, "%d %s\n", boottime().Nanoseconds(), fmt.Sprintf(format, words...)); err != nil {
		panic(err)
	}
}

// choose is a name and a kind at random.
func (l *locker) choose() (name string, opts []Option) {
	form, name := "x", "name"
	switch k := rand.Intn(6); k {
	case 0:
		form, opts = "s", []Option{Shared()}
	case 1, 2:
		form, name, opts = fmt.Sprintf("p%d/3", k), "permits", []Option{Limit(3), Permits(k)}
	}
	name += strconv.Itoa(rand.Intn(16))
	wait := 5000
	if rand.Intn(10) == 0 {
		wait = 0
	} else if rand.Intn(10) == 0 {
		wait = 5
	}
	l.tell("ask %s %d %s", name, wait, form)
	return name, append(opts, Wait(time.Duration(wait)*time.Millisecond))
}

// turn is one lock. One of 20 has a context that may end while it waits or works.
func (l *locker) turn() {
	name, opts := l.choose()
	ctx, cancel := context.Background(), context.CancelFunc(func() {})
	if rand.Intn(20) == 0 {
		ctx, cancel = context.WithTimeout(ctx, 50*time.Millisecond)
	}
	defer cancel()
	lock, err := l.c.Lock(ctx, name, opts...)
	if err != nil {
		l.ends("LOCK", name, err)
		return
	}
	l.tell("grant %s %d %d", name, lock.Token(), lock.ValidFor().Milliseconds())
	told := context.AfterFunc(lock.Context(), func() {
		var lost *Lost
		if errors.As(context.Cause(lock.Context()), &lost) {
			l.tell("told %s %d %s", name, lock.Token(), lost.Reason)
		}
	})
	defer told()
	if k := rand.Intn(100); k == 0 {
		time.Sleep(50 * time.Millisecond)
	} else if k < 25 {
		time.Sleep(time.Millisecond)
	}
	if lock.Context().Err() == nil {
		l.tell("check %s", name)
		l.tell("valid %s %d", name, lock.ValidFor().Milliseconds())
	}
	l.tell("unlock %s", name)
	if err = lock.Unlock(); err != nil {
		l.ends("UNLOCK", name, err)
	} else {
		l.tell("unlocked %s 0", name)
	}
}

// ends writes down what the request has ended with, other than what was asked for.
func (l *locker) ends(verb, name string, err error) {
	var lost *Lost
	var refused *Refused
	switch {
	case errors.Is(err, ErrBusy), errors.Is(err, ErrTimeout), errors.Is(err, context.DeadlineExceeded):
		l.tell("null %s", name)
	case errors.As(err, &lost):
		l.tell("error %s LOST %s", verb, lost.Reason)
	case errors.As(err, &refused):
		l.tell("error %s %s", verb, refused.Code)
	case errors.Is(err, ErrUnreachable):
		l.tell("end peer")
	default:
		panic(err)
	}
}
