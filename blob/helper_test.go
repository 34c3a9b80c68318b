package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"blobio/blob/internal/check"
	"blobio/blob/internal/convert"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/blob/internal/write"
	"blobio/comm"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/testfiles"
	"blobio/internal/base/vfs"
	"blobio/internal/comm/commtest"
	"blobio/internal/subfile"
)

// canonicalOf returns the bytes of a dataset's canonical file.
func canonicalOf(fsys vfs.FS, base string) ([]byte, error) {
	ctx := context.Background()
	r, err := read.OpenWith(ctx, base, &read.OpenOptions{Workers: 1}, dataset.Knobs{Fs: fsys})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return convertBytes(ctx, r, &convert.ConvertOptions{Workers: 1})
}

func convertBytes(ctx context.Context, r *read.Reader, o *convert.ConvertOptions) ([]byte, error) {
	mem := vfs.NewMem()
	o.Durability = dataset.DurableNone
	if err := convert.ConvertWith(ctx, comm.Self(), r, "c.nc", o, dataset.Knobs{Fs: mem}); err != nil {
		return nil, err
	}
	return slurp(mem, "c.nc")
}

func slurp(fsys vfs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	n, err := f.Size()
	if err != nil {
		return nil, err
	}
	b := make([]byte, n)
	_, err = f.ReadAt(b, 0)
	if n == 0 {
		err = nil
	}
	return b, err
}

// names lists a directory.
func names(fsys vfs.FS, dir string) (l []string) {
	es, _ := fsys.ReadDir(dir)
	for _, e := range es {
		i, _ := e.Info()
		l = append(l, fmt.Sprintf("%s(%d)", e.Name(), i.Size()))
	}
	return l
}

// checkErrors returns the findings of Check that are errors, without warnings and notes.
func checkErrors(fsys vfs.FS, base string) (bad []dataset.Finding) {
	for f := range check.CheckWith(context.Background(), base, &check.CheckOptions{Workers: 1}, dataset.Knobs{Fs: fsys}) {
		if f.Severity >= dataset.Error {
			bad = append(bad, f)
		}
	}
	return bad
}

// reporter is a testing.T or a rapid.T.
type reporter interface {
	Helper()
	Errorf(string, ...any)
}

// wantSound fails the test if Check finds errors.
func wantSound(t reporter, what any, fsys vfs.FS, base string) {
	t.Helper()
	if bad := checkErrors(fsys, base); len(bad) > 0 {
		t.Errorf("%v: check: %v", what, bad)
	}
}

// onlyNotes fails the test if Check finds warnings or errors.
func onlyNotes(t reporter, what any, fsys vfs.FS, base string) {
	t.Helper()
	for f := range check.CheckWith(context.Background(), base, nil, dataset.Knobs{Fs: fsys}) {
		if f.Severity != dataset.Note {
			t.Errorf("%v: check: %v", what, f)
		}
	}
}

// readsAs fails the test if a dataset differs from the model.
func readsAs(t reporter, what any, fsys vfs.FS, base string, m *model) {
	t.Helper()
	got, err := canonicalOf(fsys, base)
	if want := m.canonical(false); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v: %s: %v, %s\nfiles: %v", what, base, err, firstDiff(got, want), names(fsys, "."))
	}
}

// isolateIf gives the ranks separate heaps if apart is set.
func isolateIf(c comm.Comm, apart bool) comm.Comm {
	if apart {
		return commtest.Isolate(c)
	}
	return c
}

// firstDiff describes the first difference between two files.
func firstDiff(got, want []byte) string {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Sprintf("byte %d: %#x, want %#x (lengths %d, %d)", i, got[i], want[i], len(got), len(want))
		}
	}
	return fmt.Sprintf("lengths %d, want %d", len(got), len(want))
}

func run(n int, f func(ctx context.Context, c comm.Comm) error) error {
	return comm.Run(context.Background(), n, nil, f)
}

// notHeld returns err, or nil if err is a HeldBackError.
func notHeld(err error) error {
	if errors.As(err, new(*write.HeldBackError)) {
		return nil
	}
	return err
}

// times returns quick, or long in the long test.
func times(quick, long int) int { return crashtest.Times(quick, long) }

// raced returns n with the race detector, otherwise 1. With the race detector tests take smaller samples.
func raced(n int) int {
	if raceEnabled {
		return n
	}
	return 1
}

func manifestOf(fsys vfs.FS, base string) *subfile.Manifest {
	raw := need(vfs.ReadFile(fsys, subfile.ManifestName(base), 1<<30))
	return need(subfile.Decode(raw, base))
}

// noError ends the test on an error. Code without a testing.T calls must, which panics.
var noError = testfiles.Must

// opened opens a dataset and closes it at the end of the test.
func opened(t interface {
	testfiles.T
	Cleanup(func())
}, fsys vfs.FS, base string, o *read.OpenOptions) *read.Reader {
	t.Helper()
	r, err := read.OpenWith(context.Background(), base, o, dataset.Knobs{Fs: fsys})
	noError(t, err)
	t.Cleanup(func() { r.Close() })
	return r
}
