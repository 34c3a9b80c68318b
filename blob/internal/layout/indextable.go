package layout

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"

	"blobio/cdf5"
	"blobio/internal/base/fault"
)

// ParsePacked takes the attribute that describes the compression out of the header, and checks the head of the index.
func ParsePacked(f io.ReaderAt, p *Place, name string) error {
	pk := p.Packed
	at := p.Header.Locate()
	a := cdf5.FindAtt(p.Header.Atts, AttPacked)
	if a == nil {
		return fault.At(name, at.Atts(), "attribute "+AttPacked, fault.ErrCorrupt, "missing, but the data are in %s", DataPacked)
	}
	v, ok := a.Value.([]int32)
	if !ok || len(v) < 2 {
		return fault.At(name, at.GlobalAtt(AttPacked), "attribute "+AttPacked, fault.ErrCorrupt, "%v of type %v, want a version and a chunk size in bytes", a.Value, a.Type)
	}
	if v[0] != PackedVersion {
		return fault.At(name, at.GlobalAtt(AttPacked), "attribute "+AttPacked, fault.ErrVersion, "version %d, want %d", v[0], PackedVersion)
	}
	if len(v) != 2 || v[1] < 8 || v[1] > MaxChunk || v[1]%8 != 0 {
		return fault.At(name, at.GlobalAtt(AttPacked), "attribute "+AttPacked, fault.ErrCorrupt, "chunks of %v bytes, want a multiple of 8 up to %d", v[1:], MaxChunk)
	}
	pk.Chunk = int64(v[1])
	if p.Big {
		return fault.At(name, p.Header.Off, "header", fault.ErrUnsupported, "compressed big-endian file")
	}
	bad := func(at int64, field, format string, args ...any) error {
		return fault.At(name, pk.IndexOff+at, field+" of "+IndexPacked, fault.ErrCorrupt, format, args...)
	}
	if pk.IndexLen < IndexHead {
		return fault.At(name, pk.IndexOff, IndexPacked, fault.ErrTruncated, "%d bytes, want at least %d", pk.IndexLen, IndexHead)
	}
	var h [IndexHead]byte
	if err := ReadFull(f, h[:], pk.IndexOff, name, IndexPacked); err != nil {
		return err
	}
	le := binary.LittleEndian
	if sum := crc32.ChecksumIEEE(h[:28]); string(h[:8]) != IndexMagic {
		return bad(0, "magic", "%q, want %q", h[:8], IndexMagic)
	} else if want := le.Uint32(h[28:]); sum != want {
		return fault.At(name, pk.IndexOff, "head of "+IndexPacked, fault.ErrChecksum, "checksum is %08x, but the head says %08x", sum, want)
	}
	if n := le.Uint32(h[8:]); n != PackedVersion {
		return fault.At(name, pk.IndexOff+8, "version of "+IndexPacked, fault.ErrVersion, "%d, want %d", n, PackedVersion)
	}
	if n := int64(le.Uint32(h[12:])); n != pk.Chunk {
		return bad(12, "chunk", "chunks have %d bytes, but the header says %d", n, pk.Chunk)
	}
	if n, room := le.Uint64(h[16:]), pk.IndexLen-IndexHead; n > uint64(room)/IndexEntryLen || int64(n)*IndexEntryLen+p.TableLen() != room {
		return bad(16, "entries", "%d entries do not match %s, which has %d bytes for entries and the table of %d blobs", n, IndexPacked, pk.IndexLen, p.Shape.Blobs)
	}
	return nil
}

// readPackedTable is Process.readTable for compressed files, whose index has the numbers of all blobs.
func readPackedTable(f io.ReaderAt, pl *Place, name string, t *Ranks) error {
	pk := pl.Packed
	nd, nb := pl.Header.Maps, pl.Shape.Blobs
	const batch = 1 << 12
	buf := make([]byte, indexRow*nd*min(nb, batch))
	off := pl.DataOff
	for lo := 0; lo < nb; lo += batch {
		b := buf[:indexRow*nd*min(nb-lo, batch)]
		if err := ReadFull(f, b, pl.TableAt(0, MapNreqs, lo), name, IndexPacked); err != nil {
			return err
		}
		for j := lo; j < min(nb, lo+batch); j++ {
			for d := range nd {
				k := j*nd + d
				t.Nreqs[k] = int64(int32(binary.LittleEndian.Uint32(b)))
				t.Start[k] = int64(binary.LittleEndian.Uint64(b[4:]))
				t.Count[k] = int64(binary.LittleEndian.Uint64(b[12:]))
				b = b[indexRow:]
				// Offsets and sizes depend on these numbers, so a wrong number ends the read.
				for _, m := range ranged {
					if err := pl.inRange(t, d, m, j, name); err != nil {
						return err
					}
				}
			}
			t.Blob[j] = off
			size := pl.Blob.Size(t, j)
			if size < 0 || size > 1<<62-off {
				return fault.At(name, pl.TableAt(0, MapCount, j), fmt.Sprintf("blob %d", j), fault.ErrCorrupt, "the blobs up to this one exceed the limit of 2^62 bytes")
			}
			off += size
		}
	}
	pl.DataLen = off - pl.DataOff
	x, err := NewIndex(pl, t, pk.Chunk)
	if err != nil {
		return fault.At(name, pl.Header.Off+NumrecsAt, "numrecs", fault.ErrCorrupt, "%v", err)
	}
	if n := (pk.IndexLen - IndexHead - pl.TableLen()) / IndexEntryLen; n != x.Total {
		return fault.At(name, pk.IndexOff+16, "entries of "+IndexPacked, fault.ErrCorrupt, "%d, want %d for the pieces of the blobs", n, x.Total)
	}
	pk.Index = x
	return nil
}
