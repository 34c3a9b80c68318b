package check

import (
	"context"
	"fmt"
	"hash/crc32"
	"io"

	"blobio/internal/base/vfs"
	"blobio/scr/kvtree"
	"blobio/scr/redset"
)

// section reads a byte range of a file once and counts the bytes it has read.
type section struct {
	ctx  context.Context
	f    vfs.File
	at   int64
	end  int64
	read func(n int)
}

func (s *section) Read(b []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	if s.at >= s.end {
		return 0, io.EOF
	}
	b = b[:min(int64(len(b)), s.end-s.at)]
	n, err := s.f.ReadAt(b, s.at)
	s.at += int64(n)
	s.read(n)
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

func crcOf(r io.Reader) (uint32, int64, error) {
	h := crc32.NewIEEE()
	n, err := io.CopyBuffer(struct{ io.Writer }{h}, struct{ io.Reader }{r}, make([]byte, 1<<20))
	return h.Sum32(), n, err
}

func crcOfPart(ctx context.Context, read func(int), fsys vfs.FS, name string, off, length int64) (uint32, error) {
	file, err := fsys.Open(name)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	crc, n, err := crcOf(&section{ctx, file, off, off + length, read})
	if err == nil && n != length {
		err = fmt.Errorf("%s: %w: %d bytes from offset %d, want %d", name, kvtree.ErrTruncated, n, off, length)
	}
	return crc, err
}

// compareCRC adds a job that compares the CRC-32 of a part of a file. If the part has no name, the job compares the
// whole file.
func (c *checked) compareCRC(fsys vfs.FS, id int, name string, x redset.Part) {
	off, field := int64(-1), "crc"
	if x.Name != "" {
		off, field = x.Offset, x.Name+": crc"
	}
	c.jobs = append(c.jobs, job{x.Length, x.HasCRC, func(ctx context.Context, read func(int)) []Finding {
		crc, err := crcOfPart(ctx, read, fsys, name, x.Offset, x.Length)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return []Finding{findingOf(Error, id, name, err)}
		case x.HasCRC && crc != x.CRC:
			bad := differs(id, name, field, fmt.Sprintf("%#x", crc), fmt.Sprintf("%#x", x.CRC), kvtree.ErrChecksum)
			bad.Offset = off
			return []Finding{bad}
		}
		return nil
	}})
}
