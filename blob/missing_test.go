package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/blob/internal/check"
	"blobio/blob/internal/convert"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/blob/internal/resume"
	"blobio/blob/internal/write"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/elem"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

const missRanks, missCols = 7, 20

// writeSets writes a process-centric dataset of three sets, with two records each, on three subfiles. Rank r owns the columns c
// with c % 7 == r, and ranks are assigned to subfiles round robin. The value of column c in record rec is 100*rec + c + 1.
func writeSets(t *testing.T) (name string) {
	t.Helper()
	s := dataset.NewSchema()
	tm := s.Dim("time", dataset.Unlimited)
	col := s.Dim("ncol", missCols)
	d := s.Decomp(col)
	s.Var("A", cdf5.Int, []dataset.DimID{tm, col}, dataset.Decomposed(d), dataset.Att("_FillValue", int32(-7)))
	s.Var("B", cdf5.Double, []dataset.DimID{tm, col}, dataset.Decomposed(d))
	name = filepath.Join(t.TempDir(), "m.h5")
	o := &dataset.Settings{Options: dataset.Options{Layout: dataset.ProcessCentric, Subfiles: 3, Grouping: subfile.RoundRobin}}
	for session := range 3 {
		noError(t, comm.Run(context.Background(), missRanks, nil, func(ctx context.Context, c comm.Comm) error {
			var runs []decomp.Req
			var x []int32
			for k := int64(c.Rank()); k < missCols; k += missRanks {
				runs = append(runs, decomp.Req{Offset: k, Length: 1})
				x = append(x, int32(k+1))
			}
			parts := []write.Part{{Decomp: d, Runs: runs}}
			var wr *write.Writer
			var err error
			if session == 0 {
				wr, err = write.CreateWith(ctx, c, name, s, parts, o)
			} else {
				wr, err = resume.AppendWith(ctx, c, name, parts, o)
			}
			must(err)
			for k := range int64(2) {
				rec := int64(2*session) + k
				y := make([]int32, len(x))
				for i := range x {
					y[i] = x[i] + int32(100*rec)
				}
				must(errors.Join(write.Put(wr, 0, rec, y), write.Put(wr, 1, rec, y)))
			}
			return wr.Close(ctx)
		}))
	}
	return name
}

// TestMissingOfAppended removes a subfile of an appended set. With every read method, exactly this subfile's data must read as
// fill values.
func TestMissingOfAppended(t *testing.T) {
	ctx := context.Background()
	for _, gone := range []string{".0000", ".0001", "+1.0000", "+1.0001", "+2.0002"} {
		t.Run(gone, func(t *testing.T) {
			name := writeSets(t)
			noError(t, os.Remove(name+gone))
			if _, err := read.Open(ctx, name, nil); !errors.Is(err, dataset.ErrMissing) {
				t.Errorf("Open: %v, want ErrMissing", err)
			}
			r := opened(t, vfs.OS, name, &read.OpenOptions{AllowMissing: true})
			if got := fmt.Sprint(r.Now().Data.Missing()); got != fmt.Sprintf("[%s%s]", name, gone) {
				t.Errorf("Missing = %s", got)
			}
			out := filepath.Join(t.TempDir(), "c.nc")
			for _, o := range []*convert.ConvertOptions{nil, {Blobs: true}} {
				if err := convert.Convert(ctx, r, out, o); !errors.Is(err, dataset.ErrMissing) || !strings.Contains(err.Error(), gone) || len(names(vfs.OrOS(nil), filepath.Dir(out))) > 0 {
					t.Errorf("Convert without FillMissing: %v", err)
				}
			}
			noError(t, convert.Convert(ctx, r, out, &convert.ConvertOptions{FillMissing: true}))
			canon := opened(t, vfs.OS, out, nil)
			for rec := range int64(6) {
				want := make([]int32, missCols)
				for c := range want {
					want[c] = int32(100*rec) + int32(c) + 1
					sub := c % missRanks % 3
					all := gone[0] == '.' // without a subfile of the first set, its maps are missing for all sets
					if sub == int(gone[len(gone)-1]-'0') && (all || rec/2 == int64(gone[1]-'0')) {
						want[c] = -7
					}
				}
				check := func(how string, got []int32) {
					t.Helper()
					if fmt.Sprint(got) != fmt.Sprint(want) {
						t.Errorf("record %d, %s:\ngot  %v\nwant %v", rec, how, got, want)
					}
				}
				spoiled := func(n int) []int32 {
					x := make([]int32, n)
					for i := range x {
						x[i] = 999
					}
					return x
				}
				got := spoiled(missCols)
				noError(t, r.Read(ctx, "A", []int64{rec, 0}, []int64{1, missCols}, got))
				check("whole", got)
				got = spoiled(missCols)
				noError(t, r.Elems.RawRuns(ctx, 0, rec, func(yield func(int64, int64) bool) {
					for k := range int64(missCols) {
						if !yield(k, 1) {
							return
						}
					}
				}, elem.Bytes(got), read.HostForm))
				check("runs", got)
				noError(t, canon.Read(ctx, "A", []int64{rec, 0}, []int64{1, missCols}, got))
				check("converted", got)
				for b, err := range r.Now().Elems.Blobs(ctx, "A", rec) {
					noError(t, err)
					for i, q := range b.Runs {
						if x := b.Data.([]int32)[i]; x != want[q.Offset] {
							t.Errorf("record %d, blob %d: %d at %d, want %d", rec, b.Rank, x, q.Offset, want[q.Offset])
						}
					}
				}
			}
		})
	}
}

// TestVariableNotInAppendedSet checks that each read method returns an error if an appended set lacks a variable of the
// dataset.
func TestVariableNotInAppendedSet(t *testing.T) {
	ctx := context.Background()
	name := writeSets(t)
	st := need(subfile.ReadState(vfs.OS, name))
	for i := range 3 {
		file := subfile.Name(subfile.SetBase(name, 1), i)
		b := need(os.ReadFile(file))
		at := bytes.Index(b, []byte("\x01\x00\x00\x00\x00\x00\x00\x00B\x00\x00\x00")) // the length of the name, and the name B
		if at < 0 {
			t.Fatal("no variable B")
		}
		b[at+8] = 'Z'
		noError(t, os.WriteFile(file, b, 0o644))
		pl, _, err := dataset.DecodePlace(bytes.NewReader(b), int64(len(b)), file, 0)
		noError(t, err)
		if st.Manifest.Sets[1].Subfiles[i].HeaderCRC, err = dataset.HeaderCRC(bytes.NewReader(b), pl, file); err != nil {
			t.Fatal(err)
		}
	}
	noError(t, errors.Join(subfile.WriteNext(vfs.OS, name, st.Manifest, false, subfile.By{}), subfile.Finish(vfs.OS, name, st.Manifest, false, subfile.By{})))
	r := opened(t, vfs.OS, name, nil)
	x := make([]float64, missCols)
	if err := r.Read(ctx, "B", []int64{2, 0}, []int64{1, missCols}, x); !errors.Is(err, dataset.ErrMissing) {
		t.Errorf("Read: %v, want ErrMissing", err)
	}
	if err := r.Elems.RawRuns(ctx, 1, 2, func(yield func(int64, int64) bool) { yield(3, 2) }, elem.Bytes(x[:2]), read.HostForm); !errors.Is(err, dataset.ErrMissing) {
		t.Errorf("runs: %v, want ErrMissing", err)
	}
	for _, err := range r.Now().Elems.Blobs(ctx, "B", 2) {
		if !errors.Is(err, dataset.ErrMissing) {
			t.Errorf("Blobs: %v, want ErrMissing", err)
		}
	}
}

// TestCheckMissing checks that Check counts elements of a missing subfile as lost, and not as elements without an owner.
func TestCheckMissing(t *testing.T) {
	name := writeSets(t)
	noError(t, os.Remove(name+".0001"))
	lost := 0
	for f := range check.Check(t.Context(), name, nil) {
		if f.Severity == dataset.Note {
			t.Errorf("a note: %v", f)
		}
		if f.Field == "D1" && errors.Is(f.Err, dataset.ErrMissing) && f.Msg == "the subfiles with 6 of 20 elements are missing" {
			lost++
		}
	}
	if lost != 1 {
		t.Errorf("%d findings tell what is lost, want 1", lost)
	}
}

// TestCheckHoleWithoutManifest checks a dataset without a manifest that has all subfiles which the headers count. Check must
// then report an element without an owner as a note.
func TestCheckHoleWithoutManifest(t *testing.T) {
	const cols = 37
	name := filepath.Join(t.TempDir(), "h.h5")
	s := dataset.NewSchema()
	tm, col := s.Dim("time", dataset.Unlimited), s.Dim("ncol", cols)
	d := s.Decomp(col)
	s.Var("A", cdf5.Int, []dataset.DimID{tm, col}, dataset.Decomposed(d))
	o := &dataset.Settings{Options: dataset.Options{Layout: dataset.ProcessCentric, Subfiles: 2}}
	for session := range 2 {
		noError(t, comm.Run(t.Context(), 4, nil, func(ctx context.Context, c comm.Comm) error {
			parts := []write.Part{{Decomp: d, Runs: []decomp.Req{{Offset: int64(c.Rank()) * 9, Length: 9}}}} // the last column has no owner
			var w *write.Writer
			var err error
			if session == 0 {
				w, err = write.CreateWith(ctx, c, name, s, parts, o)
			} else {
				w, err = resume.AppendWith(ctx, c, name, parts, o)
			}
			must(err)
			must(write.Put(w, 0, int64(session), make([]int32, 9)))
			return w.Close(ctx)
		}))
	}
	look := func(wantLost bool) {
		t.Helper()
		said, lost := 0, false
		for f := range check.Check(t.Context(), name, nil) {
			if f.Field == "D1" && f.Severity == dataset.Note {
				said++
			} else if f.Severity >= dataset.Error && f.Field == "D1" {
				t.Errorf("%v", f)
			}
			lost = lost || f.Field == "manifest" && errors.Is(f.Err, dataset.ErrMissing)
		}
		if said == 0 || lost != wantLost {
			t.Errorf("%d notes, manifest lost: %v, want %v", said, lost, wantLost)
		}
	}
	look(false)
	noError(t, os.Remove(subfile.ManifestName(name)))
	look(true)
}
