package holdfast

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// grace is how long the daemon keeps the session after the connection was lost. It is about as long as the usual
	// lease: a holder that cannot come back within that has been told to stop by its deadline.
	grace = 10 * time.Second
	// patience is how long Lock looks for a daemon that is away, which may be starting, or waits for one that is silent.
	patience = 5 * time.Second
	// slack is how much later than at the end of Wait the daemon may answer: a hand-over, a busy host.
	slack    = 2 * time.Second
	retryMin = 5 * time.Millisecond
	retryMax = 250 * time.Millisecond
)

// Client is one session at one daemon, over one connection, for all goroutines of the process. It connects with the
// first Lock, and again when the connection is lost. On a Unix socket the session is bound to the process: when that
// ends, however it ends, its locks are free at once. Over TCP they are free some seconds later.
type Client struct {
	at    address         // given to Open
	life  context.Context // until Close
	close context.CancelFunc
	turn  chan struct{} // has room for one: the goroutine that connects
	link  atomic.Pointer[link]
	label string

	// served is where a daemon has answered, and where this Client connects from then on; nil: none has yet.
	served atomic.Pointer[address]

	// Who has the turn may use them:
	secret  string // of the session; "": none yet
	resumed bool   // the connection speaks for the session of the one before
	failure error  // of the last attempt to connect, and when it was; nil: none
	failed  time.Time

	mu     sync.Mutex // of all below, and of the fields of holds
	serial uint64
	holds  map[string]*hold    // by tag: waited for, held, or being given back
	owned  map[[2]string]*hold // by name and owner: held, and can be taken again
	line   line
	queues map[queueKey]*nameQueue

	seen  seen
	looks looks
}

// A process can be bound to one session of a daemon only, so there is one Client for each address.
var clients = struct {
	sync.Mutex
	open map[*Client]bool
}{open: map[*Client]bool{}}

// Open returns the Client of this process for the daemon at where: the path of a Unix socket, unix:PATH, host:port,
// tcp://host:port or redis://user:password@host:port. If where is empty, $HOLDFAST_URL counts, then
// $XDG_RUNTIME_DIR/holdfast/holdfast.sock if root or this user put it there, then /run/holdfast/holdfast.sock. Of these two the
// Client chooses anew whenever it connects, until a daemon has answered. Open does not connect; the error is that of a bad
// address.
//
// All calls of Open with one address return one Client: Close ends the locks of all its users.
func Open(where string) (*Client, error) {
	at, err := chooseAddress(where)
	if err != nil {
		return nil, err
	}
	clients.Lock()
	defer clients.Unlock()
	for c := range clients.open {
		if c.isFor(at) {
			return c, nil
		}
	}
	c := newClient(at)
	clients.open[c] = true
	return c, nil
}

func (c *Client) isFor(at address) bool {
	served := c.served.Load()
	if served != nil && *served == at.now() {
		return true
	}
	if c.at.standard || at.standard {
		return c.at == at
	}
	return c.at.now() == at.now()
}

func newClient(at address) *Client {
	c := &Client{at: at, label: label(), turn: make(chan struct{}, 1), holds: map[string]*hold{}, owned: map[[2]string]*hold{},
		queues: map[queueKey]*nameQueue{}, looks: looks{of: map[string]*seenName{}}}
	c.life, c.close = context.WithCancel(context.Background())
	return c
}

// label is the name of the connection: printable ASCII without spaces, at most 128 bytes.
func label() string {
	name := strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' {
			return '_'
		}
		return r
	}, filepath.Base(os.Args[0]))
	return name[:min(len(name), 100)] + ":" + strconv.Itoa(os.Getpid())
}

// Close ends the session. All locks of this Client are given back, their contexts are cancelled, and calls that wait
// return ErrClosed. The next Open makes a new Client. A program that ends need not call Close.
func (c *Client) Close() error {
	clients.Lock()
	delete(clients.open, c)
	clients.Unlock()
	c.close()
	c.loseAll("closed the client was closed")
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	l := c.link.Load()
	if l == nil || l.ended() {
		return nil
	}
	l.leave()
	defer l.end(ErrClosed)
	ctx, cancel := context.WithTimeout(context.Background(), unlockTime)
	defer cancel()
	// The process keeps a bound session beyond QUIT, so each wait and then each hold is ended.
	holds, err := c.all(), error(nil)
	for _, h := range holds {
		if err == nil {
			_, err = l.ask(ctx, nil, "CANCEL", h.tag)
		}
	}
	for _, h := range holds {
		if err == nil {
			err = h.unlock(func(words ...string) (value, error) { return l.ask(ctx, nil, words...) })
		}
		if errors.Is(err, ErrLost) {
			err = nil
		}
	}
	if err == nil {
		_, err = l.ask(ctx, nil, "QUIT")
	}
	return err
}

func (c *Client) all() []*hold {
	c.mu.Lock()
	defer c.mu.Unlock()
	holds := make([]*hold, 0, len(c.holds))
	for _, h := range c.holds {
		holds = append(holds, h)
	}
	return holds
}

// connected is the connection to the daemon. If there is none, it connects until ctx is done, or until giveUp if that
// is not zero; it tries once at least.
func (c *Client) connected(ctx context.Context, giveUp time.Time) (*link, error) {
	if c.life.Err() != nil {
		return nil, ErrClosed
	}
	if l := c.link.Load(); l != nil && !l.ended() {
		return l, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	for pause := retryMin; ; pause = min(2*pause, retryMax) {
		l, err := c.tryConnect(ctx, pause)
		if err == nil {
			return l, nil
		}
		if c.life.Err() != nil {
			return nil, ErrClosed
		}
		if ctx.Err() != nil || isFinal(err) || !giveUp.IsZero() && !time.Now().Add(pause).Before(giveUp) {
			return nil, c.unreachable(err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// tryConnect connects, one goroutine at a time. A failure less than recent ago is that of all who waited for it.
func (c *Client) tryConnect(ctx context.Context, recent time.Duration) (*link, error) {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if l := c.link.Load(); l != nil && !l.ended() {
		return l, nil
	}
	if c.failure != nil && time.Since(c.failed) < recent {
		return nil, c.failure
	}
	l, err := c.connect(ctx)
	if err == nil {
		c.link.Store(l)
	}
	if ctx.Err() == nil {
		c.failure, c.failed = err, time.Now()
	}
	return l, err
}

// isFinal: trying again does not help.
func isFinal(err error) bool {
	var refused *Refused
	return errors.As(err, &refused) && refused.Code != "DRAINING" && refused.Code != "LIMIT" ||
		errors.Is(err, syscall.EACCES) || errors.Is(err, errForeign)
}

var errForeign = errors.New("what answers there is not holdfastd, but perhaps Redis")

// In the words of the program holdfast.
const (
	running   = ": is holdfastd running?"
	elsewhere = " If it is elsewhere, set HOLDFAST_URL"
)

func (c *Client) unreachable(why error) error {
	var refused *Refused
	if errors.As(why, &refused) {
		return refused
	}
	at, hint, origin := c.address(), "", ""
	if c.at.variable {
		origin = " (from HOLDFAST_URL)"
	}
	if errors.Is(why, syscall.ENOENT) && c.at.standard && c.served.Load() == nil {
		return fmt.Errorf("%w: %s%s", ErrUnreachable, c.at.missing(), running+elsewhere)
	} else if errors.Is(why, syscall.ENOENT) || errors.Is(why, syscall.ECONNREFUSED) {
		hint = running
		if c.at.standard || c.at.variable {
			hint += elsewhere
		}
	} else if errors.Is(why, syscall.EACCES) {
		hint = ": this user may not use the socket; members of the group that owns it may"
	}
	return fmt.Errorf("%w at %s%s: %w%s", ErrUnreachable, at.text, origin, why, hint)
}

// address is where to connect now.
func (c *Client) address() address {
	if served := c.served.Load(); served != nil {
		return *served
	}
	return c.at.now()
}

// connect opens a connection, and has it speak for the session of this Client: for the one that it had, if the daemon
// still knows it. The caller has the turn.
func (c *Client) connect(ctx context.Context) (*link, error) {
	at := c.address()
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	l, err := dial(limited, at, c.push)
	if err == nil {
		err = c.hello(limited, l)
	}
	if err != nil && l != nil {
		l.end(err)
		if err == errCut {
			err = l.why
		}
	}
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = errSilent
	}
	if err != nil {
		return nil, err
	}
	before := c.served.Swap(&at)
	text := "connected to holdfastd"
	if before != nil {
		text = "connected to holdfastd again"
	}
	c.tell(slog.LevelInfo, text, "address", at.text, "same_session", c.resumed)
	go c.watch(l, at)
	return l, nil
}

// watch looks after a connection until it has ended.
func (c *Client) watch(l *link, at address) {
	l.ping()
	c.mu.Lock()
	for _, h := range c.holds {
		h.rouse()
	}
	c.mu.Unlock()
	if c.life.Err() == nil {
		c.tell(slog.LevelWarn, "the connection to holdfastd is lost", "address", at.text, "error", l.why)
	}
}

func (c *Client) hello(ctx context.Context, l *link) error {
	hello := []string{"HELLO", "3"}
	if c.at.password != "" {
		user := c.at.user
		if user == "" {
			user = "default"
		}
		hello = append(hello, "AUTH", user, c.at.password)
	}
	v, err := l.ask(ctx, nil, append(hello, "SETNAME", c.label)...)
	if err != nil {
		return err
	}
	if len(v.items) < 2 || v.items[1].text != "holdfast" {
		if v.kind == '-' && !strings.HasPrefix(v.text, "ERR unknown command") {
			return v.refused()
		}
		return errForeign
	}
	c.resumed = false
	if c.secret != "" {
		if v, err = l.ask(ctx, nil, "SESSION", "RESUME", c.secret); err != nil {
			return err
		}
		c.resumed = v.kind != '-'
		if v.kind == '-' && v.refused().Code != "ERR" {
			return v.refused()
		}
	} // if the daemon does not know it any more, CHECK of each hold will show that
	if err = c.bind(ctx, l); err != nil {
		return err
	}
	v, err = l.ask(ctx, nil, "SESSION", "GRACE", milliseconds(grace))
	if err != nil {
		return err
	}
	if v.kind == '-' && v.refused().Code == "DRAINING" {
		return v.refused()
	}
	c.secret = ""
	if v.kind == '$' { // else the daemon allows no such grace: a cut is a loss
		c.secret = v.text
	}
	_, err = l.ask(ctx, nil, "SESSION", "ONLOSS", "PUSH")
	return err
}

// bind ties the session to this process. If that is not possible, the grace alone counts.
func (c *Client) bind(ctx context.Context, l *link) error {
	if c.at.network != "unix" {
		return nil
	}
	file := pidfd()
	if file == nil {
		return nil
	}
	defer file.Close()
	_, err := l.ask(ctx, file, "SESSION", "BIND")
	return err
}

// do sends a request that may be repeated, over as many connections as it takes, until it is answered or ctx is done.
func (c *Client) do(ctx context.Context, words ...string) (value, error) {
	for {
		l, err := c.connected(ctx, time.Time{})
		if err != nil {
			return value{}, err
		}
		if v, err := l.ask(ctx, nil, words...); err != errCut {
			return v, err
		}
	}
}

// push takes grant id token ms; failed id code text; lost name owner token reason.
func (c *Client) push(v push) {
	if len(v.items) < 3 {
		return
	}
	id := v.items[1].text
	if v.items[0].text == "lost" {
		id = v.items[2].text
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.holds[id]
	switch {
	case h == nil:
	case v.items[0].text == "lost" && len(v.items) > 4:
		h.lose(v.items[4].text)
	default:
		select {
		case h.outcome <- v:
		default:
		}
	}
}

func (c *Client) loseAll(reason string) {
	for _, h := range c.all() {
		c.mu.Lock()
		if h.token.Load() != 0 {
			h.lose(reason)
		}
		c.mu.Unlock()
	}
}
