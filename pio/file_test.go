package pio

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/internal/comm/commtest"
)

// together runs f on ranks that share no memory.
func together(t *testing.T, ranks int, f func(ctx context.Context, s *System) error) {
	t.Helper()
	err := comm.Run(t.Context(), ranks, nil, func(ctx context.Context, c comm.Comm) error {
		s, err := NewSystem(ctx, commtest.Isolate(c), nil)
		if err != nil {
			return err
		}
		return f(ctx, s)
	})
	if err != nil {
		t.Fatal(err)
	}
}

var quick = FileOptions{Durability: blob.DurableNone}

// with returns the options quick after set has changed them.
func with(set func(o *FileOptions)) *FileOptions {
	o := quick
	set(&o)
	return &o
}

var forWriting = with(func(o *FileOptions) { o.Write = true })

// wants returns an error unless err has code c on this rank.
func wants(what string, err error, c Code) error {
	if got := CodeOf(err); got != c || c != 0 && (err == nil || err.Error() == "") {
		return fmt.Errorf("%s: %v with code %d, want %d", what, err, got, c)
	}
	return nil
}

// blocks makes a decomposition of n elements in equal parts.
func blocks(ctx context.Context, s *System, t cdf5.Type, n int64) (*Decomp, error) {
	p, r := int64(s.c.Size()), int64(s.c.Rank())
	lo, hi := n*r/p, n*(r+1)/p
	return s.InitDecompBlock(ctx, t, []int64{n}, []int64{lo}, []int64{hi - lo})
}

// begun creates a file with a dimension x of n elements, time, and int variables fixed (x) and rec (time, x).
func begun(ctx context.Context, s *System, path string, n int64, o *FileOptions) (*File, error) {
	f, err := s.Create(ctx, path, o)
	if err != nil {
		return nil, err
	}
	x, err1 := f.DefDim("x", n)
	time, err2 := f.DefDim("time", Unlimited)
	_, err3 := f.DefVar("fixed", cdf5.Int, []int{x})
	_, err4 := f.DefVar("rec", cdf5.Int, []int{time, x})
	return f, errors.Join(err1, err2, err3, err4, f.EndDef())
}

// TestCodes checks that a wrong call returns PIO's code on every rank, and that later calls work.
func TestCodes(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.nc")
	together(t, 4, func(ctx context.Context, s *System) error {
		var all []error
		is := func(what string, err error, c Code) { all = append(all, wants(what, err, c)) }
		_, err := NewSystem(ctx, s.c, &SystemOptions{Base: 4})
		is("base", err, EINVAL)
		_, err = NewSystem(ctx, s.c, &SystemOptions{IOTasks: 3, Stride: 2})
		is("tasks", err, EINVAL)
		_, err = NewSystem(ctx, s.c, &SystemOptions{IOTasks: 3, Stride: 3})
		is("three tasks", err, EINVAL)
		_, err = NewSystem(ctx, s.c, &SystemOptions{IOTasks: 2, Stride: 3})
		is("the last task on the last rank", err, 0)
		_, err = NewSystem(ctx, s.c, &SystemOptions{IOTasks: 1, Stride: 8})
		is("a stride above the number of ranks", err, 0)
		w, err := NewSystem(ctx, s.c, &SystemOptions{IOTasks: 2, Stride: 2, Base: 3})
		is("tasks from the last rank on", err, 0)
		if n := w.IOTask(); n != []int{-1, 1, -1, 0}[s.c.Rank()] {
			all = append(all, fmt.Errorf("rank %d is I/O task %d", s.c.Rank(), n))
		}
		_, err = s.Open(ctx, filepath.Join(dir, "absent"), nil)
		is("open of nothing", err, Code(syscall.ENOENT))
		_, err = s.Create(ctx, filepath.Join(dir, "no", "a.nc"), nil)
		is("no directory", err, Code(syscall.ENOENT))
		_, err = s.Create(ctx, "", nil)
		is("no name", err, EINVAL)
		_, err = s.Create(ctx, path, &FileOptions{Form: 9})
		is("form", err, EINVAL)
		is("delete of nothing", s.Delete(ctx, path), Code(syscall.ENOENT))

		f, err := begun(ctx, s, path, 10, &quick)
		is("create", err, 0)
		_, err = f.DefDim("y", 2)
		is("dimension in data mode", err, ENOTINDEFINE)
		is("redef", f.Redef(), 0)
		is("redef again", f.Redef(), EINDEFINE)
		_, err = f.DefDim("x", 2)
		is("dimension twice", err, ENAMEINUSE)
		_, err = f.DefDim("t2", Unlimited)
		is("unlimited twice", err, EUNLIMIT)
		_, err = f.DefDim("a/b", 2)
		is("name", err, EBADNAME)
		_, err = f.DefDim(strings.Repeat("n", 300), 2)
		is("long name", err, EINVAL)
		_, err = f.DefDim("neg", -2)
		is("length", err, EDIMSIZE)
		_, err = f.DefVar("rec", cdf5.Int, nil)
		is("variable twice", err, ENAMEINUSE)
		_, err = f.DefVar("v", 12, nil)
		is("type", err, EBADTYPE)
		_, err = f.DefVar("v", cdf5.Int, []int{5})
		is("dimension of a variable", err, EBADDIM)
		_, err = f.DefVar("v", cdf5.Int, []int{0, 1})
		is("time is not first", err, EINVAL) // SCORPIO and NCAR check it before netCDF would return -47
		is("rename to what is there", f.RenameVar(0, "rec"), ENAMEINUSE)
		is("rename to the same", errors.Join(f.RenameVar(0, "fixed"), f.RenameDim(0, "x")), ENAMEINUSE)
		is("rename nothing", f.RenameDim(7, "z"), EBADDIM)
		_, err = f.DefVar("text", cdf5.Char, []int{0})
		is("text", err, 0)
		is("fill of another type", f.PutAtt(0, "_FillValue", cdf5.Double, []float64{1}), EBADTYPE)
		is("fill of another length", f.PutAtt(0, "_FillValue", cdf5.Int, []int32{1, 2}), EINVAL)
		is("attribute of nothing", f.PutAtt(9, "a", cdf5.Int, []int32{1}), ENOTVAR)
		is("text as numbers", f.PutAtt(0, "a", cdf5.Char, []int32{1}), ECHAR)
		is("value too large", f.PutAtt(0, "a", cdf5.Byte, []int32{1000}), ERANGE)
		is("attribute", f.PutAtt(0, "a", cdf5.Byte, []int32{100}), 0)
		is("empty attribute", f.PutAtt(Global, "empty", cdf5.Char, Text("")), 0)
		is("into text", f.GetAtt(0, "a", make(Text, 1)), ECHAR)
		is("into less", f.GetAtt(0, "a", []int32{}), EINVAL)
		is("delete nothing", f.DeleteAtt(0, "b"), ENOTATT)
		is("rename attribute", f.RenameAtt(0, "a", "b"), 0)
		is("rename attribute to the same", f.RenameAtt(0, "b", "b"), ENAMEINUSE)
		is("second attribute", f.PutAtt(1, "b", cdf5.Byte, []int32{100}), 0)
		d, err := blocks(ctx, s, cdf5.Int, 10)
		is("decomposition", err, 0)
		n := int(d.Len())
		is("data in define mode", f.WriteDarray(ctx, 0, d, make([]int32, n), nil), EINDEFINE)
		is("enddef", f.EndDef(), 0)
		is("enddef again", f.EndDef(), ENOTINDEFINE)

		_, err = s.InitDecomp(ctx, cdf5.Int, []int64{10}, []int64{11}, false)
		is("place", err, EINVAL)
		wrapped := []int64{11, 0, 10, 30, 21}
		Wrap([]int64{2, 5}, wrapped)
		if !slices.Equal(wrapped, []int64{1, 0, 10, 10, 1}) {
			all = append(all, fmt.Errorf("wrapped: %v", wrapped))
		}
		is("one rank of variables", f.SameRank([]int{0, 2}), 0)
		is("two ranks of variables", f.SameRank([]int{0, 1}), EVARDIMMISMATCH)
		is("no variable", f.SameRank([]int{0, 9}), ENOTVAR)
		_, err = s.InitDecomp(ctx, cdf5.Int, []int64{10, 0}, nil, false)
		is("no elements", err, EINVAL)
		_, err = s.InitDecomp(ctx, 0, []int64{10}, nil, false)
		is("type of decomposition", err, EBADTYPE)
		_, err = s.InitDecomp(ctx, cdf5.Int, []int64{1 << 40, 1 << 40}, nil, false)
		is("too many elements", err, EVARSIZE)
		_, err = s.InitDecomp(ctx, cdf5.Int, []int64{10 + int64(s.c.Rank())}, nil, false)
		is("other arrays", err, EINVAL)
		_, err = s.InitDecompBlock(ctx, cdf5.Int, []int64{10}, []int64{5}, []int64{6})
		is("block", err, EINVAL)
		odd, err := blocks(ctx, s, cdf5.Int, 9)
		is("other decomposition", err, 0)
		wide, err := blocks(ctx, s, cdf5.Double, 10)
		is("decomposition of double", err, 0)

		is("no variable", f.WriteDarray(ctx, 9, d, make([]int32, n), nil), ENOTVAR)
		is("no decomposition", f.WriteDarray(ctx, 0, nil, make([]int32, n), nil), EBADID)
		is("decomposition does not fit", f.WriteDarray(ctx, 0, odd, make([]int32, n), nil), EVARDIMMISMATCH)
		reading, err := s.InitDecomp(ctx, cdf5.Int, []int64{10}, []int64{1, 1}, true)
		is("decomposition for reading", err, 0)
		is("write by it", f.WriteDarray(ctx, 0, reading, make([]int32, 2), nil), EINVAL)
		is("another type", f.WriteDarray(ctx, 0, d, make([]float32, n), nil), EBADTYPE)
		is("numbers into text", f.WriteDarray(ctx, 2, d, make([]int32, n), nil), ECHAR)
		is("frame", f.SetFrame(1, -1), EINVAL)
		is("too far", errors.Join(f.SetFrame(1, 1<<40), f.WriteDarray(ctx, 1, d, make([]int32, n), nil)), EINVALCOORDS)
		is("beyond the last", errors.Join(f.SetFrame(1, 1<<63-1), f.AdvanceFrame(1)), EINVAL)
		if at := f.vars[1].frame; at != 1<<63-1 {
			all = append(all, fmt.Errorf("frame %d: %v", at, err))
		}
		is("frame 0", f.SetFrame(1, 0), 0)
		data := make([]float64, n)
		if s.c.Rank() == 2 {
			data[0] = 1e12
		}
		is("value on one rank", f.WriteDarray(ctx, 0, wide, data, nil), ERANGE)
		is("start", f.PutVars(ctx, 0, Part{Start: []int64{11}, Count: []int64{1}}, []int32{1}), EINVALCOORDS)
		is("count", f.PutVars(ctx, 0, Part{Start: []int64{5}, Count: []int64{6}}, make([]int32, 6)), EEDGE)
		is("stride", f.PutVars(ctx, 0, Part{Start: []int64{5}, Count: []int64{3}, Stride: []int64{0}}, make([]int32, 6)), ESTRIDE)
		is("strides", f.PutVars(ctx, 0, Part{Start: []int64{5}, Count: []int64{3}, Stride: []int64{3}}, make([]int32, 6)), EEDGE)
		is("dimensions", f.PutVars(ctx, 0, Part{Start: []int64{5, 1}, Count: []int64{3, 1}}, make([]int32, 6)), EINVAL)
		is("short", f.PutVars(ctx, 0, Part{}, make([]int32, 9)), EINVAL)
		is("text into numbers", f.PutVars(ctx, 0, Part{}, make(Text, 10)), ECHAR)
		is("out of range", f.PutVars(ctx, 0, Part{}, slices.Repeat([]float64{1e10}, 10)), ERANGE)
		is("beyond the records", f.GetVars(ctx, 1, Part{Start: []int64{0, 0}, Count: []int64{1, 1}}, []int32{1}), EINVALCOORDS)
		is("frame without records", f.ReadDarray(ctx, 1, d, make([]int32, n)), EINVALCOORDS)
		is("write", f.WriteDarray(ctx, 1, d, slices.Repeat([]int32{7}, n), nil), 0)
		is("read", f.ReadDarray(ctx, 1, d, make([]int32, n)), 0)
		is("into a short slice", f.ReadDarray(ctx, 1, d, make([]int32, max(n-1, 0))), EINVAL)
		is("close", f.Close(ctx), 0)
		is("close again", f.Close(ctx), EBADID)
		_, err = f.Var(0)
		is("inquiry after close", err, EBADID)

		_, err = s.Create(ctx, path, with(func(o *FileOptions) { o.NoClobber = true }))
		is("no clobber", err, EEXIST)
		f, err = s.Open(ctx, path, nil)
		is("open", err, 0)
		is("redef of what is read", f.Redef(), EPERM)
		_, err = f.DefDim("y", 2)
		is("dimension of what is read", err, ENOTINDEFINE) // by netCDF and PnetCDF, which check the mode first
		is("fill mode of a variable of what is read", f.DefVarFill(0, true, nil), EPERM)
		is("write to what is read", f.WriteDarray(ctx, 0, d, make([]int32, n), nil), EPERM)
		is("attribute of what is read", f.PutAtt(0, "c", cdf5.Int, []int32{1}), EPERM)
		b := []float64{0}
		is("attribute read", f.GetAtt(1, "b", b), 0)
		if b[0] != 100 {
			all = append(all, fmt.Errorf("attribute b is %v", b))
		}
		is("close", f.Close(ctx), 0)
		is("delete", s.Delete(ctx, path), 0)
		return errors.Join(all...)
	})
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestOneRankFails checks a buffer that is too short on one rank. That rank gets the error at once, and all ranks at the next
// sync. Only that write is lost.
func TestOneRankFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.nc")
	together(t, 4, func(ctx context.Context, s *System) error {
		f, err := begun(ctx, s, path, 8, with(func(o *FileOptions) { o.Form = Process }))
		if err != nil {
			return err
		}
		d, err := blocks(ctx, s, cdf5.Int, 8)
		if err != nil {
			return err
		}
		want, short := Code(0), 2
		if s.c.Rank() == 1 {
			want, short = EINVAL, 1
		}
		return errors.Join(
			f.WriteDarray(ctx, 0, d, []int32{1, 2}, nil),
			wants("short on all", f.WriteDarray(ctx, 0, d, []int32{1}, nil), EINVAL),
			f.SetFrame(1, 6),
			wants("short on all, of a record", f.WriteDarray(ctx, 1, d, []int32{1}, nil), EINVAL),
			f.SetFrame(1, 3),
			wants("short on one", f.WriteDarray(ctx, 1, d, make([]int32, short), nil), want),
			wants("sync", f.Sync(ctx), EINVAL),
			f.SetFrame(1, 0),
			f.WriteDarray(ctx, 1, d, []int32{1, 2}, nil),
			wants("sync again", f.Sync(ctx), 0),
			func() error {
				got := make([]int32, 8)
				if err := f.GetVars(ctx, 0, Part{}, got); err != nil || !slices.Equal(got, []int32{1, 2, 1, 2, 1, 2, 1, 2}) {
					return fmt.Errorf("fixed is %v, %w", got, err)
				}
				if _, n, err := f.Dim(1); n != 1 || err != nil {
					return fmt.Errorf("%d records, %w", n, err)
				}
				return f.Close(ctx)
			}())
	})
}

// TestEachItsPart checks that each rank may read a different part, from different records.
func TestEachItsPart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.nc")
	together(t, 4, func(ctx context.Context, s *System) error {
		f, err := begun(ctx, s, path, 6, &quick)
		if err != nil {
			return err
		}
		data := make([]int32, 5*6)
		for i := range data {
			data[i] = int32(i)
		}
		if err := f.PutVars(ctx, 1, Part{Start: []int64{0, 0}, Count: []int64{5, 6}}, data); err != nil {
			return err
		}
		r := int64(s.c.Rank())
		start, count := []int64{r, r}, []int64{2, 3}
		want := []int64{7 * r, 7*r + 1, 7*r + 2, 7*r + 6, 7*r + 7, 7*r + 8}
		if r == 2 { // an empty part
			count, want = []int64{0, 3}, []int64{}
		}
		got := make([]int64, len(want))
		if err := f.GetVars(ctx, 1, Part{Start: start, Count: count}, got); err != nil || !slices.Equal(got, want) {
			return fmt.Errorf("rank %d: %v, want %v: %w", r, got, want, err)
		}
		return f.Close(ctx)
	})
}

// TestManyDimensions checks that a variable with more than 1024 dimensions can be neither defined nor opened, since programs
// reserve space for 1024.
func TestManyDimensions(t *testing.T) {
	for _, form := range []Form{Variable, Canonical} {
		path := filepath.Join(t.TempDir(), "a.nc")
		together(t, 2, func(ctx context.Context, s *System) error {
			f, err := s.Create(ctx, path, with(func(o *FileOptions) { o.Form, o.Auto = form, true }))
			if err != nil {
				return err
			}
			_, err = f.DefDim("x", 1)
			_, most := f.DefVar("most", cdf5.Int, make([]int, 1024))
			_, more := f.DefVar("more", cdf5.Int, make([]int, 1025))
			if err := errors.Join(err, most, wants("define", more, EMAXDIMS)); err != nil {
				return err
			}
			f.vars[0].dims = make([]int, 1025) // as in a file of another program
			if err := f.Close(ctx); err != nil {
				return err
			}
			_, err = s.Open(ctx, path, nil)
			return wants("open", err, EMAXDIMS)
		})
	}
}

// TestOrdinary checks that any decomposition can read CDF-1, CDF-2, CDF-5 and netCDF-4 files. The CDF files can also be written
// and keep their version.
func TestOrdinary(t *testing.T) {
	dir := t.TempDir()
	for _, version := range []cdf5.Version{cdf5.CDF1, cdf5.CDF2, cdf5.CDF5} {
		path := filepath.Join(dir, fmt.Sprint(version))
		together(t, 3, func(ctx context.Context, s *System) error {
			f, err := begun(ctx, s, path, 7, with(func(o *FileOptions) { o.Form, o.Version = Canonical, version }))
			if err != nil {
				return err
			}
			if err := errors.Join(f.PutVars(ctx, 1, Part{Start: []int64{1, 0}, Count: []int64{1, 7}}, []int32{1, 2, 3, 4, 5, 6, 7}), f.Close(ctx)); err != nil {
				return err
			}
			if f, err = s.Open(ctx, path, forWriting); err != nil {
				return err
			}
			if n, err := f.Format(); err != nil || n != int(version) {
				return fmt.Errorf("format %d: %w", n, err)
			}
			d, err := blocks(ctx, s, cdf5.Double, 7)
			if err != nil {
				return err
			}
			x := slices.Repeat([]float64{float64(s.c.Rank())}, int(d.Len()))
			return errors.Join(f.SetFrame(1, 2), f.WriteDarray(ctx, 1, d, x, nil), f.Close(ctx))
		})
		look := func(path string, format int) {
			t.Helper()
			together(t, 2, func(ctx context.Context, s *System) error {
				f, err := s.Open(ctx, path, nil)
				if err != nil {
					return err
				}
				if n, err := f.Format(); err != nil || n != format {
					return fmt.Errorf("format %d: %w", n, err)
				}
				got := make([]int32, 14)
				if err := f.GetVars(ctx, 1, Part{Start: []int64{1, 0}, Count: []int64{2, 7}}, got); err != nil || !slices.Equal(got, []int32{1, 2, 3, 4, 5, 6, 7, 0, 0, 1, 1, 2, 2, 2}) {
					return fmt.Errorf("%v: %w", got, err)
				}
				d, err := s.InitDecomp(ctx, cdf5.Int, []int64{7}, []int64{7, 0, 1}, true)
				if err != nil {
					return err
				}
				part := []int32{9, 9, 9}
				if err := errors.Join(f.SetFrame(1, 1), f.ReadDarray(ctx, 1, d, part)); err != nil || !slices.Equal(part, []int32{7, 9, 1}) {
					return fmt.Errorf("%v: %w", part, err)
				}
				return f.Close(ctx)
			})
		}
		look(path, int(version))
		r, err := blob.Open(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(blob.Convert(t.Context(), r, path+".h5", &blob.ConvertOptions{NetCDF4: &blob.NetCDF4Options{Deflate: 1}}), r.Close()); err != nil {
			t.Fatal(err)
		}
		look(path+".h5", 3)
		together(t, 2, func(ctx context.Context, s *System) error {
			_, err := s.Open(ctx, path+".h5", forWriting)
			return wants("netCDF-4 for writing", err, EINVAL)
		})
	}
}
