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

// allow refuses another user who may not read one of the subfiles. The kernel compares with what stat shows, which is of the manifest; that the subfiles
// have other permissions would cost a look at each of them whenever a directory is listed.
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

// groupsOf are the further groups of a process, none if it cannot be seen.
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
