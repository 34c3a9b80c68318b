package cello

import (
	"context"
	"errors"
	"hash/crc32"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"blobio/amr"
	"blobio/h5"
	"blobio/internal/vfs"
	"blobio/subfile"
)

// scanned is what the headers of a block say.
type scanned struct {
	name  string
	level int
	file  int32
	addr  int64 // of the object header of its group
	index amr.Index
	order int64 // attributes index_order, count_order; -1: absent
	count int64
	data  []extent // by column of the schema
	known bool     // index was read
}

// extent is where a dataset lies.
type extent struct {
	off   int64 // file offset of contiguous data; -1: other storage
	elems int64
	addr  int64 // of the object header
}

// scannedFile is one HDF5 file with its list.
type scannedFile struct {
	name    string // without suffix
	size    int64
	list    []listEntry
	blocks  []scanned
	root    rootValues
	listSum uint32 // CRC-32 of the list
	other   bool   // of another rank: neither list nor headers were read
	finds   []Finding
}

// rootValues are the attributes of "/".
type rootValues struct {
	rank, cycle, maxLevel int64
	time, dt              float64
	lower, upper          [3]float64
	extras                map[string]any
	ok                    bool
}

// schemaCol is a dataset that blocks have.
type schemaCol struct {
	name  string
	typ   h5.Type
	dims  []int64 // of the block that the schema is from
	field bool
}

// scanner reads lists and headers of a directory. Open and Verify share it:
// with deep, every attribute is looked at and nothing stops it.
type scanner struct {
	dir      string
	fs       vfs.FS
	pool     *subfile.Pool
	deep     bool
	files    []*scannedFile
	schema   []schemaCol
	byName   map[string]int
	first    *firstBlock
	template *h5.Template // of groups as this module writes them; nil: none can be
	root     rootValues   // of the file of that block
	listB    []byte       // check.file_list
}

// firstBlock is the block that the schema and the geometry are taken from.
type firstBlock struct {
	name           string
	index          amr.Index
	lower, upper   []float64
	dim, start, to []int64
	redshift       float64
	enzo           amr.Type
	adapt          *Adapt
}

func (f *scannedFile) find(s Severity, block, field string, err error, effect, format string, args ...any) {
	d := Finding{Severity: s, File: f.name + dataSuffix, Block: block, Field: field, Effect: effect, Err: err}
	if format == "" {
		d.Msg = err.Error()
	} else {
		d.Msg = sprintf(format, args...)
	}
	f.finds = append(f.finds, d)
}

func checksum(b []byte) uint32 { return crc32.ChecksumIEEE(b) }

// bad says whether an error was found.
func (f *scannedFile) bad() bool {
	return slices.ContainsFunc(f.finds, func(d Finding) bool { return d.Severity == Error })
}

func (s *scanner) path(name string) string { return filepath.Join(s.dir, name) }

// poolReader reads a file through the pool.
type poolReader struct {
	p    *subfile.Pool
	name string
}

func (r poolReader) ReadAt(b []byte, off int64) (int, error) {
	f, err := r.p.Get(r.name, false)
	if err != nil {
		return 0, err
	}
	defer r.p.Put(r.name)
	return f.ReadAt(b, off)
}

// openH5 opens a file of the directory.
func (s *scanner) openH5(name string) (*h5.File, int64, error) {
	path := s.path(name + dataSuffix)
	f, err := s.pool.Get(path, false)
	if err != nil {
		return nil, 0, err
	}
	size, err := f.Size()
	s.pool.Put(path)
	if err != nil {
		return nil, 0, err
	}
	h, err := h5.NewFile(poolReader{s.pool, path}, size, name+dataSuffix)
	return h, size, err
}

// fileList reads check.file_list.
func (s *scanner) fileList() error {
	if _, err := s.fs.Stat(s.path(lockName)); err == nil {
		return bad(s.path(lockName), -1, "", ErrNotCommitted, "the directory is being written, or its writer died")
	}
	b, err := vfs.ReadFile(s.fs, s.path(fileListName), maxFileList)
	if errors.Is(err, fs.ErrNotExist) {
		if _, derr := s.fs.Stat(s.dir); derr != nil {
			return derr
		}
		return bad(s.path(fileListName), -1, "", ErrNotFormat, "there is none: %s is no checkpoint", s.dir)
	}
	s.listB = b
	return err
}

// lists reads the block lists, of all files or of some. The error is that of
// check.file_list, which was read; what is wrong with a block list is a finding of its file.
func (s *scanner) lists(ctx context.Context, mine func(file int) bool) error {
	names, err := decodeFileList(s.listB, s.path(fileListName))
	if err != nil {
		return err
	}
	s.files = make([]*scannedFile, len(names))
	return s.each(ctx, len(names), func(i int) {
		f := &scannedFile{name: names[i]}
		s.files[i] = f
		if f.other = mine != nil && !mine(i); f.other {
			return
		}
		var err error
		if f.list, f.listSum, err = s.blockList(f.name); err != nil {
			f.finds = append(f.finds, Finding{Severity: Error, File: f.name + listSuffix, Msg: err.Error(), Err: missing(err), Effect: aborts})
		}
	})
}

// blockList reads a block list, and sums it up.
func (s *scanner) blockList(name string) ([]listEntry, uint32, error) {
	path := s.path(name + listSuffix)
	b, err := vfs.ReadFile(s.fs, path, maxBlockList)
	if err != nil {
		return nil, 0, err
	}
	l, err := decodeBlockList(b, path)
	return l, checksum(b), err
}

// missing gives an absent file the class ErrMissing too.
func missing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errors.Join(ErrMissing, err)
	}
	return err
}

// each calls work for 0 to n-1 on a few goroutines, and waits.
func (s *scanner) each(ctx context.Context, n int, work func(i int)) error {
	return parallel(ctx, n, runtime.GOMAXPROCS(0), work)
}

func parallel(ctx context.Context, n, workers int, work func(i int)) error {
	workers = min(workers, n)
	if workers <= 1 {
		for i := range n {
			if err := ctx.Err(); err != nil {
				return err
			}
			work(i)
		}
		return ctx.Err()
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	next := 0
	for range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for {
				mu.Lock()
				i := next
				next++
				mu.Unlock()
				if i >= n || ctx.Err() != nil {
					return
				}
				work(i)
			}
		}()
	}
	wg.Wait()
	return ctx.Err()
}

// chunk is a run of blocks of one file, the unit of work of a scan.
type chunk struct {
	file     int
	from, to int
}

// headers reads the headers of all blocks.
func (s *scanner) headers(ctx context.Context, mine func(file int) bool) error {
	h5s := make([]*h5.File, len(s.files))
	links := make([]map[string]h5.Link, len(s.files))
	err := s.each(ctx, len(s.files), func(i int) {
		if mine == nil || mine(i) {
			h5s[i], links[i] = s.groups(s.files[i])
		}
	})
	if err != nil {
		return err
	}
	if s.schema == nil { // OpenComm has looked for it
		if err := s.findSchema(); err != nil {
			return err
		}
	}
	var work []chunk
	for i, f := range s.files {
		if h5s[i] == nil {
			continue
		}
		f.blocks = make([]scanned, len(f.list))
		for from := 0; from < len(f.list); from += 256 {
			work = append(work, chunk{i, from, min(from+256, len(f.list))})
		}
	}
	finds := make([][]Finding, len(work))
	err = s.each(ctx, len(work), func(k int) {
		w := work[k]
		part := &scannedFile{name: s.files[w.file].name, size: s.files[w.file].size}
		win := &window{r: poolReader{s.pool, s.path(part.name + dataSuffix)}, t: s.template, end: part.size}
		for i := w.from; i < w.to; i++ {
			if ctx.Err() != nil || !s.deep && part.bad() {
				break
			}
			s.block(win, w.to-i-1, h5s[w.file], part, s.files[w.file].list[i], links[w.file], &s.files[w.file].blocks[i])
			s.files[w.file].blocks[i].file = int32(w.file)
		}
		finds[k] = part.finds
	})
	for k, w := range work {
		s.files[w.file].finds = append(s.files[w.file].finds, finds[k]...)
	}
	for i, f := range s.files {
		if links[i] != nil && s.deep {
			s.unlisted(f, links[i])
		}
	}
	return err
}

// groups opens a file, reads the attributes of "/" and the names in it.
func (s *scanner) groups(f *scannedFile) (*h5.File, map[string]h5.Link) {
	h, size, err := s.openH5(f.name)
	f.size = size
	if err != nil {
		f.find(Error, "", "", missing(err), aborts, "%v", err)
		return nil, nil
	}
	root, err := h.Root()
	if err != nil {
		f.find(Error, "", "", err, aborts, "")
		return nil, nil
	}
	s.rootAttrs(f, root)
	links := make(map[string]h5.Link, len(f.list))
	for l, err := range root.Members() {
		if err != nil {
			f.find(Error, "", "/", err, aborts, "")
			return nil, nil
		}
		links[l.Name] = l
	}
	return h, links
}

// unlisted notes groups that no list names.
func (s *scanner) unlisted(f *scannedFile, links map[string]h5.Link) {
	listed := make(map[string]bool, len(f.list))
	for _, e := range f.list {
		listed[e.name] = true
	}
	var l []string
	for n := range links {
		if !listed[n] {
			l = append(l, n)
		}
	}
	if len(l) > 0 {
		slices.Sort(l)
		f.find(Warning, "", "", ErrCorrupt, "ignores them", "%d groups that the block list does not name: %s", len(l), some(l))
	}
}

// some lists at most a few names.
func some(l []string) string {
	if len(l) > 8 {
		return strings.Join(l[:8], ", ") + ", ..."
	}
	return strings.Join(l, ", ")
}

// rootAttrs reads the attributes of "/".
func (s *scanner) rootAttrs(f *scannedFile, root *h5.Group) {
	r := &f.root
	r.ok = true
	seen := map[string]bool{}
	for a, err := range root.Attrs() {
		if err != nil {
			f.find(Error, "", "/", err, aborts, "")
			r.ok = false
			return
		}
		seen[a.Name] = true
		i := slices.IndexFunc(rootAttrs[:], func(d attrDef) bool { return d.name == a.Name })
		if i < 0 {
			if v, err := a.Value(); err == nil {
				if r.extras == nil {
					r.extras = map[string]any{}
				}
				r.extras[a.Name] = v
			}
			continue
		}
		d := rootAttrs[i]
		if !s.attrShape(f, "", a, d, d.typ(0)) {
			r.ok = false
			continue
		}
		switch d.name {
		case "rank":
			r.rank = int64At(a)
		case "cycle":
			r.cycle = int64At(a)
		case "max_level":
			r.maxLevel = int64At(a)
		case "time":
			r.time = float64sOf(a)[0]
		case "dt":
			r.dt = float64sOf(a)[0]
		case "lower":
			copy(r.lower[:], float64sOf(a))
		case "upper":
			copy(r.upper[:], float64sOf(a))
		}
	}
	for _, d := range rootAttrs {
		if !seen[d.name] {
			f.find(Error, "", d.name, ErrMissing, aborts, "attribute is missing")
			r.ok = false
		}
	}
	if r.ok && (r.rank < 1 || r.rank > 3) {
		f.find(Error, "", "rank", ErrCorrupt, "", "%d, want 1 to 3", r.rank)
		r.ok = false
	}
	if r.ok && (r.maxLevel < 0 || r.maxLevel > amr.MaxDepth) {
		f.find(Error, "", "max_level", ErrCorrupt, crashes, "%d, want 0 to %d", r.maxLevel, amr.MaxDepth)
		r.ok = false
	}
}

// attrShape checks type and length of a standard attribute.
func (s *scanner) attrShape(f *scannedFile, block string, a *h5.Attr, d attrDef, want h5.Type) bool {
	switch {
	case a.Null || len(a.Dims) == 0:
		f.find(Error, block, d.name, ErrCorrupt, aborts, "a scalar dataspace, want a vector of %d", d.n)
		return false
	case len(a.Dims) != 1 || a.Elems() != int64(d.n):
		effect := runsWrong
		if a.Elems() > int64(d.n) {
			effect = "writes past the end of its memory"
		}
		f.find(Error, block, d.name, ErrCorrupt, effect, "shape %v, want a vector of %d", a.Dims, d.n)
		return false
	case a.Type.Little() != want:
		f.find(Error, block, d.name, ErrCorrupt, runsWrong, "type %v, want %v", a.Type, want)
		return false
	}
	if _, err := a.Raw(); err != nil {
		f.find(Error, block, d.name, err, aborts, "")
		return false
	}
	return true
}

// int64At returns the first element of an integer attribute whose shape was checked.
func int64At(a *h5.Attr) int64 {
	if v, err := a.Int64s(); err == nil && len(v) > 0 {
		return v[0]
	}
	return -1
}

// float64sOf returns the elements of a numeric attribute whose shape was checked.
func float64sOf(a *h5.Attr) []float64 {
	v, err := a.Float64s()
	if err != nil {
		return make([]float64, a.Elems())
	}
	return v
}

// findSchema takes datasets and geometry from the first block that can be
// read: the same one on all ranks that scan the directory together. Errors are those of I/O;
// what is wrong with a file is told when it is scanned.
func (s *scanner) findSchema() error {
	for _, f := range s.files {
		found, err := s.schemaOf(f)
		if found || err != nil && !ofFormat(err) {
			return err
		}
	}
	return nil
}

// ofFormat says whether an error is about what is in a file, not about reading it.
func ofFormat(err error) bool {
	for _, c := range []error{ErrMissing, ErrTruncated, ErrCorrupt, ErrChecksum, ErrNotFormat, ErrTooLarge, ErrUsage, ErrExist, h5.ErrUnsupported, h5.ErrRange, fs.ErrNotExist} {
		if errors.Is(err, c) {
			return true
		}
	}
	return false
}

func (s *scanner) schemaOf(f *scannedFile) (found bool, err error) {
	list := f.list
	if f.other { // of another rank
		if list, _, err = s.blockList(f.name); err != nil {
			return false, err
		}
	}
	if len(list) == 0 {
		return false, nil
	}
	h, _, err := s.openH5(f.name)
	if err != nil {
		return false, err
	}
	root, err := h.Root()
	if err != nil {
		return false, err
	}
	// One from level 0 on is preferred: its bounds tell how many root blocks there are.
	for _, negative := range [...]bool{false, true} {
		for _, e := range list {
			if (e.level < 0) != negative {
				continue
			}
			o, err := root.Lookup(e.name)
			if err == nil {
				if err = s.takeSchema(o, e.name); err == nil {
					part := &scannedFile{name: f.name}
					s.rootAttrs(part, root)
					s.root = part.root
					return true, nil
				}
			}
			if !ofFormat(err) {
				return false, err
			}
		}
	}
	return false, nil
}

func (s *scanner) takeSchema(o *h5.Object, name string) error {
	g, err := o.Group()
	if err != nil {
		return err
	}
	type at struct {
		schemaCol
		addr int64
	}
	var l []at
	for k, err := range g.Members() {
		if err != nil {
			return err
		}
		if !strings.HasPrefix(k.Name, fieldPrefix) && !strings.HasPrefix(k.Name, particlePrefix) || k.Kind != h5.LinkHard {
			continue
		}
		d, err := g.Dataset(k.Name)
		if err != nil {
			return err
		}
		l = append(l, at{schemaCol{k.Name, d.Type(), d.Dims(), strings.HasPrefix(k.Name, fieldPrefix)}, k.Addr()})
	}
	at0, err := blockAttrsOf(o)
	if err != nil {
		return err
	}
	b := &firstBlock{name: name, enzo: amr.Float64}
	floats := func(k, n int) []float64 {
		if a := at0[k]; a != nil && a.Elems() == int64(n) {
			if v, err := a.Float64s(); err == nil {
				return v
			}
		}
		return nil
	}
	ints := func(k int) []int64 {
		if a := at0[k]; a != nil && a.Elems() == 3 {
			if v, err := a.Int64s(); err == nil {
				return v
			}
		}
		return nil
	}
	x := ints(attrIndex)
	b.dim, b.start, b.to = ints(attrGridDimension), ints(attrGridStart), ints(attrGridEnd)
	b.lower, b.upper = floats(attrLower, 3), floats(attrUpper, 3)
	if x == nil || b.dim == nil || b.start == nil || b.to == nil || b.lower == nil || b.upper == nil {
		return bad(name, -1, "attributes", ErrCorrupt, "index, bounds or grid cannot be read")
	}
	b.index = amr.Index{int32(x[0]), int32(x[1]), int32(x[2])}
	if a := at0[attrEnzoDt]; a != nil && a.Type.Little() == h5.Float32 {
		b.enzo = amr.Float32
	}
	if v := floats(attrRedshift, 1); v != nil {
		b.redshift = v[0]
	}
	if a := at0[attrAdapt]; a != nil {
		if raw, err := a.Raw(); err == nil {
			b.adapt, _ = DecodeAdapt(raw)
		}
	}
	slices.SortFunc(l, func(a, b at) int { // in the order in which they were made
		if a.addr < b.addr {
			return -1
		}
		return 1
	})
	s.byName = map[string]int{}
	s.schema = []schemaCol{}
	for i, c := range l {
		s.byName[c.name] = i
		s.schema = append(s.schema, c.schemaCol)
	}
	s.first = b
	s.template = readTemplate(b.enzo, s.schema)
	return nil
}

// blockAttrsOf finds the standard attributes of a group in one walk.
func blockAttrsOf(o *h5.Object) (at [numBlockAttrs]*h5.Attr, err error) {
	for a, err := range o.Attrs() {
		if err != nil {
			return at, err
		}
		if i, std := standard[a.Name]; std {
			at[i] = a
		}
	}
	return at, nil
}

// block reads the headers of one block.
func (s *scanner) block(win *window, ahead int, h *h5.File, f *scannedFile, e listEntry, links map[string]h5.Link, b *scanned) {
	b.name, b.level, b.order, b.count, b.addr = e.name, e.level, -1, -1, -1
	l, ok := links[e.name]
	if !ok {
		f.find(Error, e.name, "", ErrMissing, aborts, "the block list names it, but the file has no such group")
		return
	}
	b.addr = l.Addr()
	stamp, ok, err := win.group(b.addr, ahead)
	if ok && s.stamped(b, stamp, f.size) {
		return
	}
	b.addr = -1
	if err != nil {
		f.find(Error, e.name, "", err, aborts, "")
		return
	}
	o, err := h.Open(l.Addr(), "/"+e.name)
	if err != nil {
		f.find(Error, e.name, "", err, aborts, "")
		return
	}
	at, err := blockAttrsOf(o)
	if err != nil {
		f.find(Error, e.name, "", err, aborts, "")
		return
	}
	b.addr = l.Addr()
	for _, k := range [...]int{attrIndex, attrIndexOrder, attrCountOrder} {
		d := blockAttrs[k]
		if at[k] == nil {
			if k == attrIndex && !s.deep { // the deep look tells, and goes on
				f.find(Error, e.name, d.name, ErrMissing, aborts, "attribute is missing")
				return
			}
			continue
		}
		if !s.deep && !s.attrShape(f, e.name, at[k], d, d.typ(0)) {
			return
		}
		v, err := at[k].Int64s()
		if err != nil || len(v) != d.n {
			continue
		}
		switch k {
		case attrIndex:
			b.index, b.known = amr.Index{int32(v[0]), int32(v[1]), int32(v[2])}, true
		case attrIndexOrder:
			b.order = v[0]
		case attrCountOrder:
			b.count = v[0]
		}
	}
	s.datasets(f, o, b)
}

// datasets finds the extents of a block's datasets, and holds them against the schema.
func (s *scanner) datasets(f *scannedFile, o *h5.Object, b *scanned) {
	g, err := o.Group()
	if err != nil {
		f.find(Error, b.name, "", err, aborts, "")
		return
	}
	b.data = make([]extent, len(s.schema))
	for i := range b.data {
		b.data[i] = extent{off: -1, elems: -1, addr: -1}
	}
	for l, err := range g.Members() {
		if err != nil {
			f.find(Error, b.name, "", err, aborts, "")
			return
		}
		c, ok := s.byName[l.Name]
		if !ok {
			if strings.HasPrefix(l.Name, fieldPrefix) || strings.HasPrefix(l.Name, particlePrefix) {
				f.find(Error, b.name, l.Name, ErrCorrupt, "ignores it", "block %s has no such dataset", s.first.name)
			} else if s.deep {
				f.find(Note, b.name, l.Name, nil, "ignores it", "neither field nor particles")
			}
			continue
		}
		var d *h5.Dataset
		x, err := g.Open(l)
		if err == nil {
			d, err = x.Dataset()
		}
		if err != nil {
			f.find(Error, b.name, l.Name, err, aborts, "")
			continue
		}
		k := &s.schema[c]
		if d.Type() != k.typ {
			f.find(Error, b.name, l.Name, ErrCorrupt, runsWrong, "type %v, but %v in block %s", d.Type(), k.typ, s.first.name)
			continue
		}
		if !d.SameShape(k.dims) && (strings.HasPrefix(l.Name, fieldPrefix) || d.Rank() != 1) {
			f.find(Error, b.name, l.Name, ErrCorrupt, aborts, "shape %v, but %v in block %s", d.Dims(), k.dims, s.first.name)
			continue
		}
		e := &b.data[c]
		e.elems, e.addr = d.Elems(), l.Addr()
		if off, ok := d.Offset(); ok {
			e.off = off
			if n := d.Bytes(); off > f.size-n && f.size > 0 {
				f.find(Error, b.name, l.Name, ErrTruncated, aborts, "data at %d of %d bytes, the file has %d", off, n, f.size)
			}
		} else if s.deep && d.Storage() == h5.Contiguous && d.Elems() > 0 {
			f.find(Warning, b.name, l.Name, nil, runsWrong, "no data were written to the file: it reads as the fill value")
		}
	}
	for i := range b.data {
		if b.data[i].elems < 0 && !slices.ContainsFunc(f.finds, func(d Finding) bool { return d.Block == b.name && d.Field == s.schema[i].name }) {
			f.find(Error, b.name, s.schema[i].name, ErrMissing, aborts, "dataset is missing, block %s has it", s.first.name)
		}
	}
}
