package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"blobio/comm"
	"blobio/internal/vfs"
)

// TestReplacedWhileOpen: a reader gives what it has opened or an error, never some of the dataset that has taken its names, whose headers are the same.
// What is appended meanwhile does not disturb it.
func TestReplacedWhileOpen(t *testing.T) {
	ctx := context.Background()
	for _, o := range []settings{{}, {Options: Options{Layout: ProcessCentric}}, {Options: Options{Layout: ProcessCentric, Compress: Compress{Method: Zstd}}}} {
		for _, open := range []int{0, 1} { // with 1 the files are opened again and again
			for _, add := range []bool{false, true} {
				what := fmt.Sprintf("%v %v, %d open, append %v", o.Layout, o.Compress, open, add)
				mem := vfs.NewMem()
				o.Subfiles, o.fs, o.Durability, o.Force = 2, mem, DurableNone, true
				was, now := tinyModel(1, 2), tinyModel(2, 2)
				must(run(was.ranks, func(ctx context.Context, c comm.Comm) error { return was.create(ctx, c, "d.nc", &o) }))
				r, err := openWith(ctx, "d.nc", &OpenOptions{MaxOpen: open, Workers: 1}, knobs{fs: mem})
				must(err)
				must(r.Read(ctx, "time", nil, nil, make([]float64, 2)))
				if add {
					must(run(was.ranks, func(ctx context.Context, c comm.Comm) error { return was.upTo(3).add(ctx, c, "d.nc", &o) }))
				} else {
					must(run(now.ranks, func(ctx context.Context, c comm.Comm) error { return now.create(ctx, c, "d.nc", &o) }))
				}
				got, err := convertBytes(ctx, r, &ConvertOptions{Workers: 1})
				if err == nil && !bytes.Equal(got, was.canonical(false)) {
					t.Errorf("%s: other bytes than those of the dataset that was opened", what)
				}
				if err != nil && (add || !errors.Is(err, ErrBroken)) {
					t.Errorf("%s: %v", what, err)
				}
				must(r.Close())
				got, err = canonicalOf(mem, "d.nc")
				if want := map[bool]*model{false: now, true: was.upTo(3)}[add].canonical(false); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%s: opened anew: %v", what, err)
				}
			}
		}
	}
}
