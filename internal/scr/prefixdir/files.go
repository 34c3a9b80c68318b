package prefixdir

import (
	"fmt"
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"

	"blobio/internal/base/fault"
	"blobio/internal/scr/record"
	"blobio/scr/kvtree"
)

// Keys of a file entry in the map.
const (
	keyFile    = "FILE"
	keySize    = "SIZE"
	keyCRC     = "CRC"
	keyNoFetch = "NOFETCH"
	keySeg     = "SEG"
	keyOffset  = "OFFSET"
	keyLength  = "LENGTH"
)

// Segment is a piece of a file that lies in a container.
type Segment struct {
	File   string // path of the container: slash-separated, relative to Place.Data
	Offset int64  // offset in the container, in bytes
	Length int64  // in bytes
}

// File describes a file of a dataset in the prefix directory.
type File struct {
	Path     string // slash-separated, relative to Place.Data and always below it
	Size     int64  // in bytes, if HasSize
	HasSize  bool   // false in maps of SCR 3, which does not record sizes; true in maps of this library
	CRC      uint32 // CRC-32 of the file, if HasCRC
	HasCRC   bool
	Failed   bool      // the file could not be written
	NoFetch  bool      // the file is a redundancy file, which the application does not get back
	Segments []Segment // pieces in containers; empty if the file itself holds the bytes
	Extra    *kvtree.Tree
}

var fileKeys = map[string]bool{keySize: true, keyCRC: true, keyNoFetch: true, keySeg: true, keyComplete: true}

// maxSegments is the maximum number of segments of one file.
const maxSegments = 1 << 20

// checkPath returns an error if p does not lead to a place below its base folder.
func checkPath(p string) error {
	if p == "" || path.IsAbs(p) || strings.ContainsAny(p, "\x00\\") || path.Clean(p) == "." || !fs.ValidPath(path.Clean(p)) {
		return fmt.Errorf("%.80q, want a path below the folder", p)
	}
	return nil
}

// ParseFiles reads the map entries of one rank. t is the tree that contains the key FILE. ParseFiles checks paths, numbers
// and segments. Errors name the file where.
func ParseFiles(t *kvtree.Tree, where string) ([]File, error) {
	var all []File
	for name, sub := range t.Get(keyFile).All() {
		if err := checkPath(name); err != nil {
			return nil, fault.In(where, keyFile, fault.ErrCorrupt, "%v", err)
		}
		f := record.Fields{Tree: sub, File: where, Path: name}
		file := File{Path: name, HasSize: sub.Has(keySize), Size: f.Int64(keySize, 0)}
		file.CRC, file.HasCRC = f.CRC(keyCRC)
		file.Failed = sub.Has(keyComplete) && !f.Bool(keyComplete)
		if sub.Has(keyNoFetch) {
			file.NoFetch = sub.GetKV(keyNoFetch, "0") == nil
		}
		if err := f.Err(); err != nil {
			return nil, err
		}
		var err error
		if file.Segments, err = parseSegments(sub.Get(keySeg), file, where); err != nil {
			return nil, err
		}
		file.Extra = record.Extra(sub, fileKeys)
		all = append(all, file)
	}
	return all, nil
}

func parseSegments(t *kvtree.Tree, file File, where string) ([]Segment, error) {
	n := t.Len()
	if n == 0 {
		return nil, nil
	}
	field := file.Path + "/" + keySeg
	if n > maxSegments {
		return nil, fault.In(where, field, fault.ErrCorrupt, "%d segments, want at most %d", n, maxSegments)
	}
	all := make([]Segment, n)
	var total int64
	for i := range all {
		sub := t.Get(strconv.Itoa(i))
		if sub == nil {
			return nil, fault.In(where, field, fault.ErrCorrupt, "%d segments, but none with number %d", n, i)
		}
		f := record.Fields{Tree: sub, File: where, Path: field + "/" + strconv.Itoa(i)}
		s := Segment{File: f.Str(keyFile), Offset: f.Int64(keyOffset, 0), Length: f.Int64(keyLength, 0)}
		if err := f.Err(); err != nil {
			return nil, err
		}
		if err := checkPath(s.File); err != nil {
			return nil, fault.In(where, f.Path+"/"+keyFile, fault.ErrCorrupt, "%v", err)
		}
		if s.Length > math.MaxInt64-s.Offset || s.Length > math.MaxInt64-total {
			return nil, fault.In(where, f.Path, fault.ErrCorrupt, "offset %d and length %d are too large", s.Offset, s.Length)
		}
		total += s.Length
		all[i] = s
	}
	if file.HasSize && total != file.Size {
		return nil, fault.In(where, field, fault.ErrCorrupt, "segments of %d bytes, want %d", total, file.Size)
	}
	return all, nil
}

// FilesTree makes the tree of one rank's map entries: FILE/<path>/... The ranks gather these trees into the map.
func FilesTree(files []File) (*kvtree.Tree, error) {
	t := kvtree.New()
	list := t.Touch(keyFile)
	for i := len(files) - 1; i >= 0; i-- { // backwards, because a tree lists the key that was set last first
		f := files[i]
		if err := checkPath(f.Path); err != nil {
			return nil, fault.Usage("file: %w", err)
		}
		if list.Has(f.Path) {
			return nil, fault.Usage("file %.80q is listed twice", f.Path)
		}
		sub := list.Touch(f.Path)
		if f.Extra != nil {
			sub.Merge(f.Extra)
		}
		if len(f.Segments) > 0 {
			seg := sub.Touch(keySeg)
			for n := len(f.Segments) - 1; n >= 0; n-- {
				s := f.Segments[n]
				if err := checkPath(s.File); err != nil {
					return nil, fault.Usage("container: %w", err)
				}
				one := seg.Touch(strconv.Itoa(n))
				one.Value(keyLength).SetInt64(s.Length)
				one.Value(keyOffset).SetInt64(s.Offset)
				one.Value(keyFile).SetStr(s.File)
			}
		}
		if f.NoFetch {
			sub.Value(keyNoFetch).SetInt(1)
		}
		if f.Failed {
			sub.Value(keyComplete).SetInt(0)
		}
		if f.HasCRC {
			sub.Value(keyCRC).SetCRC32(f.CRC)
		}
		if f.HasSize {
			sub.Value(keySize).SetInt64(f.Size)
		}
	}
	return t, nil
}
