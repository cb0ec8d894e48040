// The lines of a puppet (tests/interop/puppet.py), for the libraries of Go.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"sync"
)

// client is the library's; refused and null say how its errors are meant.
type client interface {
	call(words []string) (any, error)
	close()
}

type library struct {
	name    string
	open    func(address string, shared, patient bool) (client, error)
	null    func(err error) bool
	refused func(err error) bool
}

var voice sync.Mutex

func say(words ...any) {
	line := fmt.Sprintln(words...)
	voice.Lock()
	defer voice.Unlock()
	fmt.Println(strings.Join(strings.Fields(line), " "))
}

func plain(value any) any {
	if bytes, ok := value.([]byte); ok {
		return string(bytes)
	}
	return value
}

// withCode puts the code ERR back where the library takes it off; none takes off another.
func withCode(text string) string {
	code, _, _ := strings.Cut(text, " ")
	if code != strings.ToUpper(code) {
		return "ERR " + text
	}
	return text
}

func (l library) tell(number string, value any, err error) {
	switch {
	case err != nil && l.null(err), err == nil && value == nil:
		say(number, "null")
	case err != nil && l.refused(err):
		say(number, "refused", withCode(err.Error()))
	case err != nil:
		say(number, "broken", err)
	default:
		tellValue(number, value)
	}
}

func tellValue(number string, value any) {
	switch v := value.(type) {
	case int64:
		say(number, "int", v)
	case []any:
		words := []any{number, "list"}
		for _, item := range v {
			words = append(words, plain(item))
		}
		say(words...)
	default:
		say(number, "text", plain(v))
	}
}

func perform(l library) {
	clients := map[string]client{}
	say(0, "ready", l.name)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		number, verb, name, rest := words[0], words[1], words[2], words[3:]
		switch verb {
		case "open":
			c, err := l.open("127.0.0.1:"+os.Args[1], rest[0] == "shared", len(rest) > 1)
			if err != nil {
				say(number, "broken", err)
				continue
			}
			clients[name] = c
			say(number, "ok")
		case "close":
			clients[name].close()
			say(number, "ok")
		default:
			c := clients[name]
			go func() {
				value, err := c.call(rest)
				l.tell(number, value, err)
			}()
		}
	}
}
