package vfs

import (
	"io/fs"
	"syscall"
	"time"
)

// sysMeta adds what only the system's own record of a file has.
func sysMeta(m *Meta, st fs.FileInfo) {
	switch s := st.Sys().(type) {
	case *syscall.Stat_t:
		m.UID, m.GID = s.Uid, s.Gid
		m.Atime = time.Unix(s.Atim.Unix())
		m.Ctime = time.Unix(s.Ctim.Unix())
	case *Meta:
		m.Mode, m.UID, m.GID, m.Atime = s.Mode, s.UID, s.GID, s.Atime
	}
}
