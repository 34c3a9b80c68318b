package durable

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"blobio/internal/base/vfs"
)

// procOf returns Holder.Proc of a process of this machine: the namespace of process numbers, and the start time of the process in
// ticks since boot. It returns noProc for a process that has ended, and "" if the process is missing or unknown.
func procOf(pid int) string {
	space := procSpace()
	b, err := vfs.ReadStream(fmt.Sprintf("/proc/%d/stat", pid), 4096)
	if space == "" || err != nil {
		return ""
	}
	end := bytes.LastIndex(b, []byte(") ")) // end of the program's name, which may contain any character
	if end < 0 {
		return ""
	}
	f := bytes.Fields(b[end+2:])
	const state, start = 0, 19                                // proc_pid_stat(5): fields 3 and 22
	if len(f) <= start || bytes.ContainsAny(f[state], "ZX") { // a zombie only waits for its parent
		return noProc
	}
	return space + "." + string(f[start])
}

// procSpace returns this process's namespace of process numbers, or "" if /proc shows another namespace.
func procSpace() string {
	self, err := os.Readlink("/proc/self")
	if err != nil || self != strconv.Itoa(os.Getpid()) {
		return ""
	}
	s, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(strings.TrimPrefix(s, "pid:["), "]")
}
