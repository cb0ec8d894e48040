//go:build unix

package holdfast

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

const narrow = calm + "limits: { waiters-per-session: 3 }\n"

// queued are waits that were begun one after the other: three at the daemon, the others in the line.
type queued struct {
	done  []chan error
	mu    sync.Mutex
	order []int
}

func (c *Client) lineLength() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.line.stands)
}

// queue begins n waits for names; with each lock, it notes who has it and gives it back.
func queue(t *testing.T, c *Client, ask func(...string) value, n int, names []string, opts ...Option) *queued {
	t.Helper()
	q := &queued{}
	for i := 0; i < n; i++ {
		done := make(chan error, 1)
		q.done = append(q.done, done)
		go func(i int) {
			// With an owner it does not stand in the queue of its name.
			lock, err := c.LockAll(background, names, append([]Option{Owner(fmt.Sprint("o", i))}, opts...)...)
			if err == nil {
				q.mu.Lock()
				q.order = append(q.order, i)
				q.mu.Unlock()
				err = lock.Unlock()
			}
			done <- err
		}(i)
		until(t, "it waits", func() bool {
			return ask("INSPECT", names[0]).get("waiter_count").n == int64(min(i+1, 3)) && c.lineLength() == max(i-2, 0)
		})
	}
	return q
}

// inOrder: all others than those of without got it, one after the other.
func (q *queued) inOrder(t *testing.T, without ...int) {
	t.Helper()
	want := []int{}
	for i, done := range q.done {
		left := false
		for _, w := range without {
			left = left || w == i
		}
		if !left {
			must(t, <-done)
			want = append(want, i)
		}
	}
	if fmt.Sprint(q.order) != fmt.Sprint(want) {
		t.Errorf("the order is %v instead of %v", q.order, want)
	}
}

// More waits than the daemon lets a session have are granted all the same, in their order. A request that does not wait
// is not held up by the line.
func TestLine(t *testing.T) {
	s := start(t, narrow)
	ask := s.admin(t)
	s.both(t, func(t *testing.T, c *Client) {
		held := take(t, c, "a")
		q := queue(t, c, ask, 12, []string{"a"}, Wait(hang))
		_, err := c.Lock(background, "b", Wait(0))
		if !isFull(err) {
			t.Errorf("a try stood in the line: %v", err)
		}
		must(t, held.Unlock())
		q.inOrder(t)
		nothingLeft(t, ask)
	})
}

// A wait in the line ends when its time is over, when its ctx is done, and with the Client.
func TestLineEnds(t *testing.T) {
	s := start(t, narrow)
	ask := s.admin(t)
	s.both(t, func(t *testing.T, c *Client) {
		held := take(t, c, "a")
		q := queue(t, c, ask, 5, []string{"a"})
		_, err := c.Lock(background, "a", Wait(50*time.Millisecond), Owner("late"))
		wants(t, err, ErrTimeout)
		if !strings.Contains(err.Error(), "this process holds it itself") {
			t.Errorf("the text is %q", err)
		}
		ctx, cancel := context.WithCancel(background)
		ended := make(chan error)
		go func() {
			_, err := c.Lock(ctx, "a", Owner("cancelled"))
			ended <- err
		}()
		until(t, "it stands in the line", func() bool { return c.lineLength() == 3 })
		cancel()
		wants(t, <-ended, context.Canceled)
		until(t, "it has left the line", func() bool { return c.lineLength() == 2 })
		must(t, held.Unlock())
		q.inOrder(t)

		take(t, c, "a")
		q = queue(t, c, ask, 5, []string{"a"})
		must(t, c.Close())
		for _, done := range q.done[3:] {
			wants(t, <-done, ErrClosed)
		}
		until(t, "all is over", func() bool { return len(ask("LOCKS").items[1].items) == 0 })
	})
}

// A wait at the daemon that is cancelled or runs out makes room for the first of the line.
func TestLineMovesUp(t *testing.T) {
	s := start(t, narrow)
	ask := s.admin(t)
	c := s.open(t, s.socket)
	held := take(t, c, "a")
	ctx, cancel := context.WithCancel(background)
	ended := make(chan error, 2)
	wait := func(ctx context.Context, opts ...Option) {
		_, err := c.Lock(ctx, "a", opts...)
		ended <- err
	}
	go wait(ctx, Owner("first"))
	go wait(ctx, Owner("second"))
	until(t, "they wait", func() bool { return ask("INSPECT", "a").get("waiter_count").n == 2 })
	other := take(t, c, "b")
	q := make(chan error, 2)
	for i := 0; i < 2; i++ {
		go func(i int) {
			lock, err := c.Lock(background, "b", Owner(fmt.Sprint("b", i)))
			if err == nil {
				err = lock.Unlock()
			}
			q <- err
		}(i)
	}
	until(t, "one waits, one stands in the line", func() bool {
		return ask("INSPECT", "b").get("waiter_count").n == 1 && c.lineLength() == 1
	})
	cancel()
	wants(t, <-ended, context.Canceled)
	wants(t, <-ended, context.Canceled)
	until(t, "both wait", func() bool { return ask("INSPECT", "b").get("waiter_count").n == 2 && c.lineLength() == 0 })
	must(t, other.Unlock())
	must(t, <-q)
	must(t, <-q)
	must(t, held.Unlock())
	nothingLeft(t, ask)
}

// A lost connection keeps the line and its order.
func TestLineCut(t *testing.T) {
	s := start(t, narrow)
	ask := s.admin(t)
	s.both(t, func(t *testing.T, c *Client) {
		held := take(t, c, "a")
		q := queue(t, c, ask, 8, []string{"a"}, Wait(hang))
		for i := 0; i < 3; i++ {
			link := c.link.Load()
			cut(t, ask, c)
			until(t, "it connects again", func() bool { l := c.link.Load(); return l != link && !l.ended() })
		}
		must(t, held.Unlock())
		q.inOrder(t)
		nothingLeft(t, ask)
	})
}

// Locks of several names do not keep one while they stand in the line for another, which those may wait for that wait.
func TestLineOfSeveral(t *testing.T) {
	s := start(t, narrow)
	ask := s.admin(t)
	s.both(t, func(t *testing.T, c *Client) {
		held := take(t, c, "a")
		q := queue(t, c, ask, 9, []string{"a", "b", "c"}, Wait(hang))
		must(t, held.Unlock())
		q.inOrder(t)
		crowd(60, func(i int) {
			lock, err := c.LockAll(background, []string{"b", "a", fmt.Sprint(i % 4)}, Wait(hang))
			if err == nil {
				err = lock.Unlock()
			}
			if err != nil {
				t.Error(err)
			}
		})
		nothingLeft(t, ask)
	})
}

// A refusal that no end of a wait of this Client can change is told.
func TestLineOfNobody(t *testing.T) {
	s := start(t, calm+"limits: { waiters-per-session: 1 }\n")
	ask := s.admin(t)
	c := s.open(t, s.socket)
	held := take(t, c, "a")
	c.mu.Lock()
	h, o := held.holds[0], &options{}
	if !c.line.mayAsk(h, o) || c.line.refused(h) {
		t.Error("it would stand in the line for ever")
	}
	c.line.ended++ // another wait, while the refusal was under way
	if !c.line.refused(h) || !h.asks {
		t.Error("it is not sent again")
	}
	c.line.end(h)
	c.mu.Unlock()
	must(t, held.Unlock())
	crowd(200, func(int) {
		lock, err := c.Lock(background, "crowd", Wait(hang))
		if err == nil {
			err = lock.Unlock()
		}
		if err != nil {
			t.Error(err)
		}
	})
	nothingLeft(t, ask)
}
