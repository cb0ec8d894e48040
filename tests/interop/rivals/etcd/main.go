// A rival (tests/interop/rivals/run) by concurrency.Mutex of etcd, at an etcd.
package main

import (
	"context"
	"os"
	"time"

	"go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

func connect() *clientv3.Client {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"127.0.0.1:" + os.Args[1]}})
	must(err)
	return client
}

func begin(client *clientv3.Client, options ...concurrency.SessionOption) *concurrency.Session {
	session, err := concurrency.NewSession(client, options...)
	must(err)
	return session
}

func mutex(session *concurrency.Session, name string) locker {
	ctx := context.Background()
	mutex := concurrency.NewMutex(session, name)
	return locker{
		lock:   func() { must(mutex.Lock(ctx)) },
		unlock: func() { must(mutex.Unlock(ctx)) },
	}
}

func main() {
	// Mutexes of one session do not exclude each other, so each thread has a session, whoever its client is.
	type seat struct {
		me  int
		own bool
	}
	sessions := map[seat]*concurrency.Session{}
	shared := connect()
	open := func(expiry time.Duration) locker {
		return mutex(begin(shared, concurrency.WithTTL(int(expiry.Seconds()))), os.Args[2])
	}
	// With all defaults of etcd.
	perform(open, func(name string, me int, own bool) locker {
		client, at := shared, seat{me, own}
		if sessions[at] == nil {
			if own {
				client = connect()
			}
			sessions[at] = begin(client)
		}
		return mutex(sessions[at], name)
	})
}
