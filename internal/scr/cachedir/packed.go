package cachedir

import (
	"encoding/base64"
	"maps"
	"path"
	"slices"
	"strconv"

	"blobio/internal/scr/record"
	"blobio/internal/vfs"
	"blobio/scr/kvtree"
)

// The packed layout is ours: one file for the metadata of all ranks of a node, where the reference has six per rank.
const (
	packedName    = "node.scrinfo"
	packedVersion = 1
	keyVersion    = "VERSION"
	keyCopy       = "COPY"
)

// Packed is the metadata of all ranks of a node of one dataset: the file .scr/node.scrinfo in its folder. It stands
// for their file maps, for what protects those, and for the state of DataGroup.
type Packed struct {
	Maps   map[int]*Filemap // of the ranks on the node
	Copies map[int]*Filemap // of their left neighbours in the redundancy sets: as many as losses are survived
	State  int              // of DataGroup: StateCorrupt or StateEncoded; 0: not protected
	Entry  *Cached          // of the dataset in the catalogue, for Rebuild; nil: not known
	// Files are further small files of MetaDir, by their base names: descriptors and checksums of redundancy files.
	Files map[string][]byte
}

// PackedName is the name of the packed metadata in the folder of a dataset.
func PackedName(dir string) string { return path.Join(MetaDir(dir), packedName) }

// ReadPacked reads the packed metadata in the folder of a dataset. If there is none the error wraps fs.ErrNotExist;
// damage is a *FormatError.
func ReadPacked(fsys vfs.FS, dir string) (*Packed, error) {
	name := PackedName(dir)
	t, err := kvtree.ReadFile(fsys, name, nil)
	if err != nil {
		return nil, err
	}
	f := record.Fields{Tree: t, Pkg: pkg, File: name}
	version := f.Int(keyVersion, 0)
	p := &Packed{State: f.Int(keyState, 0)}
	if err := f.Err(); err != nil {
		return nil, err
	}
	if version != packedVersion {
		return nil, badField(name, keyVersion, "%d, want %d", version, packedVersion)
	}
	if p.State > StateEncoded {
		return nil, badField(name, keyState, "%d, want at most %d", p.State, StateEncoded)
	}
	if p.Maps, err = unpackMaps(t.Get(keyRank), keyRank, name); err != nil {
		return nil, err
	}
	if p.Copies, err = unpackMaps(t.Get(keyCopy), keyCopy, name); err != nil {
		return nil, err
	}
	if c, err := ParseCatalog(t, name); err != nil {
		return nil, err
	} else if all := c.Entries(); len(all) > 0 {
		p.Entry = &all[0]
	}
	p.Files = map[string][]byte{}
	for base, sub := range t.Get(keyFile).All() {
		text, _ := sub.First()
		b, err := base64.RawStdEncoding.DecodeString(text)
		if err != nil || base == "" || path.Base(base) != base {
			return nil, badField(name, keyFile, "%.200q, want the base name of a file, with its bytes in base64", base)
		}
		p.Files[base] = b
	}
	return p, nil
}

func unpackMaps(t *kvtree.Tree, field, file string) (map[int]*Filemap, error) {
	maps := map[int]*Filemap{}
	for key, sub := range t.All() {
		rank, ok := number(key)
		if !ok {
			return nil, badField(file, field, "%.40q, want a rank", key)
		}
		m, err := ParseFilemap(sub, file)
		if err != nil {
			return nil, err
		}
		maps[rank] = m
	}
	return maps, nil
}

// Write replaces the packed metadata in the folder of a dataset.
func (p *Packed) Write(fsys vfs.FS, dir string) error {
	t := kvtree.New()
	if p.Entry != nil {
		t = p.Entry.tree()
	}
	for _, part := range []struct {
		key  string
		maps map[int]*Filemap
	}{{keyCopy, p.Copies}, {keyRank, p.Maps}} {
		if len(part.maps) == 0 {
			continue
		}
		list := t.Touch(part.key)
		for _, rank := range slices.Backward(slices.Sorted(maps.Keys(part.maps))) {
			list.Set(strconv.Itoa(rank), part.maps[rank].Tree().Clone())
		}
	}
	for _, base := range slices.Backward(slices.Sorted(maps.Keys(p.Files))) {
		t.SetAt(kvtree.New(), keyFile, base, base64.RawStdEncoding.EncodeToString(p.Files[base]))
	}
	if p.State != 0 {
		t.SetInt(keyState, p.State)
	}
	t.SetInt(keyVersion, packedVersion)
	return kvtree.WriteFile(fsys, PackedName(dir), t)
}
