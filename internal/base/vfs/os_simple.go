//go:build !linux && !darwin

package vfs

import (
	"io/fs"
)

func (f *osFile) writev(bufs [][]byte, off int64) (int64, error) {
	var total int64
	for _, b := range bufs {
		if len(b) == 0 {
			continue
		}
		n, err := f.WriteAt(b, off+total)
		total += int64(n)
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// sysMeta adds the Meta set in a Mem.
func sysMeta(m *Meta, st fs.FileInfo) {
	if s, ok := st.Sys().(*Meta); ok {
		m.Mode, m.UID, m.GID, m.Atime = s.Mode, s.UID, s.GID, s.Atime
	}
}
