package cello

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"blobio/internal/amr"
	"blobio/internal/amr/cellodir"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// OpenOptions are the options of Open and Restart. A nil pointer means the defaults.
type OpenOptions struct {
	// AcceptScrambled makes reads of scrambled fields return the cells in file order. Default: such reads return ErrScrambled.
	// Meta marks the scrambled fields, and copies written with this Meta keep the mark.
	AcceptScrambled bool
	// NoVerify skips the comparison with the manifest's checksums, to rescue data from a damaged checkpoint. Meta().Unverified is
	// then set, and copies are marked. Default: reading a group or dataset that does not match its checksum returns ErrChecksum.
	NoVerify bool

	FS vfs.FS // default (nil): the file system of the operating system
}

// Open opens a checkpoint of Enzo-E, or a checkpoint or dump of Write. It reads the lists and the headers of all blocks but no
// data. Its time is linear in the number of blocks. If a part is unreadable, Open returns the first error; Verify finds all
// errors.
func Open(ctx context.Context, dir string, o *OpenOptions) (*Checkpoint, error) {
	s := newScanner(dir, o)
	k, err := s.open(ctx, o)
	if err != nil {
		return nil, errors.Join(err, s.pool.Close())
	}
	return k, nil
}

func newScanner(dir string, o *OpenOptions) *scanner {
	fsys := vfs.OS
	if o != nil {
		fsys = vfs.OrOS(o.FS)
	}
	return &scanner{directory: directory{dir, fsys, subfile.NewPool(fsys, 0)}}
}

func (s *scanner) open(ctx context.Context, o *OpenOptions) (*Checkpoint, error) {
	if err := s.fileList(); err != nil {
		return nil, err
	}
	if err := s.lists(ctx, nil); err != nil {
		return nil, err
	}
	s.loadManifest()
	if err := s.headers(ctx, nil); err != nil {
		return nil, err
	}
	return s.checkpoint(o)
}

func (s *scanner) firstError() error {
	for _, f := range s.files {
		for i := range f.finds {
			if f.finds[i].Severity >= Error {
				return s.located(&f.finds[i])
			}
		}
	}
	return nil
}

func (s *scanner) located(d *Finding) error {
	err := asError(d)
	if fe, ok := err.(*FormatError); ok && d.Err != error(fe) {
		fe.File = s.pathOf(fe.File)
	}
	return err
}

func (s *scanner) checkpoint(o *OpenOptions) (*Checkpoint, error) {
	if err := s.firstError(); err != nil {
		return nil, err
	}
	k := &Checkpoint{openFiles: newOpenFiles(s)}
	if o != nil {
		k.opt = *o
	}
	man, err := s.manifest()
	switch {
	case err == nil && man != nil:
		k.man = man
		s.spans(man)
	case err == nil:
	case !k.opt.NoVerify:
		return nil, err
	default: // the data common to all files may still be true
		k.man = &manifest{}
		if s.man != nil {
			k.man.Dump, k.man.Broken, k.man.Reversed = s.man.Dump, s.man.Broken, s.man.Reversed
		}
	}
	if s.unsure != nil && !k.opt.NoVerify {
		return nil, damaged(s.unsure)
	}
	if err := s.describe(k); err != nil {
		return nil, err
	}
	if err := s.arrange(k); err != nil {
		return nil, err
	}
	if man != nil && !k.opt.NoVerify {
		if err := k.sums.match(man, k.cols, s.pathOf(cellodir.Manifest)); err != nil {
			return nil, err
		}
	}
	k.meta.Files = len(k.Files())
	k.meta.Unverified = k.man != nil && (k.man.Unverified || k.opt.NoVerify)
	for f := range k.meta.Fields {
		k.meta.Fields[f].Scrambled = k.scrambled(f)
	}
	return k, nil
}

// loadManifest reads the manifest, if there is one.
func (s *scanner) loadManifest() {
	b, err := vfs.ReadFile(s.fs, s.pathOf(cellodir.Manifest), maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil {
		s.man, err = decodeManifest(b, s.pathOf(cellodir.Manifest))
	}
	s.manErr = err
}

// manifest returns the loaded manifest, or nil if there is none. It compares the manifest with the lists and the files.
func (s *scanner) manifest() (*manifest, error) {
	m := s.man
	if m == nil {
		return nil, s.manErr
	}
	if got := checksum(s.listB); got != uint32(m.List) {
		return nil, fault.At(s.pathOf(cellodir.FileList), 0, "checksum", ErrChecksum, "%08x, the manifest says %08x", got, uint32(m.List))
	}
	if len(m.Files) != len(s.files) {
		return nil, fault.At(s.pathOf(cellodir.Manifest), -1, "files", ErrCorrupt, "%d, check.file_list has %d", len(m.Files), len(s.files))
	}
	for i, f := range s.files {
		e := &m.Files[i]
		switch {
		case e.Name != f.name:
			return nil, fault.At(s.pathOf(cellodir.Manifest), -1, fmt.Sprintf("files[%d].name", i), ErrCorrupt, "%s, check.file_list has %s", e.Name, f.name)
		case uint32(e.List) != f.listSum:
			return nil, fault.At(s.pathOf(f.name+cellodir.ListSuffix), 0, "checksum", ErrChecksum, "%08x, the manifest says %08x", f.listSum, uint32(e.List))
		case f.size != 0 && e.Size != f.size:
			return nil, fault.At(s.pathOf(f.name+cellodir.DataSuffix), -1, "size", ErrTruncated, "%d bytes, the manifest says %d", f.size, e.Size)
		case e.Blocks != len(f.list):
			return nil, fault.At(s.pathOf(cellodir.Manifest), -1, fmt.Sprintf("files[%d].blocks", i), ErrCorrupt, "%d, the list has %d", e.Blocks, len(f.list))
		}
	}
	return m, nil
}

// arrange compares each block's index with its name, finds duplicates and sorts the blocks.
func (s *scanner) arrange(k *Checkpoint) error {
	m := &k.meta
	k.tree = amr.NewTree(&m.Geometry)
	n := 0
	for _, f := range s.files {
		k.files = append(k.files, fileInfo{name: f.name, size: f.size, blocks: len(f.blocks)})
		n += len(f.blocks)
	}
	k.tree.Grow(n)
	k.recs = make([]scanned, 0, n)
	np := make([]int64, len(m.Particles))
	k.sums.listAt = make([]int32, 0, n)
	for _, f := range s.files {
		for i := range f.blocks {
			b := &f.blocks[i]
			d := checkIndex(m, b)
			if err := k.particleCounts(b, np); err != nil && d == nil {
				bad := finding(Error, spot{block: b.name}, ErrCorrupt, "", "%v", err)
				d = &bad
			}
			listed := func(err error) error {
				bad := finding(Error, spot{file: f.name + cellodir.ListSuffix, block: b.name}, errors.Join(ErrCorrupt, err), "", "%v", err)
				return s.located(&bad)
			}
			if d != nil && (b.damaged || s.spare(int(b.file), i, b.addr, b.addr+b.span)) {
				// The name is right, because the list's checksum matched.
				x, _, err := amr.ParseName(b.name, m.Roots, b.level)
				if err != nil {
					return listed(err)
				}
				b.index = x
				d = checkIndex(m, b)
			}
			if d != nil {
				d.File = f.name + cellodir.DataSuffix
				return s.located(d)
			}
			if err := k.tree.Add(b.index); err != nil {
				return listed(err)
			}
			k.recs = append(k.recs, *b)
			k.sums.listAt = append(k.sums.listAt, int32(i))
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
	for i, p := range place {
		b := &k.recs[p]
		recs[i], at[i] = *b, k.sums.listAt[p]
		_ = k.particleCounts(b, np) // checked above
		info := BlockInfo{Index: b.index, Name: b.name, Level: b.level, File: int(b.file), Order: b.order, Leaf: k.tree.Leaf(b.index)}
		for c := range k.cols {
			info.Bytes += k.cols[c].size(np)
		}
		if k.man != nil && k.man.Costs {
			info.Cost = k.man.Files[b.file].Costs[at[i]]
		}
		k.blocks[i] = info
	}
	k.recs, k.sums.listAt = recs, at
	k.tree.Sorted()
	return nil
}

func checkIndex(m *amr.Meta, b *scanned) *Finding {
	x := b.index
	var d Finding
	if err := m.Contains(x); err != nil {
		d = finding(Error, spot{block: b.name, field: "index"}, errors.Join(ErrCorrupt, err), "", "%v", err)
	} else if l := x.Level(); l != b.level {
		d = finding(Error, spot{block: b.name, field: "index"}, ErrCorrupt, hangs, "%v is of level %d, the block list says %d", x, l, b.level)
	} else if n := x.Name(m.Rank, m.Roots); n != b.name {
		d = finding(Error, spot{block: b.name, field: "index"}, ErrCorrupt, runsWrong, "index %v also belongs to block %s", x, n)
	} else {
		return nil
	}
	return &d
}

// permutation reports whether the order numbers are 0 to n-1, each once.
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

var _ io.ReaderAt = poolReader{}
