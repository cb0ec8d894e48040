//go:build unix

package holdfast

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The program of README.md runs as it is there, after the commands that are there; its functions are those of
// example_test.go.
func TestReadme(t *testing.T) {
	page, err := os.ReadFile("README.md")
	must(t, err)
	examples, err := os.ReadFile("example_test.go")
	must(t, err)
	programs, functions := 0, 0
	for _, match := range regexp.MustCompile("(?s)```go\n(.*?)```").FindAllSubmatch(page, -1) {
		code := string(match[1])
		if !strings.HasPrefix(code, "package main") {
			functions++
			if !strings.Contains(string(examples), code) {
				t.Errorf("not in example_test.go:\n%s", code)
			}
			continue
		}
		programs++
		run(t, string(page), code)
	}
	if programs != 1 || functions < 5 {
		t.Errorf("%d programs, %d functions", programs, functions)
	}
}

func run(t *testing.T, page, code string) {
	t.Helper()
	folder := t.TempDir()
	here, err := filepath.Abs(".")
	must(t, err)
	must(t, os.WriteFile(filepath.Join(folder, "main.go"), []byte(code), 0o600))
	commands := regexp.MustCompile(`(?m)^\$ (go .*)$`).FindAllStringSubmatch(page, -1)
	if len(commands) != 2 {
		t.Fatal("commands: ", commands)
	}
	shell := "set -e\n"
	for _, command := range commands {
		shell += strings.ReplaceAll(command[1], "/usr/src/holdfast/client/go", here) + "\n"
	}
	command := exec.Command("sh", "-c", shell+"go run .")
	command.Dir = folder
	out, err := command.CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "one at a time\n") {
		t.Errorf("%v: %s", err, out)
	}
}
