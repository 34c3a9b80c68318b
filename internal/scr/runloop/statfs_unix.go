//go:build linux || darwin

package runloop

import "golang.org/x/sys/unix"

func statfs(dir string) (total, free int64, err error) {
	var st unix.Statfs_t
	for {
		if err = unix.Statfs(dir, &st); err != unix.EINTR {
			break
		}
	}
	if err != nil {
		return 0, 0, err
	}
	return int64(st.Blocks) * int64(st.Bsize), int64(st.Bavail) * int64(st.Bsize), nil
}
