// A puppet (tests/interop/puppet.py) of valkey-go. What threads share is one connection with a pipeline; a connection
// of its own is a dedicated client.
package main

import (
	"context"

	"github.com/valkey-io/valkey-go"
)

type one struct {
	sender interface {
		B() valkey.Builder
		Do(ctx context.Context, command valkey.Completed) valkey.ValkeyResult
	}
	shut     func()
	blocking bool
}

func (c one) call(words []string) (any, error) {
	command := c.sender.B().Arbitrary(words...)
	if c.blocking {
		return c.sender.Do(context.Background(), command.Blocking()).ToAny()
	}
	return c.sender.Do(context.Background(), command.Build()).ToAny()
}

func (c one) close() {
	c.shut()
}

func open(address string, shared, patient bool) (client, error) {
	whole, err := valkey.NewClient(valkey.ClientOption{InitAddress: []string{address}})
	if err != nil {
		return nil, err
	}
	if shared {
		return one{whole, whole.Close, patient}, nil
	}
	dedicated, _ := whole.Dedicate()
	return one{dedicated, func() { dedicated.Close(); whole.Close() }, patient}, nil
}

func main() {
	perform(library{
		name: "valkey-go " + valkey.LibVer,
		open: open,
		null: valkey.IsValkeyNil,
		refused: func(err error) bool {
			_, is := valkey.IsValkeyErr(err)
			return is
		},
	})
}
