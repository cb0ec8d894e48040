// The pool test (tests/e2e/pools.py) of go-redis: its default pool, which takes any connection for each command, with
// retries. After these, and if a new connection times out, the error is the program's, which sends the request again.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const tasks = 10

var names = []string{"deploy", "report", "import", "orders"}

// The number that is the answer. The daemon knows the id, and does nothing twice.
func send(client *redis.Client, args ...any) (int64, error) {
	for {
		answer, err := client.Do(context.Background(), args...).Int64()
		var refusal redis.Error // also redis.Nil: another client has it
		if err == nil || errors.As(err, &refusal) {
			return answer, err
		}
		fmt.Println("again")
		time.Sleep(5 * time.Millisecond)
	}
}

func operate(client *redis.Client, name string, task int) error {
	me := rand.Text()
	token, err := send(client, "LOCK", name, "WAIT", 120000, "AS", me)
	if err != nil {
		return fmt.Errorf("LOCK: %w", err)
	}
	fmt.Println("enter", name, task, token)
	time.Sleep(mathrand.N(10 * time.Millisecond))
	fmt.Println("leave", name, task)
	left, err := send(client, "UNLOCK", name, "TOKEN", token, "AS", me)
	if err != nil || left != 0 {
		return fmt.Errorf("UNLOCK: %d, %w", left, err)
	}
	return nil
}

func number(at int) int {
	n, err := strconv.Atoi(os.Args[at])
	if err != nil {
		panic(err)
	}
	return n
}

func main() {
	client := redis.NewClient(&redis.Options{
		Addr:        "127.0.0.1:" + os.Args[1],
		ReadTimeout: time.Duration(number(3)) * time.Millisecond,
	})
	defer client.Close()
	var group sync.WaitGroup
	for task := range tasks {
		group.Go(func() {
			for range number(2) / tasks {
				name := names[mathrand.IntN(len(names))]
				if err := operate(client, name, task); err != nil {
					fmt.Println("failed", name, task, err)
				}
			}
		})
	}
	group.Wait()
}
