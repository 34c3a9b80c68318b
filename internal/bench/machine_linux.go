package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// cpuTime returns the processor time of this process, user and system, in seconds.
func cpuTime() float64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// settle waits until all data written to the file system of a directory are on its device. Otherwise pending buffered writes
// would delay the next measurement.
func settle(dir string) {
	f, err := os.Open(dir)
	if err != nil {
		return
	}
	defer f.Close()
	unix.Syncfs(int(f.Fd())) // ignore errors: they concern data that nobody asked to sync
}

func cpuModel() string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.TrimSpace(strings.TrimLeft(rest, "\t :"))
		}
	}
	return ""
}

// memoryTotal returns the memory of the machine in bytes; 0 if unknown.
func memoryTotal() int64 { return meminfo("MemTotal") }

func meminfo(name string) int64 {
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			kb, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kb << 10
		}
	}
	return 0
}

func kernel() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])
}

func loadAverage() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	f := strings.Fields(string(b))
	return f[0]
}

// fileSystem returns the type of the file system that holds dir, and its free bytes.
func fileSystem(dir string) (name string, free int64) {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return "", 0
	}
	names := map[int64]string{0xEF53: "ext4", 0x01021994: "tmpfs", 0x58465342: "xfs", 0x9123683E: "btrfs",
		0x0BD00BD0: "lustre", 0x47504653: "gpfs", 0x6969: "nfs", 0x794C7630: "overlayfs", 0x2FC12FC1: "zfs"}
	name, ok := names[int64(s.Type)&0xFFFFFFFF]
	if !ok {
		name, ok = fuseName(dir)
	}
	if !ok {
		name = fmt.Sprintf("type %#x", s.Type)
	}
	return name, int64(s.Bavail) * int64(s.Bsize)
}

// fuseName returns the file system of a FUSE mount with the name of its volume: "glusterfs-scratch".
func fuseName(dir string) (name string, ok bool) {
	dir, err := filepath.Abs(dir)
	b, rerr := os.ReadFile("/proc/self/mounts")
	if err != nil || rerr != nil {
		return "", false
	}
	longest := 0
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 3 || !strings.HasPrefix(dir+"/", f[1]+"/") || len(f[1]) < longest {
			continue
		}
		longest = len(f[1])
		if name, ok = strings.CutPrefix(f[2], "fuse."); !ok && f[2] == "fuse" { // "mfs#host:port"
			name, _, ok = strings.Cut(f[0], "#")
		} else if ok {
			volume := f[0][strings.LastIndexAny(f[0], ":/")+1:]
			if volume != "" && volume[0] >= 'a' && volume[0] <= 'z' && volume != f[0] {
				name += "-" + volume
			}
		}
	}
	return name, ok
}

// forgetFile removes a synced file from the page cache, as far as the kernel allows.
func forgetFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED) // only advice
	return nil
}
