package tree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"blobio/blob"
	"blobio/comm"
	"blobio/decomp"
)

// appendTo adds a record to a dataset that write has made.
func appendTo(t testing.TB, name string) {
	t.Helper()
	ok(t, comm.Run(t.Context(), ranks, nil, func(ctx context.Context, c comm.Comm) error {
		const n = width / ranks
		parts := []blob.Part{{Decomp: 1, Runs: []decomp.Req{{Offset: int64(c.Rank() * n), Length: n}}}}
		w, err := blob.Append(ctx, c, name, nil, parts, &blob.Options{Durability: blob.DurableNone, Subfiles: 2})
		if err != nil {
			return err
		}
		v, _ := w.Schema().VarID("T")
		if err := errors.Join(blob.Put(w, v, w.Records(), make([]float64, n)), w.Flush(ctx)); err != nil {
			w.Abort()
			return err
		}
		return w.Close(ctx)
	}))
}

// TestChanges checks that committed datasets appear, that replaced and growing datasets get another identity, and that removed
// datasets disappear. A caller that holds a state keeps this state or gets an error.
func TestChanges(t *testing.T) {
	for _, layout := range []blob.Layout{blob.VariableCentric, blob.ProcessCentric} {
		t.Run(layout.String(), func(t *testing.T) {
			root := t.TempDir()
			name := filepath.Join(root, "a.nc")
			tr := open(t, root, nil)
			absentAll(t, tr, "a.nc")
			write(t, name, 1, 2, blob.Options{Layout: layout})
			first := converted(t, name)
			held, err := tr.Dataset(t.Context(), "a.nc")
			ok(t, err)
			defer held.Release()
			equal(t, "the first state", bytesOf(t, held), first)

			appendTo(t, name)
			grown, err := tr.Dataset(t.Context(), "a.nc")
			ok(t, err)
			defer grown.Release()
			equal(t, "with a record more", bytesOf(t, grown), converted(t, name))
			equal(t, "the first state, held", bytesOf(t, held), first)
			if grown.ID() == held.ID() || grown.Reader().Records() != 3 || held.Reader().Records() != 2 {
				t.Errorf("%s and %s, %d records", held.ID(), grown.ID(), grown.Reader().Records())
			}

			write(t, name, 5000, 1, blob.Options{Layout: layout, Force: true})
			next, err := tr.Dataset(t.Context(), "a.nc")
			ok(t, err)
			defer next.Release()
			e, err := tr.Lookup("a.nc")
			ok(t, err)
			equal(t, "replaced", bytesOf(t, next), converted(t, name))
			if e.ID != next.ID() || next.ID() == grown.ID() || e.Size != next.Canonical().Size() {
				t.Errorf("%+v after %s", e, grown.ID())
			}
			b := make([]byte, held.Canonical().Size())
			if n, err := held.Canonical().ReadAt(b, 0); err == nil {
				equal(t, "the first state, replaced", b, first)
			} else {
				equal(t, "before the error", b[:n], first[:n])
			}

			for _, f := range []string{".manifest", ".0000", ".0001"} {
				ok(t, os.Remove(name+f))
			}
			absentAll(t, tr, "a.nc")
			shows(t, tr, "")
			write(t, name, 1, 2, blob.Options{Layout: layout})
			again, err := tr.Dataset(t.Context(), "a.nc")
			ok(t, err)
			defer again.Release()
			equal(t, "made again", bytesOf(t, again), first)
		})
	}
}

// TestCommits checks that each commit of an active writer is a new state, equal to the state that a conversion finds, although
// the manifest stays the same.
func TestCommits(t *testing.T) {
	for _, layout := range []blob.Layout{blob.VariableCentric, blob.ProcessCentric} {
		t.Run(layout.String(), func(t *testing.T) {
			root := t.TempDir()
			name := filepath.Join(root, "a.nc")
			tr := open(t, root, nil)
			write(t, name, 1, 1, blob.Options{Layout: layout})
			seen := map[string]int64{}
			look := func(want int64) error {
				d, err := tr.Dataset(t.Context(), "a.nc")
				if err != nil {
					return err
				}
				defer d.Release()
				e, err := tr.Lookup("a.nc")
				if err != nil {
					return err
				}
				if n := d.Reader().Records(); n != want || e.ID != d.ID() || e.Size != d.Canonical().Size() {
					return fmt.Errorf("%d records, want %d; %+v of %s", n, want, e, d.ID())
				}
				if was, there := seen[d.ID()]; there && was != want {
					return fmt.Errorf("%d records are the state that had %d", want, was)
				}
				seen[d.ID()] = want
				equal(t, fmt.Sprint(want, " records"), bytesOf(t, d), converted(t, name))
				return nil
			}
			ok(t, look(1))
			ok(t, comm.Run(t.Context(), ranks, nil, func(ctx context.Context, c comm.Comm) error {
				const n = width / ranks
				parts := []blob.Part{{Decomp: 1, Runs: []decomp.Req{{Offset: int64(c.Rank() * n), Length: n}}}}
				w, err := blob.Append(ctx, c, name, nil, parts, &blob.Options{Durability: blob.DurableNone, Subfiles: 2})
				if err != nil {
					return err
				}
				defer w.Abort()
				v, _ := w.Schema().VarID("T")
				for rec := int64(1); rec < 4; rec++ {
					err := errors.Join(blob.Put(w, v, rec, make([]float64, n)), w.Commit(ctx))
					if err == nil && c.Rank() == 0 {
						err = look(rec + 1)
					}
					if err = comm.Agree(ctx, c, err); err != nil {
						return err
					}
				}
				return w.Close(ctx)
			}))
			ok(t, look(4))
		})
	}
}

// TestReplacedAllTheTime checks that readers see only whole states while a writer replaces the dataset.
func TestReplacedAllTheTime(t *testing.T) {
	root := t.TempDir()
	name := filepath.Join(root, "a.nc")
	var states [3][]byte
	for i := range states {
		write(t, name, 1000*i, int64(i+1), blob.Options{Force: true})
		states[i] = converted(t, name)
	}
	tr := open(t, root, nil)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				d, err := tr.Dataset(t.Context(), "a.nc")
				if err != nil {
					t.Error(err)
					return
				}
				size := d.Canonical().Size()
				b := make([]byte, size)
				if _, err := d.Canonical().ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, blob.ErrBroken) {
					t.Error(err)
				} else if err == nil && string(b) != string(states[0]) && string(b) != string(states[1]) && string(b) != string(states[2]) {
					t.Errorf("%d bytes of no state", size)
				}
				d.Release()
			}
		})
	}
	for i := range 12 {
		write(t, name, 1000*(i%3), int64(i%3+1), blob.Options{Force: true})
	}
	close(stop)
	wg.Wait()
}

// TestUnfinished checks that datasets never committed are hidden, with their files.
func TestUnfinished(t *testing.T) {
	root := t.TempDir()
	name := filepath.Join(root, "a.nc")
	write(t, name, 1, 1, blob.Options{})
	tr := open(t, root, nil)
	ok(t, comm.Run(t.Context(), 1, nil, func(ctx context.Context, c comm.Comm) error {
		s := blob.NewSchema()
		d := s.Decomp(s.Dim("n", 4))
		s.Var("x", 5, []blob.DimID{0}, blob.Decomposed(d))
		w, err := blob.Create(ctx, c, filepath.Join(root, "b.nc"), s, []blob.Part{{Decomp: d, Runs: []decomp.Req{{Offset: 0, Length: 4}}}}, nil)
		if err != nil {
			return err
		}
		shows(t, tr, "", "a.nc dataset")
		absentAll(t, tr, "b.nc", "b.nc.manifest.next")
		if err := w.Close(ctx); err != nil {
			return err
		}
		shows(t, tr, "", "a.nc dataset", "b.nc dataset")
		return nil
	}))
}

// TestDamage checks that an unopenable dataset is listed with the reason, and returns after repair.
func TestDamage(t *testing.T) {
	root := t.TempDir()
	name := filepath.Join(root, "a.nc")
	write(t, name, 1, 1, blob.Options{})
	want := converted(t, name)
	for _, c := range []struct {
		file string
		do   func(b []byte) []byte
		want error
	}{
		{".manifest", func(b []byte) []byte { b[len(b)/4] ^= 1; b[3*len(b)/4] ^= 1; return b }, blob.ErrChecksum}, // both copies,
		{".manifest", func(b []byte) []byte { b[0], b[3*len(b)/4] = 'x', 'x'; return b }, nil},
		{".000?", func(b []byte) []byte { b[100] ^= 1; return b }, nil}, // one sound header would be enough
	} {
		files, err := filepath.Glob(name + c.file)
		ok(t, err)
		var good [][]byte
		for _, file := range files {
			b, err := os.ReadFile(file)
			ok(t, err)
			good = append(good, b)
			ok(t, os.WriteFile(file, c.do(append([]byte(nil), b...)), 0o666))
		}
		tr := open(t, root, nil)
		e, err := tr.Lookup("a.nc")
		if err != nil || e.Kind != KindDataset || e.Err == nil || e.Size != 0 || c.want != nil && !errors.Is(e.Err, c.want) {
			t.Errorf("%s: %+v, %v", c.file, e, err)
		}
		if _, err := tr.Dataset(t.Context(), "a.nc"); err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: opened with %v", c.file, err)
		}
		for i, file := range files {
			ok(t, os.WriteFile(file, good[i], 0o666))
		}
		d, err := tr.Dataset(t.Context(), "a.nc")
		ok(t, err)
		equal(t, "mended", bytesOf(t, d), want)
		d.Release()
	}
}

// TestMissing checks that only data of a missing subfile are errors.
func TestMissing(t *testing.T) {
	for _, layout := range []blob.Layout{blob.VariableCentric, blob.ProcessCentric} {
		for gone := range 2 {
			root := t.TempDir()
			name := filepath.Join(root, "a.nc")
			write(t, name, 1, 2, blob.Options{Layout: layout})
			want := converted(t, name)
			ok(t, os.Remove(blobSubfile(name, gone)))
			tr := open(t, root, nil)
			d, err := tr.Dataset(t.Context(), "a.nc")
			ok(t, err)
			begin, n := d.Canonical().Header().Extent(0, 0)
			b := []byte{0}
			for off := range int64(len(want)) {
				lost := off >= begin && (off-begin)%n/(n/2) == int64(gone) // half of each record is in each subfile
				k, err := d.Canonical().ReadAt(b, off)
				if lost != errors.Is(err, blob.ErrMissing) || !lost && (k != 1 || b[0] != want[off]) {
					t.Fatalf("%v without subfile %d: byte %d: %d, %v", layout, gone, off, k, err)
				}
			}
			d.Release()
		}
	}
}

func blobSubfile(name string, i int) string { return fmt.Sprintf("%s.%04d", name, i) }

// TestLimits checks how many datasets are held and cached, and for how long.
func TestLimits(t *testing.T) {
	root := t.TempDir()
	const n = 6
	path := func(i int) string { return fmt.Sprintf("%d.nc", i) }
	for i := range n {
		write(t, filepath.Join(root, path(i)), i, 1, blob.Options{})
	}
	tr := open(t, root, &Options{MaxOpen: 4, MaxIdle: 2, Idle: time.Hour, Memory: 16 << 20})
	var held []*Dataset
	for i := range 4 {
		d, err := tr.Dataset(t.Context(), path(i))
		ok(t, err)
		held = append(held, d)
	}
	if _, err := tr.Dataset(t.Context(), path(4)); !errors.Is(err, ErrTooMany) {
		t.Errorf("a fifth one: %v", err)
	}
	if d, err := tr.Dataset(t.Context(), path(3)); err != nil {
		t.Errorf("a second use of the fourth: %v", err)
	} else {
		d.Release()
	}
	if e, err := tr.Lookup(path(5)); err != nil || e.Err != nil || e.Size == 0 {
		t.Errorf("looked up while all are held: %+v, %v", e, err)
	}
	free := func() int {
		tr.mu.Lock()
		defer tr.mu.Unlock()
		return tr.readers.free.Len()
	}
	for _, d := range held {
		d.Release()
	}
	if f := free(); f != 2 {
		t.Errorf("%d readers are kept, want 2", f)
	}
	d, err := tr.Dataset(t.Context(), path(3))
	ok(t, err)
	if d.Reader() != held[3].Reader() {
		t.Error("the newest one was not kept")
	}
	d.Release()
	tr.mu.Lock()
	tr.readers.opt.Idle = 0
	tr.mu.Unlock()
	tr.sweep()
	if f := free(); f != 0 || len(tr.readers.by) != 0 || tr.readers.memory.left != 16<<20 || tr.readers.held != 0 {
		t.Errorf("%d readers are left, %+v", f, tr.readers)
	}
}

// TestIdle checks that an unused reader is closed automatically.
func TestIdle(t *testing.T) { synctest.Test(t, testIdle) }

func testIdle(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "a.nc"), 1, 1, blob.Options{})
	tr := open(t, root, &Options{Idle: time.Second})
	d, err := tr.Dataset(t.Context(), "a.nc")
	ok(t, err)
	c := d.Canonical()
	d.Release()
	time.Sleep(2 * time.Second)
	d, err = tr.Dataset(t.Context(), "a.nc")
	ok(t, err)
	if d.Canonical() == c {
		t.Error("it was not closed")
	}
	d.Release()
}

// TestClosed checks that a closed tree opens nothing, and that held datasets stay readable.
func TestClosed(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "a.nc"), 1, 1, blob.Options{})
	tr, err := Open(root, nil)
	ok(t, err)
	d, err := tr.Dataset(t.Context(), "a.nc")
	ok(t, err)
	bytesOf(t, d)
	ok(t, tr.Close())
	bytesOf(t, d)
	d.Release()
	if _, err := tr.Dataset(t.Context(), "a.nc"); err == nil {
		t.Error("a closed tree opens datasets")
	}
	if len(tr.readers.by) != 0 {
		t.Error("the reader was not closed")
	}
}

// TestCancelled checks that a cancelled waiter gets an error at once, and the others get the dataset.
func TestCancelled(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "a.nc"), 1, 1, blob.Options{})
	tr := open(t, root, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tr.Dataset(ctx, "a.nc"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	d, err := tr.Dataset(t.Context(), "a.nc")
	ok(t, err)
	d.Release()
}
