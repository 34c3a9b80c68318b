package ffformat

import (
	"blobio/internal/base/fault"
	"math"
)

// piece is a run of bytes of a file.
type piece struct {
	Off  int64
	Data []byte
}

// encode returns the metadata as pieces of the file in ascending order. Layouts C0 to F have one piece, at FB.DataSize. Layouts A
// and B have the file block at 0 and each block's records at Block.Offset. encode writes hashes, sizes and pads unchanged, so
// encoding a decoded File restores its bytes.
//
// The error is ErrRange if a value does not fit the layout.
func (f *File) encode() ([]piece, error) {
	l := f.Layout
	if !l.valid() {
		return nil, fault.Usage("layout %v", l)
	}
	if l.atEnd() && !f.Parity {
		meta, err := f.encodeMeta()
		if err != nil {
			return nil, err
		}
		return []piece{{f.metaOffset(), meta}}, nil
	}
	b := make([]byte, l.fbSize())
	if field, ok := f.FB.encode(l, b); !ok {
		return nil, f.rangeErr("FB", field)
	}
	if f.Parity {
		return []piece{{f.Size - l.fbSize(), b}}, nil
	}
	pieces := []piece{{0, b}}
	for i := range f.Blocks {
		bl := &f.Blocks[i]
		b := make([]byte, l.blockMeta(len(bl.Containers)))
		if field, ok := bl.encode(l, b); !ok {
			return nil, f.rangeErr("block", field)
		}
		pieces = append(pieces, piece{bl.Offset, b})
	}
	return pieces, nil
}

// metaOffset returns the offset of the metadata in C0 to F. It differs from DataSize only if the offset exceeds the 32 bits of
// DataSize (layout E, files over 2 GiB).
func (f *File) metaOffset() int64 {
	if len(f.Blocks) > 0 && !f.Layout.wide() && int64(int32(f.Blocks[0].Offset)) == f.FB.DataSize {
		return f.Blocks[0].Offset
	}
	return f.FB.DataSize
}

func (f *File) rangeErr(where, field string) error {
	return fault.At(f.Name, -1, where+"."+field, fault.ErrRange, "does not fit layout %v", f.Layout)
}

// metaBytes returns the total size of the metadata.
func (f *File) metaBytes() int64 {
	n := f.Layout.fbSize()
	for i := range f.Blocks {
		n += f.Layout.blockMeta(len(f.Blocks[i].Containers))
	}
	return n
}

// encodeMeta returns the records of all blocks, followed by the file block.
func (f *File) encodeMeta() ([]byte, error) {
	n := f.metaBytes()
	if n > math.MaxInt32 {
		return nil, fault.At(f.Name, -1, "metadata", fault.ErrTooLarge, "%d bytes", n)
	}
	meta := make([]byte, n)
	at := meta
	for i := range f.Blocks {
		n := f.Layout.blockMeta(len(f.Blocks[i].Containers))
		if field, ok := f.Blocks[i].encode(f.Layout, at[:n]); !ok {
			return nil, f.rangeErr("block", field)
		}
		at = at[n:]
	}
	if field, ok := f.FB.encode(f.Layout, at); !ok {
		return nil, f.rangeErr("FB", field)
	}
	return meta, nil
}

// encode fills b, which has fbSize bytes. If a field does not fit, encode returns its name. Like FTI, encode stores the low bytes
// of a timestamp.
func (fb *FileBlock) encode(l Layout, b []byte) (field string, ok bool) {
	t := &l.table().fb
	copy(b[:checksumLen], fb.Checksum)
	copy(b[myHashOff:], fb.MyHash[:])
	t.ckptID.put(b, int64(fb.CkptID))
	t.timestamp.put(b, fb.Timestamp)
	copy(t.pad.bytes(b), fb.Pad[:])
	for _, f := range []struct {
		name string
		at   span
		v    int64
	}{
		{"ckptSize", t.ckptSize, fb.CkptSize}, {"metaSize", t.metaSize, fb.MetaSize}, {"dataSize", t.dataSize, fb.DataSize},
		{"fs", t.fs, fb.FileSize}, {"maxFs", t.maxFs, fb.MaxFs}, {"ptFs", t.ptFs, fb.PtFs},
	} {
		if !f.at.put(b, f.v) {
			return f.name, false
		}
	}
	return "", len(fb.Checksum) <= checksumLen
}

// encode fills b, which has blockMeta bytes.
func (bl *Block) encode(l Layout, b []byte) (field string, ok bool) {
	t := &l.table().bmd
	if len(bl.Containers) > math.MaxInt32 {
		return "numvars", false
	}
	t.numvars.put(b, int64(len(bl.Containers)))
	if !t.dbsize.put(b, bl.Size) {
		return "dbsize", false
	}
	b = b[t.size:]
	for i := range bl.Containers {
		if field, ok := bl.Containers[i].encode(l, b); !ok {
			return field, false
		}
		b = b[l.vmdSize():]
	}
	return "", true
}

func (c *Container) encode(l Layout, b []byte) (field string, ok bool) {
	t := &l.table().vmd
	t.id.put(b, int64(c.ID))
	t.idx.put(b, int64(c.Idx))
	t.containerID.put(b, int64(c.ContainerID))
	putBool(t.hasContent, b, c.HasContent, c.odd[0])
	putBool(t.hasCkpt, b, c.HasCkpt, c.odd[1])
	copy(t.pad.bytes(b), c.Pad[:])
	t.dptr.put(b, c.Dptr)
	t.fptr.put(b, c.Fptr)
	copy(t.hash.bytes(b), c.Hash[:])
	if !t.chunk.put(b, c.ChunkSize) {
		return "chunksize", false
	}
	return "containersize", t.room.put(b, c.ContainerSize)
}

func putBool(s span, b []byte, v bool, odd byte) {
	switch {
	case v && odd > 1:
		s.put(b, int64(odd))
	case v:
		s.put(b, 1)
	default:
		s.put(b, 0)
	}
}
