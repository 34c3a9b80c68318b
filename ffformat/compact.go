package ffformat

import (
	"context"

	"blobio/internal/base/vfs"
)

// Compact writes the checkpoint of r to dst, an empty file, without dead space and in one
// piece per variable: one block with one container for each, in the order of first
// appearance. FTI restarts from it like from any other. All else is as with
// Convert. A writer that goes on from it (Writer.Resume) makes new containers
// when a variable grows.
func Compact(ctx context.Context, r *Reader, dst vfs.File, o *Options) (*File, error) {
	w, err := newRewriting(r, dst, o)
	if err != nil {
		return nil, err
	}
	old := r.File()
	idx := tableOf(old)
	chunks := map[int32][]source{}
	for p := range old.all() {
		if p.HasContent {
			chunks[p.ID] = append(chunks[p.ID], source{place: p})
		}
	}
	var b Block
	for _, v := range old.Vars() {
		b.Containers = append(b.Containers, Container{ID: v.ID, Idx: idx[v.ID], HasContent: true, ChunkSize: v.Size, ContainerSize: v.Size})
		w.from = append(w.from, chunks[v.ID])
	}
	if len(b.Containers) > 0 {
		w.to.Blocks = []Block{b}
	}
	if err := w.run(ctx); err != nil {
		return nil, err
	}
	return w.to, nil
}
