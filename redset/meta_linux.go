package redset

import (
	"io/fs"
	"syscall"
	"time"
)

// sysMeta adds what only the system's own record of a file tells.
func sysMeta(m *Meta, st fs.FileInfo) {
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		m.UID, m.GID = s.Uid, s.Gid
		m.Atime = time.Unix(int64(s.Atim.Sec), int64(s.Atim.Nsec))
		m.Ctime = time.Unix(int64(s.Ctim.Sec), int64(s.Ctim.Nsec))
	}
}
