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
	"blobio/internal/vfs"
)

// The side file of a node is a log of records, integers little-endian:
//
//	0   4  "FFDR"
//	4   1  kind: 1 a slot is about to be written, 2 digests of a rank's file
//	5   1  slot
//	6   2  zeros
//	8   4  rank; of kind 1: 0
//	12  4  checkpoint id
//	16  8  length of the payload in bytes; of kind 1: 0
//	24  4  CRC-32 (IEEE) of bytes 0 to 23 and of the payload
//	28     payload: the digests, as ffformat.Digests.MarshalBinary gives them
//
// The last word about a slot counts: digests hold until a later record of kind 1. What
// follows a record that is not whole is not read: it was being written when the
// machine stopped, and the next commit would have followed.
const (
	logMagic   = "FFDR"
	logHeader  = 28
	logBegin   = 1
	logDigests = 2
)

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
	kind, slot int
	rankSlot   rankSlot
	id         int32
	n          int64  // bytes of the payload
	crc        uint32 // as stored
	sum        uint32 // of the head, to go on with over the payload
}

type rankSlot struct{ rank, slot int }

// appendRecord adds a record to b.
func appendRecord(b []byte, kind, slot int, rank int, id int32, payload []byte) []byte {
	start := len(b)
	le := binary.LittleEndian
	b = append(b, logMagic...)
	b = append(b, byte(kind), byte(slot), 0, 0)
	b = le.AppendUint32(b, uint32(rank))
	b = le.AppendUint32(b, uint32(id))
	b = le.AppendUint64(b, uint64(len(payload)))
	crc := crc32.Update(crc32.ChecksumIEEE(b[start:]), crc32.IEEETable, payload)
	b = le.AppendUint32(b, crc)
	return append(b, payload...)
}

// parseHead reads the head of a record, behind which are rest bytes.
func parseHead(h []byte, rest int64) (logHead, bool) {
	le := binary.LittleEndian
	n := le.Uint64(h[16:])
	r := logHead{
		kind: int(h[4]), slot: int(h[5]), id: int32(le.Uint32(h[12:])), n: int64(n),
		crc: le.Uint32(h[24:]), sum: crc32.ChecksumIEEE(h[:24]),
	}
	rank := le.Uint32(h[8:])
	r.rankSlot = rankSlot{int(rank), r.slot}
	ok := string(h[:4]) == logMagic && (r.kind == logBegin && n == 0 || r.kind == logDigests) && r.slot <= maxKeep &&
		rank < maxRanks && n <= maxPayload && int64(n) <= rest
	return r, ok
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

// logged is what a log knows of one rank's file in one slot.
type logged struct {
	off, size int64 // of the payload in the log
	id        int32
}

// scanned is the content of a log.
type scanned struct {
	valid map[rankSlot]logged
	ranks map[int]bool // that it has ever had digests of
	end   int64        // of the last whole record
}

// scanLog checks every record. Payloads are read piece by piece and not kept.
func scanLog(f vfs.File) (*scanned, error) {
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	s := &scanned{valid: map[rankSlot]logged{}, ranks: map[int]bool{}}
	var head [logHeader]byte
	buf := make([]byte, min(size, 256<<10))
	for s.end+logHeader <= size {
		if _, err := f.ReadAt(head[:], s.end); err != nil {
			return nil, err
		}
		h, ok := parseHead(head[:], size-s.end-logHeader)
		if !ok {
			return s, nil
		}
		for off, left := s.end+logHeader, h.n; left > 0; {
			b := buf[:min(left, int64(len(buf)))]
			if _, err := f.ReadAt(b, off); err != nil {
				return nil, err
			}
			h.sum = crc32.Update(h.sum, crc32.IEEETable, b)
			off, left = off+int64(len(b)), left-int64(len(b))
		}
		if h.sum != h.crc {
			return s, nil
		}
		if h.kind == logBegin {
			maps.DeleteFunc(s.valid, func(k rankSlot, _ logged) bool { return k.slot == h.slot })
		} else {
			s.valid[h.rankSlot] = logged{s.end + logHeader, h.n, h.id}
			s.ranks[h.rankSlot.rank] = true
		}
		s.end += logHeader + h.n
	}
	return s, nil
}

// payload reads the digests of one entry, as bytes.
func (l logged) payload(f vfs.File) ([]byte, error) {
	b := make([]byte, l.size) // bounded by the file, see scanLog
	_, err := f.ReadAt(b, l.off)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return b, err
}

// nodeLog is the side file that the leader of a node appends to. It is not kept open.
type nodeLog struct {
	fsys  vfs.FS
	name  string
	d     Durability
	known bool // end and live are those of the file
	end   int64
	live  map[int]int64 // bytes of the records that still count, by slot
}

// count notes records that are in the log now.
func (l *nodeLog) count(records []byte) {
	for h := range parseRecords(records) {
		if h.kind == logBegin {
			l.live[h.slot] = 0
		} else {
			l.live[h.slot] += logHeader + h.n
		}
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
	if err := replaceFile(l.fsys, l.name, records, d); err != nil {
		return err
	}
	l.known, l.end, l.live = true, 0, map[int]int64{}
	l.count(records)
	return nil
}

// append adds records and makes them durable. A log that is gone, or shorter than it was left,
// is begun anew: what it knew is lost, and nothing else.
func (l *nodeLog) append(records []byte) (err error) {
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
		_, err = f.WriteAt(records, l.end)
	}
	if err == nil && l.d != DurableNone {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		l.count(records)
	}
	return err
}

// tidy rewrites the log if more than half of it is dead.
func (l *nodeLog) tidy() error {
	live := int64(0)
	for _, n := range l.live {
		live += n
	}
	if l.end <= 2*live+64<<10 {
		return nil
	}
	f, err := l.fsys.Open(l.name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	b, err := liveRecords(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return l.rewrite(b)
}

// liveRecords are the records of a log that still count.
func liveRecords(f vfs.File) ([]byte, error) {
	s, err := scanLog(f)
	if err != nil {
		return nil, err
	}
	var b []byte
	for _, k := range slices.SortedFunc(maps.Keys(s.valid), rankSlot.compare) {
		p, err := s.valid[k].payload(f)
		if err != nil {
			return nil, err
		}
		b = appendRecord(b, logDigests, k.slot, k.rank, s.valid[k].id, p)
	}
	return b, nil
}

func (a rankSlot) compare(b rankSlot) int {
	if a.rank != b.rank {
		return a.rank - b.rank
	}
	return a.slot - b.slot
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
				found[k.rank] = appendRecord(found[k.rank], logDigests, k.slot, k.rank, s.valid[k].id, p)
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
