package kvcomm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"blobio/comm"
	"blobio/internal/vfs"
	"blobio/kvtree"
)

// GatherOptions of Gather. nil means all defaults.
type GatherOptions struct {
	// Segment is how many bytes of packed trees go into a file, about: 4096 ... 2^30, default 1 MiB as in the reference.
	Segment int64
	Read    *kvtree.Options
}

// The default and the range of Segment. An entry of an index takes less than 64 bytes, so each level of indexes is much
// smaller than the one below.
const (
	defaultSegment = 1 << 20
	leastSegment   = 4096
	mostSegment    = 1 << 30
)

// Validate returns an error that wraps kvtree.ErrUsage if a field is out of range.
func (o *GatherOptions) Validate() error {
	if o == nil {
		return nil
	}
	if o.Segment != 0 && (o.Segment < leastSegment || o.Segment > mostSegment) {
		return fmt.Errorf("kvcomm: GatherOptions.Segment is %d, want %d to %d: %w", o.Segment, leastSegment, mostSegment, kvtree.ErrUsage)
	}
	return o.Read.Validate()
}

// Gather writes the trees of all ranks as a gather (kvtree.ReadGather, Scatter): <prefix>.0.<writer> holds the trees,
// <prefix> is the index, and <prefix>.<level>.<writer> are indexes between, where one file would be over Segment. A writer
// is the first rank of those whose trees it writes. Everything below <prefix> is durable before <prefix> is written. Files
// are replaced one by one: a gather should not be written over another that is still needed.
func Gather(ctx context.Context, c comm.Comm, fsys vfs.FS, prefix string, t *kvtree.Tree, o *GatherOptions) error {
	err := o.Validate()
	segment, opts := int64(defaultSegment), (*kvtree.Options)(nil)
	if err == nil && o != nil {
		opts = o.Read
		if o.Segment != 0 {
			segment = o.Segment
		}
	}
	have := true // this rank has an entry for the level
	for level := 0; ; level++ {
		var size int64
		if err == nil && have {
			size, err = t.PackedSize()
		}
		if err := comm.Agree(ctx, c, err); err != nil {
			return err
		}
		writer, one, err := pickWriter(ctx, c, size, segment)
		if err != nil {
			return err
		}
		send := kvtree.New()
		if have {
			send.Set(strconv.Itoa(writer), t)
		}
		entries, err := Exchange(ctx, c, send, opts)
		if err != nil {
			return err
		}
		ref := kvtree.GatherRef{File: fmt.Sprintf(".%d.%d", level, writer)}
		top := one && level > 0
		if top {
			ref.File = ""
		}
		have = writer == c.Rank()
		if have {
			file := kvtree.GatherFile{Level: level, Ranks: c.Size(), Entries: entries}
			err = kvtree.WriteFile(fsys, prefix+ref.File, file.Tree())
		}
		if err := comm.Agree(ctx, c, err); err != nil || top {
			return err
		}
		t = ref.Entry()
	}
}

// pickWriter cuts the ranks where their bytes, one after the other, cross a multiple of segment. It returns the first rank
// of the part that this rank is in, and whether there is just one part.
func pickWriter(ctx context.Context, c comm.Comm, size, segment int64) (writer int, one bool, err error) {
	before, err := comm.ExscanOne(ctx, c, size, comm.Sum)
	if err != nil {
		return 0, false, err
	}
	own := int64(-1)
	if c.Rank() == 0 || size > 0 && (before+size-1)/segment > before/segment {
		own = int64(c.Rank())
	}
	last, err := comm.ExscanOne(ctx, c, own, comm.Max)
	if err != nil {
		return 0, false, err
	}
	highest, err := comm.AllreduceOne(ctx, c, own, comm.Max)
	if err != nil {
		return 0, false, err
	}
	if own >= 0 || c.Rank() == 0 {
		last = own
	}
	return int(last), highest == 0, nil
}

// Scatter reads a gather and returns the tree of this rank. The number of ranks must be that of the gather; for others
// there is kvtree.ReadGather. Each file is read by one rank. A missing file or tree is an error that wraps
// kvtree.ErrMissing.
func Scatter(ctx context.Context, c comm.Comm, fsys vfs.FS, prefix string, opts *kvtree.Options) (*kvtree.Tree, error) {
	var file *kvtree.GatherFile
	var err error
	if c.Rank() == 0 {
		if file, err = kvtree.ReadGatherFile(fsys, prefix, kvtree.GatherRef{}, opts); err == nil && file.Level == 0 {
			err = fmt.Errorf("kvcomm: %s is level 0 of a gather, want an index: %w", prefix, kvtree.ErrCorrupt)
		}
	}
	if err := comm.Agree(ctx, c, err); err != nil {
		return nil, err
	}
	head := []int64{0, 0}
	if file != nil {
		head = []int64{int64(file.Level), int64(file.Ranks)}
	}
	if head, err = comm.Allreduce(ctx, c, head, comm.Max); err != nil {
		return nil, err
	}
	ranks := int(head[1])
	if ranks != c.Size() {
		return nil, fmt.Errorf("kvcomm: %s is of %d ranks, not %d: %w", prefix, ranks, c.Size(), kvtree.ErrUsage)
	}
	for level := int(head[0]); ; level-- {
		send := kvtree.New()
		if file != nil {
			send = file.Entries
		}
		recv, err := Exchange(ctx, c, send, opts)
		if err != nil {
			return nil, err
		}
		_, entry := recv.First()
		if level == 0 {
			switch n := recv.Len(); {
			case n == 0:
				err = fmt.Errorf("kvcomm: %s has no tree of rank %d: %w", prefix, c.Rank(), kvtree.ErrMissing)
			case n > 1:
				err = fmt.Errorf("kvcomm: %s has %d trees of rank %d: %w", prefix, n, c.Rank(), kvtree.ErrCorrupt)
			}
			if err := comm.Agree(ctx, c, err); err != nil {
				return nil, err
			}
			return entry, nil
		}
		file, err = readPart(fsys, prefix, recv, level-1, ranks, opts)
		if err := comm.Agree(ctx, c, err); err != nil {
			return nil, err
		}
	}
}

// readPart reads the file that an index refers this rank to; nil if to none.
func readPart(fsys vfs.FS, prefix string, recv *kvtree.Tree, level, ranks int, opts *kvtree.Options) (*kvtree.GatherFile, error) {
	if recv.Len() == 0 {
		return nil, nil
	}
	if recv.Len() > 1 {
		return nil, fmt.Errorf("kvcomm: two indexes of %s name a file of one writer: %w", prefix, kvtree.ErrCorrupt)
	}
	_, entry := recv.First()
	ref, err := kvtree.ParseGatherRef(entry)
	if err != nil {
		return nil, err
	}
	file, err := kvtree.ReadGatherFile(fsys, prefix, ref, opts)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("kvcomm: part of a gather: %w: %w", kvtree.ErrMissing, err)
	}
	if err == nil && (file.Level != level || file.Ranks != ranks) {
		err = fmt.Errorf("kvcomm: %s%s is level %d of %d ranks, want %d of %d: %w",
			prefix, ref.File, file.Level, file.Ranks, level, ranks, kvtree.ErrCorrupt)
	}
	return file, err
}
