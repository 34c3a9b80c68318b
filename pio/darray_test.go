package pio

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"blobio/blob"
	"blobio/cdf5"
)

// TestStraight checks that the files hold writes by decompositions as each rank passed them, without communication. Only other
// writes are redistributed.
func TestStraight(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.nc")
	together(t, 4, func(ctx context.Context, s *System) error {
		f, err := begun(ctx, s, path, 40, &quick)
		if err != nil {
			return err
		}
		var mine []int64
		for i := s.c.Rank(); i < 40; i += 4 {
			mine = append(mine, int64(40-i))
		}
		d, err := s.InitDecomp(ctx, cdf5.Int, []int64{40}, mine, false)
		if err != nil {
			return err
		}
		data := make([]int32, 10)
		err = f.WriteDarray(ctx, 0, d, data, nil)
		for frame := range int64(3) {
			err = errors.Join(err, f.SetFrame(1, frame), f.WriteDarray(ctx, 1, d, data, nil), f.Sync(ctx))
		}
		return errors.Join(err, f.Close(ctx))
	})
	r, err := blob.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	m, err := r.Map(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if n := r.Schema().NumDecomps(); n != 1 || m.NumReqs(2) != 10 || m.Count(2) != 10 {
		t.Errorf("%d decompositions, %d requests of rank 2", n, m.NumReqs(2))
	}
	if n, _ := r.Subfiles(); n != 1 || len(r.Inspect().Files()) != 1 || r.Records() != 3 {
		t.Errorf("%d files, %d records: appends of the same map grow in place", len(r.Inspect().Files()), r.Records())
	}
}

// TestLimits checks that one write over FileOptions.Memory is an error, and that data over FileOptions.Buffer go to the files
// before the commit.
func TestLimits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.nc")
	var line strings.Builder
	together(t, 2, func(ctx context.Context, s *System) error {
		f, err := begun(ctx, s, path, 1000, with(func(o *FileOptions) { o.Memory, o.Buffer, o.Stats = 3000, 1000, &line }))
		if err != nil {
			return err
		}
		d, err := blocks(ctx, s, cdf5.Int, 1000)
		if err != nil {
			return err
		}
		data := make([]int32, 500)
		all := []error{wants("too much", f.PutVars(ctx, 0, Part{}, make([]int32, 1000)), ENOMEM)}
		small, err := begun(ctx, s, path+".small", 1000, with(func(o *FileOptions) { o.Memory = 1000 }))
		all = append(all, err, wants("a part of too much", small.PutVars(ctx, 0, Part{Start: []int64{5}, Count: []int64{1}}, []int32{1}), ENOMEM), small.Close(ctx))
		// Records have 4000 bytes: a gap of 16 records is always allowed.
		gap := func(rec int64) error {
			return errors.Join(small.SetFrame(1, rec), small.WriteDarray(ctx, 1, d, data, nil))
		}
		put := func(rec int64) error {
			return small.PutVars(ctx, 1, Part{Start: []int64{rec, 0}, Count: []int64{1, 1}}, data)
		}
		if small, err = begun(ctx, s, path+".gaps", 1000, with(func(o *FileOptions) { o.Memory = 40000 })); err != nil {
			return err
		}
		all = append(all, wants("a gap of much", gap(21), EINVALCOORDS), wants("the same", put(21), EINVALCOORDS), gap(20), wants("further", put(42), EINVALCOORDS), put(41))
		all = append(all, small.Close(ctx))
		huge, err := begun(ctx, s, path+".huge", 1<<50, &quick) // never closed
		for _, n := range []int64{1 << 40, 1 << 50} {           // only one element in memory
			put := huge.PutVars(ctx, 0, Part{Start: []int64{0}, Count: []int64{n}, Imap: []int64{0}}, []int32{1})
			all = append(all, err, wants("put of much by imap", put, ENOMEM), wants("get", huge.GetVars(ctx, 0, Part{Start: []int64{0}, Count: []int64{n}, Imap: []int64{0}}, []int32{1}), ENOMEM))
		}
		for frame := range int64(10) {
			all = append(all, f.SetFrame(1, frame), f.WriteDarray(ctx, 1, d, data, nil))
			if f.tx.log.bytes > 3000 {
				all = append(all, fmt.Errorf("frame %d: %d bytes are kept", frame, f.tx.log.bytes))
			}
		}
		if f.tx.w == nil {
			all = append(all, errors.New("nothing was written ahead"))
		}
		if s.c.Rank() == 0 {
			if _, err := blob.Open(ctx, path, nil); err == nil {
				all = append(all, errors.New("there is a dataset before the commit"))
			}
		}
		return errors.Join(append(all, s.c.Barrier(ctx), f.Close(ctx))...)
	})
	r, err := blob.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Records() != 10 {
		t.Errorf("%d records", r.Records())
	}
	r.Close()
	if got, want := line.String(), path+": 2 ranks, 40000 bytes written in 1 commits, 0 of them anew, 0 bytes read; seconds"; !strings.Contains(got, want) || strings.Count(got, "\n") != 1 {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestFramesAtOnce writes and reads several records by one decomposition whose first dimension is the record dimension.
func TestFramesAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.nc")
	together(t, 3, func(ctx context.Context, s *System) error {
		f, err := begun(ctx, s, path, 4, &quick)
		if err != nil {
			return err
		}
		rank := int64(s.c.Rank())
		var mine []int64 // every third element of 5 records, backwards; no rank has the last element
		for i := 20 - rank; i > 0; i -= 3 {
			mine = append(mine, i)
		}
		mine[0] %= 20
		err1 := f.Redef()
		_, err5 := f.DefVar("time", cdf5.Int, []int{1})
		err1 = errors.Join(err1, err5, f.EndDef())
		all, err2 := s.InitDecomp(ctx, cdf5.Float, []int64{5, 1, 4}, mine, false)
		one, err3 := blocks(ctx, s, cdf5.Int, 5)
		if err := errors.Join(err1, err2, err3); err != nil {
			return err
		}
		data, times := make([]float32, len(mine)), make([]int32, one.Len())
		for i, p := range mine {
			data[i] = float32(p)
		}
		for i, p := range one.Map() {
			times[i] = int32(10 * p)
		}
		got, back, now := make([]int32, 20), make([]float32, len(mine)), make([]int32, one.Len())
		back[0] = data[0]
		err = errors.Join(f.WriteDarray(ctx, 1, all, data, []float32{-1}), f.WriteDarray(ctx, 2, one, times, nil),
			f.ReadDarray(ctx, 1, all, back), f.ReadDarray(ctx, 2, one, now), f.GetVars(ctx, 1, Part{}, got),
			f.SetFrame(1, 1), wants("with a frame", f.WriteDarray(ctx, 1, all, data, nil), EVARDIMMISMATCH))
		for i, x := range got {
			if want := int32(i + 1); x != want && (i < 19 || x != -1) {
				err = errors.Join(err, fmt.Errorf("element %d is %d", i, x))
			}
		}
		if !slices.Equal(back, data) || !slices.Equal(now, times) {
			err = errors.Join(err, fmt.Errorf("%v and %v, want %v and %v", back, now, data, times))
		}
		more, err4 := blocks(ctx, s, cdf5.Int, 6)
		return errors.Join(err, err4, wants("too many", f.ReadDarray(ctx, 2, more, make([]int32, 2)), EINVALCOORDS), f.Close(ctx))
	})
}

// TestFillValues checks that a decomposition type's default fill value becomes the variable's if it does not fit the variable's
// type. Other fill values must fit. With OwnFill, the fill values must equal the variable's fill value if its fill mode is on.
func TestFillValues(t *testing.T) {
	for _, own := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "a.nc")
		together(t, 3, func(ctx context.Context, s *System) error {
			f, err := begun(ctx, s, path, 4, with(func(o *FileOptions) { o.OwnFill = own }))
			if err != nil {
				return err
			}
			if err := errors.Join(f.Redef(), f.DefVarFill(0, false, []int32{-5}), f.DefVarFill(1, true, nil), f.EndDef()); err != nil {
				return err
			}
			place := []int64{int64(s.c.Rank()) + 1} // no rank owns element 4
			ints, err1 := s.InitDecomp(ctx, cdf5.Int, []int64{4}, place, false)
			floats, err2 := s.InitDecomp(ctx, cdf5.Float, []int64{4}, place, false)
			whole, err3 := s.InitDecomp(ctx, cdf5.Int, []int64{4}, []int64{4}, true)
			if err := errors.Join(err1, err2, err3); err != nil {
				return err
			}
			holds := func(v int, want int32) error {
				got := []int32{0}
				if err := f.ReadDarray(ctx, v, whole, got); err != nil || got[0] != want {
					return fmt.Errorf("element of nobody in variable %d: %d, want %d: %w", v, got[0], want, err)
				}
				return nil
			}
			err = errors.Join(
				f.WriteDarray(ctx, 0, floats, []float32{1}, []float32{9.9692099683868690e+36}), holds(0, -5),
				wants("too large", f.WriteDarray(ctx, 0, floats, []float32{1}, []float32{1e30}), ERANGE),
				f.WriteDarray(ctx, 1, ints, []int32{1}, []int32{7}), holds(1, 7),
				f.WriteDarray(ctx, 0, ints, []int32{1}, []int32{-5}), holds(0, -5))
			if own {
				fill := []int32{-5 - int32(s.c.Rank())/2} // wrong on the last rank
				want := []Code{0, 0, EINVAL}[s.c.Rank()]
				err = errors.Join(err, wants("wrong on one", f.WriteDarray(ctx, 0, ints, []int32{2}, fill), want), wants("sync", f.Sync(ctx), EINVAL),
					wants("wrong on all", f.WriteDarray(ctx, 0, ints, []int32{1}, []int32{7}), EINVAL), holds(0, -5))
			} else {
				err = errors.Join(err, f.WriteDarray(ctx, 0, ints, []int32{1}, []int32{7}), holds(0, 7))
			}
			return errors.Join(err, f.Close(ctx))
		})
	}
}

// TestFillTwice checks that an element that no rank has gets the fill value of the call, also if other elements are on two ranks,
// so that the ranks have at least as many elements as the array.
func TestFillTwice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.nc")
	together(t, 3, func(ctx context.Context, s *System) error {
		f, err := begun(ctx, s, path, 4, &quick)
		if err != nil {
			return err
		}
		all := []error{f.SetFrame(1, 0)}
		for v, places := range [][]int64{{1, 2}, {2, 1, 3}} { // 1 and 2 are on all ranks, 4 on none
			d, err := s.InitDecomp(ctx, cdf5.Int, []int64{4}, places, false)
			if err != nil {
				return err
			}
			got := make([]int32, 4)
			all = append(all, f.WriteDarray(ctx, v, d, []int32{5, 5, 5}, []int32{7}), f.GetVars(ctx, v, Part{}, got))
			if got[0] != 5 || got[3] != 7 {
				all = append(all, fmt.Errorf("variable %d: %v", v, got))
			}
		}
		return errors.Join(append(all, f.Close(ctx))...)
	})
}
