package holdfast

import (
	"context"
	"errors"
	"time"
)

// nameQueue has the holds of this Client that wait for one name, as a lock or as a semaphore of n permits. The front alone waits at the
// daemon, since a session may wait for a limited number of names, and a crowd of goroutines may want one. The next is sent when the
// front has the lock, or waits no more. All is under mu of the Client.
type nameQueue struct {
	fronts int
	behind []*place // in the order in which they came
}

type queueKey struct {
	name  string
	limit int // 0: a lock
}

// place is a hold behind the front.
type place struct {
	of     *hold
	since  time.Time
	until  time.Time     // the end of its wait; zero: none
	turn   chan struct{} // closed when it is a front
	alone  bool          // it is one because the front has failed, and it has to hear that, too
	nearer chan struct{} // until has been set
}

func (h *hold) queueKey(o *options) queueKey {
	key := queueKey{name: h.name}
	if o.limit != nil {
		key.limit = *o.limit
	}
	return key
}

// enter waits until h is the front of its name. If the end of its wait comes before, h is one, too, and tries once: the daemon knows
// why it was not its turn. A hold with an owner of the caller's own is a front at once: the daemon sees whether it would wait for
// itself. alone is that of place. If there is an error, h is not in the queue.
func (h *hold) enter(ctx context.Context, o *options, until time.Time) (at *place, err error) {
	c, key := h.c, h.queueKey(o)
	at = &place{of: h, since: time.Now(), turn: make(chan struct{}), nearer: make(chan struct{}, 1)}
	if o.bounded {
		at.until = until
	}
	c.mu.Lock()
	q := c.queues[key]
	if q == nil {
		q = &nameQueue{}
		c.queues[key] = q
	}
	if q.fronts == 0 || o.tries() || o.owner != "" {
		q.fronts++
		c.mu.Unlock()
		return at, nil
	}
	q.behind = append(q.behind, at)
	c.mu.Unlock()
	for err == nil {
		c.mu.Lock()
		left := longest
		if !at.until.IsZero() {
			left = time.Until(at.until)
		}
		c.mu.Unlock()
		over := time.NewTimer(left)
		select {
		case <-at.turn:
		case <-over.C:
			c.stepOut(q, at)
		case <-at.nearer:
		case <-ctx.Done():
			err = h.ended(ctx, o)
		case <-c.life.Done():
			err = ErrClosed
		}
		over.Stop()
		if err == nil && at.isFront() {
			return at, nil
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !q.remove(at) { // its turn came at the same moment
		c.next(key, q, false)
	}
	return nil, err
}

func (at *place) isFront() bool {
	select {
	case <-at.turn:
		return true
	default:
		return false
	}
}

func (q *nameQueue) remove(at *place) bool {
	for i, other := range q.behind {
		if other == at {
			q.behind = append(q.behind[:i], q.behind[i+1:]...)
			return true
		}
	}
	return false
}

func (c *Client) stepOut(q *nameQueue, at *place) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if q.remove(at) {
		q.fronts++
		close(at.turn)
	}
}

// next: a front is none any more; mu is locked. all: those behind have to ask by themselves.
func (c *Client) next(key queueKey, q *nameQueue, all bool) {
	q.fronts--
	for len(q.behind) > 0 && (all || q.fronts == 0) {
		at := q.behind[0]
		q.behind = q.behind[1:]
		q.fronts++
		at.alone = all
		close(at.turn)
	}
	if q.fronts == 0 {
		delete(c.queues, key)
	}
}

// waitInQueue waits as the front of those of this Client that want the name. The results are those of wait.
func (h *hold) waitInQueue(ctx context.Context, o *options, until time.Time) (token int64, clean bool, err error) {
	at, err := h.enter(ctx, o, until)
	if err != nil {
		return 0, true, err
	}
	h.c.mu.Lock()
	if !o.bounded && !at.until.IsZero() {
		bounded := *o
		bounded.bounded, bounded.wait = true, at.until.Sub(at.since)
		o, until = &bounded, at.until
	}
	h.c.mu.Unlock()
	asked := time.Now()
	token, clean, err = h.wait(ctx, o, until, at)
	var refused *Refused
	c, key := h.c, h.queueKey(o)
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.queues[key]
	if errors.Is(err, ErrTimeout) && !o.bounded {
		q.bound(time.Since(asked))
	}
	c.next(key, q, errors.As(err, &refused) || errors.Is(err, ErrUnreachable))
	return token, clean, err
}

// bound: the daemon's rule for the name bounds a wait without a bound of its own, also those behind.
func (q *nameQueue) bound(wait time.Duration) {
	for _, at := range q.behind {
		if at.until.IsZero() {
			at.until = at.since.Add(max(wait, time.Nanosecond))
			at.nearer <- struct{}{}
		}
	}
}
