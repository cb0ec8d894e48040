//go:build unix

package holdfast

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// The tests run against a real holdfastd and a real redis-server, whose paths they get from the environment. Timing
// never decides: patience is for what takes milliseconds on an idle machine.
const (
	hang  = 60 * time.Second
	calm  = "lease: 60s\n"
	brisk = "lease: 2s\nclock-margin: 200ms\n"
)

var programs = map[string]string{"HOLDFASTD": "", "HOLDFAST": "", "REDIS_SERVER": ""}

func TestMain(m *testing.M) {
	if name := os.Getenv("HOLDFAST_TEST_CHILD"); name != "" {
		child(name)
		return
	}
	if len(os.Args) == 5 && os.Args[1] == "soak" {
		soak(os.Args[2], os.Args[3], os.Args[4])
		return
	}
	for name := range programs {
		if programs[name] = os.Getenv(name); programs[name] == "" {
			fmt.Fprintf(os.Stderr, "%s has to be the path of the program: use `make check-go`\n", name)
			os.Exit(2)
		}
	}
	// Examples use the daemon that HOLDFAST_URL names.
	stage, err := newStage("lease: 60s\n")
	if err == nil {
		os.Setenv("HOLDFAST_URL", stage.socket)
	} else {
		fmt.Fprintln(os.Stderr, err)
	}
	status := 2
	if err == nil {
		status = m.Run()
	}
	stage.end()
	os.Exit(status)
}

// stage is a directory with a redis-server and a holdfastd of its own.
type stage struct {
	folder, socket, tcp string
	redis, daemon       *exec.Cmd
	log                 *os.File
}

func newStage(config string) (*stage, error) {
	folder, err := os.MkdirTemp("", "hf")
	if err != nil {
		return nil, err
	}
	s := &stage{folder: folder, socket: filepath.Join(folder, "s")}
	if s.log, err = os.Create(filepath.Join(folder, "log")); err != nil {
		return s, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return s, err
	}
	s.tcp = listener.Addr().String()
	listener.Close()
	text := fmt.Sprintf("listen:\n  - unix: %s\n  - tcp: %s\nmasters: [ \"unix://%s/redis\" ]\nrestart-guard: off\n%s",
		s.socket, s.tcp, folder, config)
	if !strings.Contains(config, "clock-margin") {
		text += "clock-margin: 1s\n"
	}
	if err = os.WriteFile(filepath.Join(folder, "yml"), []byte(text), 0o600); err != nil {
		return s, err
	}
	if s.redis, err = s.start(programs["REDIS_SERVER"], "--port", "0", "--unixsocket", folder+"/redis", "--save", "",
		"--dir", folder); err != nil {
		return s, err
	}
	return s, s.startDaemon()
}

// neighbour is another daemon with the same Redis.
func (s *stage) neighbour(t *testing.T) *stage {
	t.Helper()
	folder := t.TempDir()
	other := &stage{folder: folder, socket: filepath.Join(folder, "s"), log: s.log}
	text := fmt.Sprintf("listen: [ { unix: %s } ]\nmasters: [ \"unix://%s/redis\" ]\nrestart-guard: off\nclock-margin: 1s\n%s",
		other.socket, s.folder, calm)
	must(t, os.WriteFile(filepath.Join(folder, "yml"), []byte(text), 0o600))
	t.Cleanup(func() { _ = other.daemon.Process.Kill(); _ = other.daemon.Wait() })
	must(t, other.startDaemon())
	return other
}

func (s *stage) start(program string, arguments ...string) (*exec.Cmd, error) {
	command := exec.Command(program, arguments...)
	command.Stdout, command.Stderr = s.log, s.log
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "XDG_RUNTIME_DIR=") && !strings.HasPrefix(entry, "NOTIFY_SOCKET=") {
			command.Env = append(command.Env, entry)
		}
	}
	return command, command.Start()
}

// startDaemon returns when locks are granted.
func (s *stage) startDaemon() (err error) {
	if s.daemon, err = s.start(programs["HOLDFASTD"], "-c", filepath.Join(s.folder, "yml")); err != nil {
		return err
	}
	for end := time.Now().Add(hang); ; time.Sleep(5 * time.Millisecond) {
		l, err := dial(context.Background(), address{network: "unix", place: s.socket}, func(push) {})
		if err == nil {
			v, _ := l.ask(context.Background(), nil, "LOCK", "admitted", "WAIT", "0")
			_, _ = l.ask(context.Background(), nil, "QUIT")
			l.end(ErrClosed)
			if v.kind == ':' {
				return nil
			}
			err = fmt.Errorf("%c%s", v.kind, v.text)
		}
		if time.Now().After(end) {
			log, _ := os.ReadFile(s.log.Name())
			return fmt.Errorf("holdfastd grants no lock: %w\n%s", err, log)
		}
	}
}

func (s *stage) end() {
	for _, process := range []*exec.Cmd{s.daemon, s.redis} {
		if process != nil && process.ProcessState == nil {
			_ = process.Process.Signal(syscall.SIGCONT)
			_ = process.Process.Kill()
			_ = process.Wait()
		}
	}
	s.log.Close()
	os.RemoveAll(s.folder)
}

func kill(t *testing.T, process *exec.Cmd) {
	t.Helper()
	must(t, process.Process.Kill())
	_ = process.Wait()
}

func start(t *testing.T, config string) *stage {
	t.Helper()
	s, err := newStage(config)
	if s != nil {
		t.Cleanup(s.end)
	}
	must(t, err)
	return s
}

// open is a Client that another process would have: Open gives one for each address, so each has its own way to write it.
func (s *stage) open(t *testing.T, where string) *Client {
	t.Helper()
	at, err := chooseAddress(where)
	must(t, err)
	c := newClient(at)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func (s *stage) both(t *testing.T, test func(t *testing.T, c *Client)) {
	for _, where := range []string{s.socket, s.tcp} {
		c := s.open(t, where)
		t.Run(c.at.network, func(t *testing.T) { test(t, c) })
	}
}

// proxy is an address before the daemon. It holds the next answer back for as long as `delay` says of a request.
func (s *stage) proxy(t *testing.T, delay func(request string) time.Duration) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { listener.Close() })
	pass := func(from, to net.Conn, look func(text string)) {
		defer to.Close()
		bytes := make([]byte, 65536)
		for {
			n, err := from.Read(bytes)
			if err != nil {
				return
			}
			look(string(bytes[:n]))
			if _, err = to.Write(bytes[:n]); err != nil {
				return
			}
		}
	}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			daemon, err := net.Dial("tcp", s.tcp)
			if err != nil {
				client.Close()
				continue
			}
			var late atomic.Int64
			go pass(client, daemon, func(request string) { late.Store(int64(delay(request))) })
			go pass(daemon, client, func(string) { time.Sleep(time.Duration(late.Swap(0))) })
		}
	}()
	return listener.Addr().String()
}

// admin is a connection of the tests' own.
func (s *stage) admin(t *testing.T) func(words ...string) value {
	t.Helper()
	l, err := dial(context.Background(), address{network: "unix", place: s.socket}, func(push) {})
	must(t, err)
	t.Cleanup(func() { l.end(ErrClosed) })
	ask := func(words ...string) value {
		t.Helper()
		v, err := l.ask(context.Background(), nil, words...)
		must(t, err)
		return v
	}
	ask("HELLO", "3")
	return ask
}

// nothingLeft: no name is held, withheld or waited for.
func nothingLeft(t *testing.T, ask func(...string) value) {
	t.Helper()
	for _, lock := range ask("LOCKS").items[1].items {
		t.Errorf("left: %s is %s, held by %q (%s), %d waiters", lock.get("name").text, lock.get("state").text,
			lock.get("client").text, lock.get("owner").text, lock.get("waiters").n)
	}
}

func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(hang); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not within a minute: ", what)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wants(t *testing.T, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("expected %q, got %v", target, err)
	}
}

func take(t *testing.T, c *Client, name string, opts ...Option) *Lock {
	t.Helper()
	lock, err := c.Lock(context.Background(), name, opts...)
	must(t, err)
	return lock
}

// lost waits for the loss, and checks its reason.
func lost(t *testing.T, lock *Lock, reason string) {
	t.Helper()
	select {
	case <-lock.Context().Done():
	case <-time.After(hang):
		t.Fatal("the loss is not told")
	}
	cause := context.Cause(lock.Context())
	wants(t, cause, ErrLost)
	var lost *Lost
	if !errors.As(cause, &lost) || !strings.Contains(lost.Reason+": "+lost.Text, reason) {
		t.Fatalf("expected the reason %q, got %v", reason, cause)
	}
	if lock.ValidFor() != 0 {
		t.Fatal("a lost lock is valid for ", lock.ValidFor())
	}
}

// tell prints the median and the 99th percentile, and fails if that is above bound.
func tell(t *testing.T, what string, took []time.Duration, bound time.Duration) {
	t.Helper()
	sort.Slice(took, func(i, j int) bool { return took[i] < took[j] })
	p50, p99 := took[len(took)/2], took[len(took)*99/100]
	t.Logf("%s: %d times, p50 %v, p99 %v", what, len(took), p50.Round(time.Microsecond), p99.Round(time.Microsecond))
	if p99 > bound {
		t.Errorf("%s: p99 %v is above %v", what, p99, bound)
	}
}

// crowd runs work in n goroutines.
func crowd(n int, work func(i int)) {
	var group sync.WaitGroup
	for i := 0; i < n; i++ {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			work(i)
		}(i)
	}
	group.Wait()
}
