package ffstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
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

// maxPayload bounds the digests of one file: of 1 TiB in blocks of 512 bytes they take 32 GiB,
// which nobody should want; 4 GiB is 4 TiB at the default block size.
const maxPayload = 4 << 30

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

// logged is what a log knows of one rank's file in one slot.
type logged struct {
	off, size int64 // of the payload in the log
	id        int32
}

type rankSlot struct{ rank, slot int }

// scanned is the content of a log.
type scanned struct {
	valid map[rankSlot]logged
	ranks map[int]bool // that it has ever had digests of
	end   int64        // of the last whole record
	live  int64        // bytes of the records in valid
}

// scanLog reads the headers, and checks every record. Payloads are read one at a time.
func scanLog(f vfs.File) (*scanned, error) {
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	s := &scanned{valid: map[rankSlot]logged{}, ranks: map[int]bool{}}
	le := binary.LittleEndian
	var h [logHeader]byte
	for s.end+logHeader <= size {
		if _, err := f.ReadAt(h[:], s.end); err != nil {
			return nil, err
		}
		n := le.Uint64(h[16:])
		kind, slot, rank := h[4], int(h[5]), int(int32(le.Uint32(h[8:])))
		if string(h[:4]) != logMagic || kind != logBegin && kind != logDigests || rank < 0 ||
			n > maxPayload || int64(n) > size-s.end-logHeader || kind == logBegin && n != 0 {
			return s, nil
		}
		crc, err := crcOf(f, s.end+logHeader, int64(n), crc32.ChecksumIEEE(h[:24]))
		if err != nil {
			return nil, err
		}
		if crc != le.Uint32(h[24:]) {
			return s, nil
		}
		if kind == logBegin {
			for k, v := range s.valid {
				if k.slot == slot {
					s.live -= v.size + logHeader
					delete(s.valid, k)
				}
			}
		} else {
			k := rankSlot{rank, slot}
			if old, ok := s.valid[k]; ok {
				s.live -= old.size + logHeader
			}
			s.valid[k] = logged{s.end + logHeader, int64(n), int32(le.Uint32(h[12:]))}
			s.live += int64(n) + logHeader
			s.ranks[rank] = true
		}
		s.end += logHeader + int64(n)
	}
	return s, nil
}

// crcOf continues a CRC over bytes of a file.
func crcOf(f vfs.File, off, n int64, crc uint32) (uint32, error) {
	buf := make([]byte, min(n, 256<<10))
	for n > 0 {
		b := buf[:min(n, int64(len(buf)))]
		if _, err := f.ReadAt(b, off); err != nil {
			return 0, err
		}
		crc = crc32.Update(crc, crc32.IEEETable, b)
		off, n = off+int64(len(b)), n-int64(len(b))
	}
	return crc, nil
}

// digests reads the digests of one entry.
func (l logged) digests(f vfs.File) (*ffformat.Digests, error) {
	b := make([]byte, l.size) // bounded by the file, see scanLog
	if _, err := f.ReadAt(b, l.off); err != nil {
		return nil, err
	}
	return ffformat.UnmarshalDigests(b, f.Name())
}

// nodeLog is the side file that the leader of a node appends to.
type nodeLog struct {
	fsys vfs.FS
	name string
	d    Durability
	f    vfs.File // nil until the first write
	end  int64
	live int64 // bytes of the records that still count
}

// rewrite replaces the log by one with these records.
func (l *nodeLog) rewrite(records []byte) error {
	if err := l.close(); err != nil {
		return err
	}
	if err := replaceFile(l.fsys, l.name, records, l.d); err != nil {
		return err
	}
	f, err := l.fsys.OpenRW(l.name)
	if err != nil {
		return err
	}
	l.f, l.end, l.live = f, int64(len(records)), int64(len(records))
	return nil
}

// append adds records and makes them durable.
func (l *nodeLog) append(records []byte) error {
	if l.f == nil {
		return l.rewrite(records)
	}
	if _, err := l.f.WriteAt(records, l.end); err != nil {
		return err
	}
	if l.d != DurableNone {
		if err := l.f.Sync(); err != nil {
			return err
		}
	}
	l.end += int64(len(records))
	return nil
}

func (l *nodeLog) close() error {
	if l.f == nil {
		return nil
	}
	err := l.f.Close()
	l.f = nil
	return err
}

// loadDigests finds what the logs of a store know of these ranks. Logs or records that cannot
// be read know nothing. own says that the log of this leader, and only it, had all of it.
func loadDigests(fsys vfs.FS, dir string, leader int, ranks []int) (found map[rankSlot][]*ffformat.Digests, own bool, err error) {
	logs, err := nodeLogs(fsys, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, true, nil
	}
	if err != nil {
		return nil, false, err
	}
	found = map[rankSlot][]*ffformat.Digests{}
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
		for k, l := range s.valid {
			if _, ok := slices.BinarySearch(ranks, k.rank); !ok {
				continue
			}
			if d, err := l.digests(f); err == nil {
				found[k] = append(found[k], d)
			}
		}
	}
	if name, ok := logs[leader]; ok {
		take(name)
	}
	own = len(missing) == 0
	if !own {
		for _, n := range slices.Sorted(mapsKeys(logs)) {
			if n != leader {
				take(logs[n])
			}
		}
	}
	return found, own, nil
}

// compact rewrites the log with what still counts.
func (l *nodeLog) compact() error {
	s, err := scanLog(l.f)
	if err != nil {
		return err
	}
	var b []byte
	for k, v := range s.valid {
		p := make([]byte, v.size)
		if _, err := l.f.ReadAt(p, v.off); err != nil {
			return err
		}
		b = appendRecord(b, logDigests, k.slot, k.rank, v.id, p)
	}
	return l.rewrite(b)
}
