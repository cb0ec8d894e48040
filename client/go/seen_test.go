//go:build unix

package holdfast

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// Who waits is told of the holder and of its place, after a second; the error of a wait that is over names the holder, too.
func TestHolderIsNamed(t *testing.T) {
	s := start(t, calm)
	s.both(t, func(t *testing.T, c *Client) {
		holder := s.open(t, s.socket)
		holder.serial = 1000 // both have the session of the process
		held := take(t, holder, "a", Why("a reason"))
		told := []chan Waiting{make(chan Waiting, 100), make(chan Waiting, 100), make(chan Waiting, 100)}
		ctx, cancel := context.WithCancel(background)
		crowd(len(told), func(i int) {
			until(t, "those before it wait", func() bool { return c.waits("a") == i })
			if i == len(told)-1 {
				go func() {
					for _, news := range told {
						<-news
					}
					cancel()
				}()
			}
			_, err := c.Lock(ctx, "a", OnWait(func(w Waiting) {
				if w.Holder == nil || w.Holder.PID != os.Getpid() || w.Holder.UID != os.Getuid() || w.Holder.Token != held.Token() ||
					w.Holder.Client != label() || w.Holder.Why != "a reason" || time.Since(w.Holder.Since) > hang {
					t.Errorf("the holder is %+v", w.Holder)
				}
				if w.Name != "a" || w.Position != i+1 || w.Waited < lookFirst {
					t.Errorf("%d is told %+v", i, w)
				}
				told[i] <- w
			}))
			wants(t, err, context.Canceled)
		})
		_, err := c.Lock(background, "a", Wait(100*time.Millisecond))
		named(t, err, held)
		_, err = c.Lock(background, "a", Wait(0))
		wants(t, err, ErrBusy)
		must(t, held.Unlock())
	})
}

func named(t *testing.T, err error, held *Lock) {
	t.Helper()
	var late *TimedOut
	if !errors.As(err, &late) || !errors.Is(err, ErrTimeout) || !errors.Is(err, ErrBusy) || late.Holder == nil ||
		late.Holder.Token != held.Token() || !strings.Contains(err.Error(), "; the holder is "+label()+" (") || !strings.HasSuffix(err.Error(), "s") {
		t.Error(err)
	}
}

// waits is how many of this Client want the name.
func (c *Client) waits(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if q := c.queues[queueKey{name: name}]; q != nil {
		return q.fronts + len(q.behind)
	}
	return 0
}

// The holder may use the daemon of another host.
func TestHolderIsElsewhere(t *testing.T) {
	s := start(t, calm)
	other := s.neighbour(t)
	holder := other.open(t, other.socket)
	held := take(t, holder, "a")
	_, err := s.open(t, s.socket).Lock(background, "a", Wait(300*time.Millisecond))
	host, _ := os.Hostname()
	if named(t, err, held); !strings.Contains(err.Error(), " on "+host+", for ") {
		t.Error(err)
	}
	must(t, held.Unlock())
}

// A user who may not see the holder, and one who waits for nobody, is told that there is none.
func TestHolderIsNotSeen(t *testing.T) {
	file := t.TempDir() + "/password"
	must(t, os.WriteFile(file, []byte("word\n"), 0o600))
	s := start(t, calm+"users: [ { name: app, password-file: "+file+", may: [ lock ] } ]\n")
	held := take(t, s.open(t, s.socket), "a")
	c := s.open(t, "redis://app:word@"+s.tcp)
	var late *TimedOut
	if _, err := c.Lock(background, "a", Wait(100*time.Millisecond)); !errors.As(err, &late) || late.Holder != nil {
		t.Error(err)
	}
	must(t, held.Unlock())
}

// The ctx of Lock bounds the wait, and not the lock.
func TestContextBoundsTheWait(t *testing.T) {
	s := start(t, calm)
	s.both(t, func(t *testing.T, c *Client) {
		type key struct{}
		ctx, cancel := context.WithCancel(context.WithValue(background, key{}, "value"))
		held, err := c.Lock(ctx, "a")
		must(t, err)
		cancel()
		must(t, held.Check())
		if held.Context().Err() != nil || held.Context().Value(key{}) != "value" {
			t.Error("the context of the lock: ", held.Context())
		}
		must(t, held.Downgrade())
		late, cancel := context.WithTimeout(background, 100*time.Millisecond)
		defer cancel()
		_, err = s.open(t, s.tcp).Lock(late, "a")
		wants(t, err, context.DeadlineExceeded)
		named(t, err, held)
		if Transient(err) {
			t.Error("the ctx is done for good: ", err)
		}
		within, cancel := held.Within(background)
		defer cancel()
		must(t, held.Unlock())
		<-within.Done()
	})
}

// Readers join a lock that was downgraded, and it is held on.
func TestDowngrade(t *testing.T) {
	s := start(t, calm)
	s.both(t, func(t *testing.T, c *Client) {
		held := take(t, c, "a")
		token := held.Token()
		must(t, held.Downgrade())
		reader := take(t, c, "a", Shared(), Wait(hang))
		must(t, held.Check())
		if held.Token() != token {
			t.Error("another token")
		}
		must(t, reader.Unlock())
		must(t, held.Unlock())
		var refused *Refused
		permit := take(t, c, "s", Limit(2))
		if err := permit.Downgrade(); !errors.As(err, &refused) || refused.Code != "WRONGKIND" {
			t.Error(err)
		}
		must(t, permit.Unlock())
	})
}

// A daemon that takes the connection and says nothing counts as none, after five seconds.
func TestSilentDaemon(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer listener.Close()
	at, err := chooseAddress(listener.Addr().String())
	must(t, err)
	c := newClient(at)
	begun := time.Now()
	_, err = c.Lock(background, "a")
	if took := time.Since(begun); !errors.Is(err, ErrUnreachable) || took < patience || took > hang {
		t.Error(took, err)
	}
}

// What happens to a Client and its locks is told to hooks and to a log.
func TestSeen(t *testing.T) {
	s := start(t, calm)
	ask := s.admin(t)
	c := s.open(t, s.socket)
	var mu sync.Mutex
	var text bytes.Buffer
	seen := func(word string) func() bool {
		return func() bool {
			mu.Lock()
			defer mu.Unlock()
			return strings.Contains(text.String(), word)
		}
	}
	c.Log(slog.New(slog.NewTextHandler(writer(func(b []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return text.Write(b)
	}), nil)))
	waits, losses, calls := make(chan Waiting, 100), make(chan *Lost, 100), make(chan string, 100)
	stop := c.Observe(Hooks{
		Wait: func(w Waiting) { waits <- w },
		Hold: func(name string, token int64, waited time.Duration) { calls <- "hold " + name },
		Release: func(name string, token int64, held time.Duration) {
			if token == 0 || held <= 0 {
				t.Error(token, held)
			}
			calls <- "release " + name
		},
		Loss: func(lost *Lost, token int64, held time.Duration) { losses <- lost },
	})
	held := take(t, c, "a")
	until(t, "the connection is told", seen("connected to holdfastd\""))
	for _, line := range strings.Split(ask("CLIENT", "LIST").text, "\n") {
		if strings.Contains(line, "name="+label()) {
			ask("CLIENT", "KILL", "ID", strings.TrimPrefix(strings.Fields(line)[0], "id="))
		}
	}
	until(t, "the cut is told", seen("the connection to holdfastd is lost"))
	until(t, "the return is told", seen("connected to holdfastd again\""))
	until(t, "as a return to the session", seen("same_session=true"))
	go func() { _, _ = c.Lock(background, "a", Wait(hang)) }()
	if w := <-waits; w.Holder == nil || w.Position != 1 {
		t.Errorf("%+v", w)
	}
	until(t, "the wait is told", seen("a wait for a lock lasts"))
	must(t, held.Unlock())
	other := take(t, c, "b")
	ask("BREAK", "b", "TOKEN", fmt.Sprint(other.Token()))
	if lost := <-losses; lost.Name != "b" || lost.Reason != "broken" {
		t.Error(lost)
	}
	until(t, "the loss is told", seen("a lock was lost\" name=b reason=broken"))
	wants(t, other.Unlock(), ErrLost)
	for _, wanted := range []string{"hold a", "hold a", "release a", "hold b"} {
		got := <-calls
		if got != wanted && !strings.HasSuffix(wanted, " a") {
			t.Error(got, " in place of ", wanted)
		}
	}
	stop()
	if hooks, _ := c.watched(); len(hooks) != 0 {
		t.Error("hooks are left")
	}
}

type writer func(b []byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }
