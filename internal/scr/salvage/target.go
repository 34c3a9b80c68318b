package salvage

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/record"
	"blobio/internal/scr/spath"
	"blobio/scr/kvtree"
)

// target is a dataset in the prefix directory.
type target struct {
	dir  *prefixdir.Dir
	fs   vfs.FS
	id   int
	root string // path of the prefix directory, with slashes
	was  string // path of the prefix directory when the dataset was written
	meta string // metadata folder

	claims *claims // see begin

	links bool // the prefix directory was not moved, but links may give it several paths
}

func newTarget(d *prefixdir.Dir, was string, id int) (target, error) {
	if d == nil || d.FS == nil || id < 1 {
		return target{}, fault.Usage("prefix directory or number of the dataset is missing")
	}
	root := d.Path
	if d.FS == vfs.OS {
		abs, err := filepath.Abs(root)
		if err != nil {
			return target{}, err
		}
		root = abs
	}
	p := target{dir: d, fs: d.FS, id: id, root: spath.Reduce(filepath.ToSlash(root)), was: spath.Reduce(filepath.ToSlash(was))}
	if was == "" {
		p.was, p.links = p.root, d.FS == vfs.OS
	}
	p.meta = path.Join(p.root, prefixdir.MetaDir, record.DefaultName(id))
	return p, nil
}

// relative returns the final path of a file. The path is relative to the prefix directory.
func (p target) relative(m record.Meta) (string, error) {
	name := path.Join(m.Path, m.Name)
	if p.links && m.Name != "" && !spath.IsChild(p.was, name) {
		if rel, ok := p.overLinks(name); ok {
			name = path.Join(p.was, rel)
		}
	}
	if m.Name == "" || m.Name != path.Base(m.Name) || !spath.IsChild(p.was, name) {
		return "", fmt.Errorf("%.200q: %w, want a path below the prefix directory %s", name, ErrOutside, p.was)
	}
	rel, err := spath.Relative(p.was, name)
	if err != nil {
		return "", err
	}
	if rel == prefixdir.MetaDir || strings.HasPrefix(rel, prefixdir.MetaDir+"/") {
		return "", fmt.Errorf("%.200q: %w, want a path outside of the metadata folder in %s", name, ErrOutside, p.was)
	}
	return rel, nil
}

// overLinks returns the final path of a file whose recorded path contains other links than the path of the prefix directory.
// Such paths occur because a program gets its working directory without links from the system, but a shell keeps the links that
// it followed.
func (p target) overLinks(name string) (rel string, ok bool) {
	root, err := spath.Real(filepath.FromSlash(p.root))
	if err != nil {
		return "", false
	}
	dir, err := spath.Real(filepath.FromSlash(path.Dir(name))) // the file itself may be a link, which must not be followed
	if err != nil {
		return "", false
	}
	r, n := filepath.ToSlash(root), path.Join(filepath.ToSlash(dir), path.Base(name))
	if !spath.IsChild(r, n) {
		return "", false
	}
	rel, err = spath.Relative(r, n)
	return rel, err == nil
}

// inPlace reports whether a file already has its final path, as with bypass.
func (p target) inPlace(name, rel string) bool {
	if path.Clean(name) == path.Join(p.was, rel) {
		return true
	}
	if !p.links || spath.IsChild(p.was, name) {
		return false
	}
	over, ok := p.overLinks(path.Clean(name))
	return ok && over == rel
}

func (p target) file(rel string) string   { return path.Join(p.root, rel) }
func (p target) metaFile(n string) string { return path.Join(p.meta, n) }
func (p target) filemap(rank int) string  { return p.metaFile("filemap_" + strconv.Itoa(rank)) }
func (p target) sums(rank int) string     { return p.metaFile(sumsPrefix + strconv.Itoa(rank)) }
func (p target) syncDir(rel string) error { return p.fs.SyncDir(path.Dir(p.file(rel))) }
func (p target) makeParent(rel string) error {
	return durable.MkdirAll(p.fs, path.Dir(p.file(rel)), true)
}

// A checksum record holds the checksums of a rank's copies. The original SCR has no such file. It is needed because file maps
// and redundancy files must be copied unchanged, and file maps of the original SCR contain no checksums.
const (
	sumsPrefix  = "filemap_sums." // deleting a dataset also deletes files with the prefix filemap_
	sumsVersion = 1

	keyVersion  = "VERSION"
	keyFile     = "FILE"
	keyMeta     = "META"
	keySize     = "SIZE"
	keyCRC      = "CRC"
	keyDsetDesc = "DSETDESC"
)

type sums struct {
	dataset record.Dataset    // ID is 0 if the record is unknown
	files   map[string]expect // by path relative to the prefix directory
	meta    map[string]expect // by name in the metadata folder
}

func (s sums) tree() *kvtree.Tree {
	t := kvtree.New()
	for _, part := range []struct {
		key  string
		list map[string]expect
	}{{keyMeta, s.meta}, {keyFile, s.files}} {
		list := t.Touch(part.key)
		for name, e := range part.list {
			sub := list.Touch(name)
			sub.Value(keyCRC).SetCRC32(e.crc)
			sub.Value(keySize).SetInt64(e.size)
		}
	}
	t.SortAll()
	if s.dataset.ID > 0 {
		t.Set(keyDsetDesc, s.dataset.Tree())
	}
	t.Value(keyVersion).SetInt(sumsVersion)
	return t
}

func readSums(fsys vfs.FS, name string) (sums, error) {
	t, err := kvtree.ReadFile(fsys, name, nil)
	if err != nil {
		return sums{}, err
	}
	f := record.Fields{Tree: t, File: name}
	if v := f.Int(keyVersion, 0); f.Err() == nil && v != sumsVersion {
		return sums{}, fault.In(name, keyVersion, fault.ErrCorrupt, "%d, want %d", v, sumsVersion)
	}
	s := sums{files: map[string]expect{}, meta: map[string]expect{}}
	if d := t.Get(keyDsetDesc); d.Len() > 0 {
		if s.dataset, err = record.ParseDataset(d, name); err != nil {
			return sums{}, err
		}
	}
	for key, list := range map[string]map[string]expect{keyFile: s.files, keyMeta: s.meta} {
		for n, sub := range t.Get(key).All() {
			f := record.Fields{Tree: sub, File: name, Path: key + "/" + n}
			e := expect{size: f.Int64(keySize, 0)}
			e.crc, e.hasCRC = f.CRC(keyCRC)
			if err := f.Err(); err != nil {
				return sums{}, err
			}
			if key == keyMeta && n != path.Base(n) {
				return sums{}, fault.In(name, key, fault.ErrCorrupt, "%.80q, want the name of a file", n)
			}
			list[n] = e
		}
	}
	return s, f.Err()
}

// rankOfSums returns the rank in the name of a checksum record.
func rankOfSums(name string) (int, bool) {
	text, ok := strings.CutPrefix(name, sumsPrefix)
	if !ok {
		return 0, false
	}
	return record.Number(text)
}

// sameDataset reports whether two records describe the same dataset. A field that one record lacks is ignored.
func sameDataset(a, b record.Dataset) bool {
	if a.ID == 0 || b.ID == 0 {
		return true
	}
	return a.ID == b.ID && a.Name == b.Name && (a.Created.IsZero() || b.Created.IsZero() || a.Created.Equal(b.Created))
}

var errNever = errors.New("the application has not completed the file")
