package holdfast

import (
	"os"
	"syscall"
	"time"
	"unsafe"
)

const (
	clockBoottime = 7
	sysPidfdOpen  = 434 // on every architecture
)

// boottime also counts the time in which the host was suspended, as the daemon's deadlines do. time.Now does not.
func boottime() time.Duration {
	var ts syscall.Timespec
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&ts)), 0); errno != 0 {
		panic("clock_gettime(CLOCK_BOOTTIME): " + errno.Error())
	}
	return time.Duration(ts.Nano())
}

// pidfd is a descriptor of this process for SESSION BIND; nil if the kernel has none.
func pidfd() *os.File {
	fd, _, errno := syscall.Syscall(sysPidfdOpen, uintptr(os.Getpid()), 0, 0)
	if errno != 0 {
		return nil
	}
	return os.NewFile(fd, "pidfd") // the kernel opens it close-on-exec
}

// rights is what a message has to have for file to go along.
func rights(file *os.File) []byte { return syscall.UnixRights(int(file.Fd())) }
