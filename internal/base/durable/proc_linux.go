package durable

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"blobio/internal/base/vfs"
)

// procOf is Holder.Proc of a process of this machine: the namespace of process numbers that this process is in, and when that one began, in ticks
// since the machine did; noProc of one that has ended. "" if the system does not tell, or there is none.
func procOf(pid int) string {
	space := procSpace()
	b, err := vfs.ReadStream(fmt.Sprintf("/proc/%d/stat", pid), 4096)
	if space == "" || err != nil {
		return ""
	}
	end := bytes.LastIndex(b, []byte(") ")) // of the name of the program, in which there may be anything
	if end < 0 {
		return ""
	}
	f := bytes.Fields(b[end+2:])
	const state, start = 0, 19                                // proc_pid_stat(5): fields 3 and 22
	if len(f) <= start || bytes.ContainsAny(f[state], "ZX") { // a zombie only waits for its parent to hear of its end
		return noProc
	}
	return space + "." + string(f[start])
}

// procSpace names the namespace of process numbers that this process is in; "" if /proc has the numbers of another one.
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
