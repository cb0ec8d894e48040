// A puppet (tests/interop/puppet.py) of go-redis.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

type client interface {
	Do(ctx context.Context, args ...any) *redis.Cmd
}

type puppet struct {
	port    string
	clients map[string]client
	cancel  map[string]func()
	voice   sync.Mutex
}

func (p *puppet) say(words ...any) {
	line := fmt.Sprintln(words...)
	p.voice.Lock()
	defer p.voice.Unlock()
	fmt.Println(strings.Join(strings.Fields(line), " "))
}

func (p *puppet) tell(number string, value any, err error) {
	var reply redis.Error
	switch {
	case errors.Is(err, redis.Nil):
		p.say(number, "null")
	case errors.As(err, &reply):
		p.say(number, "refused", err)
	case err != nil:
		p.say(number, "broken", err)
	default:
		switch v := value.(type) {
		case int64:
			p.say(number, "int", v)
		case []any:
			p.say(append([]any{number, "list"}, v...)...)
		default:
			p.say(number, "text", v)
		}
	}
}

func (p *puppet) open(number, name, kind string) {
	pool := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + p.port})
	p.clients[name] = pool
	p.cancel[name] = func() { pool.Close() }
	if kind == "one" {
		conn := pool.Conn()
		p.clients[name] = conn
		p.cancel[name] = func() { conn.Close(); pool.Close() }
	}
	p.say(number, "ok")
}

func main() {
	p := &puppet{port: os.Args[1], clients: map[string]client{}, cancel: map[string]func(){}}
	p.say(0, "ready go-redis", redis.Version())
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		number, verb, name, rest := words[0], words[1], words[2], words[3:]
		switch verb {
		case "open":
			p.open(number, name, rest[0])
		case "close":
			p.cancel[name]()
			p.say(number, "ok")
		default:
			c, args := p.clients[name], make([]any, len(rest))
			for i, word := range rest {
				args[i] = word
			}
			go func() {
				value, err := c.Do(context.Background(), args...).Result()
				p.tell(number, value, err)
			}()
		}
	}
}
