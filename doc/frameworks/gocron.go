// A locker of gocron: see FRAMEWORKS.md.

package recipes

import (
	"context"
	"time"

	"github.com/go-co-op/gocron/v2"
	"holdfast.example/holdfast"
)

// Locker is for gocron.WithDistributedLocker or WithDistributedJobLocker.
type Locker struct {
	Client  *holdfast.Client
	AtLeast time.Duration
}

type running struct {
	lock *holdfast.Lock
	free time.Time
}

func (l Locker) Lock(ctx context.Context, key string) (gocron.Lock, error) {
	lock, err := l.Client.Lock(ctx, "cron/"+key, holdfast.Wait(0))
	if err != nil {
		return nil, err // an ErrBusy: another host runs it
	}
	return running{lock, time.Now().Add(l.AtLeast)}, nil
}

func (r running) Unlock(context.Context) error {
	time.Sleep(time.Until(r.free))
	return r.lock.Unlock()
}
