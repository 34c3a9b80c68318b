package ffstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"iter"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"blobio/ffformat"
	"blobio/internal/durable"
	"blobio/internal/vfs"
)

// The side file of a node has a front, which is overwritten in place, and behind it a log of
// records. Integers are little-endian.
//
//	0    4    "FFDL"
//	4    4    version 1
//	8    4*65 epoch of each slot: one more each time that the slot is about to be written
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
//	32     payload: the digests, as ffformat.Digests.MarshalBinary gives them
//
// Digests count if their epoch is that of the slot; of several of a rank and slot the last. What
// follows a record that is not whole is not read: it was being written when the machine
// stopped, and the next commit would have followed. However the file is cut or torn, it
// never vouches for a slot that was written since: that is in the front, without which
// nothing counts.
const (
	logFrontMagic = "FFDL"
	logVersion    = 1
	logFront      = 8 + 4*(maxKeep+1) + 4
	logMagic      = "FFDR"
	logHeader     = 32
)

// epochs of the slots.
type epochs [maxKeep + 1]uint32

// front is the first part of the file.
func (e *epochs) front() []byte {
	b := binary.LittleEndian.AppendUint32([]byte(logFrontMagic), logVersion)
	for _, n := range e {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

// parseFront is the reverse.
func parseFront(b []byte, name string) (e epochs, err error) {
	le := binary.LittleEndian
	switch {
	case len(b) < logFront:
		return e, formatErr(name, int64(len(b)), "front", ErrTruncated, "%d bytes, want %d", len(b), logFront)
	case string(b[:4]) != logFrontMagic:
		return e, formatErr(name, 0, "magic", ErrNotFormat, "%q, want %q", b[:4], logFrontMagic)
	case crc32.ChecksumIEEE(b[:logFront-4]) != le.Uint32(b[logFront-4:]):
		return e, formatErr(name, logFront-4, "CRC-32 of the front", ErrChecksum, "%08x, want %08x", le.Uint32(b[logFront-4:]), crc32.ChecksumIEEE(b[:logFront-4]))
	case le.Uint32(b[4:]) != logVersion:
		return e, formatErr(name, 4, "version", ErrVersion, "%d, want %d", le.Uint32(b[4:]), logVersion)
	}
	for i := range e {
		e[i] = le.Uint32(b[8+4*i:])
	}
	return e, nil
}

// maxPayload bounds the digests of one file: 4 GiB are 4 TiB of data at the default block size.
// Where an int is shorter, memory bounds them.
const maxPayload = min(4<<30, math.MaxInt)

// nodeLogName is the side file of the node whose lowest rank is leader.
func nodeLogName(dir string, leader int) string {
	return filepath.Join(dir, fmt.Sprintf("node%06d.digests", leader))
}

// nodeLogs lists the side files of a store by leader.
func nodeLogs(fsys vfs.FS, dir string) (map[int]string, error) {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	m := map[int]string{}
	for _, e := range entries {
		s, ok := strings.CutPrefix(e.Name(), "node")
		if !ok {
			continue
		}
		if s, ok = strings.CutSuffix(s, ".digests"); !ok {
			continue
		}
		if n, err := strconv.Atoi(s); err == nil && n >= 0 {
			m[n] = filepath.Join(dir, e.Name())
		}
	}
	return m, nil
}

// logHead is the head of a record.
type logHead struct {
	rankSlot
	id    int32
	epoch uint32
	n     int64  // bytes of the payload
	crc   uint32 // as stored
	sum   uint32 // of the head, to go on with over the payload
}

type rankSlot struct{ rank, slot int }

func (a rankSlot) compare(b rankSlot) int {
	if a.rank != b.rank {
		return a.rank - b.rank
	}
	return a.slot - b.slot
}

// appendRecord adds a record to b.
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

// parseHead reads the head of a record, behind which are rest bytes.
func parseHead(h []byte, rest int64) (logHead, bool) {
	le := binary.LittleEndian
	n, rank := le.Uint64(h[20:]), le.Uint32(h[8:])
	r := logHead{
		rankSlot: rankSlot{int(rank), int(h[4])}, id: int32(le.Uint32(h[12:])), epoch: le.Uint32(h[16:]), n: int64(n),
		crc: le.Uint32(h[28:]), sum: crc32.ChecksumIEEE(h[:28]),
	}
	return r, string(h[:4]) == logMagic && r.slot <= maxKeep && rank < maxRanks && n <= maxPayload && int64(n) <= rest
}

// parseRecords yields the records in memory, up to the first that is not whole.
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

// stamp gives the records of all, which ranks made, the epochs of the log.
func (e *epochs) stamp(all [][]byte) []byte {
	var b []byte
	for _, own := range all {
		for h, p := range parseRecords(own) {
			b = appendRecord(b, h.rankSlot, h.id, e[h.slot], p)
		}
	}
	return b
}

// logged is what a log knows of one rank's file in one slot.
type logged struct {
	off, size int64 // of the payload in the log
	id        int32
}

// scanned is the content of a log.
type scanned struct {
	epochs epochs
	valid  map[rankSlot]logged
	ranks  map[int]bool // that it has ever had digests of
	end    int64        // of the last whole record
}

// scanLog checks every record. Payloads are read piece by piece and not kept. A FormatError
// is about the front.
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
		return formatErr(f.Name(), off+int64(n), "", ErrTruncated, "%d of %d bytes", n, len(b))
	}
	return err
}

// payload reads the digests of one entry, as bytes.
func (l logged) payload(f vfs.File) ([]byte, error) {
	b := make([]byte, l.size) // bounded by the file, see scanLog
	return b, readAt(f, b, l.off)
}

// nodeLog is the side file that the leader of a node writes. It is not kept open.
type nodeLog struct {
	fsys   vfs.FS
	name   string
	d      Durability
	epochs epochs
	known  bool // the file is there and ours, and end and live are right
	end    int64
	live   [maxKeep + 1]int64 // bytes of the records that still count, by slot
}

// count notes records that are in the log now.
func (l *nodeLog) count(records []byte) {
	for h := range parseRecords(records) {
		l.live[h.slot] += logHeader + h.n
	}
	l.end += int64(len(records))
}

// rewrite replaces the log by one with these records.
func (l *nodeLog) rewrite(records []byte) error {
	d := l.d
	if d == DurableData {
		d = DurableCommit // the log that it replaces may vouch for what is overwritten next
	}
	l.known = false
	if err := durable.Replace(l.fsys, l.name, append(l.epochs.front(), records...), replacing(d)); err != nil {
		return err
	}
	l.known, l.end = true, logFront
	clear(l.live[:])
	l.count(records)
	return nil
}

// mark makes it durable that a slot is about to be written.
func (l *nodeLog) mark(slot int) error {
	l.epochs[slot]++
	l.live[slot] = 0
	return l.write(nil)
}

// append adds records and makes them durable.
func (l *nodeLog) append(records []byte) error { return l.write(records) }

// write writes records, or the front if there are none, and syncs. A log that is gone, or shorter
// than it was left, is begun anew: what it knew is lost, and nothing else.
func (l *nodeLog) write(records []byte) error {
	if !l.known {
		return l.rewrite(records)
	}
	f, err := l.fsys.OpenRW(l.name)
	if errors.Is(err, fs.ErrNotExist) {
		return l.rewrite(records)
	}
	if err != nil {
		return err
	}
	size, err := f.Size()
	if err == nil && size < l.end {
		if err = f.Close(); err == nil {
			err = l.rewrite(records)
		}
		return err
	}
	if err == nil && size > l.end { // what an append left that failed
		err = f.Truncate(l.end)
	}
	if err == nil {
		if records == nil {
			_, err = f.WriteAt(l.epochs.front(), 0)
		} else {
			_, err = f.WriteAt(records, l.end)
		}
	}
	if err == nil && l.d != DurableNone {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil && records != nil {
		l.count(records)
	}
	return err
}

// tidy rewrites the log if more than half of it is dead.
func (l *nodeLog) tidy() error {
	live := int64(logFront)
	for _, n := range l.live {
		live += n
	}
	if !l.known || l.end <= 2*live+64<<10 {
		return nil
	}
	f, err := l.fsys.Open(l.name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	b, err := l.liveRecords(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return l.rewrite(b)
}

// liveRecords are the records of the log that still count.
func (l *nodeLog) liveRecords(f vfs.File) ([]byte, error) {
	s, err := scanLog(f)
	if errors.As(err, new(*FormatError)) {
		return nil, nil // somebody spoilt it: it knows nothing any more
	}
	if err != nil {
		return nil, err
	}
	var b []byte
	for _, k := range slices.SortedFunc(maps.Keys(s.valid), rankSlot.compare) {
		if s.epochs[k.slot] != l.epochs[k.slot] {
			continue
		}
		p, err := s.valid[k].payload(f)
		if err != nil {
			return nil, err
		}
		b = appendRecord(b, k, s.valid[k].id, l.epochs[k.slot], p)
	}
	return b, nil
}

// loadDigests finds what the logs of a store know of these ranks (ascending), as records by rank.
// Logs or records that cannot be read know nothing. The log of this leader is enough if it
// has ever had all of the ranks.
func loadDigests(fsys vfs.FS, dir string, leader int, ranks []int) (map[int][]byte, error) {
	logs, err := nodeLogs(fsys, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	found := map[int][]byte{}
	missing := slices.Clone(ranks)
	take := func(name string) {
		f, err := fsys.Open(name)
		if err != nil {
			return
		}
		defer f.Close()
		s, err := scanLog(f)
		if err != nil {
			return
		}
		missing = slices.DeleteFunc(missing, func(r int) bool { return s.ranks[r] })
		for _, k := range slices.SortedFunc(maps.Keys(s.valid), rankSlot.compare) {
			if _, ok := slices.BinarySearch(ranks, k.rank); !ok {
				continue
			}
			if p, err := s.valid[k].payload(f); err == nil {
				found[k.rank] = appendRecord(found[k.rank], k, s.valid[k].id, 0, p)
			}
		}
	}
	if name, ok := logs[leader]; ok {
		take(name)
	}
	if len(missing) > 0 {
		for _, n := range slices.Sorted(maps.Keys(logs)) {
			if n != leader {
				take(logs[n])
			}
		}
	}
	return found, nil
}

// digestsOf are the digests in records, by slot.
func digestsOf(records []byte, name string) map[int][]*ffformat.Digests {
	m := map[int][]*ffformat.Digests{}
	for h, p := range parseRecords(records) {
		if d, err := ffformat.UnmarshalDigests(p, name); err == nil {
			m[h.slot] = append(m[h.slot], d)
		}
	}
	return m
}
