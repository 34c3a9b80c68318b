package prefixdir

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/scr/record"
	"blobio/scr/kvtree"
)

// The map has one tree for each rank. The trees are stored in a few files: the root rank2file, and rank2file.<level>.<writer>.
//
//	level 0    LEVEL 0, RANKS n, RANK/<rank>/<its tree>
//	level >= 1 LEVEL l, RANKS n, RANK/<writer>/{FILE .<l-1>.<writer>, OFFSET 0}; the highest is rank2file itself
//
// Names and keys of the map files.
const (
	mapName    = "rank2file"
	mapSuffix  = ".scr" // suffix of the names in generations A and B
	keyLevel   = "LEVEL"
	keyRanks   = "RANKS"
	keyRank    = "RANK"
	keyWrapper = "RANK2FILE" // key above the content of a level 0 file, in an example of SCR's documentation
)

// Limits of one map file.
const (
	mapBytes   = 1 << 20
	mapEntries = 8192
	maxLevel   = 16
)

// ourMeta reports whether a file in a metadata folder is written by this package or by other packages of this library, judged by
// its name. Other files are never deleted.
func ourMeta(name string) bool {
	for _, p := range []string{summaryName, mapName, "ctr.", "filemap_", "fmap.", "reddesc", "xor."} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return durable.IsTemp(name) || strings.HasSuffix(name, ".scrfilemap")
}

// ReadMap reads all map files of a dataset of any generation. The error wraps fs.ErrNotExist if one of the files is missing.
func (d *Datasets) ReadMap(p Place) (*Map, error) {
	root, name, err := d.openMap(p)
	if err != nil {
		return nil, err
	}
	r := mapReader{d: d, p: p, seen: map[string]bool{}}
	f := record.Fields{Tree: root, File: name}
	level := f.Int(keyLevel, 0)
	r.m = &Map{Ranks: f.Int(keyRanks, 0), Files: map[int][]File{}}
	if err := f.Err(); err != nil {
		return nil, err
	}
	if level > maxLevel {
		return nil, fault.In(name, keyLevel, fault.ErrCorrupt, "%d, want at most %d", level, maxLevel)
	}
	if err := r.read(root, level, name); err != nil {
		return nil, err
	}
	return r.m, nil
}

// openMap reads the root of the map. If the summary has version 5, the summary itself is the root.
func (d *Datasets) openMap(p Place) (*kvtree.Tree, string, error) {
	var first error
	for _, name := range []string{mapName, mapName + mapSuffix} {
		file := filepath.Join(p.Meta, name)
		t, err := kvtree.ReadFile(d.fs(), file, nil)
		if !errors.Is(err, fs.ErrNotExist) {
			return unwrapMap(t), file, err
		}
		if first == nil {
			first = err
		}
	}
	file := filepath.Join(p.Meta, summaryName)
	t, err := kvtree.ReadFile(d.fs(), file, nil)
	if err == nil && t.GetKVInt(keyVersion, summaryOld) != nil {
		return t, file, nil
	}
	return nil, "", first
}

func unwrapMap(t *kvtree.Tree) *kvtree.Tree {
	if in := t.Get(keyWrapper); in != nil {
		return in
	}
	return t
}

type mapReader struct {
	d    *Datasets
	p    Place
	m    *Map
	seen map[string]bool // files read so far; a second reference to a file is an error
}

// read reads a map file and the files that it refers to.
func (r *mapReader) read(t *kvtree.Tree, level int, name string) error {
	for key, sub := range t.Get(keyRank).All() {
		if level == 0 {
			if err := r.m.add(key, sub, name); err != nil {
				return err
			}
			continue
		}
		f := record.Fields{Tree: sub, File: name, Path: keyRank + "/" + key}
		ref, offset := f.Str(keyFile), f.Int64(keyOffset, 0)
		if err := f.Err(); err != nil {
			return err
		}
		file, err := r.resolve(ref)
		if err != nil {
			return fault.In(name, f.Path+"/"+keyFile, fault.ErrCorrupt, "%v", err)
		}
		if at := fmt.Sprintf("%s@%d", file, offset); r.seen[at] {
			return fault.In(name, f.Path+"/"+keyFile, fault.ErrCorrupt, "%.80q at %d has two references", ref, offset)
		} else {
			r.seen[at] = true
		}
		part, err := r.d.readAt(file, offset)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("part of a map: %w: %w", fault.ErrMissing, err)
		}
		if err != nil {
			return err
		}
		part = unwrapMap(part)
		g := record.Fields{Tree: part, File: file}
		if l := g.Int(keyLevel, 0); g.Err() == nil && l != level-1 {
			return fault.In(file, keyLevel, fault.ErrCorrupt, "%d, want %d", l, level-1)
		}
		if n := g.Int(keyRanks, 0); g.Err() == nil && n > r.m.Ranks {
			return fault.In(file, keyRanks, fault.ErrCorrupt, "%d, want at most %d", n, r.m.Ranks)
		}
		if err := g.Err(); err != nil {
			return err
		}
		if err := r.read(part, level-1, file); err != nil {
			return err
		}
	}
	return nil
}

// resolve returns the name of the file that a reference points to. Generation C stores only the suffix after rank2file (.0.0).
// Older generations store a path (.scr/rank2file.0.0.scr), and resolve uses only its base name.
func (r *mapReader) resolve(ref string) (string, error) {
	base := path.Base(ref)
	if strings.HasPrefix(ref, ".") && !strings.Contains(ref, "/") {
		base = mapName + ref
	}
	if !strings.HasPrefix(base, mapName+".") || strings.ContainsAny(base, "\x00\\") {
		return "", fmt.Errorf("%.80q, want the name of a map file (rank2file.*)", ref)
	}
	return filepath.Join(r.p.Meta, base), nil
}

// readAt reads the record at an offset of a file.
func (d *Datasets) readAt(name string, offset int64) (*kvtree.Tree, error) {
	f, err := d.fs().Open(name)
	if err != nil {
		return nil, err
	}
	size, err := f.Size()
	var rec *kvtree.Record
	if err == nil {
		if offset > size {
			err = fault.In(name, keyOffset, fault.ErrTruncated, "%d, but the file has only %d bytes", offset, size)
		} else {
			rec, err = kvtree.ReadRecord(f, offset, size, &kvtree.Options{File: name})
		}
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return rec.Tree, nil
}

// WriteMap writes the map of a dataset with ranks 0 ... ranks-1 in the form of generation C. It writes the root last. It calls
// files for each rank in turn; files may return no files. WriteMap holds about one part in memory at a time. It first removes the
// parts of an earlier map, because the original SCR reads any file with the name of a part.
func (d *Datasets) WriteMap(id, ranks int, files func(rank int) ([]File, error)) error {
	if ranks < 1 {
		return fault.Usage("map of %d ranks, want at least 1", ranks)
	}
	fresh, err := d.create(id)
	if err != nil {
		return err
	}
	w := mapWriter{d: d, dir: d.Dir(id), ranks: ranks, bytes: mapBytes, entries: mapEntries, fresh: fresh}
	return w.write(files)
}

type mapWriter struct {
	d       *Datasets
	dir     string
	ranks   int
	bytes   int64 // maximum size of a file with more than one entry
	entries int   // maximum number of entries in a file
	fresh   bool  // there is no earlier map
}

// mapPart is a map file that is being assembled.
type mapPart struct {
	level int
	first int // rank of the first entry
	tree  *kvtree.Tree
	bytes int64
}

func (w *mapWriter) write(files func(rank int) ([]File, error)) error {
	if !w.fresh {
		if err := w.removeOld(); err != nil {
			return err
		}
	}
	var refs []mapPart // the parts of one level
	p := mapPart{tree: kvtree.New()}
	for rank := range w.ranks {
		list, err := files(rank)
		if err != nil {
			return err
		}
		t, err := FilesTree(list)
		if err != nil {
			return err
		}
		if err := w.put(&p, rank, t, &refs); err != nil {
			return err
		}
	}
	if err := w.flush(p, &refs); err != nil {
		return err
	}
	for level := 1; ; level++ {
		p := mapPart{level: level, tree: kvtree.New()}
		var next []mapPart
		for _, ref := range refs {
			entry := kvtree.New() // here and in writePart, the keys are in the order that SCR writes
			entry.Value(keyOffset).SetUint64(0)
			entry.Value(keyFile).SetStr(partName(ref))
			if err := w.put(&p, ref.first, entry, &next); err != nil {
				return err
			}
		}
		if len(next) == 0 { // all entries fit into one file, which becomes the root
			return w.writePart(mapName, p)
		}
		if err := w.flush(p, &next); err != nil {
			return err
		}
		refs = next
	}
}

// put adds an entry to a part. If the part is full, put writes it and begins the next part.
func (w *mapWriter) put(p *mapPart, rank int, t *kvtree.Tree, done *[]mapPart) error {
	key := fmt.Sprint(rank)
	size, err := kvtree.PackedSize(t)
	if err != nil {
		return err
	}
	size += int64(len(key)) + 1
	if n := p.tree.Len(); n > 0 && (n >= w.entries || p.bytes+size > w.bytes) {
		if err := w.flush(*p, done); err != nil {
			return err
		}
		*p = mapPart{level: p.level, first: rank, tree: kvtree.New()}
	}
	p.tree.Set(key, t)
	p.bytes += size
	return nil
}

func (w *mapWriter) flush(p mapPart, done *[]mapPart) error {
	*done = append(*done, mapPart{level: p.level, first: p.first})
	return w.writePart(mapName+partName(p), p)
}

// partName returns the suffix of a part's name: the level, and the rank of the part's first entry.
func partName(p mapPart) string { return fmt.Sprintf(".%d.%d", p.level, p.first) }

func (w *mapWriter) writePart(name string, p mapPart) error {
	t := kvtree.New()
	t.Set(keyRank, p.tree)
	t.Value(keyLevel).SetInt(p.level)
	t.Value(keyRanks).SetInt(w.ranks)
	b, err := kvtree.Encode(t)
	if err != nil {
		return err
	}
	if name == mapName { // a durable root shows that its parts are there
		if err := w.d.fs().SyncDir(w.dir); err != nil {
			return err
		}
	}
	return durable.Replace(w.d.fs(), filepath.Join(w.dir, name), b, durable.ReplaceOptions{Sync: true, SyncDir: name == mapName})
}

// removeOld removes the files of an earlier map. It removes the root first.
func (w *mapWriter) removeOld() error {
	list, err := w.d.fs().ReadDir(w.dir)
	if err != nil {
		return err
	}
	removed := false
	for _, e := range list { // the list is sorted, and the root comes first
		if e.IsDir() || e.Name() != mapName && !strings.HasPrefix(e.Name(), mapName+".") {
			continue
		}
		if err := w.d.fs().Remove(filepath.Join(w.dir, e.Name())); err != nil {
			return err
		}
		removed = true
	}
	if removed {
		return w.d.fs().SyncDir(w.dir)
	}
	return nil
}
