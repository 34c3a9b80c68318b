package blocks

import (
	"context"
	"slices"

	"blobio/amr"
	"blobio/blob"
	"blobio/internal/fault"
)

// Info is what the tables say of one block.
type Info struct {
	Index    amr.Index
	Leaf     bool
	Parent   int // row of the parent, -1 if it is not here
	Cost     float64
	Cycle    int32
	Time, Dt float64
}

// A Dataset is the blocks of a tree in their order. It is safe for concurrent use.
type Dataset struct {
	r      *blob.Reader
	meta   amr.Meta
	infos  []Info
	fields []storedField
	lists  map[string]*stored
	cols   [][]string // variables of each type of particles
	attrs  []storedAttr
	adapt  []int32 // sizes with the zeros, nil if there are none

	hasSums  bool // there is a checksum of each block
	noVerify bool
	sum      tableSums
}

// OpenOptions of Open. The zero value, or nil, means the defaults.
type OpenOptions struct {
	Blob blob.OpenOptions
	// NoVerify reads without comparing with checksums, for those who rescue what is left.
	// Meta().Unverified is set then, and what is written of it is marked. Default: a block that is not what
	// was written is ErrChecksum, and so is the description of the mesh.
	NoVerify bool
}

// Open opens a dataset of any form and reads its tables. It returns an error of class
// ErrNotFormat for datasets that are not of blocks, ErrCorrupt when the tables
// contradict each other, ErrChecksum when the description of the mesh is not what was written. o may be nil.
func Open(ctx context.Context, name string, o *OpenOptions) (*Dataset, error) {
	if o == nil {
		o = &OpenOptions{}
	}
	under := o.Blob
	if o.NoVerify {
		under.Verify = blob.VerifyNever
	}
	r, err := blob.Open(ctx, name, &under)
	if err != nil {
		return nil, err
	}
	d := &Dataset{r: r, lists: map[string]*stored{}, noVerify: o.NoVerify}
	if err = whole(ctx, r); err == nil {
		err = d.load(ctx)
	}
	if err == nil && !o.NoVerify {
		err = d.compareMeta()
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	_, d.hasSums = r.Schema().VarID(crcName)
	d.meta.Unverified = d.meta.Unverified || d.hasSums && o.NoVerify
	return d, nil
}

// whole checks that a canonical file has all its bytes: Write leaves none out. Blobs have a manifest.
func whole(ctx context.Context, r *blob.Reader) error {
	if r.Layout() != blob.Canonical || len(r.Files()) != 1 {
		return nil
	}
	if n := r.Records(); n != 0 && !slices.ContainsFunc(r.Schema().Vars(), func(v blob.Variable) bool { return v.Record }) {
		return corrupt(r.Base(), "numrecs", "%d records, but no variable has any", n) // they are walked over one by one
	}
	size := r.Files()[0].Size
	for x, err := range r.Extents(ctx) {
		if err != nil {
			return err
		}
		if end := x.Offset + x.Bytes; end > size {
			return pkg.At(r.Base(), size, x.Name, fault.ErrTruncated, "the file has %d bytes, the variable ends at %d", size, end)
		}
	}
	return nil
}

// Close releases the files.
func (d *Dataset) Close() error { return d.r.Close() }

// Reader is the dataset below, for its arrays as a whole.
func (d *Dataset) Reader() *blob.Reader { return d.r }

// Meta describes the tree; it must not be changed. Its fields are those that are stored.
func (d *Dataset) Meta() *amr.Meta { return &d.meta }

// Len is the number of blocks.
func (d *Dataset) Len() int { return len(d.infos) }

// Blocks are all blocks in order. The result must not be changed.
func (d *Dataset) Blocks() []Info { return d.infos }

// Ghosts tells whether a field is stored with ghost zones.
func (d *Dataset) Ghosts(field string) bool {
	for i := range d.fields {
		if d.fields[i].spec.Name == field {
			return d.fields[i].ghosts
		}
	}
	return false
}

// HasSums says whether there are checksums of the blocks.
func (d *Dataset) HasSums() bool { return d.hasSums }

// Particles is the number of particles of a type in a block.
func (d *Dataset) Particles(i int, name string) int64 {
	if l := d.lists["particle_"+name]; l != nil {
		return max(l.count[i], 0)
	}
	return 0
}

// Bytes is the size of the data of a block: fields and particles.
func (d *Dataset) Bytes(i int) int64 {
	var n int64
	for k := range d.fields {
		n += d.meta.FieldBytes(d.fields[k].spec, d.fields[k].ghosts)
	}
	for k := range d.meta.Particles {
		p := &d.meta.Particles[k]
		for _, a := range p.Attrs {
			n += d.Particles(i, p.Name) * int64(a.Type.Size())
		}
	}
	return n
}

// Tree is the structure of the mesh.
func (d *Dataset) Tree() (*amr.Tree, error) {
	t := amr.NewTree(&d.meta.Geometry)
	for i := range d.infos {
		if err := t.Add(d.infos[i].Index); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (d *Dataset) bad(field, format string, args ...any) error {
	return corrupt(d.r.Base(), field, format, args...)
}
