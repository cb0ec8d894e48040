// A puppet (tests/interop/puppet.py) of redigo. What threads share is a pool, as its documentation has it.
package main

import (
	"errors"
	"runtime/debug"
	"sync"

	"github.com/gomodule/redigo/redis"
)

func anys(words []string) []any {
	args := make([]any, len(words))
	for i, word := range words {
		args[i] = word
	}
	return args
}

// one is a connection: for one thread at a time.
type one struct {
	conn  redis.Conn
	mutex *sync.Mutex
}

func (c one) call(words []string) (any, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.conn.Do(words[0], anys(words[1:])...)
}

func (c one) close() {
	c.conn.Close()
}

type pool struct {
	pool *redis.Pool
}

func (c pool) call(words []string) (any, error) {
	conn := c.pool.Get()
	defer conn.Close()
	return conn.Do(words[0], anys(words[1:])...)
}

func (c pool) close() {
	c.pool.Close()
}

func open(address string, shared, _ bool) (client, error) {
	dial := func() (redis.Conn, error) { return redis.Dial("tcp", address) }
	if shared {
		// As many as the threads of a scene: what is too many to be idle is closed, with all that it holds.
		return pool{&redis.Pool{MaxIdle: 32, Dial: dial}}, nil
	}
	conn, err := dial()
	return one{conn, &sync.Mutex{}}, err
}

func version() string {
	about, _ := debug.ReadBuildInfo()
	for _, module := range about.Deps {
		if module.Path == "github.com/gomodule/redigo" {
			return module.Version
		}
	}
	return ""
}

func main() {
	perform(library{
		name: "redigo " + version(),
		open: open,
		null: func(err error) bool { return errors.Is(err, redis.ErrNil) },
		refused: func(err error) bool {
			var reply redis.Error
			return errors.As(err, &reply)
		},
	})
}
