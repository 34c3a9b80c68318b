package pio

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/internal/comm/commtest"
)

// TestCommitFails checks that each commit that cannot write is an error on all ranks; earlier commits stay.
func TestCommitFails(t *testing.T) {
	for _, form := range []Form{Variable, Process, Canonical} {
		for _, buffer := range []int64{0, -1} {
			dir := filepath.Join(t.TempDir(), "d")
			if err := os.Mkdir(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			away := dir + ".away"
			path := filepath.Join(dir, "a.nc")
			together(t, 3, func(ctx context.Context, s *System) error {
				f, err := begun(ctx, s, path, 9, with(func(o *FileOptions) { o.Form, o.Buffer = form, buffer }))
				if err != nil {
					return err
				}
				d, err := blocks(ctx, s, cdf5.Int, 9)
				if err != nil {
					return err
				}
				if err := errors.Join(f.WriteDarray(ctx, 0, d, []int32{1, 2, 3}, nil), f.WriteDarray(ctx, 1, d, []int32{1, 2, 3}, nil), f.Sync(ctx)); err != nil {
					return err
				}
				move := func(from, to string) error {
					if err := s.c.Barrier(ctx); err != nil {
						return err
					}
					if s.c.Rank() == 0 {
						if err := os.Rename(from, to); err != nil {
							return err
						}
					}
					return s.c.Barrier(ctx)
				}
				// Write at least a part to the files, if possible, before the directory is removed.
				if err := errors.Join(f.SetFrame(1, 1), f.WriteDarray(ctx, 1, d, []int32{4, 5, 6}, nil), move(dir, away)); err != nil {
					return err
				}
				if (f.tx.w != nil) != (buffer < 0 && form != Process) {
					return fmt.Errorf("%v, buffer %d: written ahead: %v", form, buffer, f.tx.w != nil)
				}
				ahead := f.tx.w != nil
				if f.Sync(ctx) == nil {
					return errors.New("a sync without a directory")
				}
				if err := f.WriteDarray(ctx, 1, d, []int32{4, 5, 6}, nil); ahead && (err == nil || f.ranks.broken == nil) {
					return fmt.Errorf("a write after data were lost: %v", err)
				}
				if f.Close(ctx) == nil {
					return errors.New("a close without a directory")
				}
				return move(away, dir)
			})
			if form == Canonical { // no file exists before Close
				continue
			}
			r, err := blob.Open(t.Context(), path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if r.Records() != 1 {
				t.Errorf("%v: %d records", form, r.Records())
			}
			r.Close()
		}
	}
}

// TestRanksDiffer checks that definitions or writes that differ between ranks are an error on all ranks. The error names the rank
// and both versions.
func TestRanksDiffer(t *testing.T) {
	for want, do := range map[string]func(ctx context.Context, f *File, rank int) error{
		`on rank 2 dimension 2 is "z" of length 6, on rank 0 dimension 2 is "z" of length 5`: func(_ context.Context, f *File, rank int) error {
			_, err := f.DefDim("z", int64(5+rank/2))
			return err
		},
		`on rank 2 variable 2 is int "w" of dimensions [0], on rank 0 variable 2 is int "v" of dimensions [0]`: func(_ context.Context, f *File, rank int) error {
			_, err := f.DefVar(string(rune('v'+rank/2)), cdf5.Int, []int{0})
			return errors.Join(err, f.PutAtt(Global, "history", cdf5.Char, Text("made\nand changed\n")))
		},
		`on rank 2 attribute "a" of the file is char "a\nc", on rank 0 attribute "a" of the file is char "a\nb"`: func(_ context.Context, f *File, rank int) error {
			return f.PutAtt(Global, "a", cdf5.Char, Text([]string{"a\nb", "a\nc"}[rank/2]))
		},
		`on rank 2 attribute "a" of the file is int [1], on rank 0 attribute "a" of the file is int [0]`: func(_ context.Context, f *File, rank int) error {
			return f.PutAtt(Global, "a", cdf5.Int, []int32{int32(rank / 2)})
		},
		`on rank 2 variable 2 is double "more" of dimensions [0], on rank 0 nothing more`: func(_ context.Context, f *File, rank int) error {
			if rank < 2 {
				return nil
			}
			_, err := f.DefVar("more", cdf5.Double, []int{0})
			return err
		},
		`on rank 2 variable 2 is int "long" of dimensions [0], on rank 0 nothing more`: func(ctx context.Context, f *File, rank int) error {
			d, err := blocks(ctx, f.s, cdf5.Int, 8)
			if err != nil || rank < 2 {
				return err
			}
			v, err := f.DefVar("long", cdf5.Int, []int{0})
			return errors.Join(err, wants("short", f.WriteDarray(ctx, v, d, []int32{}, nil), EINVAL))
		},
	} {
		path := filepath.Join(t.TempDir(), "a.nc")
		together(t, 3, func(ctx context.Context, s *System) error {
			f, err := begun(ctx, s, path, 8, with(func(o *FileOptions) { o.Auto = true }))
			if err != nil {
				return err
			}
			if err := do(ctx, f, s.c.Rank()); err != nil {
				return err
			}
			if err := wants("close", f.Close(ctx), EINVAL); err != nil {
				return err
			} else if got := f.tx.same(ctx); got == nil || !strings.Contains(got.Error(), want) {
				return fmt.Errorf("%v, want %s", got, want)
			}
			return nil
		})
	}
}

// TestOptionsDiffer checks that options or names that differ between ranks are an error on all ranks. Only Buffer may differ: all
// ranks use the root's, so that they write together.
func TestOptionsDiffer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.nc")
	for i, set := range []func(o *FileOptions, rank int){
		func(o *FileOptions, rank int) { o.Form = Form(rank / 2) },
		func(o *FileOptions, rank int) { o.Version = cdf5.Version(rank) },
		func(o *FileOptions, rank int) { o.Memory = int64(rank) },
		func(o *FileOptions, rank int) { o.NoClobber = rank == 1 },
		func(o *FileOptions, rank int) { o.Auto = rank == 1 },
		func(o *FileOptions, rank int) { o.Write = rank == 1 },
	} {
		together(t, 3, func(ctx context.Context, s *System) error {
			_, err := s.Create(ctx, path, with(func(o *FileOptions) { set(o, s.c.Rank()) }))
			return wants(fmt.Sprint("create ", i), err, EINVAL)
		})
	}
	together(t, 3, func(ctx context.Context, s *System) error {
		_, err := s.Create(ctx, path+[]string{"", "", "x"}[s.c.Rank()], &quick)
		return wants("names", err, EINVAL)
	})
	together(t, 3, func(ctx context.Context, s *System) error {
		f, err := begun(ctx, s, path, 9, with(func(o *FileOptions) { o.Buffer = int64(s.c.Rank() - 1) }))
		if err != nil {
			return err
		}
		d, err := blocks(ctx, s, cdf5.Int, 9)
		if err := errors.Join(err, f.WriteDarray(ctx, 1, d, []int32{1, 2, 3}, nil)); err != nil || f.tx.w == nil {
			return fmt.Errorf("a writer %v: %w", f.tx.w, err)
		}
		if err := f.Close(ctx); err != nil {
			return err
		}
		f, err = s.Open(ctx, path, &FileOptions{Form: Form(s.c.Rank())})
		if err != nil {
			return err
		}
		return f.Close(ctx)
	})
}

// TestOneRankWrong checks that one rank's wrong argument is an error on all ranks in the same call, unless WriteDarray needs no
// communication.
func TestOneRankWrong(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.nc")
	together(t, 3, func(ctx context.Context, s *System) error {
		f, err := begun(ctx, s, path, 9, &quick)
		if err != nil {
			return err
		}
		d, err := blocks(ctx, s, cdf5.Int, 9)
		if err != nil {
			return err
		}
		bad, v := s.c.Rank()/2, 0 // rank 2 passes a wrong argument
		if bad > 0 {
			v = 7
		}
		wide, err := blocks(ctx, s, cdf5.Double, 9)
		if err != nil {
			return err
		}
		if err := f.SetFrame(1, int64(bad)<<40); err != nil {
			return err
		}
		data := make([]int32, 9)
		all := []error{
			wants("convert", f.WriteDarray(ctx, 1, wide, make([]float64, 9), nil), EINVALCOORDS),
			f.SetFrame(1, 0),
			f.WriteDarray(ctx, 1, d, data, nil),
			wants("start", f.PutVars(ctx, 0, Part{Start: []int64{int64(20 * bad)}, Count: []int64{1}}, data), EINVALCOORDS),
			wants("put", f.PutVars(ctx, v, Part{}, data), ENOTVAR),
			wants("another variable", f.PutVars(ctx, bad, Part{}, data), EINVAL),
			wants("another record", f.PutVars(ctx, 1, Part{Start: []int64{int64(bad), 0}, Count: []int64{1, 9}}, data), EINVAL),
			wants("no records", f.PutVars(ctx, 1, Part{Start: []int64{0, 0}, Count: []int64{int64(bad), 9}}, data), EINVAL),
			wants("get", f.GetVars(ctx, v, Part{}, data), ENOTVAR),
			wants("read", f.ReadDarray(ctx, v, d, data), ENOTVAR),
			f.Close(ctx),
		}
		if f, err = s.Open(ctx, path, nil); err != nil {
			return err
		}
		for range 2 { // before and after the first read
			all = append(all, wants("read", f.ReadDarray(ctx, v, d, data), ENOTVAR),
				wants("short", f.ReadDarray(ctx, 0, d, data[:int(d.Len())-bad]), EINVAL), f.ReadDarray(ctx, 1, d, data))
			switch s.c.Rank() { // two ranks with errors: each returns its own
			case 0:
				all = append(all, wants("read", f.ReadDarray(ctx, 7, d, data), ENOTVAR))
			case 1:
				all = append(all, wants("short", f.ReadDarray(ctx, 1, d, data[:1]), EINVAL))
			default:
				all = append(all, wants("read", f.ReadDarray(ctx, 1, d, data), ENOTVAR))
			}
		}
		return errors.Join(append(all, f.Close(ctx))...)
	})
}

// TestOneRankMisses checks that a write that only one rank could not make is its error on all ranks, in whatever call they meet
// next, also if the others convert. From then on calls return at once, and what was committed stays. A write that fails on
// all ranks changes nothing.
func TestOneRankMisses(t *testing.T) {
	for _, buffer := range []int64{0, -1} {
		for _, kind := range []cdf5.Type{cdf5.Int, cdf5.Double} {
			for _, next := range []string{"sync", "put", "get", "write", "read", "close"} {
				path := filepath.Join(t.TempDir(), "a.nc")
				together(t, 3, func(ctx context.Context, s *System) error {
					ctx = comm.In(ctx, "a model") // ranks meet in different calls, which MPI does not notice
					f, err := begun(ctx, s, path, 9, with(func(o *FileOptions) { o.Buffer = buffer }))
					if err != nil {
						return err
					}
					d, e1 := blocks(ctx, s, kind, 9)
					wide, e2 := blocks(ctx, s, cdf5.Float, 9)
					whole, data := make([]int32, 9), cdf5.NewSlice(kind, 9)
					if err := errors.Join(e1, e2, f.WriteDarray(ctx, 0, d, data, nil), f.Sync(ctx), wants("all", f.WriteDarray(ctx, 7, d, data, nil), ENOTVAR), f.Sync(ctx)); err != nil {
						return err
					}
					v := 1 + 6*(s.c.Rank()/2) // rank 2 passes a wrong variable
					if err := f.WriteDarray(ctx, v, d, data, nil); v > 1 {
						if err := wants("write", err, ENOTVAR); err != nil {
							return err
						}
					}
					switch next {
					case "sync":
						err = f.Sync(ctx)
					case "put":
						err = f.PutVars(ctx, 0, Part{}, whole)
					case "get":
						err = f.GetVars(ctx, 0, Part{}, whole)
					case "write":
						err = f.WriteDarray(ctx, 1, wide, make([]float32, 9), nil)
					case "read":
						err = f.ReadDarray(ctx, 0, d, data)
					case "close":
						err = f.Close(ctx)
					}
					err = wants(next, err, ENOTVAR)
					if next != "close" {
						err = errors.Join(err, wants("write again", f.WriteDarray(ctx, 1, d, data, nil), ENOTVAR), wants("close", f.Close(ctx), ENOTVAR))
					}
					return err
				})
				if r, err := blob.Open(t.Context(), path, nil); err != nil || r.Records() != 0 {
					t.Fatalf("%v: %v records, want 0", err, r)
				} else {
					r.Close()
				}
			}
		}
	}
}

// TestOneRankFailsUnbuffered checks that one rank's error is an error of the call on all ranks if each write goes to the files at
// once.
func TestOneRankFailsUnbuffered(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.nc")
	together(t, 3, func(ctx context.Context, s *System) error {
		f, err := begun(ctx, s, path, 9, with(func(o *FileOptions) { o.Buffer = -1 }))
		if err != nil {
			return err
		}
		d, err := blocks(ctx, s, cdf5.Int, 9)
		if err != nil {
			return err
		}
		data := []int32{1, 2, 3}
		return errors.Join(
			f.WriteDarray(ctx, 1, d, data, nil),
			wants("short on one", f.WriteDarray(ctx, 0, d, data[s.c.Rank()/2:], nil), EINVAL),
			f.WriteDarray(ctx, 0, d, data, nil),
			func() error {
				got := make([]int32, 9)
				if err := f.GetVars(ctx, 0, Part{}, got); err != nil || got[8] != 3 {
					return fmt.Errorf("%v, %w", got, err)
				}
				return nil
			}(), f.SetFrame(1, int64(s.c.Rank()/2)),
			wants("another frame on one", f.WriteDarray(ctx, 1, d, data, nil), EINVAL), wants("close", f.Close(ctx), EINVAL),
			func() error { // the ranks are still together
				f, err := s.Open(ctx, path, nil)
				return errors.Join(err, f.Close(ctx))
			}())
	})
}

// TestZero checks that zero values are an error, not a panic.
func TestZero(t *testing.T) {
	ctx := t.Context()
	var s System
	var f File
	_, e1 := s.Create(ctx, "a", nil)
	_, e2 := s.Open(ctx, "a", nil)
	_, e3 := s.InitDecomp(ctx, cdf5.Int, []int64{1}, nil, false)
	_, e4 := s.InitDecompBlock(ctx, cdf5.Int, []int64{1}, []int64{0}, []int64{1})
	_, e5 := f.Var(0)
	_, e6 := f.DefDim("x", 1)
	_, _, e7 := s.ReadDecomp(ctx, "a", cdf5.Int)
	for i, err := range []error{e1, e2, e3, e4, e5, e6, e7, s.Delete(ctx, "a"), s.WriteDecomp(ctx, "a", nil, DecompInfo{}, false), f.Sync(ctx), f.Close(ctx), f.Redef(), f.EndDef(),
		f.WriteDarray(ctx, 0, nil, nil, nil), f.ReadDarray(ctx, 0, nil, nil), f.PutVars(ctx, 0, Part{}, nil), f.GetVars(ctx, 0, Part{}, nil),
		f.PutAtt(0, "a", cdf5.Int, []int32{1}), f.GetAtt(0, "a", nil), f.SetFrame(0, 0), f.AdvanceFrame(0), (*File)(nil).Close(ctx)} {
		if err := wants(fmt.Sprint(i), err, EBADID); err != nil {
			t.Error(err)
		}
	}
	d := new(Decomp)
	if d.Len() != 0 || d.Type() != 0 || d.Map() != nil || d.Dims() != nil || s.IOTask() != -1 {
		t.Error("a decomposition of nothing has something")
	}
}

// TestRankDies checks that the death of a rank is an error on the others, in any call.
func TestRankDies(t *testing.T) {
	gone := errors.New("gone")
	for at := range 6 {
		path := filepath.Join(t.TempDir(), "a.nc")
		err := comm.Run(t.Context(), 4, nil, func(ctx context.Context, c comm.Comm) error {
			n := 0
			die := func() error {
				if n++; n == at+1 && c.Rank() == 2 {
					return gone
				}
				return nil
			}
			s, err := NewSystem(ctx, commtest.Isolate(c), nil)
			if err := errors.Join(err, die()); err != nil {
				return err
			}
			f, err := begun(ctx, s, path, 8, &quick)
			if err := errors.Join(err, die()); err != nil {
				return err
			}
			d, err := blocks(ctx, s, cdf5.Int, 8)
			if err := errors.Join(err, die()); err != nil {
				return err
			}
			if err := errors.Join(f.WriteDarray(ctx, 0, d, []int32{1, 2}, nil), f.Sync(ctx), die()); err != nil {
				return err
			}
			err = f.PutVars(ctx, 0, Part{Start: []int64{1}, Count: []int64{3}}, []int32{1, 2, 3})
			if err := errors.Join(err, die()); err != nil {
				return err
			}
			err = f.ReadDarray(ctx, 0, d, make([]int32, 2))
			if err := errors.Join(err, die()); err != nil {
				return err
			}
			return f.Close(ctx)
		})
		if !errors.Is(err, gone) {
			t.Errorf("at %d: %v", at, err)
		}
		r, err := blob.Open(t.Context(), path, nil)
		if at < 3 {
			if err == nil {
				t.Errorf("at %d: there is a dataset", at)
			}
		} else if err != nil {
			t.Errorf("at %d: %v", at, err)
		}
		if err == nil {
			r.Close()
		}
	}
}
