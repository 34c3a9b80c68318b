//go:build linux && !386 && !arm

package mount

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/hanwen/go-fuse/v2/fuse"

	"blobio/internal/view/tree"
)

// allow returns an error if another user may not read one of the subfiles. The kernel checks only stat's permissions, which come
// from the manifest. If stat returned the permissions of the subfiles, listing a directory would cost a call for each subfile.
func (m *Mount) allow(ctx context.Context, h *tree.Dataset) error {
	caller, ok := fuse.FromContext(ctx)
	if !m.opt.AllowOther || !ok || caller.Uid == 0 || caller.Uid == uint32(os.Geteuid()) {
		return nil
	}
	if name := h.Denied(caller.Uid, append(groupsOf(caller.Pid), caller.Gid)); name != "" {
		return fmt.Errorf("subfile %s is not readable for user %d: %w", name, caller.Uid, os.ErrPermission)
	}
	return nil
}

// groupsOf returns the supplementary groups of a process, none if they cannot be read.
func groupsOf(pid uint32) (list []uint32) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(b)) {
		if text, ok := strings.CutPrefix(line, "Groups:"); ok {
			for _, s := range strings.Fields(text) {
				if n, err := strconv.ParseUint(s, 10, 32); err == nil {
					list = append(list, uint32(n))
				}
			}
		}
	}
	return list
}
