package cello

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"blobio/amr"
	"blobio/h5"
	"blobio/internal/vfs"
	"blobio/subfile"
)

// OpenOptions for Open and Restart. nil means the defaults.
type OpenOptions struct {
	// MaxOpen is the number of files kept open; default (0) 256.
	MaxOpen int
	// AcceptScrambled reads fields whose cells the real program has put in the wrong
	// places, as they are in the file. Default: ErrScrambled. A copy that WriteFrom makes of Share or
	// All keeps the mark; one of blocks that were read and then given to Write does not.
	AcceptScrambled bool
	// NoManifest opens as if there were no manifest.
	NoManifest bool

	fs vfs.FS
}

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
	dir      string
	fs       vfs.FS
	pool     *subfile.Pool
	opt      OpenOptions
	meta     amr.Meta
	enzo     amr.Type
	ghosts   []bool // of each field
	cols     []column
	colAt    []int // place in scanned.data of each column
	files    []fileInfo
	blocks   []BlockInfo
	recs     []scanned // of each block
	tree     *amr.Tree
	man      *manifest
	template *h5.Template // see scanner
	listAt   []int32      // place of each block in its list

	once  sync.Once
	whole error // see restartable

	users atomic.Int32 // beside the one that opened it
	mu    sync.Mutex
	h5s   map[int]*h5.File
	order []int // of h5s, oldest first
}

// fileInfo is a file of the checkpoint.
type fileInfo struct {
	name   string
	size   int64
	blocks int
}

// maxH5 is how many files have their cache of metadata kept.
const maxH5 = 16

// Open opens a checkpoint of the real program, or one or a dump of Write. It reads the
// lists and the headers of all blocks, no data, in time linear in the number of blocks. What keeps it
// from being read whole is an error; Verify tells all of it.
func Open(ctx context.Context, dir string, o *OpenOptions) (*Checkpoint, error) {
	s := newScanner(dir, o)
	k, err := s.open(ctx, o)
	if err != nil {
		return nil, errors.Join(err, s.pool.Close())
	}
	return k, nil
}

// Writing says whether a directory is one that Write has not finished: it is being
// written, or its writer died. The next Write of the same name replaces one that is left over.
func Writing(dir string) bool {
	_, err := vfs.OS.Stat(joinPath(dir, lockName))
	return err == nil
}

func newScanner(dir string, o *OpenOptions) *scanner {
	fsys, open := vfs.OS, 0
	if o != nil {
		open = o.MaxOpen
		if o.fs != nil {
			fsys = o.fs
		}
	}
	fsys = regularFS{fsys}
	return &scanner{dir: dir, fs: fsys, pool: subfile.NewPool(fsys, open)}
}

// regularFS opens nothing but regular files: to open a pipe would wait for its writer,
// for ever, and no context ends that.
type regularFS struct{ vfs.FS }

func (r regularFS) Open(name string) (vfs.File, error) {
	st, err := r.Stat(name)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, bad(name, -1, "", ErrNotFormat, "not a regular file")
	}
	return r.FS.Open(name)
}

func (s *scanner) open(ctx context.Context, o *OpenOptions) (*Checkpoint, error) {
	if err := s.fileList(); err != nil {
		return nil, err
	}
	if err := s.lists(ctx, nil); err != nil {
		return nil, err
	}
	if err := s.headers(ctx, nil); err != nil {
		return nil, err
	}
	return s.checkpoint(o)
}

// firstError returns the first finding that is an error.
func (s *scanner) firstError() error {
	for _, f := range s.files {
		for i := range f.finds {
			if f.finds[i].Severity == Error {
				return s.located(&f.finds[i])
			}
		}
	}
	return nil
}

func (s *scanner) located(d *Finding) error {
	err := d.asError()
	if fe, ok := err.(*FormatError); ok && d.Err != error(fe) {
		fe.File = s.path(fe.File)
	}
	return err
}

// checkpoint makes a Checkpoint of what was scanned.
func (s *scanner) checkpoint(o *OpenOptions) (*Checkpoint, error) {
	if err := s.firstError(); err != nil {
		return nil, err
	}
	k := &Checkpoint{dir: s.dir, fs: s.fs, pool: s.pool, template: s.template, h5s: map[int]*h5.File{}}
	if o != nil {
		k.opt = *o
	}
	if !k.opt.NoManifest {
		var err error
		if k.man, err = s.manifest(); err != nil {
			return nil, err
		}
	}
	if err := s.describe(k); err != nil {
		return nil, err
	}
	if err := k.arrange(s); err != nil {
		return nil, err
	}
	return k, nil
}

// manifest reads the manifest; nil if there is none.
func (s *scanner) manifest() (*manifest, error) {
	b, err := vfs.ReadFile(s.fs, s.path(ManifestName), maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m, err := decodeManifest(b, s.path(ManifestName))
	if err != nil {
		return nil, err
	}
	if got := checksum(s.listB); got != uint32(m.List) {
		return nil, bad(s.path(fileListName), 0, "checksum", ErrChecksum, "%08x, the manifest says %08x", got, uint32(m.List))
	}
	if len(m.Files) != len(s.files) {
		return nil, bad(s.path(ManifestName), -1, "files", ErrCorrupt, "%d, check.file_list has %d", len(m.Files), len(s.files))
	}
	for i, f := range s.files {
		e := &m.Files[i]
		switch {
		case e.Name != f.name:
			return nil, bad(s.path(ManifestName), -1, fmt.Sprintf("files[%d].name", i), ErrCorrupt, "%s, check.file_list has %s", e.Name, f.name)
		case uint32(e.List) != f.listSum:
			return nil, bad(s.path(f.name+listSuffix), 0, "checksum", ErrChecksum, "%08x, the manifest says %08x", f.listSum, uint32(e.List))
		case f.size != 0 && e.Size != f.size:
			return nil, bad(s.path(f.name+dataSuffix), -1, "size", ErrTruncated, "%d bytes, the manifest says %d", f.size, e.Size)
		case e.Blocks != len(f.list):
			return nil, bad(s.path(ManifestName), -1, fmt.Sprintf("files[%d].blocks", i), ErrCorrupt, "%d, the list has %d", e.Blocks, len(f.list))
		}
	}
	return m, nil
}

// describe finds geometry, fields and particles.
func (s *scanner) describe(k *Checkpoint) error {
	root := &s.root
	total := 0
	for _, f := range s.files {
		total += len(f.list)
	}
	if total == 0 {
		return bad(s.path(fileListName), -1, "", ErrMissing, "none of the %d files has a block", len(s.files))
	}
	if s.first == nil || !root.ok {
		return bad(s.path(fileListName), -1, "", ErrCorrupt, "no block can be read with its attributes")
	}
	m := &k.meta
	m.Rank = int(root.rank)
	m.Cycle, m.Time, m.Dt = int32(root.cycle), root.time, root.dt
	m.Lower, m.Upper = root.lower, root.upper
	m.Attrs = root.extras
	m.Redshift = s.first.redshift
	k.enzo = s.first.enzo
	if err := s.geometry(m, root); err != nil {
		return err
	}
	return s.columns(k)
}

// geometry fills in Geometry: cells and ghosts from the grid attributes of the
// first block, root blocks from the width of it, borders from its adapt_buffer.
func (s *scanner) geometry(m *amr.Meta, root *rootValues) error {
	b := s.first
	file := s.path(fileListName)
	for i := range 3 {
		n, g := b.to[i]-b.start[i]+1, b.start[i]
		if n < 1 || n > 1<<24 || g < 0 || g > 1<<16 || b.dim[i] != n+2*g {
			return bad(file, -1, "block "+b.name, ErrCorrupt, "enzo_GridDimension %v, StartIndex %v, EndIndex %v do not fit each other", b.dim, b.start, b.to)
		}
		m.Block[i], m.Ghost[i] = int(n), int(g)
		m.Roots[i] = 1
		if i < m.Rank {
			// At level l a block is 1/(roots 2^l) of the domain; a negative one may be cut at the border.
			w := (b.upper[i] - b.lower[i]) / (root.upper[i] - root.lower[i])
			r := math.Ldexp(1/w, -max(b.index.Level(), 0))
			if b.index.Level() >= 0 && r >= 0.5 && r < amr.MaxRoots+0.5 {
				// The name has as many digits as the number; if not, the bounds are wrong.
				if n := int(math.Round(r)); bits.Len(uint(n-1)) == arrayDigits(b.name, i) {
					m.Roots[i] = n
				}
			}
		}
		if b.adapt != nil {
			m.Periodic[i] = b.adapt.Periodic[i] != 0
		}
	}
	// Any block of a level from 0 on tells better than a negative one.
	lo, hi := 0, int(root.maxLevel)
	most := [3]int{}
	for _, f := range s.files {
		for i := range f.blocks {
			x := f.blocks[i].index
			l := x.Level()
			if !f.blocks[i].known || x.Valid(m.Rank) != nil {
				continue
			}
			lo, hi = min(lo, l), max(hi, l)
			if l >= 0 {
				for a, c := range x.Array() {
					most[a] = max(most[a], c+1)
				}
			}
		}
	}
	for i := range m.Rank {
		if b.index.Level() < 0 || m.Roots[i] < most[i] {
			m.Roots[i] = max(most[i], 1)
		}
	}
	if b.index.Level() < 0 {
		if b.adapt != nil {
			for i := range m.Rank {
				if r := int(b.adapt.Periodic[i]); r >= m.Roots[i] && r <= amr.MaxRoots {
					m.Roots[i] = r
				}
			}
		}
	}
	m.MinLevel, m.MaxLevel = lo, min(hi, amr.MaxDepth)
	if err := m.Geometry.Validate(); err != nil {
		return bad(file, -1, "geometry", ErrCorrupt, "%v", err)
	}
	return nil
}

// arrayDigits returns how many digits of a block name say which root block it is in along an axis.
func arrayDigits(name string, axis int) int {
	for range axis {
		_, name, _ = strings.Cut(name, "_")
	}
	name, _, _ = strings.Cut(strings.TrimPrefix(name, "B"), "_")
	name, _, _ = strings.Cut(name, ":")
	return len(name)
}

// columns finds fields and particles among the datasets of the schema.
func (s *scanner) columns(k *Checkpoint) error {
	m := &k.meta
	types := particleTypes(s.schema)
	index := map[string]int{}
	type part struct{ col, ptype, attr int }
	var parts []part
	for c := range s.schema {
		d := &s.schema[c]
		typ := amrType(d.typ)
		if typ == 0 {
			return bad(s.path(fileListName), -1, d.name, h5.ErrUnsupported, "type %v", d.typ)
		}
		if name, ok := strings.CutPrefix(d.name, fieldPrefix); ok {
			spec := amr.FieldSpec{Name: name, Type: typ}
			ghosts, err := fieldShape(&m.Geometry, &spec, d.dims)
			if err != nil {
				return bad(s.path(fileListName), -1, d.name, ErrCorrupt, "%v", err)
			}
			m.Fields = append(m.Fields, spec)
			k.ghosts = append(k.ghosts, ghosts)
			k.colAt = append(k.colAt, c)
			continue
		}
		t, a := splitParticle(strings.TrimPrefix(d.name, particlePrefix), types)
		i, ok := index[t]
		if !ok {
			i = len(m.Particles)
			index[t] = i
			m.Particles = append(m.Particles, amr.ParticleSpec{Name: t})
		}
		parts = append(parts, part{c, i, len(m.Particles[i].Attrs)})
		m.Particles[i].Attrs = append(m.Particles[i].Attrs, amr.AttrSpec{Name: a, Type: typ})
	}
	// Columns as columnsOf makes them: fields, then particles by type.
	slices.SortStableFunc(parts, func(a, b part) int {
		return cmp.Or(cmp.Compare(a.ptype, b.ptype), cmp.Compare(a.attr, b.attr))
	})
	for _, p := range parts {
		k.colAt = append(k.colAt, p.col)
	}
	if err := m.Validate(); err != nil {
		return bad(s.path(fileListName), -1, "datasets", ErrCorrupt, "%v", err)
	}
	for i := range m.Fields {
		f := &m.Fields[i]
		k.cols = append(k.cols, column{name: fieldPrefix + f.Name, typ: f.Type, field: f, place: i, dims: dims(m.Shape(f, k.ghosts[i])), bytes: m.FieldBytes(f, k.ghosts[i])})
	}
	for i := range m.Particles {
		p := &m.Particles[i]
		for j := range p.Attrs {
			k.cols = append(k.cols, column{name: particleName(p, &p.Attrs[j]), typ: p.Attrs[j].Type, ptype: i, attr: j})
		}
	}
	for c := range k.cols {
		k.cols[c].big = s.schema[k.colAt[c]].typ.BigEndian()
	}
	return nil
}

// particleTypes guesses the names of particle types: what stands before "_x",
// since all types have a position.
func particleTypes(schema []schemaCol) (l []string) {
	for _, c := range schema {
		n, ok := strings.CutPrefix(c.name, particlePrefix)
		if !ok {
			continue
		}
		if t, ok := strings.CutSuffix(n, "_x"); ok && t != "" {
			l = append(l, t)
		}
	}
	slices.SortFunc(l, func(a, b string) int { return len(a) - len(b) })
	return l
}

// splitParticle cuts a dataset name into type and attribute, both of which
// may have underscores: by the shortest known type, else at the first one.
func splitParticle(name string, types []string) (typ, attr string) {
	for _, t := range types {
		if a, ok := strings.CutPrefix(name, t+"_"); ok && a != "" {
			return t, a
		}
	}
	typ, attr, ok := strings.Cut(name, "_")
	if !ok || attr == "" || typ == "" {
		return name, name
	}
	return typ, attr
}

// fieldShape finds out from the shape of a dataset whether a field has ghosts
// and on which axes it is face-centred.
func fieldShape(g *amr.Geometry, spec *amr.FieldSpec, d []int64) (ghosts bool, err error) {
	m, ok := shape(d)
	if !ok {
		return false, fmt.Errorf("rank %d, want 1 to 3", len(d))
	}
	with, without := 0, 0
	for i := range 3 {
		n, w := int64(g.Block[i]), int64(g.Ghost[i])
		switch m[i] {
		case n, n + 1:
			spec.Centered[i] = m[i] == n+1
			if w > 0 {
				without++
			}
		case n + 2*w, n + 2*w + 1:
			spec.Centered[i] = m[i] == n+2*w+1
			with++
		default:
			return false, fmt.Errorf("shape %v does not fit blocks of %v cells with %v ghosts", d, g.Block, g.Ghost)
		}
	}
	if with > 0 && without > 0 {
		return false, fmt.Errorf("shape %v has ghosts on some axes only (blocks of %v cells with %v ghosts)", d, g.Block, g.Ghost)
	}
	return with > 0, nil
}

// arrange checks blocks against their names, finds duplicates, and puts them in order.
func (k *Checkpoint) arrange(s *scanner) error {
	m := &k.meta
	k.tree = amr.NewTree(&m.Geometry)
	n := 0
	for _, f := range s.files {
		k.files = append(k.files, fileInfo{name: f.name, size: f.size, blocks: len(f.blocks)})
		n += len(f.blocks)
	}
	k.tree.Grow(n)
	k.recs = make([]scanned, 0, n)
	k.listAt = make([]int32, 0, n)
	for _, f := range s.files {
		for i := range f.blocks {
			b := &f.blocks[i]
			if d := checkIndex(m, b); d != nil {
				d.File = f.name + dataSuffix
				return s.located(d)
			}
			if err := k.tree.Add(b.index); err != nil {
				return s.located(&Finding{File: f.name + listSuffix, Block: b.name, Msg: err.Error(), Err: errors.Join(ErrCorrupt, err)})
			}
			k.recs = append(k.recs, *b)
			k.listAt = append(k.listAt, int32(i))
		}
	}
	place := make([]int, n)
	for i := range place {
		place[i] = i
	}
	if permutation(k.recs) {
		for i := range k.recs {
			place[k.recs[i].order] = i
		}
	}
	recs, at := make([]scanned, n), make([]int32, n)
	k.blocks = make([]BlockInfo, n)
	np := make([]int64, len(m.Particles))
	for i, p := range place {
		b := &k.recs[p]
		recs[i], at[i] = *b, k.listAt[p]
		if err := k.particleCounts(b, np); err != nil {
			return s.located(&Finding{File: k.files[b.file].name + dataSuffix, Block: b.name, Msg: err.Error(), Err: ErrCorrupt})
		}
		info := BlockInfo{Index: b.index, Name: b.name, Level: b.level, File: int(b.file), Order: b.order, Leaf: k.tree.Leaf(b.index)}
		for c := range k.cols {
			info.Bytes += k.cols[c].size(np)
		}
		if k.man != nil && k.man.Costs {
			info.Cost = k.man.Files[b.file].Costs[at[i]]
		}
		k.blocks[i] = info
	}
	k.recs, k.listAt = recs, at
	k.tree.Sorted()
	return nil
}

// checkIndex holds the index of a block against its name and level.
func checkIndex(m *amr.Meta, b *scanned) *Finding {
	x := b.index
	if err := m.Contains(x); err != nil {
		return &Finding{Severity: Error, Block: b.name, Field: "index", Msg: err.Error(), Err: errors.Join(ErrCorrupt, err)}
	}
	if l := x.Level(); l != b.level {
		return &Finding{Severity: Error, Block: b.name, Field: "index", Msg: sprintf("%v is of level %d, the block list says %d", x, l, b.level), Effect: hangs, Err: ErrCorrupt}
	}
	if n := x.Name(m.Rank, m.Roots); n != b.name {
		return &Finding{Severity: Error, Block: b.name, Field: "index", Msg: sprintf("%v is that of block %s", x, n), Effect: runsWrong, Err: ErrCorrupt}
	}
	return nil
}

// permutation says whether the order numbers are 0 to n-1, each once.
func permutation(l []scanned) bool {
	seen := make([]bool, len(l))
	for i := range l {
		o := l[i].order
		if o < 0 || o >= int64(len(l)) || seen[o] {
			return false
		}
		seen[o] = true
	}
	return true
}

// particleCounts fills in the number of particles of each type of a block.
func (k *Checkpoint) particleCounts(b *scanned, np []int64) error {
	for i := range np {
		np[i] = -1
	}
	for c := range k.cols {
		col := &k.cols[c]
		if col.field != nil {
			continue
		}
		n := b.data[k.colAt[c]].elems
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

// EnzoFloat returns the type of the attributes enzo_*: that of the program that wrote it.
func (k *Checkpoint) EnzoFloat() amr.Type { return k.enzo }

// Blocks returns all blocks in the order of the curve (that of the lists, if
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

// Ghosts says whether a field of Meta is stored with its ghosts.
func (k *Checkpoint) Ghosts(field int) bool { return k.ghosts[field] }

// Dump says whether it is known to be a data dump, see Options.
func (k *Checkpoint) Dump() bool { return k.man != nil && k.man.Dump }

// HasManifest says whether it has a manifest: whether this module wrote it.
func (k *Checkpoint) HasManifest() bool { return k.man != nil }

// Scrambled says whether the cells of a field are in the wrong places: written without
// ghosts by the real program, which gives HDF5 the shape of a field in memory in reverse.
// That is right only where the shape is the same both ways, so for cubic blocks.
func (k *Checkpoint) Scrambled(field int) bool {
	if k.man != nil && !k.man.Broken {
		return false
	}
	return scrambled(&k.meta.Geometry, &k.meta.Fields[field], k.ghosts[field])
}

func scrambled(g *amr.Geometry, f *amr.FieldSpec, ghosts bool) bool {
	if ghosts || g.Ghost == [3]int{} || g.Rank == 1 {
		return false
	}
	n := g.Shape(f, false)
	last := g.Rank - 1
	return n[0] != n[last] || g.Ghost[0] != g.Ghost[last]
}

// file returns an open file with its cached metadata.
func (k *Checkpoint) file(i int) (*h5.File, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if h := k.h5s[i]; h != nil {
		return h, nil
	}
	path := joinPath(k.dir, k.files[i].name+dataSuffix)
	f, err := k.pool.Get(path, false)
	if err != nil {
		return nil, err
	}
	size, err := f.Size()
	k.pool.Put(path)
	if err != nil {
		return nil, err
	}
	h, err := h5.NewFile(poolReader{k.pool, path}, size, path)
	if err != nil {
		return nil, err
	}
	if len(k.order) >= maxH5 {
		delete(k.h5s, k.order[0])
		k.order = k.order[1:]
	}
	k.h5s[i] = h
	k.order = append(k.order, i)
	return h, nil
}

var _ io.ReaderAt = poolReader{}
