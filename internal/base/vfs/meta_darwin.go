package vfs

import (
	"io/fs"
	"syscall"
	"time"
)

// sysMeta adds fields that only the system's own record has.
func sysMeta(m *Meta, st fs.FileInfo) {
	switch s := st.Sys().(type) {
	case *syscall.Stat_t:
		m.UID, m.GID = s.Uid, s.Gid
		m.Atime = time.Unix(s.Atimespec.Unix())
		m.Ctime = time.Unix(s.Ctimespec.Unix())
	case *Meta:
		m.Mode, m.UID, m.GID, m.Atime = s.Mode, s.UID, s.GID, s.Atime
	}
}
