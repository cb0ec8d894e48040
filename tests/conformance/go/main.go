// A program that uses the package for Go as README.md says: it does what it is told line by line.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"holdfast.example/holdfast"
)

var (
	mutex sync.Mutex // of all below, and of standard output
	locks = map[string]*holdfast.Lock{}
	errs  = map[string]error{} // of lock
)

func say(words ...any) {
	mutex.Lock()
	defer mutex.Unlock()
	fmt.Println(words...)
}

func duration(text string) time.Duration {
	switch text {
	case "forever":
		return math.MaxInt64
	case "long":
		return 366 * 24 * time.Hour
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(err)
	}
	return time.Duration(seconds * float64(time.Second))
}

func optionsOf(words []string) (options []holdfast.Option) {
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		number, _ := strconv.Atoi(value)
		text, _ := url.PathUnescape(value)
		options = append(options, map[string]func() holdfast.Option{
			"wait":     func() holdfast.Option { return holdfast.Wait(duration(value)) },
			"lease":    func() holdfast.Option { return holdfast.Lease(duration(value)) },
			"max_hold": func() holdfast.Option { return holdfast.MaxHold(duration(value)) },
			"limit":    func() holdfast.Option { return holdfast.Limit(number) },
			"permits":  func() holdfast.Option { return holdfast.Permits(number) },
			"shared":   holdfast.Shared,
			"owner":    func() holdfast.Option { return holdfast.Owner(text) },
			"why":      func() holdfast.Option { return holdfast.Why(text) },
			"watch": func() holdfast.Option {
				return holdfast.OnWait(func(w holdfast.Waiting) {
					pid := "-"
					if w.Holder != nil {
						pid = strconv.Itoa(w.Holder.PID)
					}
					say(value, "waits", pid, w.Position, w.Waited.Milliseconds())
				})
			},
		}[key]())
	}
	return options
}

// outcome is the words for an error; nil: ok.
func outcome(err error) []any {
	var lost *holdfast.Lost
	var refused *holdfast.Refused
	word := "other"
	switch {
	case err == nil:
		return []any{"ok"}
	case errors.Is(err, holdfast.ErrArgument):
		word = "invalid"
	case errors.Is(err, holdfast.ErrTimeout) && errors.Is(err, holdfast.ErrBusy):
		word = "timeout"
	case errors.Is(err, holdfast.ErrBusy):
		word = "busy"
	case errors.As(err, &lost):
		word = "lost:" + lost.Reason
	case errors.As(err, &refused):
		word = "refused:" + refused.Code
	case errors.Is(err, holdfast.ErrUnreachable):
		word = "unreachable"
	}
	transient := 0
	if holdfast.Transient(err) {
		transient = 1
	}
	return []any{word, transient, err}
}

func lock(hf *holdfast.Client, id string, words []string) {
	name, _ := url.PathUnescape(words[0])
	held, err := hf.Lock(context.Background(), name, optionsOf(words[1:])...)
	if err != nil {
		mutex.Lock()
		errs[id] = err
		mutex.Unlock()
		say(append([]any{id, "lock"}, outcome(err)...)...)
		return
	}
	mutex.Lock()
	locks[id] = held
	mutex.Unlock()
	say(id, "lock", "held", held.Token())
	<-held.Context().Done()
	var lost *holdfast.Lost
	if errors.As(context.Cause(held.Context()), &lost) {
		say(id, "told", lost.Reason)
	}
}

func crowd(hf *holdfast.Client, id string, words []string) {
	count, _ := strconv.Atoi(words[0])
	var inside, most atomic.Int64
	var all sync.WaitGroup
	failed := make(chan error, count)
	for i := 0; i < count; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			held, err := hf.LockAll(context.Background(), strings.Split(words[1], ","), holdfast.Wait(duration(words[2])))
			if err != nil {
				failed <- err
				return
			}
			if now := inside.Add(1); now > most.Load() {
				most.Store(now)
			}
			runtime.Gosched()
			inside.Add(-1)
			if err = held.Unlock(); err != nil {
				failed <- err
			}
		}()
	}
	all.Wait()
	close(failed)
	say(id, "crowd", count-len(failed), most.Load(), <-failed)
}

// spin takes one lock after the other, for so long, each of a new name or all of one; tests/bench asks.
func spin(hf *holdfast.Client, ms, names string) (done int) {
	begun := time.Now()
	for time.Since(begun) < duration(ms)/1000 {
		name := "spin"
		if names == "new" {
			name = fmt.Sprintf("spin-%d-%d", begun.UnixNano(), done)
		}
		lock, err := hf.Lock(context.Background(), name)
		if err == nil {
			err = lock.Unlock()
		}
		if err != nil {
			panic(err)
		}
		done++
	}
	return done
}

func do(hf *holdfast.Client, id, verb string, words []string) {
	mutex.Lock()
	held := locks[id]
	mutex.Unlock()
	switch verb {
	case "lock":
		go lock(hf, id, words)
	case "crowd":
		go crowd(hf, id, words)
	case "spin":
		say(id, verb, spin(hf, words[0], words[1]))
	case "holder":
		var late *holdfast.TimedOut
		mutex.Lock()
		err := errs[id]
		mutex.Unlock()
		if errors.As(err, &late) && late.Holder != nil {
			say(id, verb, "pid", late.Holder.PID, late.Holder.Token, late.Holder.Why)
		} else {
			say(id, verb, "nobody")
		}
	case "valid":
		say(id, verb, held.ValidFor().Milliseconds())
	case "check":
		say(append([]any{id, verb}, outcome(held.Check())...)...)
	case "extend":
		say(append([]any{id, verb}, outcome(held.Extend(duration(words[0])))...)...)
	case "unlock":
		say(append([]any{id, verb}, outcome(held.Unlock())...)...)
	}
}

func main() {
	hf, err := holdfast.Open("")
	if err != nil {
		panic(err)
	}
	say("-", "ready")
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		words := strings.Fields(in.Text())
		do(hf, words[0], words[1], words[2:])
	}
}
