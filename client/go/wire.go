package holdfast

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	answerTime = 10 * time.Second // a daemon that has not answered for so long is gone; no request of ours waits
	pingTime   = 5 * time.Second
	bulkMax    = 1 << 20
	itemsMax   = 1 << 14
)

var (
	errCut    = errors.New("the connection is lost")
	errSilent = errors.New("the daemon does not answer")
	errLate   = errors.New("there is no answer yet")
)

// value is an answer or a push of RESP3.
type value struct {
	kind  byte // '+', '-', ':', '$', '_' null, '*', '%', '>'
	text  string
	n     int64
	items []value
}

func (v value) refused() *Refused {
	code, text, _ := strings.Cut(v.text, " ")
	return &Refused{code, text}
}

// link is one connection. Answers come in the order of the requests; pushes come in between.
type link struct {
	conn net.Conn
	mu   sync.Mutex
	left bool          // no LOCK may be sent any more
	due  []chan value  // of the requests that have no answer yet, the oldest first
	down chan struct{} // closed when the connection has ended
	once sync.Once
	why  error // of the end; read it only when down is closed

	unannounced atomic.Bool // the daemon does not tell with a grant for how long it is good
}

// push is a push, and the connection that it came over.
type push struct {
	value
	over *link
}

// dial connects, without HELLO. Each push goes to take, which must not block.
func dial(ctx context.Context, a address, take func(push)) (*link, error) {
	dialer := net.Dialer{Timeout: answerTime / 2, KeepAlive: pingTime}
	conn, err := dialer.DialContext(ctx, a.network, a.place) // net opens all its sockets close-on-exec
	if err != nil {
		return nil, err
	}
	if a.tls.on {
		limited, cancel := context.WithTimeout(ctx, answerTime/2)
		defer cancel()
		if conn, err = a.tls.handshake(limited, conn, a.place); err != nil {
			return nil, err
		}
	}
	l := &link{conn: conn, down: make(chan struct{})}
	go l.read(take)
	return l, nil
}

func (l *link) end(why error) {
	l.once.Do(func() {
		l.why = why
		close(l.down)
		_ = l.conn.Close()
	})
}

func (l *link) ended() bool {
	select {
	case <-l.down:
		return true
	default:
		return false
	}
}

func (l *link) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left = true
}

// ask sends a request and waits for its answer. errCut: the connection ended before the answer came, and the request
// may have been carried out. file, if not nil, goes along.
func (l *link) ask(ctx context.Context, file *os.File, words ...string) (value, error) {
	v, err := l.askWithin(ctx, answerTime, file, words...)
	if err == errLate {
		l.end(errSilent)
		err = errCut
	}
	return v, err
}

// askWithin is ask, but for the time: errLate: no answer came within it, and the connection goes on.
func (l *link) askWithin(ctx context.Context, within time.Duration, file *os.File, words ...string) (value, error) {
	answer := make(chan value, 1)
	if err := l.send(answer, file, words); err != nil {
		l.end(err)
		return value{}, errCut
	}
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case v := <-answer:
		return v, nil
	case <-l.down:
		select {
		case v := <-answer: // it came before the end
			return v, nil
		default:
			return value{}, errCut
		}
	case <-timer.C:
		return value{}, errLate
	case <-ctx.Done():
		return value{}, ctx.Err()
	}
}

func (l *link) send(answer chan value, file *os.File, words []string) error {
	request := encode(make([]byte, 0, 256), words)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left && words[0] == "LOCK" {
		return nil // its caller waits until the connection ends
	}
	l.due = append(l.due, answer)
	_ = l.conn.SetWriteDeadline(time.Now().Add(answerTime))
	if unix, ok := l.conn.(*net.UnixConn); ok && file != nil {
		_, _, err := unix.WriteMsgUnix(request, rights(file), nil)
		return err
	}
	_, err := l.conn.Write(request)
	return err
}

// encode appends a request as a RESP array.
func encode(to []byte, words []string) []byte {
	to = append(strconv.AppendInt(append(to, '*'), int64(len(words)), 10), "\r\n"...)
	for _, w := range words {
		to = append(strconv.AppendInt(append(to, '$'), int64(len(w)), 10), "\r\n"...)
		to = append(append(to, w...), "\r\n"...)
	}
	return to
}

func (l *link) read(take func(push)) {
	in := bufio.NewReader(l.conn)
	for {
		v, err := readValue(in)
		if err != nil {
			l.end(err)
			return
		}
		if v.kind == '>' {
			take(push{v, l})
			continue
		}
		l.mu.Lock()
		var answer chan value
		if len(l.due) > 0 {
			answer, l.due = l.due[0], l.due[1:]
		}
		l.mu.Unlock()
		if answer == nil {
			l.end(v.refused()) // the daemon says why it closes the connection
			return
		}
		answer <- v
	}
}

// ping ends a connection whose daemon is silent, which a waiter would not notice.
func (l *link) ping() {
	ticker := time.NewTicker(pingTime)
	defer ticker.Stop()
	for {
		select {
		case <-l.down:
			return
		case <-ticker.C:
			_, _ = l.ask(context.Background(), nil, "PING")
		}
	}
}

func readValue(in *bufio.Reader) (value, error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return value{}, err
	}
	if len(line) < 3 || line[len(line)-2] != '\r' {
		return value{}, fmt.Errorf("not an answer of holdfastd: %q", line)
	}
	v := value{kind: line[0], text: string(line[1 : len(line)-2])}
	switch v.kind {
	case '+', '-':
		return v, nil
	case '_':
		return v, nil
	}
	if v.n, err = strconv.ParseInt(v.text, 10, 64); err != nil {
		return v, fmt.Errorf("not an answer of holdfastd: %q", line)
	}
	switch {
	case v.kind == ':':
		return v, nil
	case v.n < 0:
		return value{kind: '_'}, nil
	case v.kind == '$' && v.n <= bulkMax:
		bytes := make([]byte, v.n+2)
		_, err = io.ReadFull(in, bytes)
		v.text = string(bytes[:v.n])
		return v, err
	case (v.kind == '*' || v.kind == '>' || v.kind == '%') && v.n <= itemsMax:
		if v.kind == '%' {
			v.n *= 2
		}
		for i := int64(0); i < v.n; i++ {
			item, err := readValue(in)
			if err != nil {
				return v, err
			}
			v.items = append(v.items, item)
		}
		return v, nil
	}
	return v, fmt.Errorf("not an answer of holdfastd: %q", line)
}
