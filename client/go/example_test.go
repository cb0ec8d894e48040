package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"sync"
	"time"

	"holdfast.example/holdfast"
)

// README.md shows some of the functions up to the first Example; a test compares them.

func serve(hf *holdfast.Client) error {
	lock, err := hf.Lock(context.Background(), "leader")
	if err != nil {
		return err
	}
	defer lock.Unlock()
	for {
		select {
		case <-lock.Context().Done():
			return context.Cause(lock.Context()) // errors.Is(err, holdfast.ErrLost)
		case job := <-jobs:
			job(lock.Context())
		}
	}
}

func lead(hf *holdfast.Client) error {
	for {
		err := serve(hf)
		if !holdfast.Transient(err) {
			return err
		}
		log.Print(err)
		time.Sleep(time.Second)
	}
}

func nightly(hf *holdfast.Client) error {
	lock, err := hf.Lock(context.Background(), "nightly", holdfast.Wait(0))
	if errors.Is(err, holdfast.ErrBusy) {
		return nil // another host does it
	}
	if err != nil {
		return err
	}
	defer lock.Unlock()
	return report(lock.Context())
}

func patient(hf *holdfast.Client) (*holdfast.Lock, error) {
	return hf.Lock(context.Background(), "deploy", holdfast.OnWait(func(w holdfast.Waiting) {
		log.Printf("number %d in line for %s after %v: the holder is %v", w.Position, w.Name, w.Waited, w.Holder)
	}))
}

func observe(hf *holdfast.Client, waits, holds func(name string, seconds float64)) {
	hf.Log(slog.Default())
	hf.Observe(holdfast.Hooks{
		Hold:    func(name string, token int64, waited time.Duration) { waits(name, waited.Seconds()) },
		Release: func(name string, token int64, held time.Duration) { holds(name, held.Seconds()) },
		Loss:    func(lost *holdfast.Lost, token int64, held time.Duration) { holds(lost.Name, held.Seconds()) },
	})
}

// README.md shows them, and no example calls them.
var _, _ = patient, observe

func save(hf *holdfast.Client, order string) (err error) {
	lock, err := hf.Lock(context.Background(), "orders", holdfast.Wait(5*time.Second))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	return store.write(order, lock.Token())
}

func (s *orders) write(order string, token int64) error {
	s.Lock()
	defer s.Unlock()
	if token < s.newest {
		return errors.New("a newer holder has written already")
	}
	s.newest, s.last = token, order
	return nil
}

func transcode(hf *holdfast.Client) error {
	lock, err := hf.Lock(context.Background(), "transcode", holdfast.Limit(3)) // at most 3 at a time
	if err != nil {
		return err
	}
	defer lock.Unlock()
	return report(lock.Context())
}

func read(hf *holdfast.Client) error {
	lock, err := hf.Lock(context.Background(), "data", holdfast.Shared()) // a writer locks "data" without Shared
	if err != nil {
		return err
	}
	defer lock.Unlock()
	return report(lock.Context())
}

func kinds(hf *holdfast.Client) error {
	ctx := context.Background()
	two, err := hf.Lock(ctx, "transcode", holdfast.Limit(3), holdfast.Permits(2)) // two of three permits
	if err != nil {
		return err
	}
	defer two.Unlock()
	reader, err := hf.Lock(ctx, "data", holdfast.Shared()) // beside other readers
	if err != nil {
		return err
	}
	defer reader.Unlock()
	writer, err := hf.Lock(ctx, "index") // alone
	if err != nil {
		return err
	}
	defer writer.Unlock()
	return writer.Downgrade() // a reader from now on, without a moment in between
}

func move(hf *holdfast.Client, from, to string) error {
	lock, err := hf.LockAll(context.Background(), []string{from, to}, holdfast.Wait(time.Minute))
	if err != nil {
		return err
	}
	defer lock.Unlock()
	return report(lock.Context())
}

func explain(err error) string {
	var refused *holdfast.Refused
	switch {
	case errors.Is(err, holdfast.ErrBusy): // ErrTimeout is an ErrBusy, too
		return "another locker has it"
	case errors.Is(err, holdfast.ErrLost):
		return "it was held, and is not any more"
	case errors.Is(err, holdfast.ErrUnreachable):
		return "there is no daemon"
	case errors.As(err, &refused) && refused.Code == "NOMASTER":
		return "the daemon has no Redis"
	}
	return err.Error() // of the context, or another *Refused
}

func Example_serve() {
	hf, _ := holdfast.Open("")
	ended := make(chan error)
	go func() { ended <- serve(hf) }()
	done := make(chan bool)
	jobs <- func(ctx context.Context) {
		fmt.Println("a job:", ctx.Err())
		close(done)
	}
	<-done
	_ = hf.Close()
	err := <-ended
	fmt.Println(errors.Is(err, holdfast.ErrLost), explain(err))
	fmt.Println(err)
	// Output:
	// a job: <nil>
	// true it was held, and is not any more
	// the lock leader is lost: the client was closed
}

func Example_lead() {
	hf, _ := holdfast.Open("")
	ended := make(chan error)
	go func() { ended <- lead(hf) }()
	jobs <- func(context.Context) { fmt.Println("a job") }
	_ = hf.Close()
	fmt.Println(<-ended)
	for _, code := range []string{"NOMASTER", "GUARD", "MASTERERR", "DRAINING", "LIMIT", "DEADLOCK", "ERR", "WRONGKIND"} {
		fmt.Println(code, holdfast.Transient(&holdfast.Refused{Code: code}))
	}
	fmt.Println(holdfast.Transient(&holdfast.Refused{Code: "LIMIT", Text: "bad name: 600 bytes, name-bytes allows 500"}))
	for _, err := range []error{holdfast.ErrUnreachable, holdfast.ErrLost, holdfast.ErrBusy, holdfast.ErrTimeout} {
		fmt.Print(holdfast.Transient(err), " ")
	}
	for _, err := range []error{nil, holdfast.ErrClosed, holdfast.ErrArgument, context.Canceled} {
		fmt.Print(holdfast.Transient(err), " ")
	}
	fmt.Println(errors.Is(holdfast.ErrTimeout, holdfast.ErrBusy), errors.Is(holdfast.ErrBusy, holdfast.ErrTimeout))
	// Output:
	// a job
	// the client of holdfastd is closed
	// NOMASTER true
	// GUARD true
	// MASTERERR true
	// DRAINING true
	// LIMIT true
	// DEADLOCK true
	// ERR false
	// WRONGKIND false
	// false
	// true true true true false false false false true false
}

func Example_nightly() {
	hf, _ := holdfast.Open("")
	fmt.Println(nightly(hf))
	other, _ := hf.Lock(context.Background(), "nightly")
	defer other.Unlock()
	fmt.Println(nightly(hf))
	_, err := hf.Lock(context.Background(), "nightly", holdfast.Wait(0))
	fmt.Println(explain(err))
	// Output:
	// works
	// <nil>
	// <nil>
	// another locker has it
}

func Example_token() {
	hf, _ := holdfast.Open("")
	fmt.Println(save(hf, "first"), store.last)
	old := store.newest
	fmt.Println(save(hf, "second"), store.last)
	fmt.Println(store.write("a late one", old), "-", store.last)
	// Output:
	// <nil> first
	// <nil> second
	// a newer holder has written already - second
}

func Example_semaphore() {
	hf, _ := holdfast.Open("")
	fmt.Println(transcode(hf))
	// Output:
	// works
	// <nil>
}

func Example_readers() {
	hf, _ := holdfast.Open("")
	other, _ := hf.Lock(context.Background(), "data", holdfast.Shared())
	defer other.Unlock()
	fmt.Println(read(hf))
	// Output:
	// works
	// <nil>
}

func Example_several() {
	hf, _ := holdfast.Open("")
	fmt.Println(move(hf, "b", "a"))
	// Output:
	// works
	// <nil>
}

func Example_extend() {
	hf, _ := holdfast.Open("")
	lock, err := hf.Lock(context.Background(), "a", holdfast.Lease(time.Minute))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lock.Unlock()
	fmt.Println(lock.Extend(10*time.Second), lock.ValidFor() <= 10*time.Second)
	// Output:
	// <nil> true
}

var (
	jobs  = make(chan func(context.Context))
	store orders
)

type orders struct {
	sync.Mutex
	newest int64
	last   string
}

func report(ctx context.Context) error {
	fmt.Println("works")
	return ctx.Err()
}
