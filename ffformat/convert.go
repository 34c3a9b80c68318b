package ffformat

import (
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"context"
)

// checkConvert returns an error if o is invalid for every file.
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
		return fault.Usage("a block size needs fast hashes")
	case o.Workers < 0:
		return fault.Usage("%d workers", o.Workers)
	}
	return nil
}

// Convert writes the checkpoint of r to dst, an empty file, in another layout or with other hashes. The containers keep their
// numbers, sizes, order and blocks. Only their offsets change, by the rules of the new layout. Convert verifies all chunks and
// returns a varError for each bad chunk. In that case dst is unusable, and Repair can save the good data.
//
// The new file has level 1 or 4, because the sizes of partner files (MaxFs, PtFs) would be wrong. If the old layout lacks a
// field, Convert computes the field: Idx from the order of first appearance, and the timestamp from the stored bits. Convert
// returns ErrRange if the file is too large for layout E (2 GiB and more). The caller must sync dst.
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

// newRewriting checks that all variables of r are readable and prepares a new file without blocks.
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

// newFile returns a file without blocks. It takes as many fields as possible from the file block of old.
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

// tableOf returns the index of each variable in FTI's table: Idx if the layout stores it, and otherwise the variable's position
// in the order of first appearance.
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

// nothing returns the hash of an empty chunk.
func (w *rewriting) nothing() digest { return newSum(w.to).Sum() }

// Compact writes the checkpoint of r to dst, an empty file, and omits unused space. Each variable gets one block with one
// container, in the order of first appearance. FTI can restart from the new file. In all other respects Compact behaves like
// Convert. A Writer can resume from the file (Writer.Resume); it adds a container when a variable grows.
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
