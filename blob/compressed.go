package blob

import (
	"fmt"
	"io"

	"blobio/h5"
)

// compressed is the process-centric layout with compressed data. Places are those of the plain file that it stands for.
type compressed struct{ byBlob }

// bind makes room for what is known of the compressed data.
func (compressed) bind(p *where) {
	if p.packed == nil {
		p.packed = &packed{chunk: p.shape.chunk}
	}
}

func (compressed) readTable(p *where, f io.ReaderAt, name string, t *ranks) error {
	return readPackedTable(f, p, name, t)
}

// tableAt is in the index.
func (compressed) tableAt(p *where, d, m int, _ *ranks, j int) int64 { return p.tableAt(d, m, j) }

// recordBytes is nothing: how much a record is compressed to, its header does not tell.
func (compressed) recordBytes(*where) int64 { return 0 }

func (compressed) fileSize(p *where, _ int64) int64 { return p.packed.idxOff + p.packed.idxLen }

// container comes twice: while it is not known how much there is, the offsets of header and data are, which come first.
func (compressed) container(p *where, dataLen int64) (*h5.Layout, error) {
	pk := p.packed
	b := h5.NewBuilder()
	g := b.Root()
	hd := g.Dataset(headerPacked, h5.Uint8, []int64{p.hdrLen}, nil)
	dd := g.Dataset(dataPacked, h5.Uint8, []int64{max(pk.stored, 1)}, &h5.DatasetOptions{Align: dataAlign})
	xd := g.Dataset(indexPacked, h5.Uint8, []int64{max(pk.idxLen, 1)}, &h5.DatasetOptions{Align: indexAlign})
	l, err := b.Layout()
	if err == nil {
		p.hdrOff, p.dataOff, p.dataLen, pk.idxOff = hd.Offset(), dd.Offset(), dataLen, xd.Offset()
	}
	return l, err
}

// shown: offsets in the plain file are nowhere in this one.
func (compressed) shown(int64) int64 { return -1 }

// gap is nothing: each byte costs more than a new read.
func (compressed) gap() int64 { return 0 }

// expansion is how many times the bytes of its file a piece may have before its content is looked at.
const expansion = 64

func (compressed) backed(p *where, off, n int64, name, field string) (sure bool, err error) {
	if off < 0 || n < 0 || n > p.dataOff+p.dataLen-off {
		return true, formatErr(name, -1, field, ErrCorrupt, "%d bytes of content, but the blobs have %d", n, p.dataLen)
	}
	return n/expansion < p.fileLen, nil
}

// requestBytes is what one request takes while a map is read: in both lists, as a decomp.Req, and in the map.
const requestBytes = 32

// roomForLists says whether the lists of map d of all blobs may be held in memory. Those of a plain file are in it, byte by byte; lists
// of a compressed one may be 32,768 times as long as what they are stored in, and no limit follows from the file.
func (compressed) roomForLists(p *where, t *ranks, d int, name string) error {
	if len(t.id) == 0 {
		return nil
	}
	k := (len(t.id)-1)*p.nd() + d
	n := t.reqs[k] + t.nreqs[k]
	if size := p.offsetSize(d) + 4; n/expansion < p.fileLen/size || n <= p.packed.memory/requestBytes {
		return nil
	}
	return formatErr(name, p.tableAt(d, mapNreqs, 0), fmt.Sprintf("D%d.nreqs", d+1), ErrTooLarge,
		"%d requests of all blobs in a file of %d bytes: want at most %d, or more OpenOptions.Memory", n, p.fileLen, p.packed.memory/requestBytes)
}
