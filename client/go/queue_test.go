//go:build unix

package holdfast

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"
)

// Those that wait for a name stand in a queue: one of them waits at the daemon, and what becomes of it reaches those behind it.
func TestQueue(t *testing.T) {
	s := start(t, calm+"rules: [ { match: ruled, wait: 500ms } ]\nlimits: { waiters-per-session: 3 }\n")
	ask := s.admin(t)
	s.both(t, func(t *testing.T, c *Client) {
		held := take(t, c, "a")
		ctx, cancel := context.WithCancel(background)
		var mu sync.Mutex
		var order []int
		ended := make([]chan error, 9)
		for i := range ended {
			ended[i] = make(chan error, 1)
			own, opts := background, []Option{Wait(hang)}
			switch i {
			case 0, 5:
				own = ctx
			case 3:
				opts = []Option{Wait(200 * time.Millisecond)}
			case 8:
				opts = append(opts, Shared())
			}
			go func(i int) {
				lock, err := c.Lock(own, "a", opts...)
				if err == nil {
					mu.Lock()
					order = append(order, i)
					mu.Unlock()
					err = lock.Unlock()
				}
				ended[i] <- err
			}(i)
			until(t, "it waits", func() bool { return c.behind("a") == i && ask("INSPECT", "a").get("waiter_count").n == 1 })
		}
		cancel()
		wants(t, <-ended[0], context.Canceled)
		wants(t, <-ended[5], context.Canceled)
		wants(t, <-ended[3], ErrTimeout)
		must(t, held.Unlock())
		for _, i := range []int{1, 2, 4, 6, 7, 8} {
			must(t, <-ended[i])
		}
		if fmt.Sprint(order) != "[1 2 4 6 7 8]" {
			t.Error("the order is ", order)
		}
		nothingLeft(t, ask)
	})
}

// Without a Wait each waits as long as the daemon's rule says, and not one after the other. A crowd that takes two names does not wait
// for itself.
func TestQueueOfRule(t *testing.T) {
	s := start(t, calm+"rules: [ { match: ruled, wait: 500ms } ]\nlimits: { waiters-per-session: 3 }\n")
	c := s.open(t, s.socket)
	ruled, begun := take(t, c, "ruled"), time.Now()
	crowd(20, func(int) {
		_, err := c.Lock(background, "ruled")
		wants(t, err, ErrTimeout)
	})
	if took := time.Since(begun); took < 500*time.Millisecond || took > 9500*time.Millisecond {
		t.Error(took)
	}
	must(t, ruled.Unlock())
	crowd(30, func(int) {
		lock, err := c.LockAll(background, []string{"x", "y"}, Wait(hang))
		if err == nil {
			err = lock.Unlock()
		}
		if err != nil {
			t.Error(err)
		}
	})
	if len(c.queues) != 0 {
		t.Error("a queue is left")
	}
}

// behind is how many stand behind the front.
func (c *Client) behind(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if q := c.queues[queueKey{name: name}]; q != nil {
		return len(q.behind)
	}
	return 0
}
