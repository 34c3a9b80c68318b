package layout

import (
	"fmt"
	"io"

	"blobio/internal/base/fault"
	"blobio/internal/base/h5"
)

// Compressed is the process-centric layout with compressed data. All offsets refer to the equivalent uncompressed file.
type Compressed struct{ Process }

// bind allocates the description of the compressed data.
func (Compressed) bind(p *Place) {
	if p.Packed == nil {
		p.Packed = &Packed{Chunk: p.Shape.Chunk}
	}
}

func (Compressed) readTable(p *Place, f io.ReaderAt, name string, t *Ranks, _ Listed) error {
	return readPackedTable(f, p, name, t)
}

// tableAt returns an offset in the index.
func (Compressed) tableAt(p *Place, d, m int, _ *Ranks, j int) int64 { return p.TableAt(d, m, j) }

// recordBytes returns 0, because the header does not give the compressed size of a record.
func (Compressed) recordBytes(*Place) int64 { return 0 }

func (Compressed) fileSize(p *Place, _ int64) int64 { return p.Packed.IndexOff + p.Packed.IndexLen }

// container is called twice. The first call does not know the length of the data yet, and sets only the offsets of header and
// data, which come first in the file.
func (Compressed) container(p *Place, dataLen int64) (*h5.Layout, error) {
	pk := p.Packed
	b := h5.NewBuilder()
	hd := b.Dataset(HeaderPacked, h5.Uint8, []int64{p.Header.Len}, nil)
	dd := b.Dataset(DataPacked, h5.Uint8, []int64{max(pk.Stored, 1)}, &h5.DatasetOptions{Align: dataAlign})
	xd := b.Dataset(IndexPacked, h5.Uint8, []int64{max(pk.IndexLen, 1)}, &h5.DatasetOptions{Align: indexAlign})
	l, err := b.Layout()
	if err == nil {
		p.Header.Off, p.DataOff, p.DataLen, pk.IndexOff = hd.Offset(), dd.Offset(), dataLen, xd.Offset()
	}
	return l, err
}

// shown returns -1, because offsets of the uncompressed file do not exist in the compressed file.
func (Compressed) shown(int64) int64 { return -1 }

// gap returns 0, because decompressing bytes only to drop them costs more than another read.
func (Compressed) gap() int64 { return 0 }

// expansion limits the length of a piece relative to the file. A longer piece must be decompressed before its length is
// believed.
const expansion = 64

func (Compressed) backed(p *Place, off, n int64, name, field string) (sure bool, err error) {
	if off < 0 || n < 0 || n > p.DataOff+p.DataLen-off {
		return true, fault.At(name, -1, field, fault.ErrCorrupt, "%d bytes of content, but the blobs hold only %d", n, p.DataLen)
	}
	return n/expansion < p.FileLen, nil
}

// requestBytes is the memory that one request needs while a map is read: in two lists, as a decomp.Req, and in the map.
const requestBytes = 32

// roomForLists returns an error if the lists of map d of all blobs may need too much memory. The lists of an uncompressed file
// are no longer than the file. The lists of a compressed file may be 32,768 times as long as their stored bytes, so the length
// of the file does not limit them.
func (Compressed) roomForLists(p *Place, t *Ranks, d int, name string) error {
	if len(t.ID) == 0 {
		return nil
	}
	k := (len(t.ID)-1)*p.Header.Maps + d
	n := t.Reqs[k] + t.Nreqs[k]
	if size := p.Shape.OffsetSize(d) + 4; n/expansion < p.FileLen/size || n <= p.Packed.Memory/requestBytes {
		return nil
	}
	return fault.At(name, p.TableAt(d, MapNreqs, 0), fmt.Sprintf("D%d.nreqs", d+1), fault.ErrTooLarge,
		"%d requests of all blobs in a file of %d bytes, want at most %d, or a larger OpenOptions.Memory for more", n, p.FileLen, p.Packed.Memory/requestBytes)
}
