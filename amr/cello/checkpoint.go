package cello

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"sync/atomic"

	"blobio/internal/amr"
	"blobio/internal/amr/cellodir"
	"blobio/internal/base/cache"
	"blobio/internal/base/fault"
	"blobio/internal/base/h5"
)

// BlockInfo describes a block without its data.
type BlockInfo struct {
	Index amr.Index
	Name  string
	Level int
	File  int   // index in check.file_list
	Order int64 // attribute index_order; -1 if it is missing
	Leaf  bool
	Bytes int64   // total size of its datasets
	Cost  float64 // the cost given to Write; 0 if unknown
}

// Checkpoint is an open checkpoint or dump. Its methods are safe for
// concurrent use.
type Checkpoint struct {
	openFiles
	columns
	opt    OpenOptions
	meta   amr.Meta
	enzo   amr.Type
	blocks []BlockInfo
	recs   []scanned // by block
	tree   *amr.Tree
	man    *manifest
	sums   sums

	once  sync.Once
	whole error // result of findRestartable

	users atomic.Int32 // number of ranks that use the checkpoint, without the rank that opened it
}

// openFiles are the open files of a checkpoint.
type openFiles struct {
	directory
	files    []fileInfo
	template *h5.Template // see schema
	h5s      *cache.Cache[int, *h5.File]
}

// columns describes the datasets of each block.
type columns struct {
	cols   []column
	colAt  []int  // index in scanned.data, by column
	ghosts []bool // by field
}

// fileInfo is a file of the checkpoint.
type fileInfo struct {
	name   string
	size   int64
	blocks int
}

// maxH5 is the maximum number of files with cached metadata.
const maxH5 = 16

func newOpenFiles(s *scanner) openFiles {
	return openFiles{directory: s.directory, template: s.schema.template, h5s: cache.New[int](maxH5, func(*h5.File) int64 { return 1 })}
}

// Close closes the files. If OpenComm shared the checkpoint among ranks, the last Close closes the files.
func (k *Checkpoint) Close() error {
	if k.users.Add(-1) >= 0 {
		return nil
	}
	return k.pool.Close()
}

// Dir returns the directory that was opened.
func (k *Checkpoint) Dir() string { return k.dir }

// Meta returns the common description of all blocks; the caller must not change it. The range of levels is derived from the
// blocks and the attribute max_level, and periodic borders from an adapt_buffer.
func (k *Checkpoint) Meta() *amr.Meta { return &k.meta }

// EnzoFloat returns the type of the attributes enzo_*, which is the enzo_float type of the program that wrote them.
func (k *Checkpoint) EnzoFloat() amr.Type { return k.enzo }

// Blocks returns all blocks in curve order, or in list order if the order numbers are not a permutation of 0 to n-1. The caller
// must not change the slice.
func (k *Checkpoint) Blocks() []BlockInfo { return k.blocks }

// Files returns the names of the files without suffix.
func (k *Checkpoint) Files() []string {
	var l []string
	for _, f := range k.files {
		l = append(l, f.name)
	}
	return l
}

// Tree returns the tree of blocks; the caller must not change it.
func (k *Checkpoint) Tree() *amr.Tree { return k.tree }

// Ghosts reports whether a field of Meta is stored with its ghosts.
func (k *Checkpoint) Ghosts(field int) bool { return k.ghosts[field] }

// Dump reports whether the checkpoint is marked as a data dump (see Options.Fields).
func (k *Checkpoint) Dump() bool { return k.man != nil && k.man.Dump }

// reversed reports whether the datasets of fields have their dimensions in reverse (see Options.ForEnzoE).
func (k *Checkpoint) reversed() bool { return k.man != nil && k.man.Reversed }

// scrambled reports whether the cells of a field are in the wrong places. Enzo-E scrambles fields that it writes without ghosts,
// because it passes the field's shape in memory to HDF5 in reverse. The result is right only for cubic blocks, whose shape stays
// the same when reversed. Meta().Fields mark scrambled fields.
func (k *Checkpoint) scrambled(field int) bool {
	if k.man != nil && !k.man.Broken {
		return false
	}
	return shapeScrambled(&k.meta.Geometry, &k.meta.Fields[field], k.ghosts[field])
}

func shapeScrambled(g *amr.Geometry, f *amr.FieldSpec, ghosts bool) bool {
	n := g.Shape(f, false)
	last := g.Rank - 1
	return !ghosts && g.Ghost != [3]int{} && (n[0] != n[last] || g.Ghost[0] != g.Ghost[last])
}

// outcome is the result when Enzo-E reads a field on restart.
type outcome uint8

const (
	readsRight outcome = iota
	readsWrong         // Enzo-E reads wrong data without noticing
	stops              // H5Dread fails, and Enzo-E aborts
)

// restarts predicts how Enzo-E reads a dataset on restart. Enzo-E compares the dimensions in the file, (z, y, x), with the
// dimensions of the field in memory, (x, y, z) with ghosts. If the first dimension in memory is longer than the first in the
// file, Enzo-E reads the whole dataset into the middle of the field. Otherwise Enzo-E fills the whole field with as much of the
// dataset as fits. Other shapes fail. Enzo-E reads a dataset with reversed dimensions correctly.
func restarts(g *amr.Geometry, f *amr.FieldSpec, ghosts, reversed bool) outcome {
	mem, file := g.Shape(f, true), g.Shape(f, ghosts)
	last := g.Rank - 1
	if !reversed {
		file[0], file[last] = file[last], file[0]
	}
	middle := mem[0] > file[0]
	for i := range g.Rank {
		if middle && mem[i] < file[i] || !middle && mem[i] > file[i] {
			return stops
		}
	}
	if !reversed && (mem[0] != mem[last] || file[0] != file[last]) {
		return readsWrong
	}
	return readsRight
}

// Unfit lists the fields that prevent a restart of Enzo-E or give it wrong data, because Enzo-E reads the shape of a dataset with
// its axes in reverse. This package and other programs may read these fields correctly.
func (k *Checkpoint) Unfit() (l []Finding) {
	g := &k.meta.Geometry
	effect := goesWrong(&k.meta)
	for i := range k.meta.Fields {
		if restarts(g, &k.meta.Fields[i], k.ghosts[i], k.reversed()) == stops {
			effect = aborts + " when it restarts" // an abort hides the effects on other fields
			break
		}
	}
	for i := range k.meta.Fields {
		f := &k.meta.Fields[i]
		if !k.scrambled(i) && restarts(g, f, k.ghosts[i], k.reversed()) == readsRight {
			continue
		}
		d := Finding{Offset: -1, Severity: Error, Field: fieldPrefix + f.Name, Err: ErrUnfit, Effect: effect}
		shape := k.meta.Shape(f, k.ghosts[i])
		switch {
		case k.ghosts[i]:
			d.Msg = fmt.Sprintf("shape %v with ghosts is not symmetric", shape[:g.Rank])
		case k.scrambled(i):
			d.Err = ErrScrambled
			d.Msg = fmt.Sprintf("shape %v without ghosts: the cells of every block are in the wrong places and cannot be restored", shape[:g.Rank])
		default:
			d.Msg = fmt.Sprintf("shape %v without ghosts is correct here, but not symmetric", shape[:g.Rank])
		}
		l = append(l, d)
	}
	return l
}

// goesWrong describes the effect of misread fields on Enzo-E if none of them makes it abort.
func goesWrong(m *amr.Meta) string {
	if len(m.Particles) > 0 {
		return "goes on with wrong fields, and aborts when a particle is out of bounds"
	}
	return "ends with exit code 0 and wrong fields, without a message"
}

// file returns an open file with its cached metadata.
func (o *openFiles) file(i int) (*h5.File, error) {
	return o.h5s.Make(context.Background(), i, func() (*h5.File, error) {
		h, _, err := o.openH5(o.files[i].name)
		return h, err
	})
}

func (o *openFiles) path(file int) string {
	return filepath.Join(o.dir, o.files[file].name+cellodir.DataSuffix)
}

// window returns a window for the groups of a file.
func (o *openFiles) window(file int) *window {
	return &window{r: poolReader{o.pool, o.path(file)}, t: o.template, end: o.files[file].size}
}

func (o *openFiles) readAt(file int, p []byte, off int64, what string) error {
	path := o.path(file)
	f, err := o.pool.Get(path, false)
	if err != nil {
		return err
	}
	defer o.pool.Put(path)
	n, err := f.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return fault.At(path, off+int64(n), what, ErrTruncated, "%d of %d bytes", n, len(p))
	}
	return fmt.Errorf("%s: %s: %w", path, what, err)
}

// particleCounts stores the number of particles of each type of a block in np.
func (l *columns) particleCounts(b *scanned, np []int64) error {
	for i := range np {
		np[i] = -1
	}
	for c := range l.cols {
		col := &l.cols[c]
		if col.field != nil {
			continue
		}
		n := b.data[l.colAt[c]].elems
		if p := &np[col.ptype]; *p < 0 {
			*p = n
		} else if *p != n {
			return fmt.Errorf("%s has %d particles, another attribute %d", col.name, n, *p)
		}
	}
	for i := range np {
		np[i] = max(np[i], 0)
	}
	return nil
}

// extent returns the location and the size in bytes of a column of a block.
func (l *columns) extent(rec *scanned, c int) (extent, int64) {
	e := rec.data[l.colAt[c]]
	return e, e.elems * int64(l.cols[c].typ.Size())
}
