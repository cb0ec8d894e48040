//go:build unix

package holdfast

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

var background = context.Background()

func TestLock(t *testing.T) {
	s := start(t, calm)
	ask := s.admin(t)
	s.both(t, func(t *testing.T, c *Client) {
		lock := take(t, c, "a", Why("a test"))
		if left := lock.ValidFor(); left <= 0 || left > 60*time.Second {
			t.Fatal("valid for ", left)
		}
		if why := ask("INSPECT", "a").get("holder").get("why").text; why != "a test" {
			t.Fatal("why: ", why)
		}
		_, err := c.Lock(background, "a", Wait(0))
		wants(t, err, ErrBusy)
		_, err = c.Lock(background, "a", Wait(5*time.Millisecond))
		wants(t, err, ErrTimeout)
		if !regexp.MustCompile(`: a; this process holds it itself, for \d+\.\ds: is an Unlock missing\?$`).MatchString(err.Error()) {
			t.Error("not said who has it: ", err)
		}
		must(t, lock.Unlock())
		must(t, lock.Unlock())
		if lock.ValidFor() != 0 || lock.Context().Err() == nil || errors.Is(context.Cause(lock.Context()), ErrLost) {
			t.Fatal("given back, and still valid, or lost")
		}
		next := take(t, c, "a")
		if next.Token() <= lock.Token() {
			t.Fatal("the token does not grow")
		}
		must(t, next.Unlock())
		nothingLeft(t, ask)
	})
}

func TestKinds(t *testing.T) {
	s := start(t, calm)
	ask := s.admin(t)
	s.both(t, func(t *testing.T, c *Client) {
		readers := []*Lock{take(t, c, "a", Shared()), take(t, c, "a", Shared())}
		_, err := c.Lock(background, "a", Wait(0))
		wants(t, err, ErrBusy)
		for _, reader := range readers {
			must(t, reader.Unlock())
		}
		two, one := take(t, c, "s", Limit(3), Permits(2)), take(t, c, "s", Limit(3))
		_, err = c.Lock(background, "s", Limit(3), Wait(0))
		wants(t, err, ErrBusy)
		var refused *Refused
		if _, err = c.Lock(background, "s"); !errors.As(err, &refused) || refused.Code != "WRONGKIND" {
			t.Fatal("not WRONGKIND: ", err)
		}
		_, err = c.Lock(background, "a b")
		wants(t, err, ErrArgument)
		must(t, two.Unlock())
		must(t, one.Unlock())
		nothingLeft(t, ask)
	})
}

func TestLease(t *testing.T) {
	s := start(t, calm)
	s.both(t, func(t *testing.T, c *Client) {
		lock := take(t, c, "a", Lease(hang))
		must(t, lock.Extend(300*time.Millisecond))
		if left := lock.ValidFor(); left <= 0 || left > 300*time.Millisecond {
			t.Fatal("valid for ", left)
		}
		lost(t, lock, "")
		if text := context.Cause(lock.Context()).Error(); strings.Contains(text, ": lease ") {
			t.Error("the word stands before the text: ", text)
		}
		wants(t, lock.Extend(time.Second), ErrLost)
		wants(t, lock.Unlock(), ErrLost)
		if short, err := c.Lock(background, "a", MaxHold(time.Millisecond)); err == nil {
			lost(t, short, "maxhold: its MAXHOLD is over")
			wants(t, short.Unlock(), ErrLost)
		} else { // it was over before this process knew of it
			wants(t, err, ErrLost)
		}
		var refused *Refused
		lock = take(t, c, "a")
		if err := lock.Extend(time.Second); !errors.As(err, &refused) || refused.Code != "ERR" {
			t.Fatal("a lock without Lease is extended: ", err)
		}
		must(t, lock.Unlock())
	})
}

func TestOwner(t *testing.T) {
	s := start(t, calm)
	ask := s.admin(t)
	c := s.open(t, s.socket)
	first, second := take(t, c, "a", Owner("me")), take(t, c, "a", Owner("me"), Wait(0))
	if first.Token() != second.Token() {
		t.Fatal("taken again with another token")
	}
	if owner := ask("INSPECT", "a").get("holder").get("owner").text; !strings.HasPrefix(owner, "me#") {
		t.Fatal("owner ", owner)
	}
	for _, opts := range [][]Option{{Owner("you"), Wait(0)}, {Wait(0)}} {
		_, err := c.Lock(background, "a", opts...)
		wants(t, err, ErrBusy)
	}
	must(t, first.Unlock())
	must(t, first.Unlock())
	if first.ValidFor() != 0 || second.ValidFor() == 0 {
		t.Fatal("the first Unlock ends the second hold")
	}
	_, err := c.Lock(background, "a", Wait(0))
	wants(t, err, ErrBusy)
	ask("BREAK", "a", "TOKEN", strconv.FormatInt(second.Token(), 10))
	lost(t, second, "broken")
	wants(t, second.Unlock(), ErrLost)
}

func TestLockAll(t *testing.T) {
	s := start(t, brisk)
	ask := s.admin(t)
	s.both(t, func(t *testing.T, c *Client) {
		lock, err := c.LockAll(background, []string{"b", "a", "c"})
		must(t, err)
		for i, name := range []string{"b", "a", "c"} {
			if token := ask("INSPECT", name).get("holder").get("token").n; token != lock.Tokens()[i] {
				t.Fatalf("%s: token %d, not %d", name, token, lock.Tokens()[i])
			}
		}
		_, err = c.LockAll(background, []string{"0", "b"}, Wait(0))
		wants(t, err, ErrBusy)
		take(t, c, "0").Unlock()
		if _, err = c.LockAll(background, []string{"x", "x"}); err == nil {
			t.Fatal("a name twice")
		}
		ask("BREAK", "a", "TOKEN", strconv.FormatInt(lock.Tokens()[1], 10))
		lost(t, lock, "broken")
		wants(t, lock.Unlock(), ErrLost)
		until(t, "the broken lock is free", func() bool { return ask("INSPECT", "a").get("state").text == "free" })
		crowd(20, func(i int) {
			names := []string{"a", "b", "c", "d"}
			rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
			if lock, err := c.LockAll(background, names[:2], Wait(hang)); err != nil || lock.Unlock() != nil {
				t.Error("in a circle: ", err)
			}
		})
		nothingLeft(t, ask)
	})
}

func TestBroken(t *testing.T) {
	s := start(t, brisk)
	ask := s.admin(t)
	s.both(t, func(t *testing.T, c *Client) {
		took := make([]time.Duration, 200)
		for i := range took {
			lock := take(t, c, fmt.Sprint("a", i))
			begun := time.Now()
			if v := ask("BREAK", fmt.Sprint("a", i), "TOKEN", strconv.FormatInt(lock.Token(), 10)); v.kind != ':' {
				t.Fatal(v.text)
			}
			lost(t, lock, "broken")
			took[i] = time.Since(begun)
			wants(t, lock.Unlock(), ErrLost)
		}
		tell(t, "BREAK to the end of the context", took, 1500*time.Millisecond)
	})
}

func TestMasterGone(t *testing.T) {
	s := start(t, brisk)
	c := s.open(t, s.socket)
	lock := take(t, c, "a")
	kill(t, s.redis)
	lost(t, lock, "")
	wants(t, lock.Unlock(), ErrLost)
	var refused *Refused
	if _, err := c.Lock(background, "b", Wait(0)); !errors.As(err, &refused) || refused.Code != "NOMASTER" {
		t.Fatal("not NOMASTER: ", err)
	}
}

// The daemon is gone, or does not answer, and does not come back: the lock is lost when the announced deadline is over, and
// not earlier.
func TestDaemonGone(t *testing.T) {
	for what, signal := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "stopped": syscall.SIGSTOP} {
		for _, network := range []string{"unix", "tcp"} {
			t.Run(what+" "+network, func(t *testing.T) {
				s := start(t, brisk)
				c := s.open(t, map[string]string{"unix": s.socket, "tcp": s.tcp}[network])
				lock := take(t, c, "a")
				waits := make(chan error)
				go func() {
					_, err := c.Lock(background, "a", Wait(time.Second))
					waits <- err
				}()
				must(t, s.daemon.Process.Signal(signal))
				begun, left := time.Now(), lock.ValidFor()
				lost(t, lock, "could not be asked")
				t.Logf("told %v before the deadline", left-time.Since(begun))
				if before := left - time.Since(begun); before > 100*time.Millisecond || before < -20*time.Second {
					t.Errorf("told %v before the deadline", before)
				}
				wants(t, lock.Unlock(), ErrLost)
				wants(t, <-waits, ErrUnreachable)
			})
		}
	}
}

// A duration that the daemon does not take is refused before anything is sent, by the same words in all languages.
func TestDurations(t *testing.T) {
	s := start(t, calm)
	c := s.open(t, s.socket)
	forever := time.Duration(1<<63 - 1)
	for what, opt := range map[string]Option{
		"lease: a time from 1 ms":   Lease(forever),
		"maxHold: a time from 1 ms": MaxHold(forever),
	} {
		lock, err := c.Lock(background, "a", opt)
		if want := what + " to 365 days is needed, not 2562047h47m16.854775807s"; err == nil || err.Error() != want {
			t.Errorf("%v, %v, not %s", lock, err, want)
		}
	}
	for _, opt := range []Option{Lease(0), Lease(-1), Lease(-forever - 1), MaxHold(longest + 1)} {
		if lock, err := c.Lock(background, "a", opt); err == nil || !strings.Contains(err.Error(), "to 365 days is needed, not ") {
			t.Error("it is taken: ", lock, err)
		}
	}
	if c.link.Load() != nil {
		t.Error("it has connected")
	}
	lock := take(t, c, "a", Wait(longest), Lease(longest), MaxHold(longest))
	for _, d := range []time.Duration{forever, longest + 1, 0, -1} {
		if err := lock.Extend(d); err == nil || !strings.HasPrefix(err.Error(), "extend: a time from 1 ms to 365 days is needed") {
			t.Error(err)
		}
	}
	must(t, lock.Extend(longest))
	must(t, lock.Unlock())
	must(t, take(t, c, "a", Wait(forever)).Unlock())
	_, err := c.Lock(background, "a", Wait(-1)) // what is left of a deadline that is over is no wait: max(left, 0) tries once
	wants(t, err, ErrArgument)
}

func TestLongestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0", 1: "1", time.Millisecond: "1", time.Millisecond + 1: "2", 1<<63 - 1: "9223372036855"} {
		if got := milliseconds(d); got != want {
			t.Errorf("milliseconds(%d) is %s, not %s", d, got, want)
		}
	}
}
