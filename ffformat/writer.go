package ffformat

import (
	"blobio/internal/base/fault"
	"slices"
)

// defaultBlockSize is the size in bytes of the blocks that a differential update compares.
const defaultBlockSize = 16384

// checkWriter returns an error if the options of a Writer are invalid.
func (o *Options) checkWriter() error {
	v := o.withDefaults()
	switch {
	case !v.Layout.valid():
		return fault.Usage("layout %v", v.Layout)
	case v.Hash > Fast:
		return fault.Usage("hash %d", v.Hash)
	case v.Hash == Fast && v.Layout != LayoutF:
		return fault.Usage("Fast hashes in layout %v, want layout F", v.Layout)
	case v.BlockSize < minBlockSize || v.BlockSize > maxBlockSize:
		return fault.Usage("block size %d, want %d to %d", v.BlockSize, minBlockSize, maxBlockSize)
	case v.Workers < 0:
		return fault.Usage("%d workers", v.Workers)
	}
	return nil
}

func (o *Options) withDefaults() Options {
	var v Options
	if o != nil {
		v = *o
	}
	if v.Layout == 0 {
		v.Layout = LayoutF
	}
	if v.BlockSize == 0 {
		v.BlockSize = defaultBlockSize
	}
	return v
}

// Writer writes the checkpoints of one rank. It keeps the list of containers. The list grows with the protected variables. A
// Writer may update several files in turn; a container has the same offset in all of them.
//
// A Writer is not safe for concurrent use; its updates use several processors.
type Writer struct {
	o    Options
	g    *growth
	dcp  []bool // by container: a differential update has stored the container
	open *Update

	before    *growth // state before the last finished update, for Undo
	beforeDCP []bool
}

// NewWriter returns a Writer without containers.
func NewWriter(o *Options) (*Writer, error) {
	if err := o.checkWriter(); err != nil {
		return nil, err
	}
	v := o.withDefaults()
	return &Writer{o: v, g: newGrowth(v.Layout)}, nil
}

// Resume continues from the containers of a file, which must be sound and have the layout of the Writer. The Writer discards its
// earlier containers.
func (w *Writer) Resume(f *File) error {
	switch {
	case w.open != nil:
		return fault.Usage("Resume during an update")
	case f.Parity || f.Damaged != nil:
		return fault.Usage("%s cannot be resumed: the file is a parity file or damaged", f.Name)
	case f.Layout != w.o.Layout:
		return fault.Usage("%s has layout %v, but the Writer has %v", f.Name, f.Layout, w.o.Layout)
	}
	if err := structureOf(f).worst(); err != nil {
		return err
	}
	w.before = nil
	w.g = growthOf(f)
	w.dcp = slices.Repeat([]bool{true}, w.g.n)
	return nil
}

// FileSize returns the size in bytes of the file that an update with these variables would produce.
func (w *Writer) FileSize(vars []VarSize) (int64, error) {
	g := w.g.clone()
	if err := g.grow(vars); err != nil {
		return 0, err
	}
	return g.size(), nil
}

// Undo reverts the last finished update. Call it if the update was not committed. It can revert only one update. The file is
// then invalid.
func (w *Writer) Undo() {
	if w.before != nil && w.open == nil {
		w.g, w.dcp, w.before = w.before, w.beforeDCP, nil
	}
}

// Holds reports whether the Writer has all containers of a file at the same offsets. Only then an update can use the Digests of
// the file.
func (w *Writer) Holds(f *File) bool {
	if f.Layout != w.o.Layout || len(f.Blocks) > len(w.g.blocks) {
		return false
	}
	for i := range f.Blocks {
		a, b := f.Blocks[i].Containers, w.g.blocks[i].Containers
		if len(a) != len(b) {
			return false
		}
		for j := range a {
			if a[j].ID != b[j].ID || a[j].ContainerID != b[j].ContainerID || a[j].Fptr != b[j].Fptr || a[j].ContainerSize != b[j].ContainerSize {
				return false
			}
		}
	}
	return true
}
