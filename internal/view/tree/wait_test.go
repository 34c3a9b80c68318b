package tree

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"blobio/blob"
)

// TestWait checks that at the limit of held datasets, Dataset waits for a release, but no longer than Options.Wait or its
// context.
func TestWait(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "a.nc"), 1, 1, blob.Options{})
	write(t, filepath.Join(root, "b.nc"), 2, 1, blob.Options{})
	tr := open(t, root, &Options{MaxOpen: 1, Wait: time.Hour})
	a, err := tr.Dataset(t.Context(), "a.nc")
	ok(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	canceled := make(chan error)
	go func() {
		_, err := tr.Dataset(ctx, "b.nc")
		canceled <- err
	}()
	got := make(chan *Dataset)
	go func() {
		b, err := tr.Dataset(t.Context(), "b.nc")
		if err != nil {
			t.Error(err)
		}
		got <- b
	}()
	cancel()
	if err := <-canceled; !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	select {
	case <-got:
		t.Fatal("a second one while one is held")
	default:
	}
	a.Release()
	b := <-got
	if b == nil {
		t.Fatal("none")
	}
	defer b.Release()

	short := open(t, root, &Options{MaxOpen: 1, Wait: time.Millisecond})
	a, err = short.Dataset(t.Context(), "a.nc")
	ok(t, err)
	defer a.Release()
	if _, err := short.Dataset(t.Context(), "b.nc"); !errors.Is(err, ErrTooMany) {
		t.Errorf("after Options.Wait: %v", err)
	}
}
