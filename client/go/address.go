package holdfast

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
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
	standard       bool   // neither Open nor HOLDFAST_URL names it: own if it is there, else place
	own            string // socket of this user's own daemon; "": XDG_RUNTIME_DIR is not set
	variable       bool   // from HOLDFAST_URL
}

// chooseAddress is where, else $HOLDFAST_URL, else the standard address.
func chooseAddress(where string) (address, error) {
	if where != "" {
		a, err := parseAddress(where)
		if err != nil {
			err = fmt.Errorf("the address of holdfastd%s: %w", quoted(" ", where), err)
		}
		return a, err
	}
	if where = os.Getenv("HOLDFAST_URL"); where != "" {
		a, err := parseAddress(where)
		if err != nil {
			err = fmt.Errorf("HOLDFAST_URL%s: %w", quoted("=", where), err)
		}
		a.variable = true
		return a, err
	}
	a, err := parsePath(defaultSocket)
	a.standard = true
	if dir := os.Getenv("XDG_RUNTIME_DIR"); strings.HasPrefix(dir, "/") {
		a.own = dir + "/holdfast/holdfast.sock"
	}
	return a, err
}

// quoted is empty if where may have a password.
func quoted(before, where string) string {
	if strings.Contains(where, "@") {
		return ""
	}
	return before + strconv.Quote(where)
}

// now is the address to connect to: of the standard address, the socket that is there.
func (a address) now() address {
	place := a.place
	if !a.standard {
		a.variable = false
		return a
	}
	if ownThere(a.own) && ownFault(a.own) == "" {
		place = a.own
	}
	a, _ = parsePath(place)
	return a
}

// missing says that no socket of the standard address is there.
func (a address) missing() string {
	if a.own == "" {
		return a.place + " is not there"
	}
	if fault := ownFault(a.own); ownThere(a.own) && fault != "" {
		return "$XDG_RUNTIME_DIR/holdfast/holdfast.sock is not taken, " + fault + ", and " + a.place + " is not there"
	}
	return "neither $XDG_RUNTIME_DIR/holdfast/holdfast.sock nor " + a.place + " is there"
}

func ownThere(own string) bool {
	_, err := os.Stat(own)
	return own != "" && err == nil
}

// ownFault is empty if only root and this user can have put the socket there. The variable outlives su and sudo -E, and may
// name the directory of another user, whose daemon could grant what is held elsewhere. /run/holdfast is root's in any case.
func ownFault(own string) string {
	home := filepath.Dir(own)
	for _, directory := range []string{filepath.Dir(home), home} {
		if info, err := os.Stat(directory); err != nil || !trusted(info, nil) || !trusted(os.Lstat(directory)) {
			return "its directory belongs to another user"
		} else if info.Mode().Perm()&0o002 != 0 && info.Mode()&os.ModeSticky == 0 {
			return "everybody may write to its directory"
		}
	}
	if !trusted(os.Lstat(own)) {
		return "it belongs to another user"
	}
	return ""
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
