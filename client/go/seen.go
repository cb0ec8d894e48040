package holdfast

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
)

const (
	lookFirst = time.Second            // a wait that is shorter is no news
	lookEvery = 5 * time.Second        // between two looks of a wait that lasts
	lookTime  = 500 * time.Millisecond // for the daemon's answer
	lookCount = "100"                  // waiters of an answer
)

// Holder is who has a lock, as the daemon says: of several the oldest. What is not known is empty, and of UID -1.
type Holder struct {
	Host    string    // whose daemon has the lock, if it is not the one that this Client uses; it may be all that is known
	Client  string    // the name of its connection, as deploy:4711
	Address string    // over TCP
	PID     int       // on the host of the daemon
	UID     int       // its user there
	Owner   string    // its tag
	Why     string    // its remark
	Token   int64     // its fencing token
	Since   time.Time // when it was granted the lock; zero: not known
}

// String is for people: "deploy:4711 (pid 4711, uid 1000), for 3.2s".
func (h *Holder) String() string {
	if h.Since.IsZero() {
		return "a client of " + h.Host
	}
	var about []string
	if h.PID > 0 {
		about = append(about, fmt.Sprint("pid ", h.PID))
	}
	if h.Address != "" {
		about = append(about, h.Address)
	}
	if h.UID >= 0 {
		about = append(about, fmt.Sprint("uid ", h.UID))
	}
	text := h.Client
	if text == "" {
		text = "a client"
	}
	if len(about) > 0 {
		text += " (" + strings.Join(about, ", ") + ")"
	}
	if h.Host != "" {
		text += " on " + h.Host
	}
	return fmt.Sprintf("%s, for %.1fs", text, time.Since(h.Since).Seconds())
}

// Waiting is what is known of a wait that lasts.
type Waiting struct {
	Name     string
	Holder   *Holder       // nil: nobody holds the lock, or this user may not see who does
	Position int           // in the queue of the daemon, and of this Client behind it; 0: not known
	Waited   time.Duration // since Lock was called
}

// OnWait has told called while Lock waits: after a second, and then every five seconds. It runs in a goroutine of its own, and Lock
// does not wait for it: a call that has begun may return after Lock. To know the holder the package asks the daemon, each time.
func OnWait(told func(Waiting)) Option {
	return func(o *options) { o.told = told }
}

// TimedOut is the error of a wait that was over before the lock was granted. errors.Is(err, ErrTimeout) and errors.Is(err, ErrBusy)
// are true for it; if the deadline of the ctx ended the wait, errors.Is(err, context.DeadlineExceeded) is, too.
type TimedOut struct {
	Name   string
	Holder *Holder // who has the lock now; nil: nobody, or this user may not see it
	Waited time.Duration

	ours  string
	cause error // of the ctx; nil: the end of Wait
}

func (e *TimedOut) Error() string {
	text := fmt.Sprintf("%v: %s", ErrTimeout, e.Name)
	switch {
	case e.ours != "":
		text += e.ours
	case e.Holder != nil:
		text += "; the holder is " + e.Holder.String()
	}
	return text
}

func (e *TimedOut) Is(target error) bool { return target == ErrTimeout || target == ErrBusy }
func (e *TimedOut) Timeout() bool        { return true }
func (e *TimedOut) Unwrap() error        { return e.cause }

// Hooks are called for all locks of a Client, of several names for each; each of them may be nil. Hold and Release run in the goroutine
// that calls Lock and Unlock, Wait and Loss in one of their own.
type Hooks struct {
	Wait    func(Waiting)                                        // a wait lasts: as OnWait
	Hold    func(name string, token int64, waited time.Duration) // a lock was granted
	Release func(name string, token int64, held time.Duration)   // it was given back
	Loss    func(lost *Lost, token int64, held time.Duration)    // it was lost
}

// seen is who watches a Client.
type seen struct {
	sync.Mutex
	hooks []*Hooks
	log   *slog.Logger
}

// Observe has the hooks called from now on. The function that it returns ends that.
func (c *Client) Observe(hooks Hooks) (stop func()) {
	c.seen.Lock()
	defer c.seen.Unlock()
	c.seen.hooks = append(c.seen.hooks[:len(c.seen.hooks):len(c.seen.hooks)], &hooks)
	return func() {
		c.seen.Lock()
		defer c.seen.Unlock()
		var others []*Hooks
		for _, other := range c.seen.hooks {
			if other != &hooks {
				others = append(others, other)
			}
		}
		c.seen.hooks = others
	}
}

// Log has the Client tell log from now on: that it connected (Info), that the connection was lost (Warn), that it is back (Info),
// that a lock was lost (Warn), and that a wait lasts (Info, with its holder). nil: nothing, as at first.
func (c *Client) Log(log *slog.Logger) {
	c.seen.Lock()
	defer c.seen.Unlock()
	c.seen.log = log
}

func (c *Client) tell(level slog.Level, text string, about ...any) {
	c.seen.Lock()
	log := c.seen.log
	c.seen.Unlock()
	if log != nil {
		log.Log(context.Background(), level, text, about...)
	}
}

func (c *Client) watched() ([]*Hooks, bool) {
	c.seen.Lock()
	defer c.seen.Unlock()
	return c.seen.hooks, c.seen.log != nil
}

func (c *Client) seeWait(w Waiting) {
	hooks, logs := c.watched()
	for _, h := range hooks {
		if h.Wait != nil {
			h.Wait(w)
		}
	}
	if logs {
		about := []any{"name", w.Name, "waited", w.Waited, "position", w.Position}
		if w.Holder != nil {
			about = append(about, "holder", w.Holder.String())
		}
		c.tell(slog.LevelInfo, "a wait for a lock lasts", about...)
	}
}

func (c *Client) seeHold(name string, token int64, waited time.Duration) {
	hooks, _ := c.watched()
	for _, h := range hooks {
		if h.Hold != nil {
			h.Hold(name, token, waited)
		}
	}
}

func (c *Client) seeRelease(name string, token int64, held time.Duration) {
	hooks, _ := c.watched()
	for _, h := range hooks {
		if h.Release != nil {
			h.Release(name, token, held)
		}
	}
}

func (c *Client) seeLoss(lost *Lost, token int64, held time.Duration) {
	hooks, _ := c.watched()
	for _, h := range hooks {
		if h.Loss != nil {
			h.Loss(lost, token, held)
		}
	}
	c.tell(slog.LevelWarn, "a lock was lost", "name", lost.Name, "reason", lost.Reason, "text", lost.Text, "token", token, "held", held)
}

// watchWait tells of the wait of h, while it lasts. begun is when Lock was called.
func (h *hold) watchWait(ctx context.Context, o *options) (stop func()) {
	hooks, logs := h.c.watched()
	if o.told == nil && len(hooks) == 0 && !logs || o.tries() {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	first := time.AfterFunc(lookFirst, func() {
		for {
			w := h.look(ctx, o)
			if ctx.Err() != nil {
				return
			}
			if o.told != nil {
				o.told(w)
			}
			h.c.seeWait(w)
			timer := time.NewTimer(lookEvery)
			select {
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
				return
			}
		}
	})
	return func() {
		first.Stop()
		cancel()
	}
}

// look asks the daemon who has the lock that h waits for. A crowd that waits for one name asks once a second.
func (h *hold) look(ctx context.Context, o *options) Waiting {
	w := Waiting{Name: h.name, Waited: time.Since(o.begun)}
	v, fleet := h.c.inspect(ctx, h.name)
	w.Holder = newHolder(v.get("holder"), "")
	for _, there := range fleet.get("hosts").items {
		if w.Holder == nil {
			w.Holder = newHolder(there.get("holder"), there.get("host").text)
		}
	}
	for _, there := range fleet.get("holders").items {
		if w.Holder == nil {
			w.Holder = &Holder{Host: there.get("host").text, UID: -1}
		}
	}
	w.Position = h.position(v.get("waiters").items, o)
	return w
}

// newHolder is nil if v is no holder.
func newHolder(v value, host string) *Holder {
	if v.kind != '%' {
		return nil
	}
	address := v.get("address").text
	if address == "unix" {
		address = ""
	}
	return &Holder{Host: host, Client: v.get("client").text, Address: address, PID: int(v.get("pid").n), UID: int(v.get("uid").n),
		Owner: v.get("owner").text, Why: v.get("why").text, Token: v.get("token").n,
		Since: time.Now().Add(-time.Duration(v.get("held_ms").n) * time.Millisecond)}
}

// position is the place of h among the waiters, and behind the front that this Client has there; 0: it is not known.
func (h *hold) position(waiters []value, o *options) int {
	h.c.mu.Lock()
	defer h.c.mu.Unlock()
	behind := 0
	if q := h.c.queues[h.queueKey(o)]; q != nil {
		for i, at := range q.behind {
			if at.of == h {
				behind = i + 1
			}
		}
	}
	for _, waiter := range waiters {
		tag := waiter.get("owner").text
		if tag == h.tag {
			return int(waiter.get("position").n)
		}
		if other := h.c.holds[tag]; behind > 0 && other != nil && other.name == h.name {
			return int(waiter.get("position").n) + behind
		}
	}
	return 0
}

// looks has the latest answer to INSPECT of each name that is waited for.
type looks struct {
	sync.Mutex
	of map[string]*seenName
}

type seenName struct {
	at       time.Time
	done     chan struct{} // closed when the values are there
	v, fleet value
}

// inspect asks the daemon about a name, once a second at most, and if nobody has it there, those of all hosts. The values are
// empty if nobody answers.
func (c *Client) inspect(ctx context.Context, name string) (v, fleet value) {
	c.looks.Lock()
	now := time.Now()
	for other, s := range c.looks.of {
		if now.Sub(s.at) >= lookFirst {
			delete(c.looks.of, other)
		}
	}
	s := c.looks.of[name]
	asks := s == nil
	if asks {
		s = &seenName{at: now, done: make(chan struct{})}
		c.looks.of[name] = s
	}
	c.looks.Unlock()
	if asks {
		go func() {
			limited, cancel := context.WithTimeout(c.life, lookTime)
			defer cancel()
			if l := c.link.Load(); l != nil && !l.ended() {
				s.v, _ = l.ask(limited, nil, "INSPECT", name, "COUNT", lookCount)
				if s.v.kind == '%' && s.v.get("holder").kind != '%' { // a daemon that waits no more has forgotten who has it
					s.fleet, _ = l.ask(limited, nil, "INSPECT", name, "FLEET")
				}
			}
			close(s.done)
		}()
	}
	select {
	case <-s.done:
		return s.v, s.fleet
	case <-ctx.Done():
		return value{}, value{}
	}
}

// get is the value of a key of a map.
func (v value) get(key string) value {
	for i := 0; i+1 < len(v.items); i += 2 {
		if v.items[i].text == key {
			return v.items[i+1]
		}
	}
	return value{}
}
