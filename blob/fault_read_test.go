package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"blobio/blob/internal/check"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/internal/base/vfs"
)

// TestFaultRead lets each operation of Open and the reads fail once. The error must name the file and, for a read, the offset.
func TestFaultRead(t *testing.T) {
	m := tinyModel(1, 2)
	for k, layout := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric, dataset.Canonical, dataset.VariableCentric} {
		pending := k == 3
		t.Run(fmt.Sprintf("%v-pending=%v", layout, pending), func(t *testing.T) {
			mem := vfs.NewMem()
			if pending {
				tinyModel(2, 2).writeTo(t, mem, &dataset.Settings{Options: dataset.Options{Subfiles: 3}, Knobs: dataset.Knobs{Fs: mem}}) // an older dataset, whose values must not be read
				mem = pendingCommit(t, mem, m, 3)
			} else if layout == dataset.Canonical {
				must(vfs.WriteFile(mem, "d.nc", m.canonical(false)))
			} else {
				m.writeTo(t, mem, &dataset.Settings{Options: dataset.Options{Layout: layout, Subfiles: 3}, Knobs: dataset.Knobs{Fs: mem}})
			}
			count := vfs.Count(mem)
			whole := int64(0) // number of operations until the last record has been read completely
			read := func(fsys vfs.FS) (err error) {
				ctx := context.Background()
				r, err := read.OpenWith(ctx, "d.nc", &read.OpenOptions{Workers: 1, MaxOpen: 1}, dataset.Knobs{Fs: fsys})
				if err != nil {
					return err
				}
				defer func() { err = errors.Join(err, r.Close()) }()
				x := make([]float32, 2*7)
				if err := r.Read(ctx, "T", nil, nil, x); err != nil {
					return err
				}
				var got []byte
				for _, v := range x {
					got = appendElem(got, m.s.Vars[1].Type, float64(v))
				}
				if want := append(m.bytes(1, 0, false), m.bytes(1, 1, false)...); !bytes.Equal(got, want) {
					t.Fatalf("wrong values without an error: %s", firstDiff(got, want))
				}
				if fsys == vfs.FS(count) {
					whole = count.Ops()
				}
				y := make([]float64, 2)
				if err := r.Read(ctx, "area", []int64{4}, []int64{2}, y); err != nil {
					return err
				}
				if y[0] != m.x(0, 0, 4) || y[1] != m.x(0, 0, 5) {
					t.Fatalf("wrong values without an error: %v", y)
				}
				return nil
			}
			noError(t, read(count))
			for _, fault := range faults {
				for n := int64(1 + k); n <= count.Ops(); n += int64(times(3, 1)) {
					var hit vfs.Op
					err := read(vfs.NewFault(mem, func(op vfs.Op) error {
						if op.Seq != n {
							return nil
						}
						hit = op
						return fault.Hook(op)
					}))
					when := fmt.Sprintf("%s of %v", fault.Name, hit)
					if err == nil {
						if !mayIgnore(hit) && n <= whole { // after whole, a failed operation may be repeated
							t.Fatalf("%s: no error", when)
						}
						continue
					}
					if !errors.Is(err, fault.Err) {
						t.Fatalf("%s: %v", when, err)
					}
					if !strings.Contains(err.Error(), strings.TrimPrefix(hit.Name, "./")) {
						t.Fatalf("%s: the error %q does not name the file", when, err)
					}
					for f := range check.CheckWith(context.Background(), "d.nc", &check.CheckOptions{Workers: 1}, dataset.Knobs{Fs: vfs.NewFault(mem, func(op vfs.Op) error {
						if op.Seq == n {
							return fault.Hook(op)
						}
						return nil
					})}) {
						_ = f // the calls must not panic or hang
					}
				}
			}
		})
	}
}

// TestFaultTruncatedRead checks that the error of a read beyond a truncated file's end has the file name and the offset.
func TestFaultTruncatedRead(t *testing.T) {
	m := tinyModel(1, 2)
	mem := vfs.NewMem()
	m.writeTo(t, mem, &dataset.Settings{Knobs: dataset.Knobs{Fs: mem}})
	fsys := vfs.NewFault(mem, func(op vfs.Op) error {
		if op.Kind == vfs.OpRead && op.Off > 1500 {
			return &vfs.ShortWrite{N: 1, Err: io.EOF}
		}
		return nil
	})
	_, err := canonicalOf(fsys, "d.nc")
	var fe *dataset.FormatError
	if !errors.As(err, &fe) || !errors.Is(err, dataset.ErrTruncated) || fe.File != "d.nc.0000" || fe.Offset < 1500 {
		t.Fatalf("%v, want a FormatError with d.nc.0000 and an offset", err)
	}
}
