package blob

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"

	"blobio/cdf5"
)

// parsePacked takes the attribute that says how a header's data are compressed out of the header's list for
// the schema, and checks the head of the index.
func parsePacked(f io.ReaderAt, p *where, name string) error {
	pk := p.packed
	at := p.locate()
	a := cdf5.FindAtt(p.hdr.Atts, attPacked)
	if a == nil {
		return formatErr(name, at.atts(), "attribute "+attPacked, ErrCorrupt, "not there, but the data are in %s", dataPacked)
	}
	v, ok := a.Value.([]int32)
	if !ok || len(v) < 2 {
		return formatErr(name, at.globalAtt(attPacked), "attribute "+attPacked, ErrCorrupt, "%v of type %v, want version and bytes of a chunk", a.Value, a.Type)
	}
	if v[0] != packedVersion {
		return formatErr(name, at.globalAtt(attPacked), "attribute "+attPacked, ErrVersion, "version %d, want %d", v[0], packedVersion)
	}
	if len(v) != 2 || v[1] < 8 || v[1] > maxChunk || v[1]%8 != 0 {
		return formatErr(name, at.globalAtt(attPacked), "attribute "+attPacked, ErrCorrupt, "chunks of %v bytes, want a multiple of 8 up to %d", v[1:], maxChunk)
	}
	pk.chunk = int64(v[1])
	if p.big {
		return formatErr(name, p.hdrOff, "header", ErrUnsupported, "big endian, with compression")
	}
	bad := func(at int64, field, format string, args ...any) error {
		return formatErr(name, pk.idxOff+at, field+" of "+indexPacked, ErrCorrupt, format, args...)
	}
	if pk.idxLen < indexHead {
		return formatErr(name, pk.idxOff, indexPacked, ErrTruncated, "%d bytes, want at least %d", pk.idxLen, indexHead)
	}
	var h [indexHead]byte
	if err := readFull(f, h[:], pk.idxOff, name, indexPacked); err != nil {
		return err
	}
	le := binary.LittleEndian
	if sum := crc32.ChecksumIEEE(h[:28]); string(h[:8]) != indexMagic {
		return bad(0, "magic", "%q, want %q", h[:8], indexMagic)
	} else if want := le.Uint32(h[28:]); sum != want {
		return formatErr(name, pk.idxOff, "head of "+indexPacked, ErrChecksum, "sums to %08x, it says %08x", sum, want)
	}
	if n := le.Uint32(h[8:]); n != packedVersion {
		return formatErr(name, pk.idxOff+8, "version of "+indexPacked, ErrVersion, "%d, want %d", n, packedVersion)
	}
	if n := int64(le.Uint32(h[12:])); n != pk.chunk {
		return bad(12, "chunk", "%d bytes, the header says %d", n, pk.chunk)
	}
	if n, room := le.Uint64(h[16:]), pk.idxLen-indexHead; n > uint64(room)/indexEntryLen || int64(n)*indexEntryLen+p.tableLen() != room {
		return bad(16, "entries", "%d, but %s has %d bytes, for the table of %d blobs too", n, indexPacked, pk.idxLen, p.shape.nblobs)
	}
	return nil
}

// readPackedTable is walkBlobs for compressed files: the maps of all blobs are in the index.
func readPackedTable(f io.ReaderAt, pl *where, name string, t *ranks) error {
	pk := pl.packed
	nd, nb := pl.nd(), pl.shape.nblobs
	const batch = 1 << 12
	buf := make([]byte, indexRow*nd*min(nb, batch))
	off := pl.dataOff
	for lo := 0; lo < nb; lo += batch {
		b := buf[:indexRow*nd*min(nb-lo, batch)]
		if err := readFull(f, b, pl.tableAt(0, mapNreqs, lo), name, indexPacked); err != nil {
			return err
		}
		for j := lo; j < min(nb, lo+batch); j++ {
			for d := range nd {
				k := j*nd + d
				t.nreqs[k] = int64(int32(binary.LittleEndian.Uint32(b)))
				t.start[k] = int64(binary.LittleEndian.Uint64(b[4:]))
				t.count[k] = int64(binary.LittleEndian.Uint64(b[12:]))
				b = b[indexRow:]
				// Places and sizes depend on these, so a wrong one ends it.
				if n := t.nreqs[k]; n < 0 || n > pl.shape.maxReqs[d] {
					return formatErr(name, pl.tableAt(d, mapNreqs, j), fmt.Sprintf("D%d.nreqs[%d]", d+1, j), ErrCorrupt, "%d, want 0..%d (D%d.max_nreqs)", n, pl.shape.maxReqs[d], d+1)
				}
				if n := t.count[k]; n < 0 || n > pl.shape.nelems[d] {
					return formatErr(name, pl.tableAt(d, mapCount, j), fmt.Sprintf("D%d.blob_count[%d]", d+1, j), ErrCorrupt, "%d, want 0..%d (D%d.nelems)", n, pl.shape.nelems[d], d+1)
				}
			}
			t.blob[j] = off
			size := pl.blobSize(t, j)
			if size < 0 || size > 1<<62-off {
				return formatErr(name, pl.tableAt(0, mapCount, j), fmt.Sprintf("blob %d", j), ErrCorrupt, "the blobs up to it are over the limit of 2^62 bytes")
			}
			off += size
		}
	}
	pl.dataLen = off - pl.dataOff
	x, err := newPackIndex(pl, t, pk.chunk)
	if err != nil {
		return formatErr(name, pl.hdrOff+numrecsAt, "numrecs", ErrCorrupt, "%v", err)
	}
	if n := (pk.idxLen - indexHead - pl.tableLen()) / indexEntryLen; n != x.total {
		return formatErr(name, pk.idxOff+16, "entries of "+indexPacked, ErrCorrupt, "%d, want %d for what the blobs hold", n, x.total)
	}
	pk.x = x
	return nil
}
