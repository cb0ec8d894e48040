// The counter (tests/interop/check-counter) by client/go: a goroutine for each client.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"holdfast.example/holdfast"
)

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func increment(folder string, token int64) {
	counter := filepath.Join(folder, "counter")
	number := must(strconv.Atoi(string(must(os.ReadFile(counter)))))
	must(0, os.WriteFile(counter, []byte(strconv.Itoa(number+1)), 0o600))
	tokens := must(os.OpenFile(filepath.Join(folder, "tokens"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600))
	must(fmt.Fprintln(tokens, token))
	must(0, tokens.Close())
}

func main() {
	folder, clients := os.Args[1], must(strconv.Atoi(os.Args[2]))
	end := time.Now().Add(time.Duration(must(strconv.ParseFloat(os.Args[3], 64)) * float64(time.Second)))
	hf := must(holdfast.Open(""))
	var counted atomic.Int64
	var group sync.WaitGroup
	for i := 0; i < clients; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for n := 0; n == 0 || time.Now().Before(end); {
				lock, err := hf.Lock(context.Background(), "counter")
				if errors.Is(err, holdfast.ErrUnreachable) {
					continue // a busy machine is slow
				}
				must(0, err)
				increment(folder, lock.Token())
				counted.Add(1)
				n++
				must(0, lock.Unlock())
			}
		}()
	}
	group.Wait()
	fmt.Println("counted", counted.Load())
}
