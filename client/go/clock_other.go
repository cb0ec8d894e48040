//go:build !linux

package holdfast

import (
	"os"
	"time"
)

var began = time.Now()

// boottime is the later of the monotonic clock, which may stand still while the host is suspended, and the wall clock.
func boottime() time.Duration {
	now := time.Now()
	return max(now.Sub(began), now.Round(0).Sub(began.Round(0)))
}

// pidfd: only Linux has them.
func pidfd() *os.File { return nil }

// rights is not asked for without a pidfd.
func rights(*os.File) []byte { return nil }
