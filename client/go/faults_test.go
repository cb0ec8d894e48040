//go:build unix

package holdfast

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// child is this program again: it holds a lock, starts a process that outlives it, and says so.
func child(name string) {
	c, err := Open("")
	if err == nil {
		_, err = c.Lock(context.Background(), name)
	}
	heir := exec.Command("sleep", "600")
	if err == nil {
		err = heir.Start()
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(heir.Process.Pid)
	select {}
}

// A killed holder's lock passes on at once, long before the lease (60 s) and the grace (10 s) are over, although a
// process that it has started lives on.
func TestHolderKilled(t *testing.T) {
	s := start(t, calm)
	ask := s.admin(t)
	c := s.open(t, s.socket)
	program, err := os.Executable()
	must(t, err)
	took := make([]time.Duration, 20)
	for i := range took {
		holder := exec.Command(program)
		holder.Env = append(os.Environ(), "HOLDFAST_TEST_CHILD=a", "HOLDFAST_URL="+s.socket)
		out, err := holder.StdoutPipe()
		must(t, err)
		must(t, holder.Start())
		line, err := bufio.NewReader(out).ReadString('\n')
		must(t, err)
		heir, err := strconv.Atoi(strings.TrimSpace(line))
		must(t, err)
		links, _ := exec.Command("sh", "-c", fmt.Sprintf("ls -l /proc/%d/fd", heir)).Output()
		if strings.Contains(string(links), "socket:") || strings.Contains(string(links), "pidfd") {
			t.Errorf("a child inherits\n%s", links)
		}
		granted := make(chan *Lock)
		go func() {
			lock, err := c.Lock(background, "a")
			if err != nil {
				t.Error(err)
			}
			granted <- lock
		}()
		until(t, "it waits", func() bool { return ask("INSPECT", "a").get("waiter_count").n == 1 })
		begun := time.Now()
		kill(t, holder)
		lock := <-granted
		took[i] = time.Since(begun)
		must(t, lock.Unlock())
		orphan, _ := os.FindProcess(heir)
		must(t, orphan.Kill())
	}
	tell(t, "kill of the holder to the next grant", took, 5*time.Second)
}

// `holdfast restart` is no loss, for holders nor for waiters.
func TestRestart(t *testing.T) {
	s := start(t, calm)
	ask := s.admin(t)
	s.both(t, func(t *testing.T, c *Client) {
		held := take(t, c, "held")
		waits := make(chan *Lock)
		go func() {
			lock, err := c.Lock(background, "held")
			if err != nil {
				t.Error(err)
			}
			waits <- lock
		}()
		until(t, "it waits", func() bool { return ask("INSPECT", "held").get("waiter_count").n == 1 })
		stop, done, grants := make(chan struct{}), make(chan struct{}), atomic.Int64{}
		go func() {
			defer close(done)
			crowd(10, func(int) {
				for {
					select {
					case <-stop:
						return
					default:
					}
					lock, err := c.Lock(background, "work", Wait(hang))
					if err != nil {
						t.Error(err)
						return
					}
					if err = lock.Unlock(); err != nil {
						t.Error(err)
						return
					}
					grants.Add(1)
				}
			})
		}()
		for i := 0; i < 5; i++ {
			before := grants.Load()
			restart := exec.Command(programs["HOLDFAST"], "restart")
			restart.Env = append(os.Environ(), "HOLDFAST_URL="+s.socket)
			if out, err := restart.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			until(t, "work goes on", func() bool { return grants.Load() > before+20 })
		}
		close(stop)
		<-done
		if held.Context().Err() != nil || held.ValidFor() <= 0 {
			t.Error("lost: ", context.Cause(held.Context()))
		}
		must(t, held.Unlock())
		must(t, (<-waits).Unlock())
		nothingLeft(t, ask)
	})
}

// A daemon that is killed and comes back either knows the session, and the lock is kept; or it does not, and the loss is
// told before another holder is granted the lock.
func TestDaemonComesBack(t *testing.T) {
	s := start(t, brisk)
	c := s.open(t, s.socket)
	lock := take(t, c, "a")
	kill(t, s.daemon)
	must(t, s.startDaemon())
	other := s.open(t, s.tcp)
	next, err := other.Lock(background, "a", Wait(10*time.Second))
	if err == nil {
		lost(t, lock, "")
		wants(t, lock.Unlock(), ErrLost)
		must(t, next.Unlock())
	} else {
		wants(t, err, ErrTimeout)
		must(t, lock.Unlock())
	}
	must(t, take(t, c, "a", Wait(hang)).Unlock())
}

// cut has the daemon close the connections of c.
func cut(t *testing.T, ask func(...string) value, c *Client) {
	t.Helper()
	for _, line := range strings.Split(ask("CLIENT", "LIST").text, "\n") {
		if strings.Contains(line, "name="+c.label+" ") {
			id, _, _ := strings.Cut(strings.TrimPrefix(line, "id="), " ")
			ask("CLIENT", "KILL", "ID", id)
		}
	}
}

// A cut connection is no loss: locks are kept, and waiters keep their places.
func TestConnectionCut(t *testing.T) {
	s := start(t, calm)
	ask := s.admin(t)
	s.both(t, func(t *testing.T, c *Client) {
		c.label += c.at.network
		held := take(t, c, "a")
		var order []int
		var turns sync.WaitGroup
		for i := 0; i < 3; i++ {
			turns.Add(1)
			go func(i int) {
				defer turns.Done()
				lock, err := c.Lock(background, "a", Owner(fmt.Sprint("o", i))) // each waits at the daemon
				if err != nil {
					t.Error(err)
					return
				}
				order = append(order, i)
				must(t, lock.Unlock())
			}(i)
			until(t, "it waits", func() bool { return ask("INSPECT", "a").get("waiter_count").n == int64(i+1) })
		}
		for i := 0; i < 50; i++ {
			l := c.link.Load()
			cut(t, ask, c)
			select {
			case <-l.down:
			case <-time.After(hang):
				t.Fatal("the connection is not cut")
			}
			until(t, "it comes back", func() bool { return c.link.Load() != l })
		}
		if token := ask("INSPECT", "a").get("holder").get("token").n; token != held.Token() {
			t.Errorf("token %d, not %d", token, held.Token())
		}
		must(t, held.Unlock())
		turns.Wait()
		if fmt.Sprint(order) != "[0 1 2]" {
			t.Error("the order is ", order)
		}
		nothingLeft(t, ask)
	})
}

// The grant comes after the deadline that it tells, and so does the answer to the first CHECK, as to a process that stood still for a
// lease each time.
func TestStoodStill(t *testing.T) {
	s := start(t, brisk)
	var locks, checks atomic.Int32
	c := s.open(t, s.proxy(t, func(request string) time.Duration {
		if strings.Contains(request, "VALIDITY") && locks.Add(1) == 1 || strings.Contains(request, "CHECK") && checks.Add(1) == 1 {
			return 2100 * time.Millisecond
		}
		return 0
	}))
	lock := take(t, c, "a")
	if lock.ValidFor() <= 0 || checks.Load() < 2 {
		t.Errorf("valid for %v after %d CHECKs", lock.ValidFor(), checks.Load())
	}
	must(t, lock.Unlock())
	nothingLeft(t, s.admin(t))
}

// Contexts are cancelled in every phase: before the request, behind it, in the queue, at the grant, while connections
// are cut. Nothing is left, and no two have the lock.
func TestCancelled(t *testing.T) {
	s := start(t, calm)
	ask := s.admin(t)
	s.both(t, func(t *testing.T, c *Client) {
		c.label += c.at.network
		stop := make(chan struct{})
		var cutter sync.WaitGroup
		cutter.Add(1)
		go func() {
			defer cutter.Done()
			for {
				select {
				case <-stop:
					return
				case <-time.After(time.Duration(rand.Intn(40)) * time.Millisecond):
					cut(t, ask, c)
				}
			}
		}()
		var inside [3]atomic.Int32
		var granted, cancelled atomic.Int32
		crowd(20, func(i int) {
			for n := 0; n < 50; n++ {
				name := (i + n) % len(inside)
				ctx, cancel := context.WithCancel(background)
				switch n % 10 {
				case 3: // at once
					cancel()
				case 7: // when it has the lock
				default:
					defer time.AfterFunc(time.Duration(rand.Intn(8000))*time.Microsecond, cancel).Stop()
				}
				var lock *Lock
				var err error
				if n%5 == 0 {
					lock, err = c.LockAll(ctx, []string{"z", strconv.Itoa(name)})
				} else {
					lock, err = c.Lock(ctx, strconv.Itoa(name))
				}
				if err == nil {
					granted.Add(1)
					if inside[name].Add(1) != 1 {
						t.Error("two holders")
					}
					time.Sleep(time.Duration(rand.Intn(500)) * time.Microsecond)
					inside[name].Add(-1)
					if err = lock.Unlock(); err != nil {
						t.Error("Unlock: ", err)
					}
				} else if cancelled.Add(1); !errors.Is(err, context.Canceled) {
					t.Error("Lock: ", err)
				}
				cancel()
			}
		})
		close(stop)
		cutter.Wait()
		t.Logf("%d granted, %d cancelled", granted.Load(), cancelled.Load())
		if cancelled.Load() == 0 || granted.Load() == 0 {
			t.Error("not every phase was met")
		}
		nothingLeft(t, ask)
	})
}

func TestEarlyTimeouts(t *testing.T) {
	s := start(t, calm)
	ask := s.admin(t)
	s.both(t, func(t *testing.T, c *Client) {
		crowd(20, func(i int) {
			for n := 0; n < 20; n++ {
				lock, err := c.Lock(background, "a", Wait(time.Duration(rand.Intn(5))*time.Millisecond))
				if err == nil {
					time.Sleep(time.Duration(rand.Intn(3)) * time.Millisecond)
					err = lock.Unlock()
				}
				var refused *Refused
				if errors.As(err, &refused) && refused.Code == "NOMASTER" { // it has not answered yet
					continue
				}
				if err != nil && !errors.Is(err, ErrTimeout) && !errors.Is(err, ErrBusy) {
					t.Error(err)
				}
			}
		})
		nothingLeft(t, ask)
	})
}

func TestCounter(t *testing.T) {
	s := start(t, calm)
	ask := s.admin(t)
	s.both(t, func(t *testing.T, c *Client) {
		const clients, rounds = 1000, 5
		var inside, counter, last atomic.Int64
		begun := time.Now()
		crowd(clients, func(int) {
			for n := 0; n < rounds; n++ {
				lock, err := c.Lock(background, "counter")
				if err != nil {
					t.Error(err)
					return
				}
				if inside.Add(1) != 1 || last.Swap(lock.Token()) >= lock.Token() {
					t.Error("two holders, or a token that does not grow")
				}
				counter.Store(counter.Load() + 1)
				inside.Add(-1)
				if err = lock.Unlock(); err != nil {
					t.Error(err)
				}
			}
		})
		if counter.Load() != clients*rounds {
			t.Error("counted to ", counter.Load())
		}
		t.Logf("%.0f locks in a second", clients*rounds/time.Since(begun).Seconds())
		nothingLeft(t, ask)
	})
}

func TestUnreachable(t *testing.T) {
	s := start(t, calm)
	for where, hint := range map[string]string{s.folder + "/none": ": is holdfastd running?", s.folder + "/redis": "perhaps Redis"} {
		_, err := s.open(t, where).Lock(background, "a")
		wants(t, err, ErrUnreachable)
		if !strings.HasSuffix(err.Error(), hint) {
			t.Error("no hint in ", err)
		}
	}
	t.Setenv("HOLDFAST_URL", s.folder+"/none")
	_, err := s.open(t, "").Lock(background, "a", Wait(0))
	wants(t, err, ErrUnreachable)
	if !strings.Contains(err.Error(), "/none (from HOLDFAST_URL): ") || !strings.HasSuffix(err.Error(), ": is holdfastd running? If it is elsewhere, set HOLDFAST_URL") {
		t.Error("not said where the address comes from: ", err)
	}
	// A listener that never answers.
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer silent.Close()
	for _, opts := range [][]Option{{Wait(0)}, nil} {
		_, err = s.open(t, silent.Addr().String()).Lock(background, "a", opts...)
		wants(t, err, ErrUnreachable)
	}
}

func TestClose(t *testing.T) {
	s := start(t, calm)
	ask := s.admin(t)
	c := s.open(t, s.socket)
	lock := take(t, c, "a")
	waits := make(chan error)
	go func() {
		_, err := c.Lock(background, "a")
		waits <- err
	}()
	until(t, "it waits", func() bool { return ask("INSPECT", "a").get("waiter_count").n == 1 })
	must(t, c.Close())
	lost(t, lock, "closed")
	wants(t, <-waits, ErrClosed)
	wants(t, lock.Unlock(), ErrLost)
	nothingLeft(t, ask)
}

func TestAddress(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", "/nowhere")
	for where, wanted := range map[string]address{
		"/a/b":                                   {network: "unix", place: "/a/b", text: "unix:/a/b"},
		"unix:./a":                               {network: "unix", place: "./a", text: "unix:./a"},
		"unix:///a":                              {network: "unix", place: "/a", text: "unix:/a"},
		"h:1":                                    {network: "tcp", place: "h:1", text: "tcp://h:1"},
		"tcp://h":                                {network: "tcp", place: "h:5625", text: "tcp://h:5625"},
		"redis://u:p%40@[::1]:7/0":               {network: "tcp", place: "[::1]:7", user: "u", password: "p@", text: "tcp://[::1]:7"},
		"redis://:p@h":                           {network: "tcp", place: "h:5625", password: "p", text: "tcp://h:5625"},
		"tls://h:1?name=n&ca=%2fc":               {network: "tcp", place: "h:1", text: "tls://h:1", tls: secure{on: true, ca: "/c", name: "n"}},
		"rediss://u:p@h/0?certificate=/a&key=/b": {network: "tcp", place: "h:5625", user: "u", password: "p", text: "tls://h:5625", tls: secure{on: true, certificate: "/a", key: "/b"}},
	} {
		if a, err := parseAddress(where); err != nil || a != wanted {
			t.Errorf("%s: %+v, %v", where, a, err)
		}
		t.Setenv("HOLDFAST_URL", where)
		wanted.variable = true
		if a, err := chooseAddress(""); err != nil || a != wanted {
			t.Errorf("HOLDFAST_URL=%s: %+v, %v", where, a, err)
		}
	}
	t.Setenv("HOLDFAST_URL", "")
	if a, err := chooseAddress(""); err != nil || a.now().place != defaultSocket {
		t.Errorf("without HOLDFAST_URL: %+v, %v", a, err)
	}
	for _, where := range []string{"h", "unix:", "http://h:1", "h:0", "h:65536", "redis://secret@h", "redis://u:p@h/1", ":1",
		"tls://h?x=1", "tls://h?key=/k", "tls://h?ca=%zz", "tcp://h?ca=/c"} {
		a, err := chooseAddress(where)
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %+v, %v", where, a, err)
		} else if !strings.Contains(where, "@") && !strings.Contains(err.Error(), strconv.Quote(where)) {
			t.Errorf("the address %q is not in: %v", where, err)
		}
	}
}

// The standard address is chosen anew at each connect until a daemon has answered, and stays from then on.
func TestStandardAddress(t *testing.T) {
	s := start(t, calm)
	t.Setenv("HOLDFAST_URL", "")
	t.Setenv("XDG_RUNTIME_DIR", s.folder)
	at, err := chooseAddress("")
	must(t, err)
	at.place = s.folder + "/system" // in place of /run/holdfast/holdfast.sock
	own := s.folder + "/holdfast/holdfast.sock"
	must(t, os.Mkdir(s.folder+"/holdfast", 0o700))
	for _, place := range []string{own, at.place} {
		c := newClient(at)
		t.Cleanup(func() { _ = c.Close() })
		_, err = c.Lock(background, "a", Wait(0))
		wants(t, err, ErrUnreachable)
		if text := "cannot reach holdfastd: neither $XDG_RUNTIME_DIR/holdfast/holdfast.sock nor " + at.place +
			" is there: is holdfastd running? If it is elsewhere, set HOLDFAST_URL"; err.Error() != text {
			t.Errorf("%q is not %q", err, text)
		}
		must(t, os.Symlink(s.socket, place))
		must(t, take(t, c, "a", Wait(hang)).Unlock())
		other := map[string]string{own: at.place, at.place: own}[place]
		must(t, os.Symlink(s.folder+"/redis", other))
		cut(t, s.admin(t), c)
		<-c.link.Load().down
		must(t, take(t, c, "a", Wait(hang)).Unlock())
		if text := c.address().place; text != place {
			t.Errorf("connects to %s after %s has served", text, place)
		}
		must(t, os.Remove(own))
		must(t, os.Remove(at.place))
	}
}

// The socket in $XDG_RUNTIME_DIR is taken only if root or this user put it there.
func TestSocketOfAnotherUser(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("HOLDFAST_URL", "")
	t.Setenv("XDG_RUNTIME_DIR", folder)
	own := folder + "/holdfast/holdfast.sock"
	must(t, os.Mkdir(folder+"/holdfast", 0o700))
	must(t, os.Symlink("/dev/null", own))
	at, err := chooseAddress("")
	must(t, err)
	at.place = "/system" // in place of /run/holdfast/holdfast.sock
	takes := func(fault string) {
		t.Helper()
		place, text := own, "neither $XDG_RUNTIME_DIR/holdfast/holdfast.sock nor /system is there"
		if fault != "" {
			place, text = at.place, "$XDG_RUNTIME_DIR/holdfast/holdfast.sock is not taken, "+fault+", and /system is not there"
		}
		if at.now().place != place || at.missing() != text {
			t.Errorf("takes %s in place of %s: %s", at.now().place, place, at.missing())
		}
	}
	takes("")
	for _, path := range []string{folder, folder + "/holdfast"} {
		must(t, os.Chmod(path, 0o777))
		takes("everybody may write to its directory")
		must(t, os.Chmod(path, 0o777|os.ModeSticky))
		takes("")
		must(t, os.Chmod(path, 0o755))
		if os.Geteuid() == 0 {
			must(t, os.Lchown(path, 61999, 61999))
			takes("its directory belongs to another user")
			must(t, os.Lchown(path, 0, 0))
		}
	}
	if os.Geteuid() == 0 {
		must(t, os.Lchown(own, 61999, 61999))
		takes("it belongs to another user")
	}
}

// Open gives one Client for each daemon, however its address was found.
func TestOneClient(t *testing.T) {
	s := start(t, calm)
	t.Setenv("XDG_RUNTIME_DIR", s.folder)
	must(t, os.Mkdir(s.folder+"/holdfast", 0o700))
	own := s.folder + "/holdfast/holdfast.sock"
	must(t, os.Symlink(s.socket, own))
	t.Setenv("HOLDFAST_URL", "")
	c, err := Open("")
	must(t, err)
	defer c.Close()
	must(t, take(t, c, "a").Unlock())
	for _, where := range []string{"", own, "unix:" + own} {
		if other, err := Open(where); err != nil || other != c {
			t.Errorf("another Client for %q: %v", where, err)
		}
	}
	t.Setenv("HOLDFAST_URL", own)
	if other, err := Open(""); err != nil || other != c {
		t.Error("another Client for HOLDFAST_URL: ", err)
	}
}
