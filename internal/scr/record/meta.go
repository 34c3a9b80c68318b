package record

import (
	"math"
	"time"

	"blobio/internal/base/vfs"
	"blobio/scr/kvtree"
)

// Meta is the record of a file of a dataset.
type Meta struct {
	Orig     string // the file name that the application uses
	Path     string // absolute folder of Orig
	Name     string // base name of Orig
	Size     int64  // in bytes
	Ranks    int    // number of ranks of the run that wrote the file
	Complete bool
	Ckpt     int    // [A,B] checkpoint number; 0 if the key is missing
	File     string // [A,B] base name
	Type     string // [A,B] FULL, PARTNER, XOR; USER
	CRC      uint32 // CRC-32 of the file, if HasCRC
	HasCRC   bool
	HasStat  bool     // Stat is valid
	Stat     vfs.Meta // [C] mode, owner, times; Stat.Size is unused
	Extra    *kvtree.Tree
}

var metaKeys = map[string]bool{"ORIG": true, "PATH": true, "NAME": true, "ORIGPATH": true, "ORIGNAME": true, "SIZE": true,
	"RANKS": true, "COMPLETE": true, "CKPT": true, "FILE": true, "TYPE": true, "CRC": true, "MODE": true, "UID": true, "GID": true,
	"ATIME_SECS": true, "ATIME_NSECS": true, "CTIME_SECS": true, "CTIME_NSECS": true, "MTIME_SECS": true, "MTIME_NSECS": true}

// ParseMeta parses a record. Errors name file.
func ParseMeta(t *kvtree.Tree, file string) (Meta, error) {
	f := Fields{Tree: t, File: file, Path: "META"}
	m := Meta{
		Orig: f.Str("ORIG"), Path: f.Str("PATH"), Name: f.Str("NAME"), Size: f.Int64("SIZE", 0), Ranks: f.Int("RANKS", 0),
		Complete: f.Bool("COMPLETE"), Ckpt: f.Int("CKPT", 0), File: f.Str("FILE"), Type: f.Str("TYPE"),
		HasStat: t.Has("MODE"), Extra: Extra(t, metaKeys),
	}
	m.CRC, m.HasCRC = f.CRC("CRC")
	if m.Path == "" {
		m.Path = f.Str("ORIGPATH")
	}
	if m.Name == "" {
		m.Name = f.Str("ORIGNAME")
	}
	if m.HasStat {
		m.Stat = vfs.Meta{Size: m.Size, Mode: f.Uint32("MODE"), UID: f.Uint32("UID"), GID: f.Uint32("GID"),
			Atime: f.time("ATIME"), Ctime: f.time("CTIME"), Mtime: f.time("MTIME")}
	}
	return m, f.Err()
}

func (f *Fields) time(key string) time.Time {
	return time.Unix(f.Int64(key+"_SECS", math.MinInt64), f.Int64(key+"_NSECS", 0))
}

// Tree returns the record as a tree. Its keys are in the order that SCR writes.
func (m Meta) Tree() *kvtree.Tree {
	t := kvtree.New()
	if m.Extra != nil {
		t.Merge(m.Extra)
	}
	if m.HasStat {
		setTime(t, "MTIME", m.Stat.Mtime)
		setTime(t, "CTIME", m.Stat.Ctime)
		setTime(t, "ATIME", m.Stat.Atime)
		t.Value("GID").SetInt64(int64(m.Stat.GID))
		t.Value("UID").SetInt64(int64(m.Stat.UID))
		t.Value("MODE").SetInt64(int64(m.Stat.Mode))
	}
	if m.HasCRC {
		t.Value("CRC").SetCRC32(m.CRC)
	}
	setText(t, "TYPE", m.Type)
	setText(t, "FILE", m.File)
	if m.Ckpt > 0 {
		t.Value("CKPT").SetInt(m.Ckpt)
	}
	SetBool(t, "COMPLETE", m.Complete)
	t.Value("SIZE").SetInt64(m.Size)
	setText(t, "NAME", m.Name)
	setText(t, "PATH", m.Path)
	setText(t, "ORIG", m.Orig)
	if m.Ranks > 0 {
		t.Value("RANKS").SetInt(m.Ranks)
	}
	return t
}

func setTime(t *kvtree.Tree, key string, at time.Time) {
	t.Value(key + "_NSECS").SetInt64(int64(at.Nanosecond()))
	t.Value(key + "_SECS").SetInt64(at.Unix())
}
