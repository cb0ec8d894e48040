// The pool test (tests/e2e/pools.py) of go-redis: its default pool, which takes any connection for each command.
package main

import (
	"context"
	"crypto/rand"
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

func operate(client *redis.Client, name string, task int) error {
	ctx, me := context.Background(), rand.Text()
	token, err := client.Do(ctx, "LOCK", name, "WAIT", 120000, "AS", me).Int64() // redis.Nil: another client has it
	if err != nil {
		return fmt.Errorf("LOCK: %w", err)
	}
	fmt.Println("enter", name, task, token)
	time.Sleep(mathrand.N(10 * time.Millisecond))
	fmt.Println("leave", name, task)
	left, err := client.Do(ctx, "UNLOCK", name, "TOKEN", token, "AS", me).Int64()
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
		Addr:            "127.0.0.1:" + os.Args[1],
		ReadTimeout:     time.Duration(number(3)) * time.Millisecond,
		PoolTimeout:     time.Minute,
		MaxRetries:      20000,
		MinRetryBackoff: 5 * time.Millisecond,
		MaxRetryBackoff: 5 * time.Millisecond,
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
