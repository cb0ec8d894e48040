package holdfast

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// What the daemon takes. The packages for other languages refuse the same, in the same words.
const (
	longest = 365 * 24 * time.Hour
	most    = 10000 // permits of a semaphore
)

// wrong is an ErrArgument.
type wrong string

func (e wrong) Error() string        { return string(e) }
func (e wrong) Is(target error) bool { return target == ErrArgument }

func wrongf(format string, values ...any) error { return wrong(fmt.Sprintf(format, values...)) }

// badTime is nil if the daemon takes d.
func badTime(what string, d time.Duration) error {
	if d > 0 && d <= longest {
		return nil
	}
	return wrongf("%s: a time from 1 ms to 365 days is needed, not %v", what, d)
}

// badBytes is nil if the daemon takes text. What may be empty may have spaces, too.
func badBytes(what, text string, least, most int) error {
	control := func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 || r == ' ' && least > 0 }
	switch {
	case !utf8.ValidString(text):
		return wrongf("%s: UTF-8 is needed, not %q", what, text)
	case len(text) >= least && len(text) <= most && strings.IndexFunc(text, control) < 0:
		return nil
	case least > 0:
		return wrongf("%s: %d to %d bytes without spaces and control characters are needed, not %q", what, least, most, text)
	}
	return wrongf("%s: at most %d bytes without control characters are needed, not %q", what, most, text)
}

func badName(name string) error {
	if strings.HasPrefix(name, "}") {
		return wrongf("name: it must not begin with }, as %q does", name)
	}
	return badBytes("name", name, 1, 512)
}

// check says what is wrong with the arguments of LockAll; nil: nothing.
func (o *options) check(names []string) error {
	err := o.err
	for _, name := range names {
		err = errors.Join(err, badName(name))
	}
	switch {
	case err != nil:
		return err
	case len(names) == 0:
		return wrong("no name is given")
	case o.shared && o.limit != nil:
		return wrong("a lock is shared, or has a limit, not both")
	case o.limit != nil && (*o.limit < 1 || *o.limit > most):
		return wrongf("limit: a whole number from 1 to %d is needed, not %d", most, *o.limit)
	case o.permits != nil && o.limit == nil:
		return wrong("permits needs a limit")
	case o.permits != nil && (*o.permits < 1 || *o.permits > *o.limit):
		return wrongf("permits: a whole number from 1 to %d is needed, not %d", *o.limit, *o.permits)
	}
	return badBytes("why", o.why, 0, 256)
}
