package ffformat

import (
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"context"
)

// checkConvert returns an error if o is wrong, whatever the file.
func (o *Options) checkConvert() error {
	switch {
	case o == nil:
	case o.Layout != 0 && !o.Layout.valid():
		return fault.Usage("layout %v", o.Layout)
	case o.Hash > Fast:
		return fault.Usage("hash %d", o.Hash)
	case o.Hash == Fast && o.Layout != 0 && o.Layout != LayoutF:
		return fault.Usage("layout %v does not support fast hashes, want layout F", o.Layout)
	case o.BlockSize != 0 && (o.BlockSize < minBlockSize || o.BlockSize > maxBlockSize):
		return fault.Usage("block size %d, want %d to %d", o.BlockSize, minBlockSize, maxBlockSize)
	case o.BlockSize != 0 && o.Hash != Fast:
		return fault.Usage("block size needs fast hashes")
	case o.Workers < 0:
		return fault.Usage("%d workers", o.Workers)
	}
	return nil
}

// Convert writes the checkpoint of r to dst, an empty file, in another layout or with
// other hashes. The containers stay as they are: numbers, sizes, order and blocks; only
// their places follow the layout. All chunks are verified on the way: of each
// bad one there is a varError (then dst is of no use; Repair keeps what is good).
//
// The new file is one of level 1 or 4: the sizes of partners (MaxFs, PtFs) would be
// wrong and are not taken over. Fields that the old layout lacks are given: Idx by the order of
// first appearance, the timestamp by what is left of it. The error is ErrRange if
// layout E cannot hold it (2 GiB and more). The caller syncs dst.
func Convert(ctx context.Context, r *Reader, dst vfs.File, o *Options) (*File, error) {
	w, err := newRewriting(r, dst, o)
	if err != nil {
		return nil, err
	}
	old := r.File()
	idx := tableOf(old)
	for i := range old.Blocks {
		b := Block{Containers: make([]Container, len(old.Blocks[i].Containers))}
		for j := range b.Containers {
			p := old.place(i, j)
			c := Container{ID: p.ID, Idx: idx[p.ID], ContainerID: p.ContainerID, HasContent: p.HasContent, HasCkpt: p.HasCkpt,
				Dptr: p.Dptr, ChunkSize: p.ChunkSize, ContainerSize: p.ContainerSize}
			if !c.HasContent {
				c.Hash = w.nothing()
				if old.Hash == w.to.Hash && old.BlockSize == w.to.BlockSize {
					c.Hash = p.Hash
				}
			} else {
				w.from = append(w.from, []source{{place: p}})
			}
			b.Containers[j] = c
		}
		w.to.Blocks = append(w.to.Blocks, b)
	}
	if err := w.run(ctx); err != nil {
		return nil, err
	}
	return w.to, nil
}

// newRewriting checks that all variables of r can be read, and prepares a new file
// without blocks.
func newRewriting(r *Reader, dst vfs.File, o *Options) (*rewriting, error) {
	if o == nil {
		o = &Options{Hash: r.f.Hash}
		if o.Hash == Fast {
			o.BlockSize = r.f.BlockSize
		}
	}
	if err := o.checkConvert(); err != nil {
		return nil, err
	}
	if dst == nil {
		return nil, fault.Usage("output file is nil")
	}
	old := r.File()
	if old.Parity {
		return nil, fault.At(old.Name, -1, "", ErrUnsupported, "a parity file of level 3 has no variables")
	}
	if old.Damaged != nil {
		return nil, old.Damaged
	}
	for _, v := range old.Vars() {
		if _, err := r.VarSize(v.ID); err != nil {
			return nil, err
		}
	}
	return &rewriting{r: r, dst: dst, to: newFile(old, dst.Name(), o), workers: o.Workers, progress: o.Progress}, nil
}

// newFile returns a file without blocks that takes its fields from the file block of old as far as it can.
func newFile(old *File, name string, o *Options) *File {
	f := &File{Name: name, Layout: o.Layout, Hash: o.Hash}
	if f.Layout == 0 {
		f.Layout = old.Layout
	}
	if f.Hash == Fast {
		f.Layout = LayoutF
		if f.BlockSize = o.BlockSize; f.BlockSize == 0 {
			f.BlockSize = defaultBlockSize
		}
	}
	f.FB = FileBlock{CkptID: old.FB.CkptID, MaxFs: -1, PtFs: -1, Timestamp: old.FB.Timestamp}
	if old.Layout.table().fb.ckptID.len == 0 {
		f.FB.CkptID = o.CkptID
	}
	if f.Layout.table().fb.ckptID.len == 0 {
		f.FB.CkptID = 0
	}
	return f
}

// tableOf returns each variable's place in FTI's table: Idx where the layout has it, else
// the order of first appearance.
func tableOf(f *File) map[int32]int32 {
	idx := map[int32]int32{}
	stored := f.Layout.table().vmd.idx.len > 0
	for p := range f.all() {
		if _, ok := idx[p.ID]; ok {
			continue
		}
		idx[p.ID] = int32(len(idx))
		if stored {
			idx[p.ID] = p.Idx
		}
	}
	return idx
}

// nothing is the hash of an empty chunk.
func (w *rewriting) nothing() digest { return newSum(w.to).Sum() }

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
