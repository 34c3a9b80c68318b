package cello

import (
	"context"
	"errors"
	"hash/crc32"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"blobio/internal/amr"
	"blobio/internal/amr/cellodir"
	"blobio/internal/base/fault"
	"blobio/internal/base/h5"
	"blobio/internal/base/par"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// scanned holds the headers of a block.
type scanned struct {
	name  string
	level int
	file  int32
	addr  int64 // address of its group's object header
	index amr.Index
	order int64 // attribute index_order, then count_order; -1: absent
	count int64
	data  []extent // by column of the schema
	known bool     // index was read
	span  int64    // size of the group, if there is a manifest
	// damaged: the group is unreadable and does not match its checksum. The index was computed from the name.
	damaged bool
}

// extent is the location of a dataset's data in an HDF5 file.
type extent struct {
	off   int64 // file offset of the data if they are contiguous, otherwise -1
	elems int64
	addr  int64 // address of the object header
}

// scannedFile is one HDF5 file with its list.
type scannedFile struct {
	name    string // without suffix
	size    int64
	list    []cellodir.Entry
	blocks  []scanned
	root    rootValues
	listSum uint32 // CRC-32 of the list
	other   bool   // another rank reads this file's list and headers
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

// scanner reads lists and headers of a directory for Open and Verify. If deep is true, the scanner examines every attribute and
// does not stop at errors.
type scanner struct {
	directory
	deep   bool
	files  []*scannedFile
	schema schema
	listB  []byte    // check.file_list
	man    *manifest // nil: there is no manifest, or it has the error manErr
	manErr error
	unsure error // why the block of schema.first may be wrong
}

// directory is a checkpoint directory with its open files.
type directory struct {
	dir  string
	fs   vfs.FS
	pool *subfile.Pool
}

func (f *scannedFile) find(s fault.Severity, at spot, err error, effect, format string, args ...any) {
	at.file = f.name + cellodir.DataSuffix
	f.finds = append(f.finds, finding(s, at, err, effect, format, args...))
}

func checksum(b []byte) uint32 { return crc32.ChecksumIEEE(b) }

// bad reports whether an error was found.
func (f *scannedFile) bad() bool {
	return slices.ContainsFunc(f.finds, func(d Finding) bool { return d.Severity >= Error })
}

// pathOf returns the path of a file in the directory.
func (d *directory) pathOf(name string) string { return filepath.Join(d.dir, name) }

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
func (d *directory) openH5(name string) (*h5.File, int64, error) {
	path := d.pathOf(name + cellodir.DataSuffix)
	f, err := d.pool.Get(path, false)
	if err != nil {
		return nil, 0, err
	}
	size, err := f.Size()
	d.pool.Put(path)
	if err != nil {
		return nil, 0, err
	}
	h, err := h5.NewFile(poolReader{d.pool, path}, size, path)
	return h, size, err
}

// fileList reads check.file_list.
func (s *scanner) fileList() error {
	if _, err := s.fs.Stat(s.pathOf(cellodir.Lock)); err == nil {
		return fault.At(s.pathOf(cellodir.Lock), -1, "", ErrNotCommitted, "the directory is being written, or its writer died")
	}
	b, err := vfs.ReadFile(s.fs, s.pathOf(cellodir.FileList), cellodir.MaxFileList)
	if errors.Is(err, fs.ErrNotExist) {
		if _, derr := s.fs.Stat(s.dir); derr != nil {
			return derr
		}
		return fault.At(s.pathOf(cellodir.FileList), -1, "", ErrNotFormat, "file is missing, so %s is not a checkpoint", s.dir)
	}
	s.listB = b
	return err
}

// lists reads the block lists of all files, or of the files for which mine returns true. It returns only errors of ctx and
// errors in check.file_list, which the caller has read before. A fault in a block list becomes a finding of the file.
func (s *scanner) lists(ctx context.Context, mine func(file int) bool) error {
	names, err := cellodir.DecodeFileList(s.listB, s.pathOf(cellodir.FileList))
	if err != nil {
		return err
	}
	s.files = make([]*scannedFile, len(names))
	return each(ctx, len(names), func(i int) {
		f := &scannedFile{name: names[i]}
		s.files[i] = f
		if f.other = mine != nil && !mine(i); f.other {
			return
		}
		var err error
		if f.list, f.listSum, err = s.blockList(f.name); err != nil {
			f.finds = append(f.finds, finding(Error, spot{file: f.name + cellodir.ListSuffix}, err, aborts, ""))
		}
	})
}

// blockList reads a block list and computes its checksum.
func (d *directory) blockList(name string) ([]cellodir.Entry, uint32, error) {
	path := d.pathOf(name + cellodir.ListSuffix)
	b, err := vfs.ReadFile(d.fs, path, cellodir.MaxBlockList)
	if err != nil {
		return nil, 0, err
	}
	l, err := cellodir.DecodeBlockList(b, path)
	return l, checksum(b), err
}

// openedFile is a file whose blocks are being scanned.
type openedFile struct {
	scannedFile
	win   *window
	h5    *h5.File
	links map[string]h5.Link // groups by name
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
	err := each(ctx, len(s.files), func(i int) {
		if mine == nil || mine(i) {
			h5s[i], links[i] = s.groups(s.files[i])
		}
	})
	if err != nil {
		return err
	}
	if s.schema.cols == nil { // OpenComm has tried before
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
	err = each(ctx, len(work), func(k int) {
		w := work[k]
		part := openedFile{scannedFile: scannedFile{name: s.files[w.file].name, size: s.files[w.file].size}, h5: h5s[w.file], links: links[w.file]}
		part.win = &window{r: poolReader{s.pool, s.pathOf(part.name + cellodir.DataSuffix)}, t: s.schema.template, end: part.size}
		for i := w.from; i < w.to; i++ {
			if ctx.Err() != nil || !s.deep && part.bad() {
				break
			}
			before := len(part.finds)
			s.block(&part, w.to-i-1, s.files[w.file].list[i], &s.files[w.file].blocks[i])
			if !s.deep && part.bad() && s.spare(w.file, i, links[w.file][s.files[w.file].list[i].Name].Addr(), s.end(w.file, i, links[w.file])) {
				part.finds = part.finds[:before]
			}
			s.files[w.file].blocks[i].file = int32(w.file)
		}
		finds[k] = part.finds
	})
	for k, w := range work {
		s.files[w.file].finds = append(s.files[w.file].finds, finds[k]...)
	}
	for i, f := range s.files {
		if links[i] != nil && s.deep {
			f.unlisted(links[i])
		}
	}
	return err
}

func (s *scanner) groups(f *scannedFile) (*h5.File, map[string]h5.Link) {
	h, size, err := s.openH5(f.name)
	f.size = size
	if err != nil {
		f.find(Error, spot{}, err, aborts, "")
		return nil, nil
	}
	root, err := h.Root()
	if err != nil {
		f.find(Error, spot{}, err, aborts, "")
		return nil, nil
	}
	f.rootAttrs(root)
	links := make(map[string]h5.Link, len(f.list))
	for l, err := range root.Members() {
		if err != nil {
			f.find(Error, spot{field: "/"}, err, aborts, "")
			return nil, nil
		}
		links[l.Name] = l
	}
	return h, links
}

// unlisted adds a finding for groups that are in no block list.
func (f *scannedFile) unlisted(links map[string]h5.Link) {
	listed := make(map[string]bool, len(f.list))
	for _, e := range f.list {
		listed[e.Name] = true
	}
	var l []string
	for n := range links {
		if !listed[n] {
			l = append(l, n)
		}
	}
	if len(l) > 0 {
		slices.Sort(l)
		f.find(warning, spot{}, ErrCorrupt, "ignores these groups", "%d groups are not in the block list: %s", len(l), some(l))
	}
}

// some joins the first few names of l.
func some(l []string) string {
	if len(l) > 8 {
		return strings.Join(l[:8], ", ") + ", ..."
	}
	return strings.Join(l, ", ")
}

func (f *scannedFile) rootAttrs(root *h5.Group) {
	r := &f.root
	r.ok = true
	seen, v := map[string]bool{}, map[string][]float64{}
	for a, err := range root.Attrs() {
		if err != nil {
			f.find(Error, spot{field: "/"}, err, aborts, "")
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
		if d := rootAttrs[i]; f.attrShape("", a, d, d.typ(0)) {
			v[a.Name] = float64sOf(a)
		} else {
			r.ok = false
		}
	}
	for _, d := range rootAttrs {
		if !seen[d.name] {
			f.find(Error, spot{field: d.name}, ErrMissing, aborts, "attribute is missing")
			r.ok = false
		}
	}
	if !r.ok {
		return
	}
	r.rank, r.cycle, r.maxLevel = int64(v["rank"][0]), int64(v["cycle"][0]), int64(v["max_level"][0])
	r.time, r.dt = v["time"][0], v["dt"][0]
	copy(r.lower[:], v["lower"])
	copy(r.upper[:], v["upper"])
	if r.rank < 1 || r.rank > 3 {
		f.find(Error, spot{field: "rank"}, ErrCorrupt, "", "%d, want 1 to 3", r.rank)
		r.ok = false
	}
	if r.maxLevel < 0 || r.maxLevel > amr.MaxDepth {
		f.find(Error, spot{field: "max_level"}, ErrCorrupt, crashes, "%d, want 0 to %d", r.maxLevel, amr.MaxDepth)
		r.ok = false
	}
}

// each calls work(0) to work(n-1) on a few goroutines and waits for them.
func each(ctx context.Context, n int, work func(i int)) error {
	_ = par.Each(ctx, par.Workers(0), n, func(_ context.Context, i int) error {
		work(i)
		return nil
	})
	return ctx.Err()
}
