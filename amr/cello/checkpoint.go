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

// BlockInfo is what is known of a block without its data.
type BlockInfo struct {
	Index amr.Index
	Name  string
	Level int
	File  int   // place in check.file_list, from 0 on
	Order int64 // attribute index_order; -1 if it is missing
	Leaf  bool
	Bytes int64   // of its datasets
	Cost  float64 // as given to Write; 0 if it is not known
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
	recs   []scanned // of each block
	tree   *amr.Tree
	man    *manifest
	sums   sums

	once  sync.Once
	whole error // see restartable

	users atomic.Int32 // beside the one that opened it
}

// openFiles are the files of a checkpoint that is read.
type openFiles struct {
	directory
	files    []fileInfo
	template *h5.Template // see schema
	h5s      *cache.Cache[int, *h5.File]
}

// columns are the datasets of each block.
type columns struct {
	cols   []column
	colAt  []int  // place in scanned.data of each column
	ghosts []bool // of each field
}

// fileInfo is a file of the checkpoint.
type fileInfo struct {
	name   string
	size   int64
	blocks int
}

// maxH5 is how many files have their cache of metadata kept.
const maxH5 = 16

func newOpenFiles(s *scanner) openFiles {
	return openFiles{directory: s.directory, template: s.schema.template, h5s: cache.New[int](maxH5, func(*h5.File) int64 { return 1 })}
}

// Close closes the files. After OpenComm, the last of the ranks that share it does.
func (k *Checkpoint) Close() error {
	if k.users.Add(-1) >= 0 {
		return nil
	}
	return k.pool.Close()
}

// Dir returns the directory that was opened.
func (k *Checkpoint) Dir() string { return k.dir }

// Meta returns what describes the whole; it must not be changed. Which levels may exist
// is taken from the blocks and the attribute max_level, periodic borders from an adapt_buffer.
func (k *Checkpoint) Meta() *amr.Meta { return &k.meta }

// EnzoFloat returns the type of the attributes enzo_*, which is enzo_float of the program that wrote them.
func (k *Checkpoint) EnzoFloat() amr.Type { return k.enzo }

// Blocks returns all blocks in the order of the curve (in the order of the lists, if
// the order numbers are no permutation); it must not be changed.
func (k *Checkpoint) Blocks() []BlockInfo { return k.blocks }

// Files returns the names, without suffix, of the files.
func (k *Checkpoint) Files() []string {
	var l []string
	for _, f := range k.files {
		l = append(l, f.name)
	}
	return l
}

// Tree returns the structure; it must not be changed.
func (k *Checkpoint) Tree() *amr.Tree { return k.tree }

// Ghosts reports whether a field of Meta is stored with its ghosts.
func (k *Checkpoint) Ghosts(field int) bool { return k.ghosts[field] }

// Dump reports whether it is known to be a data dump, see Options.
func (k *Checkpoint) Dump() bool { return k.man != nil && k.man.Dump }

// reversed reports whether the datasets of fields have their dimensions in reverse, see Options.ForEnzoE.
func (k *Checkpoint) reversed() bool { return k.man != nil && k.man.Reversed }

// scrambled reports whether the cells of a field are in the wrong places: written without
// ghosts by the real program, which gives HDF5 the shape of a field in memory in reverse.
// That is right only where the shape is the same both ways, so for cubic blocks. Meta().Fields have the mark.
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

// outcome is what the real program does with a field when it restarts.
type outcome uint8

const (
	readsRight outcome = iota
	readsWrong         // and does not notice
	stops              // H5Dread fails, and it aborts
)

// restarts says what the real program makes of a dataset. It confuses the dimensions of the file, (z, y, x), with the dimensions of the field in memory,
// (x, y, z) with ghosts. If the first one in memory is longer, it reads the whole dataset into the middle of the
// field, else as much as the field holds into all of it. Other shapes fail. A dataset whose dimensions are reversed it reads right.
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

// Unfit lists the fields that keep Enzo-E from restarting, or make it go on with wrong data, because it reads the
// shape of a dataset with its axes in reverse. This package may read the same fields correctly, and so may other programs.
func (k *Checkpoint) Unfit() (l []Finding) {
	g := &k.meta.Geometry
	effect := goesWrong(&k.meta)
	for i := range k.meta.Fields {
		if restarts(g, &k.meta.Fields[i], k.ghosts[i], k.reversed()) == stops {
			effect = aborts + " when it restarts" // whatever the others are
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

// goesWrong is what the real program does with fields that it takes for others, if it does not abort at one.
func goesWrong(m *amr.Meta) string {
	if len(m.Particles) > 0 {
		return "goes on with wrong fields, and aborts when a particle is out of bounds"
	}
	return "ends with exit code 0 and wrong fields, without a message"
}

// file returns an open file with its cached metadata.
func (o *openFiles) file(i int) (*h5.File, error) {
	return o.h5s.Make(context.Background(), i, func() (*h5.File, error) {
		h, _, err := o.openH5(o.files[i].name, o.path(i))
		return h, err
	})
}

func (o *openFiles) path(file int) string {
	return filepath.Join(o.dir, o.files[file].name+cellodir.DataSuffix)
}

// window is one for the groups of a file.
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

// particleCounts fills in the number of particles of each type of a block.
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

// extent returns where a column of a block lies, and its bytes.
func (l *columns) extent(rec *scanned, c int) (extent, int64) {
	e := rec.data[l.colAt[c]]
	return e, e.elems * int64(l.cols[c].typ.Size())
}
