package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// statusField reads a field of the status of a process ("self", or its number) that is in kB; 0 if it is absent.
func statusField(process, name string) int64 {
	b, err := os.ReadFile("/proc/" + process + "/status")
	if err != nil {
		return 0
	}
	s := bufio.NewScanner(bytes.NewReader(b))
	for s.Scan() {
		if rest, ok := strings.CutPrefix(s.Text(), name+":"); ok {
			kb, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kb << 10
		}
	}
	return 0
}

// forgetPeak resets peakMemory and returns the resident bytes; 0 if unknown.
func forgetPeak() int64 {
	if os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) != nil {
		return 0
	}
	return statusField("self", "VmRSS")
}

// peakMemory is the most bytes that were resident since forgetPeak.
func peakMemory() int64 { return statusField("self", "VmHWM") }

// cpuTime is the processor time of this process, user and system, in seconds.
func cpuTime() float64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// settle waits until what was written on the file system of a directory is on its device: with buffered writes, who comes
// next would be held up until that is done.
func settle(dir string) {
	f, err := os.Open(dir)
	if err != nil {
		return
	}
	defer f.Close()
	unix.Syncfs(int(f.Fd())) // its error concerns what nobody asked to be synced
}

// busyCores is how many cores were busy for a while in which this process does nothing; -1 if that is unknown.
func busyCores(d time.Duration) float64 {
	before, ok := busyTicks()
	start := time.Now()
	time.Sleep(d)
	after, ok2 := busyTicks()
	if !ok || !ok2 {
		return -1
	}
	const ticks = 100 // a second, on every architecture
	return min(float64(after-before)/ticks/time.Since(start).Seconds(), float64(cores()))
}

// busyTicks counts what all cores have worked, also for others on the same host (steal).
func busyTicks() (sum int64, ok bool) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, false
	}
	line, _, _ := strings.Cut(string(b), "\n")
	f := strings.Fields(line)
	if len(f) < 9 || f[0] != "cpu" {
		return 0, false
	}
	for i, v := range f[1:9] {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return 0, false
		}
		if i != 3 && i != 4 { // idle, iowait
			sum += n
		}
	}
	return sum, true
}

// fileSystem names the type of the file system that holds dir, and its free bytes.
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

// fuseName is the file system of a directory that is mounted by FUSE, with the name of its volume: "glusterfs-scratch".
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
