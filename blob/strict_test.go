package blob

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/decomp"
	"blobio/internal/base/vfs"
)

// lateFS delays the end of the first large read until two more large reads have begun. If no other reads come, it ends after a
// millisecond.
type lateFS struct {
	vfs.FS
	least int64 // minimum size of a large read in bytes

	mu    sync.Mutex
	begun int
	third chan struct{}
}

type lateFile struct {
	vfs.File
	fs *lateFS
}

func (l *lateFS) Open(name string) (vfs.File, error) {
	f, err := l.FS.Open(name)
	return lateFile{f, l}, err
}

func (f lateFile) ReadAt(b []byte, off int64) (int, error) {
	if int64(len(b)) >= f.fs.least {
		f.fs.mu.Lock()
		f.fs.begun++
		k := f.fs.begun
		if k == 3 {
			close(f.fs.third)
		}
		f.fs.mu.Unlock()
		if k == 1 {
			select {
			case <-f.fs.third:
			case <-time.After(time.Millisecond): // with a single worker no other reads come
			}
		}
	}
	return f.File.ReadAt(b, off)
}

// TestOverlapOrder checks reads of an element with several owners. The value of the highest rank must be read, for any number
// of workers. With several workers, lateFS lets the blob of rank 0 arrive after the blob of rank 1.
func TestOverlapOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const n = read.ReadBatch / 4 // number of elements of a blob that needs a read of its own
		m := ints(t, dataset.Settings{}, []int64{2 * n}, 3, func(rank int64) []decomp.Req {
			return []decomp.Req{{Offset: []int64{0, 0, n}[rank], Length: n}}
		}, func(rank, _ int64) int32 { return int32(rank) })
		r := opened(t, &lateFS{FS: m, least: read.ReadBatch, third: make(chan struct{})}, sampleBase, &read.OpenOptions{Workers: 2})
		got := make([]int32, 2*n)
		noError(t, r.Read(t.Context(), "A", nil, nil, got))
		for i, v := range got {
			if want := int32(1 + i/n); v != want {
				t.Fatalf("element %d is that of rank %d, want %d", i, v, want)
			}
		}
	})
}

// TestRunBounds checks that each read method returns an error for a run beyond the end of the array.
func TestRunBounds(t *testing.T) {
	const elems = toyLev * toyCol
	for _, layout := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		s := newSample(t, layout, 1, true)
		r := need(read.OpenWith(t.Context(), sampleBase, nil, dataset.Knobs{Fs: memOf(t, s.files)}))
		for _, runs := range [][]decomp.Req{
			{{Offset: elems - 1, Length: 2}},
			{{Offset: 0, Length: elems + 1}},
			{{Offset: elems, Length: 1}},
			{{Offset: 0, Length: 1}, {Offset: elems - 2, Length: 3}}, // far apart, so each run is looked up on its own
			{{Offset: 1, Length: 1<<63 - 1}},
			{{Offset: -1, Length: 1}},
			{{Offset: 1, Length: -1}},
		} {
			n := int64(0)
			for _, q := range runs {
				n += max(0, min(q.Length, elems+1))
			}
			if err := r.ReadRuns(t.Context(), "T", 1, runs, make([]float32, n)); !errors.Is(err, dataset.ErrUsage) {
				t.Errorf("%v: %v: %v, want ErrUsage", layout, runs, err)
			}
		}
		for _, rank := range []int{-1, 3} {
			if _, err := r.Now().Elems.RankBlob(t.Context(), "T", 1, rank); !errors.Is(err, dataset.ErrUsage) {
				t.Errorf("%v: blob of rank %d: %v, want ErrUsage", layout, rank, err)
			}
		}
		for name, recs := range map[string][]int64{"T": {-1, 2, 3, 1 << 62}, "area": {-1, 1}, "scale": {1}} {
			for _, rec := range recs {
				err := r.ReadRuns(t.Context(), name, rec, []decomp.Req{{Offset: 0, Length: 1}}, make([]float64, 1))
				if _, berr := r.Now().Elems.RankBlob(t.Context(), name, rec, 0); !errors.Is(err, dataset.ErrUsage) || !errors.Is(berr, dataset.ErrUsage) {
					t.Errorf("%v: record %d of %s: %v, its blob %v, want ErrUsage", layout, rec, name, err, berr)
				}
			}
		}
		if err := r.ReadRuns(t.Context(), "T", 1, []decomp.Req{{Offset: elems, Length: 0}, {Offset: elems - 1, Length: 1}}, make([]float32, 1)); err != nil {
			t.Errorf("%v: runs up to the end: %v", layout, err)
		}
		r.Close()
	}
}

// TestRunsByIndex checks distant runs, which the reader looks up one by one. They may belong to several ranks, and each subfile
// may contain only one of them.
func TestRunsByIndex(t *testing.T) {
	for _, layout := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		for _, subfiles := range []int{1, 4} {
			s := writeSample(t, newToy(4), layout, subfiles, true, 2)
			r := need(read.OpenWith(t.Context(), sampleBase, nil, dataset.Knobs{Fs: memOf(t, s.files)}))
			for _, runs := range [][]decomp.Req{
				{{Offset: 0, Length: 1}, {Offset: 4*toyCol + 1, Length: 1}}, // elements of ranks 0 and 1
				{{Offset: 1, Length: 5}, {Offset: 4*toyCol + 30, Length: 7}},
				{{Offset: 4*toyCol + 7, Length: 4}, {Offset: 3, Length: 3}},
			} {
				for rec := range int64(2) {
					var want []float64
					for _, q := range runs {
						at := rec*toyLev*toyCol + q.Offset
						want = append(want, s.want["T"][at:at+q.Length]...)
					}
					got := make([]float64, len(want))
					if err := r.ReadRuns(t.Context(), "T", rec, runs, got); err != nil || !slices.Equal(got, want) {
						t.Errorf("%v, %d subfiles: %v of record %d: %v, %v, want %v", layout, subfiles, runs, rec, got, err, want)
					}
				}
			}
			r.Close()
		}
	}
}
