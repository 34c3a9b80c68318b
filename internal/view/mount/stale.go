//go:build linux && !386 && !arm

package mount

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"blobio/internal/base/fault"
)

// clear detaches a mount of this package whose process is dead: access to it gives ENOTCONN. If the process of the mount is
// alive, clear returns an error.
func clear(at string) error {
	for {
		kind, err := mounted(at)
		if err != nil || kind == "" {
			return err
		}
		var st unix.Statfs_t // for statfs, the kernel always asks the process that serves the mount
		if err := unix.Statfs(at, &st); !errors.Is(err, unix.ENOTCONN) && !errors.Is(err, unix.ECONNABORTED) {
			if kind == "fuse."+fsType {
				return fmt.Errorf("%s: already mounted: %w", at, fault.ErrInUse)
			}
			return nil // a live file system of another kind, on which a mount is possible
		}
		if kind != "fuse."+fsType {
			return fmt.Errorf("%s: found a dead mount of another program (%s); fusermount3 -u %s removes it: %w", at, kind, at, fault.ErrInUse)
		}
		if err := detach(at); err != nil {
			return fmt.Errorf("%s: cannot remove the mount of a dead process: %w", at, err)
		}
	}
}

// mounted returns the type of the topmost file system mounted at a path, or "". It reads the kernel's list of mounts, because a
// call for the path would go to the process that serves the mount.
func mounted(at string) (kind string, err error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	defer f.Close()
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	for s := bufio.NewScanner(f); s.Scan(); {
		before, after, ok := strings.Cut(s.Text(), " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if ok && len(left) > 4 && len(right) > 0 && unescape.Replace(left[4]) == at {
			kind = right[0]
		}
	}
	return kind, nil
}
