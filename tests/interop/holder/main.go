// Holds the names of its arguments (tests/interop/outages) by client/go: a goroutine watches each.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"holdfast.example/holdfast"
)

func main() {
	hf, err := holdfast.Open("")
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range os.Args[1:] {
		lock, err := hf.Lock(context.Background(), name)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("held", name)
		go func(name string) {
			<-lock.Context().Done()
			fmt.Println("lost", name)
		}(name)
		time.Sleep(800 * time.Millisecond) // so that their leases are renewed at other times
	}
	_, _ = io.ReadAll(os.Stdin)
}
