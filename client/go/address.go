package holdfast

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
)

const (
	defaultSocket = "/run/holdfast/holdfast.sock"
	defaultPort   = "5625"
)

type address struct {
	network, place string // of net.Dial
	user, password string
	text           string // without user and password
	tls            secure
}

// chooseAddress is url, else $HOLDFAST_URL, else the socket in $XDG_RUNTIME_DIR if it exists, else the system's.
func chooseAddress(where string) (address, error) {
	if where != "" {
		a, err := parseAddress(where)
		if err != nil {
			err = fmt.Errorf("the address of holdfastd: %w", err)
		}
		return a, err
	}
	if where = os.Getenv("HOLDFAST_URL"); where != "" {
		a, err := parseAddress(where)
		if err != nil {
			err = fmt.Errorf("HOLDFAST_URL: %w", err)
		}
		return a, err
	}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); strings.HasPrefix(dir, "/") {
		path := dir + "/holdfast/holdfast.sock"
		if _, err := os.Stat(path); err == nil {
			return parseAddress(path)
		}
	}
	return parseAddress(defaultSocket)
}

// parseAddress never puts what it read into an error: it may have a password.
func parseAddress(where string) (address, error) {
	for _, scheme := range []string{"unix://", "unix:"} {
		if path, found := strings.CutPrefix(where, scheme); found {
			return parsePath(path)
		}
	}
	for _, scheme := range []string{"tcp://", "redis://"} {
		if rest, found := strings.CutPrefix(where, scheme); found {
			return parseTCP(rest)
		}
	}
	for _, scheme := range []string{"tls://", "rediss://"} {
		if rest, found := strings.CutPrefix(where, scheme); found {
			return parseTLS(rest)
		}
	}
	switch {
	case strings.Contains(where, "://"):
		return address{}, fmt.Errorf("only unix://, tcp://, redis://, tls:// and rediss:// are known")
	case strings.HasPrefix(where, "/"), strings.HasPrefix(where, "."):
		return parsePath(where)
	case !strings.Contains(where, ":"):
		return address{}, fmt.Errorf("it is neither a path (with a /) nor host:port nor a URL")
	}
	return parseTCP(where)
}

func parsePath(path string) (address, error) {
	if path == "" {
		return address{}, fmt.Errorf("the path of the socket is empty")
	}
	return address{network: "unix", place: path, text: "unix:" + path}, nil
}

func parseTLS(text string) (address, error) {
	place, options, _ := strings.Cut(text, "?")
	a, err := parseTCP(place)
	if err == nil {
		a.tls, err = parseSecure(options)
	}
	a.text = "tls://" + a.place
	return a, err
}

func parseTCP(text string) (address, error) {
	a := address{network: "tcp"}
	text, path, _ := strings.Cut(text, "/")
	if path != "" && path != "0" {
		return a, fmt.Errorf("after the port only /0 is allowed: there is one space of names")
	}
	if at := strings.LastIndexByte(text, '@'); at >= 0 {
		user, password, _ := strings.Cut(text[:at], ":")
		var errs [2]error
		a.user, errs[0] = url.PathUnescape(user)
		a.password, errs[1] = url.PathUnescape(password)
		if errs[0] != nil || errs[1] != nil {
			return a, fmt.Errorf("the user or password has a %% that is not %%XX")
		}
		if a.password == "" {
			return a, fmt.Errorf("there is a user but no password: redis://user:password@host:port")
		}
		text = text[at+1:]
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		host, port = strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"), defaultPort
	}
	if host == "" {
		return a, fmt.Errorf("the host is missing")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return a, fmt.Errorf("the port is a number from 1 to 65535")
	}
	a.place = net.JoinHostPort(host, port)
	a.text = "tcp://" + a.place
	return a, nil
}
