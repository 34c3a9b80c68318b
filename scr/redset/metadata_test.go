package redset

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"blobio/comm"
	"blobio/internal/base/vfs"
)

// TestMetadata checks the mode and the times of a rebuilt file on the operating system's file
// system.
func TestMetadata(t *testing.T) {
	dir := t.TempDir()
	at := time.Unix(1_700_000_000, 123_456_000)
	name := func(r int) string { return filepath.Join(dir, fmt.Sprint(r), "sub", "data") }
	err := run(t, "isolated", 3, func(ctx context.Context, c comm.Comm) error {
		r := c.Rank()
		must(t, os.MkdirAll(filepath.Dir(name(r)), 0o777))
		must(t, os.WriteFile(name(r), make([]byte, 1000*r), 0o600))
		must(t, errors.Join(os.Chmod(name(r), 0o440), os.Chtimes(name(r), at, at)))
		s, err := New(ctx, c, Options{Scheme: XOR, Root: filepath.Join(dir, fmt.Sprint(r))})
		must(t, err)
		prefix := filepath.Join(dir, fmt.Sprint(r), "rs.")
		must(t, s.Encode(ctx, vfs.OS, []string{"sub/data"}, prefix))
		if r == 2 {
			must(t, os.RemoveAll(filepath.Join(dir, "2")))
		}
		must(t, c.Barrier(ctx))
		_, err = Recover(ctx, c, vfs.OS, prefix, &RecoverOptions{Root: filepath.Join(dir, fmt.Sprint(r))})
		return err
	})
	must(t, err)
	st, err := os.Stat(name(2))
	must(t, err)
	if st.Size() != 2000 || !st.ModTime().Equal(at) || st.Mode().Perm() != 0o440 {
		t.Errorf("%v %v, %d bytes", st.Mode(), st.ModTime(), st.Size())
	}
}

// FuzzHeader checks that no header causes a panic, and that accepted headers have a valid layout.
func FuzzHeader(f *testing.F) {
	for _, o := range schemes {
		cl := newCluster(f, o, uneven[:6])
		must(f, cl.encode("shared", cl.own))
		all, err := list(cl.fs, "n1/rs.")
		must(f, err)
		b, err := readRecord(cl.fs, all[0].name)
		must(f, err)
		f.Add(all[0].name[len("n1/rs."):], b[:len(b)-4])
		sums, _ := vfs.ReadFile(cl.fs, all[0].sumName("n1/rs."), 1<<20)
		f.Add("", sums)
	}
	f.Fuzz(func(_ *testing.T, name string, b []byte) {
		if len(b) >= 28 { // correct the checksum, because otherwise no changed input would be accepted
			b = append([]byte(nil), b...)
			b[8], b[9], b[10], b[11], b[12], b[13] = 0, 0, 0, 0, 0, 0
			b[14], b[15] = byte(len(b)>>8), byte(len(b))
			b[19] &^= 1
		}
		_, _ = parseSums("", b)
		p, ok := parseName(name)
		if !ok {
			return
		}
		h, err := parseHeader(name, p, b)
		if err != nil {
			return
		}
		ev := make([]*evidence, h.n)
		for m := range ev {
			ev[m] = &evidence{}
		}
		ev[h.rank] = &evidence{name, b, b}
		r, err := newRepair(h.position, make([]int, h.n), ev)
		if err == nil {
			_, _ = r.plan()
		}
	})
}
