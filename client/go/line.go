package holdfast

import (
	"context"
	"errors"
	"sort"
	"strings"
	"time"
)

// line has the requests for which the daemon has no room: a session waits as often as waiters-per-session allows. All
// is under mu of the Client.
//
// Only the first of the line is sent at a time, and it stays in the line until the daemon has taken it: so the order is
// kept. room is at least the number of waits that have ended since the daemon last refused one, less those sent since.
// So the first is never left standing while the daemon has room because a wait of this session ended.
type line struct {
	stands []*hold // by ticket
	asking int     // holds whose LOCK the daemon has, or may have
	ended  uint64  // waits that have ended
	room   uint64
}

func isFull(err error) bool {
	var refused *Refused
	return errors.As(err, &refused) && refused.Code == "LIMIT" && strings.HasPrefix(refused.Text, "waiters-per-session")
}

// join makes h the next of l, which has the room of the one before.
func (n *line) join(l *Lock, h *hold) {
	if l.ticket == 0 {
		l.ticket = h.c.serial
	}
	h.ticket, h.yields = l.ticket, l.yields
	if l.last != nil && l.last.asks {
		h.follows, h.yields = true, false
		l.last.asks, h.asks, h.seen = false, true, n.ended
	}
	l.last = h
}

// mayAsk says whether h may send its LOCK now; else it stands in the line. c.mu is locked.
func (n *line) mayAsk(h *hold, o *options) bool {
	if h.asks {
		return true
	}
	if o.tries() || len(n.stands) == 0 && (!h.yields || n.asking == 0) {
		n.send(h)
		return true
	}
	n.stand(h)
	return h.asks
}

func (n *line) send(h *hold) {
	h.asks, h.yields, h.seen = true, false, n.ended
	n.asking++
}

func (n *line) stand(h *hold) {
	i := sort.Search(len(n.stands), func(i int) bool { return n.stands[i].ticket >= h.ticket })
	if i == len(n.stands) || n.stands[i] != h {
		n.stands = append(n.stands, nil)
		copy(n.stands[i+1:], n.stands[i:])
		n.stands[i] = h
	}
	n.next()
}

// next sends the first of the line if there may be room for it.
func (n *line) next() {
	if len(n.stands) == 0 || n.room == 0 {
		return
	}
	for _, h := range n.stands {
		if h.asks {
			return // its answer decides
		}
	}
	h := n.stands[0]
	n.room--
	n.send(h)
	select {
	case h.turn <- struct{}{}:
	default:
	}
}

func (n *line) leave(h *hold) {
	for i, other := range n.stands {
		if other == h {
			n.stands = append(n.stands[:i], n.stands[i+1:]...)
			break
		}
	}
	n.next()
}

// refused: the daemon had no room for h. False: no other wait of this Client is under way, and none has ended since.
func (n *line) refused(h *hold) bool {
	if n.asking < 2 && n.ended == h.seen {
		return false
	}
	h.asks = false
	n.asking--
	n.room = n.ended - h.seen
	if !h.follows {
		n.stand(h)
	}
	return true
}

// end: h waits no more, at the daemon or in the line.
func (n *line) end(h *hold) {
	if h.asks {
		h.asks = false
		n.asking--
		n.ended++
		n.room++
	}
	n.leave(h)
}

// endWait: l has all its names.
func (c *Client) endWait(l *Lock) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.last != nil {
		c.line.end(l.last)
	}
}

// stand waits in the line until h may ask, or until l is down.
func (h *hold) stand(ctx context.Context, l *link, o *options, until time.Time) error {
	var over <-chan time.Time
	if o.bounded {
		timer := time.NewTimer(time.Until(until))
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-h.turn:
		return nil
	case <-l.down:
		return nil
	case <-h.c.life.Done():
		return ErrClosed
	case <-ctx.Done():
		return h.ended(ctx, o)
	case <-over:
		return h.timedOut(o, nil)
	}
}

func (h *hold) mayAsk(o *options) bool {
	h.c.mu.Lock()
	defer h.c.mu.Unlock()
	return h.c.line.mayAsk(h, o)
}

// taken: the daemon has room for h.
func (h *hold) taken() {
	h.c.mu.Lock()
	defer h.c.mu.Unlock()
	h.c.line.leave(h)
}

func (h *hold) refused() bool {
	h.c.mu.Lock()
	defer h.c.mu.Unlock()
	return h.c.line.refused(h)
}

// errYield: a Lock has some of its names, and the daemon has no room for its wait for the next. Those that wait may wait
// for what it has: so it must not stand in the line with that, but gives it back and begins again, in the line.
var errYield = errors.New("no room for a wait")

func (l *Lock) yield() error {
	l.last, l.yields = nil, true
	var err error
	for i, h := range l.holds {
		if h != nil {
			l.holds[i] = nil
			err = errors.Join(err, h.drop(l))
		}
	}
	return err
}
