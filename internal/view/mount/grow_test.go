//go:build linux && !386 && !arm

package mount

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
)

// commits writes a dataset of one variable by one rank, with a commit after each record, and calls f between commits. Element i
// of record r is r*width + i.
func commits(t testing.TB, name string, o blob.Options, records int64, f func(committed int64)) {
	t.Helper()
	o.Durability = blob.DurableNone
	ok(t, comm.Run(t.Context(), 1, nil, func(ctx context.Context, c comm.Comm) error {
		s := blob.NewSchema()
		tm, col := s.Dim("time", blob.Unlimited), s.Dim("ncol", growing)
		v := s.Var("T", cdf5.Double, []blob.DimID{tm, col})
		w, err := blob.Create(ctx, c, name, s, nil, &o)
		if err != nil {
			return err
		}
		defer w.Abort()
		data := make([]float64, growing)
		for rec := range records {
			for i := range data {
				data[i] = float64(rec*growing + int64(i))
			}
			if err := errors.Join(blob.Put(w, v, rec, data), w.Commit(ctx)); err != nil {
				return err
			}
			f(rec + 1)
		}
		return w.Close(ctx)
	}))
}

const growing = 3000 // elements per record: records do not align with pages

// view reads a growing file like a netCDF library: the header, then the last record. It returns the number of records.
func view(f *os.File, head int64) (int64, error) {
	var b [12]byte
	if _, err := f.ReadAt(b[:], 0); err != nil {
		return 0, err
	}
	n := int64(binary.BigEndian.Uint64(b[4:]))
	if n == 0 {
		return 0, nil
	}
	rec := make([]byte, 8*growing)
	if got, err := f.ReadAt(rec, head+(n-1)*8*growing); err != nil {
		return n, fmt.Errorf("record %d of %d: %d bytes: %w", n-1, n, got, err)
	}
	for i := range int64(growing) {
		want := float64((n-1)*growing + i)
		if v := binary.BigEndian.Uint64(rec[8*i:]); v != math.Float64bits(want) {
			return n, fmt.Errorf("record %d of %d: element %d is %x, want %v", n-1, n, i, v, want)
		}
	}
	return n, nil
}

// TestGrows checks that an open file grows in place with the dataset, and shows whole records at any time. After the writer has
// finished, the open file is still the current one. After the dataset is replaced, the open file stays unchanged.
func TestGrows(t *testing.T) {
	for _, o := range []blob.Options{{Layout: blob.VariableCentric}, {Layout: blob.ProcessCentric}} {
		t.Run(o.Layout.String(), func(t *testing.T) {
			dir := t.TempDir()
			at, _, log := mountedAt(t, dir, nil)
			base, path := filepath.Join(dir, "d.nc"), filepath.Join(at, "d.nc")
			var f *os.File
			var inode uint64
			var head int64
			stop, beside := make(chan struct{}), make(chan error, 1)
			told := func(want string) {
				t.Helper()
				b := make([]byte, 100)
				n, err := unix.Getxattr(path, "user.blobio.state", b)
				if err != nil || string(b[:n]) != want {
					t.Errorf("state %q, want %q: %v", b[:max(n, 0)], want, err)
				}
			}
			same := func(committed int64) {
				t.Helper()
				var st unix.Stat_t
				ok(t, unix.Stat(path, &st))
				if st.Ino != inode {
					t.Errorf("%d records: inode %d, it was %d", committed, st.Ino, inode)
				}
				b, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<40))
				if want := converted(t, base, cdf5.CDF5); err != nil || !bytes.Equal(b, want) {
					t.Errorf("%d records: %d bytes, want %d: %v", committed, len(b), len(want), err)
				}
			}
			const records = 5
			commits(t, base, o, records, func(committed int64) {
				told("writing")
				if committed > 1 {
					same(committed)
					return
				}
				var err error
				f, err = os.Open(path)
				ok(t, err)
				info, err := f.Stat()
				ok(t, err)
				var st unix.Stat_t
				ok(t, unix.Fstat(int(f.Fd()), &st))
				inode, head = st.Ino, info.Size()-8*growing
				go func() { // another program that reads repeatedly
					g, err := os.Open(path)
					if err != nil {
						beside <- err
						return
					}
					defer g.Close()
					for last := int64(0); ; {
						n, err := view(g, head)
						if err != nil || n < last {
							beside <- fmt.Errorf("%d records behind %d: %w", n, last, err)
							return
						}
						last = n
						select {
						case <-stop:
							beside <- nil
							return
						default:
						}
					}
				}()
			})
			defer f.Close()
			close(stop)
			if err := <-beside; err != nil {
				t.Error(err)
			}
			same(records)
			told("finished")
			was, err := os.ReadFile(path)
			ok(t, err)
			o.Force = true
			commits(t, base, o, 1, func(int64) {})
			b := make([]byte, len(was)+1)
			if n, err := f.ReadAt(b, 0); n != len(was) || !errors.Is(err, io.EOF) || !bytes.Equal(b[:n], was) {
				t.Errorf("replaced: %d bytes of %d: %v", n, len(was), err)
			}
			g, err := os.Open(path)
			ok(t, err)
			defer g.Close()
			var st unix.Stat_t
			ok(t, unix.Fstat(int(g.Fd()), &st))
			if n, err := view(g, head); n != 1 || err != nil || st.Ino == inode {
				t.Errorf("the new one: %d records, inode %d, the old one %d: %v", n, st.Ino, inode, err)
			}
			if s := log.String(); s != "" {
				t.Errorf("log: %s", s)
			}
		})
	}
}
