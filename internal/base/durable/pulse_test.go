package durable

import (
	"errors"
	"strings"
	"testing"

	"blobio/internal/base/vfs"
)

// TestPulseUnnamed: on a file system of one machine, a lease file without a holder belongs to a dead writer unless the file is
// locked. A power cut may leave such a file.
func TestPulseUnnamed(t *testing.T) {
	for _, b := range []string{"", "{", `{"id":""}`, strings.Repeat("\x00", 200), strings.Repeat("x", 3*maxHolder)} {
		mem := vfs.NewMem()
		must(t, vfs.WriteFile(mem, LockName("d.nc"), []byte(b)))
		look := func(fsys vfs.FS, want Life) {
			t.Helper()
			if h, life, err := NewPulse(fsys, "d.nc", nil).Look(); h != nil || life != want || err != nil {
				t.Errorf("%.10q: %v, life %d, %v; want %d", b, h, life, err, want)
			}
		}
		look(mem, Dead)
		look(shared{mem}, Unsure)
		f := need(mem.OpenRW(LockName("d.nc")))
		must(t, vfs.Lock(f, true))
		look(mem, Alive)
		must(t, errors.Join(f.Close(), mem.Remove(LockName("d.nc"))))
		look(mem, NoLife)
	}
}
