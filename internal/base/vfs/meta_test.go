package vfs

import (
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

func TestMeta(t *testing.T) {
	at, mt := time.Unix(1000, 5000), time.Unix(2000, 7000)
	for name, fsys := range map[string]FS{"os": OS, "mem": NewMem(), "fault": NewFault(NewMem(), nil), "count": Count(NewMem())} {
		t.Run(name, func(t *testing.T) {
			file := "f"
			if fsys == OS {
				file = filepath.Join(t.TempDir(), "f")
			}
			if err := WriteFile(fsys, file, []byte("abc")); err != nil {
				t.Fatal(err)
			}
			m, err := MetaOf(fsys, file)
			if err != nil || m.Size != 3 || m.Mode&ModeRegular == 0 {
				t.Fatalf("%+v, %v", m, err)
			}
			m.Mode, m.Atime, m.Mtime = ModeRegular|0o640, at, mt
			if err := SetMeta(fsys, file, m); err != nil {
				t.Fatal(err)
			}
			got, err := MetaOf(fsys, file)
			if err != nil {
				t.Fatal(err)
			}
			if !got.Mtime.Truncate(time.Microsecond).Equal(mt) {
				t.Errorf("mtime %v, want %v", got.Mtime, mt)
			}
			if runtime.GOOS != "windows" && got.Mode != m.Mode {
				t.Errorf("mode %o, want %o", got.Mode, m.Mode)
			}
			if runtime.GOOS == "linux" && !got.Atime.Equal(at) {
				t.Errorf("atime %v, want %v", got.Atime, at)
			}
			if _, err := MetaOf(fsys, file+"x"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("missing: %v", err)
			}
			if _, err := MetaOf(fsys, filepath.Dir(file)); err == nil {
				t.Error("metadata of a directory")
			}
		})
	}
	fail := errors.New("no")
	if err := SetMeta(NewFault(NewMem(), FailOn(OpSetMeta, "", 1, fail)), "f", Meta{}); !errors.Is(err, fail) {
		t.Errorf("fault: %v", err)
	}
}
