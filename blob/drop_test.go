package blob

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"blobio/comm"
	"blobio/decomp"
)

// TestConvertDropsNothingUnasked: a map that owns less than the source has.
func TestConvertDropsNothingUnasked(t *testing.T) {
	ctx := context.Background()
	toy := newToy(3)
	dir := t.TempDir()
	name := filepath.Join(dir, "a.nc")
	noError(t, comm.Run(ctx, 3, nil, func(ctx context.Context, c comm.Comm) error { return toy.write(ctx, c, name, 1, new(settings)) }))
	canonical := filepath.Join(dir, "c.nc")
	r, err := Open(ctx, name, nil)
	noError(t, err)
	defer r.Close()
	noError(t, Convert(ctx, r, canonical, nil))
	c, err := Open(ctx, canonical, nil)
	noError(t, err)
	defer c.Close()
	small := decomp.NewBuilder([]int64{toyCol}, 1)
	must(small.Set(0, []decomp.Req{{Offset: 0, Length: 3}}))
	m, err := small.Map()
	must(err)
	for k, x := range []struct {
		r    *Reader
		maps []*decomp.Map
		drop bool
		ok   bool
	}{
		{r, []*decomp.Map{m}, false, false},
		{r, []*decomp.Map{m}, true, true},
		{r, toy.maps, false, true},  // the same holes as the source
		{c, toy.maps, false, false}, // the canonical file has fill values there, which would be lost
		{c, toy.maps, true, true},
	} {
		out := filepath.Join(dir, string(rune('d'+k)))
		err := Convert(ctx, x.r, out, &ConvertOptions{Blobs: true, Maps: x.maps, DropUncovered: x.drop})
		if x.ok && err != nil || !x.ok && !errors.Is(err, ErrUsage) {
			t.Errorf("case %d: %v", k, err)
		}
	}
}
