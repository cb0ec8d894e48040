package holdfast

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

const (
	early       = 20 * time.Millisecond  // so much before the announced deadline a holder that cannot ask has lost the lock
	late        = time.Second            // for an answer if this process itself stood still until the deadline
	stood       = 100 * time.Millisecond // so long after the end of a wait for an answer, it is sure that this process stood still
	checkMin    = 10 * time.Millisecond
	checkMax    = 5 * time.Second
	unlockTime  = 2 * time.Second
	unannounced = "ERR VALIDITY and ASYNC exclude each other" // of an older daemon, which pushes no time
)

// hold is one name, waited for or held. Its tag is the OWNER and the ASYNC id of its requests, and no other hold has it:
// so each request can be repeated, and a grant whose answer was lost can be given back.
type hold struct {
	c         *Client
	name, tag string
	key       [2]string     // name and owner
	outcome   chan push     // grant and failed
	moved     chan struct{} // until was moved by EXTEND
	doubt     chan struct{} // somebody wants to know whether it is held, and the deadline has passed
	token     atomic.Int64  // 0: not held yet
	turn      chan struct{} // out of the line, to ask
	sent      time.Duration // boottime before LOCK was sent last
	granted   time.Duration // from then on it is good for so long; 0: the grant did not tell

	// Under c.mu:
	ticket  uint64         // its place in the line
	asks    bool           // the daemon has its LOCK, or may have it
	follows bool           // its Lock has other names already
	yields  bool           // it stands in the line before it asks
	seen    uint64         // waits that had ended when it asked
	until   time.Duration  // announced deadline, boottime
	since   time.Duration  // boottime of the grant
	asked   time.Duration  // when the request was sent that told it
	users   map[*Lock]bool // several if the lock was taken again by its owner
	first   *time.Timer    // begins keep when it has to ask; nil: it is not held yet
	granter *link          // the connection when it was granted
	lost    error
	over    chan struct{} // closed when lost, or given back
}

func newTag(owner string, serial uint64) string {
	if owner == "" {
		owner = "go"
	}
	return owner + "#" + prefix + strconv.FormatUint(serial, 36)
}

// prefix: sessions outlive an exec, so two programs may have the same session.
var prefix = func() string {
	var random [4]byte
	_, _ = rand.Read(random[:])
	return hex.EncodeToString(random[:]) + "-"
}()

// take takes name for l, or takes it again.
func (c *Client) take(ctx context.Context, l *Lock, name string, o *options, until time.Time) (*hold, error) {
	key := [2]string{name, o.owner}
	c.mu.Lock()
	if h := c.owned[key]; h != nil {
		h.users[l] = true
		c.mu.Unlock()
		return h, nil
	}
	c.serial++
	h := &hold{c: c, name: name, tag: newTag(o.owner, c.serial), key: key, outcome: make(chan push, 8),
		moved: make(chan struct{}, 1), doubt: make(chan struct{}, 1), users: map[*Lock]bool{l: true}, over: make(chan struct{}),
		turn: make(chan struct{}, 1)}
	c.line.join(l, h)
	c.holds[h.tag] = h
	c.mu.Unlock()

	stop := h.watchWait(ctx, o)
	token, clean, err := h.waitInQueue(ctx, o, until)
	stop()
	if err == nil {
		h.token.Store(token)
		if err = h.begin(ctx); err == nil {
			c.seeHold(name, token, time.Since(o.begun))
			c.mu.Lock()
			defer c.mu.Unlock()
			h.keepLater()
			if o.owner != "" && h.lost == nil && c.owned[key] == nil {
				c.owned[key] = h
			}
			return h, nil
		}
		clean = false
	}
	var late *TimedOut
	if errors.As(err, &late) && late.ours == "" {
		late.Holder = h.look(c.life, o).Holder
	}
	if clean {
		h.forget()
	} else {
		_ = h.giveBack()
	}
	if ctx.Err() != nil && errors.Is(context.Cause(l.ctx), ErrLost) {
		err = context.Cause(l.ctx)
	}
	return nil, err
}

// begin makes a hold that was granted one with a deadline. If the wait took too much of the time that the grant told, it asks.
func (h *hold) begin(ctx context.Context) error {
	h.c.mu.Lock()
	h.since = boottime()
	told := h.since < h.sent+h.granted/3
	if told {
		h.asked, h.until = h.sent, h.sent+h.granted
	}
	lost := h.lost
	h.c.mu.Unlock()
	if told || lost != nil {
		return lost
	}
	return h.check(ctx, answerTime)
}

// wait sends LOCK, again over each new connection, where it has its old place in the queue. clean: nothing is left at
// the daemon.
func (h *hold) wait(ctx context.Context, o *options, until time.Time, at *place) (token int64, clean bool, err error) {
	begun := at.since
	if !at.alone {
		begun = time.Now()
	}
	bounded := ctx
	if o.bounded {
		var cancel context.CancelFunc
		bounded, cancel = patiently(ctx, time.Until(until)+slack)
		defer cancel()
	}
	clean = true
	stood := false
	for {
		giveUp := begun.Add(patience)
		if !clean || stood {
			giveUp = time.Now().Add(patience)
		}
		if o.bounded && until.Before(giveUp) {
			giveUp = until
		}
		l, err := h.c.connected(bounded, giveUp)
		if err != nil {
			return 0, clean, h.interrupted(ctx, err)
		}
		if !h.mayAsk(o) {
			stood = true
			if err = h.stand(ctx, l, o, until); err != nil {
				return 0, clean, h.interrupted(ctx, err)
			}
			continue
		}
		v, err := h.lock(bounded, l, o, until)
		if err == nil && v.kind == '+' {
			h.taken()
			v, err = h.pushed(bounded, l)
			if err != nil && err != errCut && ctx.Err() != nil {
				return 0, false, h.ended(ctx, o)
			}
		}
		if err == errCut {
			clean = false
			continue
		}
		if err != nil {
			return 0, false, h.interrupted(ctx, err)
		}
		token, err = h.outcomeOf(v, o)
		if err == nil {
			h.taken()
		} else if isFull(err) && !o.tries() && h.refused() {
			if h.follows {
				return 0, clean, errYield
			}
			stood = true
			continue
		}
		return token, clean, err
	}
}

// patiently is ctx for so long. If this process stood still until the end, the answer is there, and there is time to read it.
func patiently(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	end := boottime() + d
	timer := time.AfterFunc(d, func() {
		if boottime() < end+stood {
			cancel()
			return
		}
		select {
		case <-time.After(late):
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		timer.Stop()
		cancel()
	}
}

func (h *hold) interrupted(ctx context.Context, err error) error {
	if errors.Is(err, context.Canceled) && ctx.Err() == nil { // the end of Wait
		return h.c.unreachable(errSilent)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// lock sends LOCK.
func (h *hold) lock(ctx context.Context, l *link, o *options, until time.Time) (value, error) {
	for {
		h.sent = boottime()
		v, err := l.ask(ctx, nil, h.request(l, o, until)...)
		if err != nil || v.kind != '-' || !strings.HasPrefix(v.text, unannounced) {
			return v, err
		}
		l.unannounced.Store(true)
	}
}

// pushed is what ends the wait. A push over an earlier connection is no answer to the LOCK that was sent over this one, and tells no time
// from then on.
func (h *hold) pushed(ctx context.Context, l *link) (value, error) {
	for {
		select {
		case p := <-h.outcome:
			if p.over == l {
				return p.value, nil
			}
		case <-l.down:
			return value{}, errCut
		case <-ctx.Done():
			return value{}, ctx.Err()
		}
	}
}

func (h *hold) request(l *link, o *options, until time.Time) []string {
	words := append([]string{"LOCK", h.name, "OWNER", h.tag, "ASYNC", h.tag}, o.words...)
	if !l.unannounced.Load() {
		words = append(words, "VALIDITY")
	}
	if o.bounded {
		words = append(words, "WAIT", milliseconds(max(time.Until(until), 0)))
	}
	return words
}

// outcomeOf reads the last answer to LOCK: a token, also with the ms for which it is good, an error, or one of the pushes.
func (h *hold) outcomeOf(v value, o *options) (int64, error) {
	switch {
	case v.kind == ':':
		return v.n, nil
	case v.kind == '*' && len(v.items) == 2:
		return h.tokenOf(v.items), nil
	case v.kind == '-':
		return 0, v.refused()
	case v.kind == '>' && v.items[0].text == "grant":
		return h.tokenOf(v.items[2:]), nil
	case v.kind == '>' && len(v.items) > 3 && v.items[2].kind == '$':
		return 0, &Refused{v.items[2].text, v.items[3].text}
	case v.kind == '>' && o.tries():
		return 0, fmt.Errorf("%w: %s%s", ErrBusy, h.name, h.ofOurs())
	case v.kind == '>':
		return 0, h.timedOut(o, nil)
	}
	return 0, fmt.Errorf("the daemon answered LOCK with %c%s", v.kind, v.text)
}

func (h *hold) tokenOf(items []value) int64 {
	if len(items) > 1 {
		h.granted = time.Duration(items[1].n) * time.Millisecond
	}
	return items[0].n
}

// timedOut: the wait is over. cause is that of the ctx that has ended it.
func (h *hold) timedOut(o *options, cause error) error {
	return &TimedOut{Name: h.name, Waited: time.Since(o.begun), ours: h.ofOurs(), cause: cause}
}

// ended is the error of a ctx that has ended a wait for another locker.
func (h *hold) ended(ctx context.Context, o *options) error {
	if err := ctx.Err(); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return h.timedOut(o, ctx.Err())
}

// ofOurs says that the lock which h did not get is held by this process.
func (h *hold) ofOurs() string {
	for _, other := range h.c.all() {
		if other.name != h.name || other.token.Load() == 0 {
			continue
		}
		select {
		case <-other.over:
		default:
			h.c.mu.Lock()
			held := boottime() - other.since
			h.c.mu.Unlock()
			return fmt.Sprintf("; this process holds it itself, for %.1fs: is an Unlock missing?", held.Seconds())
		}
	}
	return ""
}

// ask sends CHECK or EXTEND, whose answer tells a new deadline.
func (h *hold) ask(ctx context.Context, verb string, words ...string) error {
	sent := boottime()
	v, err := h.c.do(ctx, append(append([]string{verb, h.name}, words...), "OWNER", h.tag, "TOKEN", strconv.FormatInt(h.token.Load(), 10))...)
	if err != nil {
		return err
	}
	h.c.mu.Lock()
	defer h.c.mu.Unlock()
	switch {
	case h.lost != nil:
	case v.kind == ':' && verb == "DOWNGRADE": // the token, which is as before
	case v.kind == ':':
		if sent >= h.asked {
			h.asked, h.until = sent, sent+time.Duration(v.n)*time.Millisecond
		}
		if verb == "EXTEND" {
			select {
			case h.moved <- struct{}{}:
			default:
			}
			h.rouse()
		}
	case v.kind == '_' || v.refused().Code == "NOTHELD":
		h.lose("session the daemon does not know of it any more: it lost its state, or the connection was cut for too long")
	case v.refused().Code == "LOST":
		h.lose(v.refused().Text)
	default:
		return v.refused()
	}
	return h.lost
}

// isStale says that the announced deadline has passed.
func (h *hold) isStale() bool {
	h.c.mu.Lock()
	defer h.c.mu.Unlock()
	return h.until <= boottime()
}

// check asks within the given time. Without an answer the lock is lost. If this process stood still meanwhile, it asks again.
func (h *hold) check(ctx context.Context, within time.Duration) error {
	begun := boottime()
	err := h.askWithin(ctx, within)
	if err != nil && ctx.Err() == nil && !errors.Is(err, ErrLost) && boottime()-begun > within+stood {
		err = h.askWithin(ctx, late)
	}
	if err == nil || ctx.Err() != nil {
		return err
	}
	h.c.mu.Lock()
	defer h.c.mu.Unlock()
	h.lose("unreachable the daemon could not be asked in time: " + err.Error())
	return h.lost
}

func (h *hold) askWithin(ctx context.Context, within time.Duration) error {
	bounded, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err := h.ask(bounded, "CHECK")
	for err == nil && h.isStale() { // this process stood still until the deadline that it was told
		err = h.ask(bounded, "CHECK")
	}
	return err
}

// doubted says that the announced deadline has passed, and that nobody knows yet what has become of the hold.
func (h *hold) doubted(l *Lock) bool {
	h.c.mu.Lock()
	defer h.c.mu.Unlock()
	return h.lost == nil && h.users[l] && h.until <= boottime()
}

// decide waits until it is known whether a hold whose announced deadline has passed is lost: this process may have stood still.
func (h *hold) decide() {
	for until := boottime() + late + stood; h.isStale() && boottime() < until; {
		select {
		case h.doubt <- struct{}{}:
		default:
		}
		h.c.mu.Lock()
		h.rouse()
		h.c.mu.Unlock()
		select {
		case <-h.over:
			return
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// keepLater has keep begin when the deadline has to be asked for; c.mu is locked. Most locks are given back before, and a goroutine for
// each would wake a thread.
func (h *hold) keepLater() {
	if h.lost != nil {
		return
	}
	h.granter = h.c.link.Load()
	h.first = time.AfterFunc(h.pause(), func() {
		if h.prolong() == nil {
			h.keep(h.c.link.Load())
		}
	})
	if h.granter.ended() {
		h.rouse()
	}
}

// rouse has keep begin now: something has come that it looks after; c.mu is locked.
func (h *hold) rouse() {
	if h.first != nil && h.first.Stop() {
		go h.keep(h.granter)
	}
}

// pause is how long the deadline need not be asked for; c.mu is locked.
func (h *hold) pause() time.Duration {
	return min(max((h.until-boottime())/3, checkMin), checkMax)
}

// keep asks for the deadline again and again, and at once over each new connection, until the hold is over.
func (h *hold) keep(l *link) {
	for h.rest(l) && h.prolong() == nil {
		l = h.c.link.Load()
	}
}

// rest waits until the deadline has to be asked for. False: the hold is over.
func (h *hold) rest(l *link) bool {
	for {
		h.c.mu.Lock()
		pause := time.NewTimer(h.pause())
		h.c.mu.Unlock()
		asks := true
		select {
		case <-pause.C:
		case <-l.down:
		case <-h.doubt:
			asks = h.isStale()
		case <-h.moved:
			asks = false
		case <-h.over:
			pause.Stop()
			return false
		}
		pause.Stop()
		if asks {
			return true
		}
	}
}

// prolong asks for the deadline. An error: the hold is over.
func (h *hold) prolong() error {
	select {
	case <-h.over:
		return ErrLost
	default:
	}
	h.c.mu.Lock()
	left := h.until - boottime()
	h.c.mu.Unlock()
	return h.check(h.c.life, max(left-min(early, left/10), late))
}

// newLost reads the daemon's text: a word, and an explanation.
func newLost(name, text string) *Lost {
	reason, explanation, _ := strings.Cut(text, " ")
	if explanation == "" {
		explanation = reason
	}
	return &Lost{name, reason, explanation}
}

// lose marks the hold as lost, for a reason as that of newLost; c.mu is locked. The daemon may have it still: Unlock gives it back.
func (h *hold) lose(reason string) {
	select {
	case <-h.over:
		return
	default:
	}
	lost := newLost(h.name, reason)
	h.lost = lost
	h.finish()
	if h.token.Load() != 0 {
		go h.c.seeLoss(lost, h.token.Load(), boottime()-h.since)
	}
	for l := range h.users {
		l.cancel(h.lost)
	}
	if h.c.owned[h.key] == h {
		delete(h.c.owned, h.key)
	}
}

// finish: it is lost, or given back; c.mu is locked.
func (h *hold) finish() {
	close(h.over)
	if h.first != nil {
		h.first.Stop()
	}
}

// left is how long the hold is surely good for l.
func (h *hold) left(l *Lock) time.Duration {
	h.c.mu.Lock()
	defer h.c.mu.Unlock()
	if h.lost != nil || !h.users[l] {
		return 0
	}
	return h.until - boottime()
}

// drop ends the use of the hold by l, and gives it back if that was the last.
func (h *hold) drop(l *Lock) error {
	c := h.c
	c.mu.Lock()
	delete(h.users, l)
	lost, last, held := h.lost, len(h.users) == 0, boottime()-h.since
	if last && lost == nil {
		h.finish()
	}
	if last && c.owned[h.key] == h {
		delete(c.owned, h.key)
	}
	c.mu.Unlock()
	if !last {
		return lost
	}
	if lost != nil {
		go func() { _ = h.giveBack() }() // the daemon may have it still
		return lost
	}
	err := h.giveBack()
	c.seeRelease(h.name, h.token.Load(), held)
	return err
}

// giveBack ends the wait or the hold at the daemon. If that takes longer than unlockTime, it goes on by itself.
func (h *hold) giveBack() error {
	if l := h.c.link.Load(); l != nil && h.token.Load() != 0 {
		// Nearly always this is all, and another goroutine would wake a thread for it.
		ask := func(words ...string) (value, error) { return l.askWithin(h.c.life, unlockTime, nil, words...) }
		if err := h.unlock(ask); !isUnanswered(err) {
			h.forget()
			return err
		} else if errors.Is(err, errLate) {
			go h.giveBackLater(nil)
			return h.c.unreachable(errSilent)
		}
	}
	done := make(chan error, 1)
	go h.giveBackLater(done)
	timer := time.NewTimer(unlockTime)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return h.c.unreachable(errSilent)
	}
}

// isUnanswered: the daemon has not answered, and it is asked again.
func isUnanswered(err error) bool {
	return err == errCut || errors.Is(err, errLate) || errors.Is(err, context.Canceled)
}

// giveBackLater ends the hold over as many connections as it takes.
func (h *hold) giveBackLater(done chan<- error) {
	ask := func(words ...string) (value, error) { return h.c.do(h.c.life, words...) }
	err := h.end(ask)
	for errors.Is(err, ErrUnreachable) {
		time.Sleep(retryMax)
		err = h.end(ask)
	}
	h.forget()
	if done != nil {
		done <- err
	}
}

type asker func(words ...string) (value, error)

func (h *hold) end(ask asker) error {
	if h.token.Load() == 0 {
		if _, err := ask("CANCEL", h.tag); err != nil {
			return err
		}
	}
	return h.unlock(ask)
}

// unlock: a LOCK that was answered twice counts twice. With its token the name of a broken lock passes on at once.
func (h *hold) unlock(ask asker) error {
	words := []string{"UNLOCK", h.name, "OWNER", h.tag}
	if token := h.token.Load(); token != 0 {
		words = append(words, "TOKEN", strconv.FormatInt(token, 10))
	}
	for {
		v, err := ask(words...)
		switch {
		case err != nil:
			return err
		case v.kind == ':' && v.n > 0:
		case v.kind == '-' && v.refused().Code == "LOST":
			return newLost(h.name, v.refused().Text)
		case v.kind == '-' && v.refused().Code != "NOTHELD":
			return v.refused()
		default:
			return nil
		}
	}
}

func (h *hold) forget() {
	h.c.mu.Lock()
	defer h.c.mu.Unlock()
	delete(h.c.holds, h.tag)
	h.c.line.end(h)
}
