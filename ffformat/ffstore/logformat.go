package ffstore

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"iter"
	"math"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// The side file of a node has a front, which is overwritten in place, followed by a log of
// records. Integers are little-endian.
//
//	0    4    "FFDL"
//	4    4    version 1
//	8    4*65 epoch of each slot, incremented before each write to the slot
//	268  4    CRC-32 (IEEE) of bytes 0 to 267
//
// A record:
//
//	0   4  "FFDR"
//	4   1  slot
//	5   3  zeros
//	8   4  rank
//	12  4  checkpoint id
//	16  4  epoch
//	20  8  length of the payload in bytes
//	28  4  CRC-32 (IEEE) of bytes 0 to 27 and of the payload
//	32     payload: the digests, in the form of ffformat.Digests.Marshal
//
// Digests are valid if they have the epoch of their slot. If a rank and slot have several records, the last one is valid.
// Readers stop at an incomplete record: the machine stopped while the record was written. After a write to a slot, a truncated
// or torn side file has no valid digests for it, because the front has a higher epoch, and without an intact front no digests
// are valid.
const (
	logFrontMagic = "FFDL"
	logVersion    = 1
	logFront      = 8 + 4*(maxKeep+1) + 4
	logMagic      = "FFDR"
	logHeader     = 32
)

// epochs of the slots.
type epochs [maxKeep + 1]uint32

// front returns the encoded front.
func (e *epochs) front() []byte {
	b := binary.LittleEndian.AppendUint32([]byte(logFrontMagic), logVersion)
	for _, n := range e {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

// parseFront decodes a front.
func parseFront(b []byte, name string) (e epochs, err error) {
	le := binary.LittleEndian
	switch {
	case len(b) < logFront:
		return e, fault.At(name, int64(len(b)), "front", fault.ErrTruncated, "%d bytes, want %d", len(b), logFront)
	case string(b[:4]) != logFrontMagic:
		return e, fault.At(name, 0, "magic", fault.ErrNotFormat, "%q, want %q", b[:4], logFrontMagic)
	case crc32.ChecksumIEEE(b[:logFront-4]) != le.Uint32(b[logFront-4:]):
		return e, fault.At(name, logFront-4, "CRC-32 of the front", fault.ErrChecksum, "%08x, want %08x", le.Uint32(b[logFront-4:]), crc32.ChecksumIEEE(b[:logFront-4]))
	case le.Uint32(b[4:]) != logVersion:
		return e, fault.At(name, 4, "version", fault.ErrVersion, "%d, want %d", le.Uint32(b[4:]), logVersion)
	}
	for i := range e {
		e[i] = le.Uint32(b[8+4*i:])
	}
	return e, nil
}

// maxPayload is the maximum size of one file's digests: 4 GiB cover 4 TiB of data at the default block size. On 32-bit systems
// memory is the limit.
const maxPayload = min(4<<30, math.MaxInt)

type logHead struct {
	rankSlot
	id    int32
	epoch uint32
	n     int64  // size of the payload in bytes
	crc   uint32 // as stored
	sum   uint32 // checksum of the head, to be continued with the payload
}

type rankSlot struct{ rank, slot int }

func (a rankSlot) compare(b rankSlot) int {
	if a.rank != b.rank {
		return a.rank - b.rank
	}
	return a.slot - b.slot
}

func appendRecord(b []byte, k rankSlot, id int32, epoch uint32, payload []byte) []byte {
	start := len(b)
	le := binary.LittleEndian
	b = append(b, logMagic...)
	b = append(b, byte(k.slot), 0, 0, 0)
	b = le.AppendUint32(b, uint32(k.rank))
	b = le.AppendUint32(b, uint32(id))
	b = le.AppendUint32(b, epoch)
	b = le.AppendUint64(b, uint64(len(payload)))
	crc := crc32.Update(crc32.ChecksumIEEE(b[start:]), crc32.IEEETable, payload)
	b = le.AppendUint32(b, crc)
	return append(b, payload...)
}

// parseHead reads the head of a record. rest is the number of bytes after the head.
func parseHead(h []byte, rest int64) (logHead, bool) {
	le := binary.LittleEndian
	n, rank := le.Uint64(h[20:]), le.Uint32(h[8:])
	r := logHead{
		rankSlot: rankSlot{int(rank), int(h[4])}, id: int32(le.Uint32(h[12:])), epoch: le.Uint32(h[16:]), n: int64(n),
		crc: le.Uint32(h[28:]), sum: crc32.ChecksumIEEE(h[:28]),
	}
	return r, string(h[:4]) == logMagic && r.slot <= maxKeep && rank < maxRanks && n <= maxPayload && int64(n) <= rest
}

// parseRecords yields the records in b, up to the first incomplete record.
func parseRecords(b []byte) iter.Seq2[logHead, []byte] {
	return func(yield func(logHead, []byte) bool) {
		for len(b) >= logHeader {
			h, ok := parseHead(b, int64(len(b)-logHeader))
			if !ok {
				return
			}
			p := b[logHeader : logHeader+int(h.n)]
			if crc32.Update(h.sum, crc32.IEEETable, p) != h.crc || !yield(h, p) {
				return
			}
			b = b[logHeader+int(h.n):]
		}
	}
}

// stamp sets the epoch in each record that a rank made.
func (e *epochs) stamp(all [][]byte) []byte {
	var b []byte
	for _, own := range all {
		for h, p := range parseRecords(own) {
			b = appendRecord(b, h.rankSlot, h.id, e[h.slot], p)
		}
	}
	return b
}

// logged is a log's entry for one rank's file in one slot.
type logged struct {
	off, size int64 // position of the payload in the log
	id        int32
}

// scanned is the content of a log.
type scanned struct {
	epochs epochs
	valid  map[rankSlot]logged
	ranks  map[int]bool // all ranks that have a record in the log
	end    int64        // end of the last complete record
}

// scanLog checks every record. It reads the payloads in pieces and does not keep them. It returns a FormatError if the front
// is damaged.
func scanLog(f vfs.File) (*scanned, error) {
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	s := &scanned{valid: map[rankSlot]logged{}, ranks: map[int]bool{}, end: logFront}
	front := make([]byte, min(size, logFront))
	if err := readAt(f, front, 0); err != nil {
		return nil, err
	}
	if s.epochs, err = parseFront(front, f.Name()); err != nil {
		return nil, err
	}
	var head [logHeader]byte
	buf := make([]byte, min(size, 256<<10))
	for s.end+logHeader <= size {
		if err := readAt(f, head[:], s.end); err != nil {
			return nil, err
		}
		h, ok := parseHead(head[:], size-s.end-logHeader)
		if !ok {
			return s, nil
		}
		for off, left := s.end+logHeader, h.n; left > 0; {
			b := buf[:min(left, int64(len(buf)))]
			if err := readAt(f, b, off); err != nil {
				return nil, err
			}
			h.sum = crc32.Update(h.sum, crc32.IEEETable, b)
			off, left = off+int64(len(b)), left-int64(len(b))
		}
		if h.sum != h.crc {
			return s, nil
		}
		if h.epoch == s.epochs[h.slot] {
			s.valid[h.rankSlot] = logged{s.end + logHeader, h.n, h.id}
		}
		s.ranks[h.rank] = true
		s.end += logHeader + h.n
	}
	return s, nil
}

// readAt fills b.
func readAt(f vfs.File, b []byte, off int64) error {
	n, err := f.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		return fault.At(f.Name(), off+int64(n), "", fault.ErrTruncated, "%d of %d bytes", n, len(b))
	}
	return err
}

// payload reads the digests of one entry as bytes.
func (l logged) payload(f vfs.File) ([]byte, error) {
	b := make([]byte, l.size) // size does not exceed the file, see scanLog
	return b, readAt(f, b, l.off)
}
