package ffformat

import (
	"context"
	"errors"
	"io"
	"strconv"

	"blobio/internal/base/fault"
)

// NewReader makes a Reader of the variables of a file. The Reader presents the file as an FTI-FF file with one block.
// Variables have no hashes, so NewReader first reads the whole file and compares its MD5. If the MD5 differs, NewReader
// returns an error or, if lenient is true, sets File.Damaged.
func (p *PosixFile) NewReader(ctx context.Context, r io.ReaderAt, size int64, name string, lenient bool) (*Reader, error) {
	if p.Parity {
		return nil, fault.At(name, -1, "", ErrUnsupported, "a parity file of level 3 has no variables")
	}
	list, err := p.Check(ctx, r, size, name, false)
	if err != nil {
		return nil, err
	}
	f := &File{Name: name, Layout: LayoutF, Size: p.Size, FB: FileBlock{MaxFs: -1, PtFs: -1, CkptSize: p.Size, DataSize: p.Size, FileSize: p.Size}}
	if m := posixName.FindStringSubmatch(p.Name); m != nil {
		if id, err := strconv.ParseInt(m[1], 10, 32); err == nil {
			f.FB.CkptID = int32(id)
		}
	}
	for _, x := range list {
		switch {
		case x.Severity != Error:
		case !lenient:
			return nil, x.AsError()
		case f.Damaged == nil:
			f.Damaged = x.AsError()
		}
	}
	block := Block{Offset: p.Size}
	for _, v := range p.Vars {
		c := Container{ID: v.ID, Idx: int32(len(block.Containers)), HasContent: true, Fptr: v.Pos, ChunkSize: v.Size, ContainerSize: v.Size}
		if c.Hash, err = md5Of(ctx, r, v.Pos, v.Size); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) { // list already has this error
			return nil, err
		}
		block.Size += v.Size
		block.Containers = append(block.Containers, c)
	}
	if len(block.Containers) > 0 {
		f.Blocks = []Block{block}
	}
	f.Size += f.metaBytes()
	return newReader(r, f), nil
}
