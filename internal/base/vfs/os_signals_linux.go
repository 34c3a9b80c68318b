package vfs

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// uninterrupted makes a system call that no signal reaches: a client of GlusterFS never answers a request for a lock that was interrupted, and the Go
// runtime sends signals to its threads at any time. They come when the call has ended.
func uninterrupted(call func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, old unix.Sigset_t
	for i := range all.Val {
		all.Val[i]--
	}
	if unix.PthreadSigmask(unix.SIG_SETMASK, &all, &old) == nil {
		defer unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil)
	}
	call()
}
