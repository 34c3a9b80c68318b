package blob

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/blob/internal/resume"
	"blobio/blob/internal/write"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
	"blobio/internal/comm/commtest"
)

const jointCols, jointRanks = 60, 6

// jointDataset makes a dataset of six ranks in three subfiles. Rank r has columns r, r+6, r+12 and so on. The last ten columns
// have no owner.
func jointDataset(t *testing.T, layout dataset.Layout, piece int64) *vfs.Mem {
	t.Helper()
	s := dataset.NewSchema()
	tm, col := s.Dim("time", dataset.Unlimited), s.Dim("ncol", jointCols)
	d := s.Decomp(col)
	s.Var("T", cdf5.Int, []dataset.DimID{tm, col}, dataset.Decomposed(d), dataset.Att("_FillValue", int32(-7)))
	s.Var("area", cdf5.Double, []dataset.DimID{col})
	mem := vfs.NewMem()
	for session := range 2 {
		must(run(jointRanks, func(ctx context.Context, c comm.Comm) error {
			var runs []decomp.Req
			var x []int32
			for k := int64(c.Rank()); k < jointCols-10; k += jointRanks {
				runs, x = append(runs, decomp.Req{Offset: k, Length: 1}), append(x, int32(k+1000*int64(session)))
			}
			o := &dataset.Settings{Options: dataset.Options{Layout: layout, Subfiles: 3, Durability: dataset.DurableNone}, Knobs: dataset.Knobs{Fs: mem, Piece: piece}}
			open := resume.AppendWith
			if session == 0 {
				open = func(ctx context.Context, c comm.Comm, name string, p []write.Part, o *dataset.Settings) (*write.Writer, error) {
					return write.CreateWith(ctx, c, name, s, p, o)
				}
			}
			w := need(open(ctx, c, "d", []write.Part{{Decomp: d, Runs: runs}}, o))
			must(write.Put(w, 0, int64(session), x))
			if session == 0 && c.Rank() == 0 {
				must(write.Put(w, 1, 0, make([]float64, jointCols)))
			}
			return w.Close(ctx)
		}))
	}
	return mem
}

// jointly reads columns of a record on three ranks in one collective call. Each rank reads a third of cols.
func jointly(fsys vfs.FS, o *read.OpenOptions, rec int64, cols []int64) (got []int32, err error) {
	got = make([]int32, len(cols))
	err = run(3, func(ctx context.Context, c comm.Comm) error {
		co := commtest.Isolate(c)
		r, err := read.OpenCommWith(ctx, co, "d", o, dataset.Knobs{Fs: fsys})
		if err != nil {
			return err
		}
		defer r.Close()
		k := r.Collective(co)
		k.Share, k.Span = 16, 7
		lo, hi := len(cols)*c.Rank()/3, len(cols)*(c.Rank()+1)/3
		var runs []decomp.Req
		for _, x := range cols[lo:hi] {
			runs = append(runs, decomp.Req{Offset: x, Length: 1})
		}
		err = k.Plan(runs).Read(ctx, read.Get{Name: "T", Record: rec, Into: got[lo:hi]})
		if e := co.Barrier(ctx); e != nil { // no rank may leave before the others have finished
			return errors.Join(err, e)
		}
		all := comm.Agree(ctx, co, err)
		if (all == nil) != (err == nil) {
			return fmt.Errorf("rank %d has no error, another has: %w", c.Rank(), all)
		}
		return err
	})
	return got, err
}

// TestJointDamage checks that a collective read of a damaged dataset can read exactly the data that a single rank can read.
func TestJointDamage(t *testing.T) {
	ctx := context.Background()
	step := int64(times(29, 1))
	for _, layout := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		for _, piece := range []int64{0, 16} {
			whole := jointDataset(t, layout, piece)
			r := need(read.OpenWith(ctx, "d", nil, dataset.Knobs{Fs: whole}))
			files := slices.Collect(r.Data.Wanted())
			var places []int64
			p := r.Data.Sets[0].Parts[1]
			must(r.Data.Sets[0].LoadParts(ctx))
			lists, _ := p.Place.MapPiece(0, 3, p.Table, 0)
			data, _ := p.Place.Piece(0, 0, p.Table, 1)
			places = append(places, lists, data)
			must(r.Close())
			for name, hurt := range crashtest.SomeOf(t, 2, map[string]func(m *vfs.Mem){
				"list": func(m *vfs.Mem) { flipAt(m, files[1], places[0]+3) },
				"data": func(m *vfs.Mem) { flipAt(m, files[1], places[1]) },
				"gone": func(m *vfs.Mem) { must(m.Remove(files[1])) },
				"last": func(m *vfs.Mem) { must(m.Remove(files[len(files)-1])) },
				"none": func(m *vfs.Mem) {},
			}) {
				for _, o := range []read.OpenOptions{{MissingLater: true, Verify: read.VerifyOnce}, {AllowMissing: true, Verify: read.VerifyOnce}} {
					mem := memOf(t, memFiles(t, whole))
					hurt(mem)
					good, bad := 0, 0
					for rec := range int64(2) {
						alone := need(read.OpenWith(ctx, "d", &o, dataset.Knobs{Fs: mem}))
						var fine []int64
						for c := int64(0); c < jointCols; c += step {
							x := make([]int32, 1)
							want := alone.ReadRuns(ctx, "T", rec, []decomp.Req{{Offset: c, Length: 1}}, x)
							got, err := jointly(mem, &o, rec, []int64{c})
							switch {
							case (want == nil) != (err == nil):
								t.Errorf("%v piece %d %s %+v record %d column %d: %v, alone: %v", layout, piece, name, o, rec, c, err, want)
							case err == nil && got[0] != x[0]:
								t.Errorf("%v piece %d %s %+v record %d column %d: %d, alone %d", layout, piece, name, o, rec, c, got[0], x[0])
							case err == nil:
								fine, good = append(fine, c), good+1
							default:
								bad++
								for _, class := range []error{dataset.ErrChecksum, dataset.ErrMissing, dataset.ErrCorrupt} {
									if errors.Is(want, class) != errors.Is(err, class) {
										t.Errorf("%v piece %d %s record %d column %d: %v, alone: %v", layout, piece, name, rec, c, err, want)
									}
								}
							}
						}
						must(alone.Close())
						got, err := jointly(mem, &o, rec, fine)
						if err != nil {
							t.Errorf("%v piece %d %s %+v record %d: columns that can be read: %v", layout, piece, name, o, rec, err)
						}
						for i, c := range fine {
							if want := int32(c + 1000*rec); got[i] != want && got[i] != -7 {
								t.Errorf("%v %s record %d column %d: %d, want %d", layout, name, rec, c, got[i], want)
							}
						}
					}
					if good == 0 || name == "none" && bad > 0 || name != "none" && bad == 0 && !o.AllowMissing {
						t.Errorf("%v piece %d %s %+v: %d columns good, %d bad", layout, piece, name, o, good, bad)
					}
				}
			}
		}
	}
}

// flipAt flips a bit of a file.
func flipAt(fsys vfs.FS, name string, at int64) {
	must(rewrite(fsys, name, flipped(need(slurp(fsys, name)), at, 0)))
}

// TestJointAgrees checks that an error on one rank is an error on all ranks, and that the next read returns right data.
func TestJointAgrees(t *testing.T) {
	mem := jointDataset(t, dataset.ProcessCentric, 0)
	all := []decomp.Req{{Length: jointCols}}
	must(run(4, func(ctx context.Context, c comm.Comm) error {
		c = commtest.Isolate(c)
		r := need(read.OpenCommWith(ctx, c, "d", nil, dataset.Knobs{Fs: mem}))
		defer r.Close()
		k := r.Collective(c)
		k.Share, k.Span = 16, 7
		odd := c.Rank() == 2
		for _, try := range []struct {
			what string
			read func() error
		}{
			{"want 0..1", func() error {
				rec := int64(1)
				if odd {
					rec = 2
				}
				return k.Plan(nil).Read(ctx, read.Get{Name: "T", Record: rec, Into: []int32{}})
			}},
			{"no variable", func() error {
				name := "T"
				if odd {
					name = "U"
				}
				return k.Plan(nil).Read(ctx, read.Get{Name: name, Into: []int32{}})
			}},
			{"want a run within 60", func() error {
				var runs []decomp.Req
				if odd {
					runs = []decomp.Req{{Offset: 55, Length: 6}}
				}
				return k.Plan(runs).Read(ctx, read.Get{Name: "T", Into: make([]int32, len(runs)*6)})
			}},
			{"the ranks differ in dataset", func() error {
				if odd {
					return k.Plan(nil).Read(ctx, read.Get{Name: "T", Into: []int32{}})
				}
				return k.Plan(nil).Read(ctx, read.Get{Name: "T", Into: []int32{}}, read.Get{Name: "area", Into: []int32{}})
			}},
			{"destination has 59", func() error {
				n := jointCols
				if odd {
					n--
				}
				return k.Plan(all).Read(ctx, read.Get{Name: "T", Into: make([]int32, n)})
			}},
			{"int8", func() error { // values of columns from 200 on do not fit
				if odd {
					return k.Plan(all).Read(ctx, read.Get{Name: "T", Record: 1, Into: make([]int8, jointCols)})
				}
				return k.Plan(all).Read(ctx, read.Get{Name: "T", Record: 1, Into: make([]int32, jointCols)})
			}},
		} {
			if err := try.read(); err == nil || try.what != "int8" && !strings.Contains(err.Error(), try.what) {
				return fmt.Errorf("rank %d, %s: %v", c.Rank(), try.what, err)
			}
			x := make([]int32, jointCols)
			if err := k.Plan(all).Read(ctx, read.Get{Name: "T", Record: 1, Into: x}); err != nil || x[1] != 1001 {
				return fmt.Errorf("rank %d after %s: %d, %v", c.Rank(), try.what, x[1], err)
			}
		}
		return nil
	}))
}

// TestJointAlike checks that all ranks get an error, without waiting, if their options differ or if one rank has a new
// Collective.
func TestJointAlike(t *testing.T) {
	mem := jointDataset(t, dataset.VariableCentric, 0)
	for name, odd := range map[string]read.OpenOptions{"nothing": {}, "memory": {Memory: 1 << 20}, "verify": {Verify: read.VerifyNever}, "missing": {AllowMissing: true}, "anew": {}} {
		must(run(3, func(ctx context.Context, c comm.Comm) error {
			c = commtest.Isolate(c)
			o := &read.OpenOptions{}
			if c.Rank() == 1 {
				o = &odd
			}
			r := need(read.OpenCommWith(ctx, c, "d", o, dataset.Knobs{Fs: mem}))
			defer r.Close()
			x := make([]int32, jointCols)
			read := func(k *read.Collective) error {
				return k.Plan([]decomp.Req{{Length: jointCols}}).Read(ctx, read.Get{Name: "T", Record: 1, Into: x})
			}
			k := r.Collective(c)
			if name == "anew" {
				must(read(k))
				if c.Rank() == 1 {
					k = r.Collective(c)
				}
			}
			if err := read(k); name == "nothing" && err != nil || name != "nothing" && !errors.Is(err, dataset.ErrUsage) {
				return fmt.Errorf("rank %d, other %s: %v", c.Rank(), name, err)
			}
			return nil
		}))
	}
}

// TestJointAnother lets one rank read another dataset of the same name and shape. All ranks must get an error instead of mixed
// data.
func TestJointAnother(t *testing.T) {
	for _, l := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		of := []vfs.FS{jointDataset(t, l, 0), jointDataset(t, l, 0)}
		for odd := range 2 {
			must(run(3, func(ctx context.Context, c comm.Comm) error {
				mem := of[0]
				if c.Rank() == 1 {
					mem = of[odd]
				}
				r, err := read.OpenWith(ctx, "d", nil, dataset.Knobs{Fs: mem})
				must(err)
				defer r.Close()
				x := make([]int32, jointCols)
				err = r.Collective(commtest.Isolate(c)).Plan([]decomp.Req{{Length: jointCols}}).Read(ctx, read.Get{Name: "T", Record: 1, Into: x})
				if odd == 0 && err != nil || odd == 1 && !errors.Is(err, dataset.ErrUsage) {
					return fmt.Errorf("%v, %d others, rank %d: %v", l, odd, c.Rank(), err)
				}
				return nil
			}))
		}
	}
}

// TestJointRefuse lets one rank refuse a read with its error, before and after the first read.
func TestJointRefuse(t *testing.T) {
	mem := jointDataset(t, dataset.VariableCentric, 0)
	full := errors.New("a wrong argument")
	must(run(3, func(ctx context.Context, c comm.Comm) error {
		r := need(read.OpenWith(ctx, "d", nil, dataset.Knobs{Fs: mem}))
		defer r.Close()
		k := r.Collective(commtest.Isolate(c))
		p := k.Plan([]decomp.Req{{Length: jointCols}})
		get := read.Get{Name: "T", Record: 1, Into: make([]int32, jointCols)}
		for range 2 {
			var err error
			if c.Rank() == 1 {
				err = k.Refuse(ctx, full)
			} else {
				err = p.Read(ctx, get)
			}
			if re := new(comm.RankError); !errors.As(err, &re) || re.Rank != 1 || !strings.Contains(err.Error(), full.Error()) {
				return fmt.Errorf("rank %d: %v", c.Rank(), err)
			}
			if err := p.Read(ctx, get); err != nil {
				return err
			}
		}
		if err := k.Refuse(ctx, nil); !errors.Is(err, dataset.ErrUsage) {
			return fmt.Errorf("rank %d, without an error: %v", c.Rank(), err)
		}
		return nil
	}))
}

// TestJointGrows lets another program append a record to an ordinary netCDF file between Open and the first collective read.
func TestJointGrows(t *testing.T) {
	h := &cdf5.Header{Version: cdf5.CDF5, Dims: []cdf5.Dim{{Name: "time"}, {Name: "x", Len: 6}}, Vars: []cdf5.Var{{Name: "T", Type: cdf5.Int, Dims: []int{0, 1}}}}
	must(h.Layout(nil))
	name := filepath.Join(t.TempDir(), "d.nc")
	write := func(records int64) {
		h.NumRecs = records
		b := need(h.AppendTo(nil, binary.BigEndian, false))
		must(os.WriteFile(name, append(b, make([]byte, h.FileSize(records)-int64(len(b)))...), 0o600))
	}
	write(2)
	must(run(2, func(ctx context.Context, c comm.Comm) error {
		c = commtest.Isolate(c)
		r := need(read.OpenCommWith(ctx, c, name, nil, dataset.Knobs{}))
		defer r.Close()
		if c.Rank() == 0 {
			write(3)
		}
		must(c.Barrier(ctx))
		return r.Collective(c).Plan([]decomp.Req{{Offset: 3 * int64(c.Rank()), Length: 3}}).Read(ctx, read.Get{Name: "T", Record: 1, Into: make([]int32, 3)})
	}))
}

// manyRanks is a Comm that has a size and nothing else.
type manyRanks struct {
	comm.Comm
	n int
}

func (m manyRanks) Size() int { return m.n }

// TestJointKeeper checks that each subfile has a rank that reads it, even in a large job, where the product of ranks and
// subfiles overflows 32 bits.
func TestJointKeeper(t *testing.T) {
	k := &read.Collective{C: manyRanks{n: 100_000}}
	s := &read.Set{Parts: make([]*read.FilePart, 65_536)}
	for i, want := range map[int]int{0: 0, 32_768: 50_000, 65_535: 99_998} {
		if got := k.Keeper(s, i); got != want {
			t.Errorf("subfile %d: rank %d, want %d", i, got, want)
		}
	}
}

// TestJointFaults lets one call of one rank to the file system fail. Either all ranks or no rank must get an error.
func TestJointFaults(t *testing.T) {
	mem := jointDataset(t, dataset.VariableCentric, 16)
	for n := int64(1); ; n += int64(times(3, 1)) {
		failing := vfs.FailNth(mem, n, fmt.Errorf("call %d failed", n))
		failed := [3]bool{}
		err := run(3, func(ctx context.Context, c comm.Comm) error {
			co := commtest.Isolate(c)
			fsys := vfs.FS(mem)
			if c.Rank() == 1 {
				fsys = failing
			}
			err := func() error {
				r, err := read.OpenCommWith(ctx, co, "d", nil, dataset.Knobs{Fs: fsys})
				if err != nil {
					return err
				}
				defer r.Close()
				k := r.Collective(co)
				k.Share, k.Span = 16, 7
				x := make([]int32, jointCols)
				err = k.Plan([]decomp.Req{{Length: jointCols}}).Read(ctx, read.Get{Name: "T", Record: 1, Into: x})
				if err == nil && (x[7] != 1007 || x[55] != -7) {
					err = fmt.Errorf("wrong: %v", x)
				}
				return err
			}()
			failed[c.Rank()] = err != nil
			if err != nil && !strings.Contains(err.Error(), "failed") {
				return err
			}
			return nil
		})
		if err != nil {
			t.Fatalf("call %d: %v", n, err)
		}
		if failed != [3]bool{} && failed != [3]bool{true, true, true} {
			t.Errorf("call %d: failed on ranks %v", n, failed)
		}
		if failed == [3]bool{} && n > 100 {
			break
		}
	}
}
