//go:build !linux && !darwin

package vfs

import "io/fs"

// sysMeta adds the Meta that a Mem was given.
func sysMeta(m *Meta, st fs.FileInfo) {
	if s, ok := st.Sys().(*Meta); ok {
		m.Mode, m.UID, m.GID, m.Atime = s.Mode, s.UID, s.GID, s.Atime
	}
}
