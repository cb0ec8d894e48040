// Package holdfast takes locks of holdfastd, the lock coordinator of this host.
//
//	hf, err := holdfast.Open("")
//	lock, err := hf.Lock(ctx, "deploy", holdfast.Wait(5*time.Second))
//	if err != nil { ... }
//	defer lock.Unlock()
//	work(lock.Context())
//
// A lock is held until Unlock, or until the process ends. The daemon renews it. If the lock is lost while it is
// held, the context of the lock is cancelled, and its cause says why. If the connection to the daemon is lost, the
// package connects again and goes on with the same session: locks and places in queues are kept.
//
// All functions and methods may be called by several goroutines at once. Each Lock call is a locker of its own: two
// goroutines of one process exclude each other as two processes do.
package holdfast

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
)

var (
	// ErrBusy says that another locker has the lock: it had it when Wait(0) tried, or until the end of Wait.
	ErrBusy = errors.New("another locker has the lock")
	// ErrTimeout says that the lock was not granted within Wait, or before the deadline of ctx. The error is a *TimedOut, which has the
	// holder. It is an ErrBusy: errors.Is(err, ErrBusy) is true for it.
	ErrTimeout error = timeout{}
	// ErrLost says that a lock was held and is not held any more, although Unlock was not called. The error is a
	// *Lost. It is the cause of a cancelled Lock.Context, and the error of Unlock and Extend from then on.
	ErrLost = errors.New("the lock is lost")
	// ErrUnreachable says that no holdfastd answers. The text says where it was looked for, and why it failed.
	ErrUnreachable = errors.New("cannot reach holdfastd")
	// ErrClosed says that the Client was closed.
	ErrClosed = errors.New("the client of holdfastd is closed")
	// ErrArgument says that an argument is wrong, and which one. Nothing was sent.
	ErrArgument = errors.New("an argument is wrong")
)

type timeout struct{}

func (timeout) Error() string        { return "the lock was not granted in time" }
func (timeout) Is(target error) bool { return target == ErrBusy }
func (timeout) Timeout() bool        { return true }

// Lost is the error of a lock that was lost; errors.Is(err, ErrLost) is true for it.
type Lost struct {
	Name   string // the name of the lock
	Reason string // the daemon's word (expired, taken, refused, lease, maxhold, broken, claim, cloned), or unreachable, session or closed
	Text   string // the explanation, for people
}

func (e *Lost) Error() string        { return fmt.Sprintf("the lock %s is lost: %s", e.Name, e.Text) }
func (e *Lost) Is(target error) bool { return target == ErrLost }

// Refused is an error that the daemon answered, in its words. It never means that another locker has the lock.
type Refused struct {
	Code string // such as NOMASTER, GUARD, WRONGKIND, LIMIT, DRAINING or ERR; section 7 of PROTOCOL.md has all codes
	Text string // the explanation, for people
}

func (e *Refused) Error() string { return "holdfastd refuses: " + e.Code + " " + e.Text }

// Transient says whether the same call may succeed later, so that a program may try again: after ErrBusy, ErrTimeout and ErrLost;
// after ErrUnreachable, unless this user may not use the socket or something else than holdfastd answers there; and after a
// *Refused that is Transient. It is false for the error of a ctx, for ErrClosed and ErrArgument.
func Transient(err error) bool {
	var refused *Refused
	switch {
	case errors.As(err, &refused):
		return refused.Transient()
	case errors.Is(err, ErrUnreachable):
		return !isFinal(err)
	case errors.Is(err, context.DeadlineExceeded):
		return false
	}
	return errors.Is(err, ErrBusy) || errors.Is(err, ErrLost)
}

// Transient says whether the daemon may grant the same request later: the code is NOMASTER, GUARD, MASTERERR, DRAINING, LIMIT or
// DEADLOCK, and the name is not too long for its limits.
func (e *Refused) Transient() bool {
	switch e.Code {
	case "NOMASTER", "GUARD", "MASTERERR", "DRAINING", "LIMIT", "DEADLOCK", "LOST":
		return !strings.HasPrefix(e.Text, "bad name")
	}
	return false
}

type options struct {
	words   []string // of LOCK, without OWNER, ASYNC and WAIT
	owner   string
	bounded bool // there is a Wait
	wait    time.Duration
	shared  bool
	limit   *int // nil: it is no semaphore
	permits *int // nil: one
	why     string
	told    func(Waiting)
	begun   time.Time // Lock was called
	err     error     // of an argument
}

// tries: it does not wait.
func (o *options) tries() bool { return o.bounded && o.wait == 0 }

// An Option says how Lock and LockAll take a lock. Durations are rounded up to whole milliseconds. With an argument that the daemon
// does not take, as a Lease of more than 365 days or Permits without a Limit, Lock and LockAll return an ErrArgument, and send nothing.
type Option func(*options)

// limited is an option with a time of its own.
func limited(key, what string, d time.Duration) Option {
	return func(o *options) {
		o.err = errors.Join(o.err, badTime(what, d))
		o.words = append(o.words, key, milliseconds(d))
	}
}

// Wait bounds the time that Lock waits. Wait(0) tries once: ErrBusy. Without it the rule of the daemon's configuration for this
// name counts, and if there is none, Lock waits until its ctx is done. If d is over before the master has said who has the
// lock, as a d of a few milliseconds may be, the error is a *Refused with the code NOMASTER. More than 365 days, as math.MaxInt64,
// count as 365 days. Less than 0 is an ErrArgument.
func Wait(d time.Duration) Option {
	return func(o *options) {
		if d < 0 {
			o.err = errors.Join(o.err, wrongf("wait: a time from 0 to 365 days is needed, not %v", d))
		}
		o.bounded, o.wait = true, min(d, longest)
	}
}

// Shared locks for reading: any number of holders that are all Shared.
func Shared() Option {
	return func(o *options) { o.shared, o.words = true, append(o.words, "SHARED") }
}

// Limit makes the lock a semaphore of n permits, 1 to 10000, of which this lock takes one, or as many as Permits says.
func Limit(n int) Option {
	return func(o *options) { o.limit, o.words = &n, append(o.words, "LIMIT", strconv.Itoa(n)) }
}

// Permits takes k of the permits of a semaphore at once. It needs Limit.
func Permits(k int) Option {
	return func(o *options) { o.permits, o.words = &k, append(o.words, "PERMITS", strconv.Itoa(k)) }
}

// Lease ends the lock d after its grant, as lost with the reason lease, unless Extend moves the end. Without it the
// lock is kept until Unlock.
func Lease(d time.Duration) Option { return limited("LEASE", "lease", d) }

// MaxHold ends the lock d after its grant, as lost with the reason maxhold. Extend does not move this end.
func MaxHold(d time.Duration) Option { return limited("MAXHOLD", "maxHold", d) }

// Why is a remark of at most 256 bytes that `holdfast show` prints for this lock.
func Why(text string) Option {
	return func(o *options) { o.why, o.words = text, append(o.words, "WHY", text) }
}

// Owner lets a lock be taken again: a Lock of this Client with the name and the owner of a lock that is held returns
// at once, with the same token, and its other options do not count. The lock is given back by the last Unlock. An owner
// has 1 to 96 bytes without spaces; `holdfast show` prints it.
func Owner(tag string) Option {
	return func(o *options) { o.owner, o.err = tag, errors.Join(o.err, badBytes("owner", tag, 1, 96)) }
}

// Lock is a lock that is held, or several locks taken by LockAll.
type Lock struct {
	holds  []*hold // in the order of the names
	ctx    context.Context
	cancel context.CancelCauseFunc
	once   sync.Once
	err    error  // of Unlock
	ticket uint64 // its place in the line; 0: none yet
	last   *hold  // the latest of several names; it keeps its room among the waits for the next
	yields bool   // it has given back what it had of several names, and begins again in the line
}

// Lock takes the lock name, or waits for it. A done ctx ends the wait: afterwards nothing is waited for, and a lock
// that was granted at the same moment is given back. It does not end a lock that is held: Lock.Context is the lock's own.
//
// Those that wait for the same name stand in a queue of this Client, and its front alone waits at the daemon. If the daemon lets a
// session wait for no more names (waiters-per-session), the wait stands in a line of this Client, and is sent when its turn comes. Wait
// counts in both; Wait(0) is never there, nor is a lock with an Owner in the queue.
//
// If no daemon answers when Lock is called, the error is ErrUnreachable after five seconds, however long Wait is.
//
// The error is ErrBusy, ErrTimeout (a *TimedOut), ErrUnreachable, a *Refused, an ErrArgument, or that of ctx. Transient says whether
// trying again may help.
func (c *Client) Lock(ctx context.Context, name string, opts ...Option) (*Lock, error) {
	return c.LockAll(ctx, []string{name}, opts...)
}

// LockAll takes the locks of all names, or none. The names are taken one after the other in the order of their bytes,
// so LockAll calls never wait for each other in a circle. Wait bounds all together; Lease and MaxHold count for each
// name from its own grant. If one of the locks is lost, Lock.Context is cancelled. Where a further name would have to stand in
// the line (see Lock), LockAll gives back those that it has, and begins again.
func (c *Client) LockAll(ctx context.Context, names []string, opts ...Option) (*Lock, error) {
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	if err := o.check(names); err != nil {
		return nil, err
	}
	order := make([]int, len(names))
	for i := range order {
		order[i] = i
	}
	sort.Slice(order, func(i, j int) bool { return names[order[i]] < names[order[j]] })
	for i := range order {
		if i > 0 && names[order[i]] == names[order[i-1]] {
			return nil, wrongf("the name %s is given twice", names[order[i]])
		}
	}
	o.begun = time.Now()
	until := o.begun.Add(o.wait)
	l := &Lock{holds: make([]*hold, len(names))}
	// The lock lives on when ctx is done, which bounds the wait. A loss of one name ends the wait for the next.
	l.ctx, l.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(l.ctx, stop)()
	for {
		err := c.takeAll(ctx, l, names, order, &o, until)
		if err == nil {
			return l, nil
		}
		if err != errYield {
			_ = l.Unlock()
			return nil, err
		}
		if err = l.yield(); err != nil {
			l.cancel(nil)
			return nil, err
		}
	}
}

func (c *Client) takeAll(ctx context.Context, l *Lock, names []string, order []int, o *options, until time.Time) error {
	for _, i := range order {
		h, err := c.take(ctx, l, names[i], o, until)
		if err != nil {
			return err
		}
		l.holds[i] = h
	}
	c.endWait(l)
	return nil
}

// Context is the lock's own. It has the values of the ctx of Lock, but lives on when that is done. It is cancelled if the lock is lost;
// errors.Is(context.Cause(ctx), ErrLost) is true then. Unlock cancels it, too. If the daemon cannot be asked, it is cancelled when the
// time is over for which the daemon last said that the lock is surely held.
func (l *Lock) Context() context.Context { return l.ctx }

// Within is ctx, cancelled also when Context is, with the same cause: for work that ends with a request or a program, and with the
// lock. As with context.WithCancel, call the function when the work is done.
func (l *Lock) Within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(l.ctx, func() { cancel(context.Cause(l.ctx)) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// Token is the fencing token: a number that is greater for each later holder. A store that gets it with each write can
// refuse a token smaller than the greatest it has seen. It is below 2^53. Of several locks it is that of the first name.
func (l *Lock) Token() int64 { return l.holds[0].token.Load() }

// Tokens are the tokens of all names, in the order in which LockAll got the names.
func (l *Lock) Tokens() []int64 {
	tokens := make([]int64, len(l.holds))
	for i, h := range l.holds {
		tokens[i] = h.token.Load()
	}
	return tokens
}

// ValidFor says for how long the lock is surely held, without asking the daemon; 0: it is lost or given back. The
// package asks the daemon all the time, so that this is never far below the lease of the daemon, or the end of Lease. If this
// process stood still beyond the time that it was told, ValidFor waits until the daemon has answered, a second at most.
func (l *Lock) ValidFor() time.Duration {
	left := time.Duration(1<<63 - 1)
	for _, h := range l.holds {
		if h.doubted(l) {
			h.decide()
		}
		left = min(left, h.left(l))
	}
	return max(left, 0)
}

// Check is nil if the lock is surely held now. If it is not, the error is ErrLost, or context.Canceled after Unlock. It sends nothing,
// so a loop may call it at each step. Right after this process stood still, Context does not know yet what has become of the lock.
// Check does: it waits until the daemon has answered, a second at most.
func (l *Lock) Check() error {
	if l.ValidFor() > 0 {
		return nil
	}
	if cause := context.Cause(l.ctx); cause != nil {
		return cause
	}
	return &Lost{l.holds[0].name, "unreachable", "the daemon did not answer before the announced deadline"}
}

// Extend lets a lock that was taken with Lease end d from now, sooner or later than before. The error is ErrLost,
// ErrUnreachable, or a *Refused, as for a lock without Lease. A d below 1 ms or above 365 days is an error, too.
func (l *Lock) Extend(d time.Duration) error {
	if err := badTime("extend", d); err != nil {
		return err
	}
	return l.command("EXTEND", milliseconds(d))
}

// Downgrade makes an exclusive lock a Shared one, without a moment in between; its token is as before. The error is ErrLost,
// ErrUnreachable, or a *Refused, as for a semaphore.
func (l *Lock) Downgrade() error { return l.command("DOWNGRADE") }

func (l *Lock) command(verb string, words ...string) error {
	for _, h := range l.holds {
		if err := h.ask(l.ctx, verb, words...); err != nil {
			if cause := context.Cause(l.ctx); cause != nil {
				return cause
			}
			return err
		}
	}
	return nil
}

// Unlock gives the lock back, and cancels its Context. Calling it again does nothing, and returns the same error. The
// error is ErrLost if the lock had been lost before: work that it should have protected may have met other work. It is
// ErrUnreachable if the daemon has not confirmed within two seconds; the package goes on trying then.
func (l *Lock) Unlock() error {
	l.once.Do(func() {
		l.cancel(nil)
		for _, h := range l.holds {
			if h != nil {
				l.err = errors.Join(l.err, h.drop(l))
			}
		}
	})
	return l.err
}

// milliseconds rounds up. The longest durations, which many programs mean as for ever, leave no room to add to them.
func milliseconds(d time.Duration) string {
	ms := d / time.Millisecond
	if d%time.Millisecond > 0 {
		ms++
	}
	return strconv.FormatInt(int64(ms), 10)
}
