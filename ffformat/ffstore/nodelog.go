package ffstore

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"blobio/ffformat"
	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// nodeLogName returns the name of the side file of the node whose lowest rank is leader.
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
		var n int
		name := filepath.Join(dir, e.Name())
		if _, err := fmt.Sscanf(e.Name(), "node%d.digests", &n); err == nil && name == nodeLogName(dir, n) {
			m[n] = name
		}
	}
	return m, nil
}

// nodeLog is the side file that the leader of a node writes. It is closed between uses.
type nodeLog struct {
	fsys   vfs.FS
	name   string
	d      Durability
	epochs epochs
	known  bool // the file exists, this node wrote it, and end and live are right
	end    int64
	live   [maxKeep + 1]int64 // size of the valid records in bytes, by slot
}

// count adds records, which were appended to the log, to live and end.
func (l *nodeLog) count(records []byte) {
	for h := range parseRecords(records) {
		l.live[h.slot] += logHeader + h.n
	}
	l.end += int64(len(records))
}

func (l *nodeLog) rewrite(records []byte) error {
	l.known = false
	if err := durable.Replace(l.fsys, l.name, append(l.epochs.front(), records...), replacing(l.d)); err != nil {
		return err
	}
	l.known, l.end = true, logFront
	clear(l.live[:])
	l.count(records)
	return nil
}

// mark durably records that a slot is about to be written.
func (l *nodeLog) mark(slot int) error {
	l.epochs[slot]++
	l.live[slot] = 0
	return l.write(nil)
}

// write writes records, or the front if there are none, and syncs. If the log is missing, or shorter than this node left it,
// write starts a new log. The digests in the old log are then lost, but no data.
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
	if err == nil && size > l.end { // remove the remains of a failed append
		err = f.Truncate(l.end)
	}
	if err == nil {
		if records == nil {
			_, err = f.WriteAt(l.epochs.front(), 0)
		} else {
			_, err = f.WriteAt(records, l.end)
		}
	}
	if err == nil && l.d == DurableCommit {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil && records != nil {
		l.count(records)
	}
	return err
}

// tidy rewrites the log without invalid records if they are more than half of it.
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

// liveRecords returns the valid records of the log.
func (l *nodeLog) liveRecords(f vfs.File) ([]byte, error) {
	s, err := scanLog(f)
	if errors.As(err, new(*fault.FormatError)) {
		return nil, nil // another program damaged the file, so it has no valid records
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

// loadDigests finds the digests of ranks (ascending) in the logs of a store. found has the records of each rank. loadDigests
// skips unreadable logs and records, and returns I/O errors in unread. If the log of leader has a record of each of the
// ranks, loadDigests reads only that log.
func loadDigests(fsys vfs.FS, dir string, leader int, ranks []int) (found map[int][]byte, unread, err error) {
	logs, err := nodeLogs(fsys, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	found = map[int][]byte{}
	missing := slices.Clone(ranks)
	take := func(name string) error {
		f, err := fsys.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		s, err := scanLog(f)
		if err != nil {
			return err
		}
		missing = slices.DeleteFunc(missing, func(r int) bool { return s.ranks[r] })
		for _, k := range slices.SortedFunc(maps.Keys(s.valid), rankSlot.compare) {
			if _, ok := slices.BinarySearch(ranks, k.rank); !ok {
				continue
			}
			p, rerr := s.valid[k].payload(f)
			if rerr == nil {
				found[k.rank] = appendRecord(found[k.rank], k, s.valid[k].id, 0, p)
			}
			err = errors.Join(err, rerr)
		}
		return err
	}
	for _, n := range append([]int{leader}, slices.Sorted(maps.Keys(logs))...) {
		name, ok := logs[n]
		if !ok || len(missing) == 0 && n != leader {
			continue
		}
		if err := take(name); err != nil && !errors.As(err, new(*fault.FormatError)) {
			unread = errors.Join(unread, err)
		}
		delete(logs, n)
	}
	return found, unread, nil
}

// digestsOf decodes the digests in records. The result is by slot.
func digestsOf(records []byte, name string) map[int][]*ffformat.Digests {
	m := map[int][]*ffformat.Digests{}
	for h, p := range parseRecords(records) {
		if d, err := ffformat.UnmarshalDigests(p, name); err == nil {
			m[h.slot] = append(m[h.slot], d)
		}
	}
	return m
}
