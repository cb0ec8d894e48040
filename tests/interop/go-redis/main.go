// A puppet (tests/interop/puppet.py) of go-redis.
package main

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

type one struct {
	do   func(ctx context.Context, args ...any) *redis.Cmd
	shut func()
}

func (c one) call(words []string) (any, error) {
	args := make([]any, len(words))
	for i, word := range words {
		args[i] = word
	}
	return c.do(context.Background(), args...).Result()
}

func (c one) close() {
	c.shut()
}

func open(address string, shared, _ bool) (client, error) {
	pool := redis.NewClient(&redis.Options{Addr: address})
	if shared {
		return one{pool.Do, func() { pool.Close() }}, nil
	}
	conn := pool.Conn()
	return one{conn.Do, func() { conn.Close(); pool.Close() }}, nil
}

func main() {
	perform(library{
		name: "go-redis " + redis.Version(),
		open: open,
		null: func(err error) bool { return errors.Is(err, redis.Nil) },
		refused: func(err error) bool {
			var reply redis.Error
			return errors.As(err, &reply)
		},
	})
}
