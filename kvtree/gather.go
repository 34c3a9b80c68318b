package kvtree

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strconv"
	"strings"

	"blobio/internal/vfs"
)

// A gather keeps one tree per rank in few files. Keys of its files.
const (
	keyLevel  = "LEVEL"
	keyRanks  = "RANKS"
	keyRank   = "RANK"
	keyFile   = "FILE"
	keyOffset = "OFFSET"
)

// gatherEntries is how many ranks the reference puts in one file when one process writes all.
const gatherEntries = 8192

// maxLevels of the index files of a gather: with 1 MiB in each, two are enough for 10^8 ranks.
const maxLevels = 16

// WriteGather writes the trees below the ranks 0 ... ranks-1 of t as a gather: prefix is the index, <prefix>.0.<first rank>
// holds up to perFile ranks (0: 8192). All parts are written before the index, each as by WriteFile. t is left as it
// is, the order within each rank's tree is turned around, as the reference does.
func WriteGather(fsys vfs.FS, prefix string, t *Tree, ranks, perFile int) error {
	fsys = orOS(fsys)
	if perFile == 0 {
		perFile = gatherEntries
	}
	have, err := t.Ints()
	if err != nil {
		return err
	}
	if ranks < 1 || perFile < 0 || len(have) != ranks {
		return fmt.Errorf("kvtree: gather of %d trees, %d ranks, %d in a file: %w", len(have), ranks, perFile, ErrUsage)
	}
	index := New()
	index.SetInt(keyLevel, 1)
	for first := 0; first < ranks; first += perFile {
		part := New()
		part.SetInt(keyLevel, 0)
		part.SetInt(keyRanks, ranks)
		for rank := first; rank < min(ranks, first+perFile); rank++ {
			sub := t.Get(strconv.Itoa(rank))
			if sub == nil {
				return fmt.Errorf("kvtree: gather without rank %d: %w", rank, ErrUsage)
			}
			part.SetKVInt(keyRank, rank).Merge(sub)
		}
		name := ".0." + strconv.Itoa(first)
		if err := WriteFile(fsys, prefix+name, part); err != nil {
			return err
		}
		entry := index.SetKVInt(keyRank, first)
		entry.SetStr(keyFile, name)
		entry.SetBytes(keyOffset, 0)
	}
	index.SetInt(keyRanks, ranks)
	return WriteFile(fsys, prefix, index)
}

// GatherRef says where a file of a gather is: the end of its name, behind the prefix, and the offset of its record in
// bytes. The zero GatherRef is the index of the highest level.
type GatherRef struct {
	File   string
	Offset int64
}

// GatherFile is a file of a gather.
type GatherFile struct {
	Level   int   // 0: Entries are the trees of ranks; else they are references, by rank of the writer
	Ranks   int   // of the whole gather
	Entries *Tree // by rank
}

// ReadGatherFile reads one file of a gather.
func ReadGatherFile(fsys vfs.FS, prefix string, ref GatherRef, o *Options) (*GatherFile, error) {
	opts, err := o.fill()
	if err != nil {
		return nil, err
	}
	name := prefix + ref.File
	t, err := readAt(orOS(fsys), name, ref.Offset, &opts)
	if err != nil {
		return nil, err
	}
	g := &GatherFile{Entries: t.Get(keyRank)}
	if g.Level, err = t.Int(keyLevel); err != nil || g.Level < 0 || g.Level > maxLevels {
		return nil, gatherFault(name, keyLevel, ErrCorrupt, "%d, want 0 to %d (%v)", g.Level, maxLevels, err)
	}
	if g.Ranks, err = t.Int(keyRanks); err != nil || g.Ranks < 0 || int64(g.Ranks) > opts.MaxElements {
		return nil, gatherFault(name, keyRanks, ErrCorrupt, "%d, want 0 to %d (%v)", g.Ranks, opts.MaxElements, err)
	}
	for key := range g.Entries.All() {
		if rank, err := strconv.Atoi(key); err != nil || rank < 0 || rank >= g.Ranks || strconv.Itoa(rank) != key {
			return nil, gatherFault(name, keyRank, ErrCorrupt, "%.40q, want a rank below %d", key, g.Ranks)
		}
	}
	return g, nil
}

// ParseGatherRef reads an entry of an index. It is an error if the file would not be beside the prefix.
func ParseGatherRef(entry *Tree) (GatherRef, error) {
	suffix, err := entry.Str(keyFile)
	if err != nil {
		return GatherRef{}, gatherFault("", keyFile, ErrCorrupt, "%v", err)
	}
	if suffix == "" || strings.ContainsAny(suffix, `/\`) {
		return GatherRef{}, gatherFault("", keyFile, ErrCorrupt, "%.80q, want the end of a file name", suffix)
	}
	offset, err := entry.Bytes(keyOffset)
	if err != nil || offset > math.MaxInt64 {
		return GatherRef{}, gatherFault("", keyOffset, ErrCorrupt, "%d (%v)", offset, err)
	}
	return GatherRef{suffix, int64(offset)}, nil
}

// Entry makes the entry of an index that refers to a file. The order of its keys is that of the parallel
// programs of the reference.
func (r GatherRef) Entry() *Tree {
	t := New()
	t.SetBytes(keyOffset, uint64(r.Offset))
	t.SetStr(keyFile, r.File)
	return t
}

// Tree makes the tree of a file of a gather, in the order of the parallel programs of the reference. It holds
// g.Entries itself.
func (g *GatherFile) Tree() *Tree {
	t := New()
	t.Set(keyRank, g.Entries)
	t.SetInt(keyLevel, g.Level)
	t.SetInt(keyRanks, g.Ranks)
	return t
}

func gatherFault(file, field string, class error, format string, args ...any) error {
	return &FormatError{Pkg: "kvtree", File: file, Offset: -1, Field: field, Msg: fmt.Sprintf(format, args...), Err: class}
}

// ReadGather reads a gather of any number of levels and returns the tree of each rank below its number. It must hold
// each rank 0 ... RANKS-1 once: a part or a rank that is missing is an error that wraps ErrMissing. The limits of o are
// for each file, MaxElements also for the ranks.
func ReadGather(fsys vfs.FS, prefix string, o *Options) (*Tree, error) {
	root, err := ReadGatherFile(fsys, prefix, GatherRef{}, o)
	if err != nil {
		return nil, err
	}
	if root.Level == 0 {
		return nil, gatherFault(prefix, keyLevel, ErrCorrupt, "0, want an index")
	}
	all := New()
	files := []*GatherFile{root}
	seen := map[GatherRef]bool{}
	for level := root.Level - 1; level >= 0; level-- {
		var next []*GatherFile
		for _, file := range files {
			for _, entry := range file.Entries.All() {
				ref, err := ParseGatherRef(entry)
				if err != nil {
					return nil, err
				}
				part, err := ReadGatherFile(fsys, prefix, ref, o)
				if errors.Is(err, fs.ErrNotExist) {
					err = fmt.Errorf("kvtree: part of a gather: %w: %w", ErrMissing, err)
				}
				if err != nil {
					return nil, err
				}
				if seen[ref] || part.Level != level || part.Ranks != root.Ranks {
					return nil, gatherFault(prefix+ref.File, keyLevel, ErrCorrupt,
						"level %d of %d ranks, want level %d of %d, each file once", part.Level, part.Ranks, level, root.Ranks)
				}
				seen[ref] = true
				if level > 0 {
					next = append(next, part)
					continue
				}
				for rank, t := range part.Entries.All() {
					if all.Has(rank) {
						return nil, gatherFault(prefix+ref.File, keyRank, ErrCorrupt, "rank %s in two files", rank)
					}
					all.Set(rank, t)
				}
			}
		}
		files = next
	}
	if all.Len() != root.Ranks {
		return nil, gatherFault(prefix, keyRank, ErrMissing, "trees of %d ranks, want %d", all.Len(), root.Ranks)
	}
	return all, nil
}

// readAt reads the record at an offset of a file.
func readAt(fsys vfs.FS, name string, offset int64, o *Options) (*Tree, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	named := *o
	named.File = name
	size, err := f.Size()
	var r *Record
	if err == nil {
		if offset > size {
			err = named.fault(size, "record", ErrTruncated, "wanted at %d, the file has %d bytes", offset, size)
		} else {
			r, err = ReadRecord(f, offset, size, &named)
		}
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return r.Tree, nil
}
