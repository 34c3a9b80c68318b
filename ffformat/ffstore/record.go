package ffstore

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"time"

	"blobio/ffformat"
	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// recordName is the file whose replacement commits a checkpoint.
const recordName = "checkpoints"

var records = durable.Seal{Format: "blobio ff checkpoints", Version: 1}

const (
	maxRanks = 1 << 24

	// sumLen is the number of bytes of a metadata sum in the record. So few bytes distinguish files, but do not protect against
	// forgery.
	sumLen = 8
)

// record is the commit record: the checkpoints and their slots. It is written before the first file of a slot.
type record struct {
	durable.SealHead
	Ranks  int    `json:"ranks"`
	Layout string `json:"layout"`
	Hash   string `json:"hash"`
	Slots  int    `json:"slots"`

	Checkpoints []entry `json:"checkpoints"` // oldest first

	// Spares are committed checkpoints that are not kept, oldest first. The next checkpoints may overwrite their slots, so only
	// the sums and hashes show whether a spare is still whole. Stores of earlier versions also list kept checkpoints here.
	Spares []entry `json:"spares,omitempty"`
}

// all yields the kept checkpoints, then the spares. For a nil record it yields nothing.
func (r *record) all() iter.Seq[*entry] {
	return func(yield func(*entry) bool) {
		if r == nil {
			return
		}
		for _, l := range [][]entry{r.Checkpoints, r.Spares} {
			for i := range l {
				if !yield(&l[i]) {
					return
				}
			}
		}
	}
}

// newestFirst returns the kept checkpoints and the spares by descending id. If a kept checkpoint and a spare have the same id,
// the kept checkpoint comes first.
func (r *record) newestFirst() []entry {
	var l []entry
	for e := range r.all() {
		l = append(l, *e)
	}
	slices.SortStableFunc(l, func(a, b entry) int { return cmp.Compare(b.ID, a.ID) })
	return l
}

// entry is one committed checkpoint.
type entry struct {
	ID    int32 `json:"id"`
	Slot  int   `json:"slot"`
	Time  int64 `json:"time_ns"` // ns since 1970, UTC; stored in the file block of every rank's file
	Data  int64 `json:"data"`    // size of the variables of all ranks in bytes
	Files int64 `json:"bytes"`   // size of the files of all ranks in bytes
	Vars  int64 `json:"vars"`    // number of variables of all ranks

	// Sums has the first sumLen bytes of File.MetaSum for each rank. In a Store only rank 0 has Sums; every rank has its own sum in
	// own.
	Sums []byte `json:"sums,omitempty"`
	own  []byte
}

// forRank returns a copy of the entry with the sum of only this rank.
func (e *entry) forRank(rank int) *entry {
	v := *e
	v.own = e.Sums[rank*sumLen : (rank+1)*sumLen]
	return &v
}

var layoutByName = func() map[string]ffformat.Layout {
	m := map[string]ffformat.Layout{}
	for l := ffformat.LayoutA; l <= ffformat.LayoutF; l++ {
		m[l.String()] = l
	}
	return m
}()

func hashName(h ffformat.Hash) string {
	if h == ffformat.Fast {
		return "fast"
	}
	return "md5"
}

// encode returns the content of the record file. A record with 64 checkpoints of 300,000 ranks is smaller than durable.MaxSeal.
func (r *record) encode() ([]byte, error) { return records.Encode(r) }

func decodeRecord(b []byte, name string) (*record, error) {
	var r record
	if err := records.Decode(b, name, &r, &r.SealHead); err != nil {
		return nil, err
	}
	bad := func(field, format string, args ...any) (*record, error) {
		return nil, fault.At(name, 0, field, fault.ErrCorrupt, format, args...)
	}
	switch {
	case r.Seq < 1:
		return bad("seq", "%d, want at least 1", r.Seq)
	case r.Ranks < 1 || r.Ranks > maxRanks:
		return bad("ranks", "%d, want 1 to %d", r.Ranks, maxRanks)
	case layoutByName[r.Layout] == 0:
		return bad("layout", "%q, want the name of a layout, such as F", r.Layout)
	case r.Hash != "md5" && r.Hash != "fast":
		return bad("hash", "%q, want md5 or fast", r.Hash)
	case r.Slots < 2 || r.Slots > maxKeep+1:
		return bad("slots", "%d, want 2 to %d", r.Slots, maxKeep+1)
	case len(r.Checkpoints) >= r.Slots:
		return bad("checkpoints", "%d checkpoints in %d slots, want at least one free slot", len(r.Checkpoints), r.Slots)
	}
	newest := int32(0)
	for i, e := range r.Checkpoints {
		if e.ID <= newest {
			return bad("id", "%d after %d, want ascending numbers from 1 on", e.ID, r.Checkpoints[max(i-1, 0)].ID)
		}
		newest = e.ID
	}
	for _, e := range r.Spares {
		if e.ID < 1 || e.ID > newest {
			return bad("id", "%d of a spare, want 1 to %d", e.ID, newest)
		}
	}
	slots := map[int]bool{}
	for e := range r.all() {
		switch {
		case e.Slot < 0 || e.Slot >= r.Slots || slots[e.Slot]:
			return bad("slot", "%d of checkpoint %d, want a slot from 0 to %d that no other checkpoint has", e.Slot, e.ID, r.Slots-1)
		case e.Data < 0 || e.Files < 0 || e.Vars < 0:
			return bad("data", "%d bytes in %d variables and files of %d bytes, want no negative number", e.Data, e.Vars, e.Files)
		case len(e.Sums) != sumLen*r.Ranks:
			return bad("sums", "%d bytes of checkpoint %d, want %d for each of %d ranks", len(e.Sums), e.ID, sumLen, r.Ranks)
		}
		slots[e.Slot] = true
	}
	return &r, nil
}

// readRecord reads the record. It returns nil if there is none.
func readRecord(fsys vfs.FS, dir string) (*record, error) {
	name := filepath.Join(dir, recordName)
	b, err := vfs.ReadFile(fsys, name, durable.MaxSeal)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return decodeRecord(b, name)
}

func (r *record) clone() *record {
	v := *r
	v.Checkpoints, v.Spares = slices.Clone(r.Checkpoints), slices.Clone(r.Spares)
	return &v
}

// entry finds the kept checkpoint with this id or, if there is none, the spare.
func (r *record) entry(dir string, id int32) (*entry, error) {
	for e := range r.all() {
		if e.ID == id {
			return e, nil
		}
	}
	return nil, fmt.Errorf("%s: checkpoint %d: %w", dir, id, ErrMissing)
}

// slotsWith returns the number of slots that a store needs for the checkpoints of r and for keep checkpoints in the future.
func (r *record) slotsWith(keep int) int {
	n := keep + 1
	for _, e := range r.Checkpoints {
		n = max(n, e.Slot+1)
	}
	return n
}

// writer is the owner's name in the names of temporary files. Only the holder of the lease writes such files.
const writer = "ffstore"

func replacing(d Durability) durable.ReplaceOptions {
	return durable.ReplaceOptions{Owner: writer, Sync: d == DurableCommit, SyncDir: d == DurableCommit}
}

// match returns an error unless the file belongs to this checkpoint and rank.
func (e *entry) match(f *ffformat.File) error {
	if hasID(f.Layout) && f.FB.CkptID != e.ID {
		return fault.At(f.Name, -1, "FB.ckptId", fault.ErrCorrupt, "%d, the seal has checkpoint %d in this slot", f.FB.CkptID, e.ID)
	}
	if t := storedTime(f.Layout, e.Time); f.FB.Timestamp != t {
		return fault.At(f.Name, -1, "FB.timestamp", fault.ErrCorrupt, "%d, the seal has %d for checkpoint %d", f.FB.Timestamp, t, e.ID)
	}
	sum, err := f.MetaSum()
	if err != nil {
		return err
	}
	if !bytes.Equal(sum[:sumLen], e.own) {
		return fault.At(f.Name, -1, "metadata", fault.ErrChecksum, "sum %x, the seal has %x: changed since, or the file of another rank", sum[:sumLen], e.own)
	}
	return nil
}

// hasID reports whether a layout stores the id of the checkpoint.
func hasID(l ffformat.Layout) bool { return l >= ffformat.LayoutC }

// storedTime returns a time in the form in which a layout stores it. Layouts E and F store only the low 32 bits.
func storedTime(l ffformat.Layout, ns int64) int64 {
	if l == ffformat.LayoutE || l == ffformat.LayoutF {
		return int64(uint32(ns))
	}
	return ns
}

// Info describes one committed checkpoint.
type Info struct {
	ID    int32     `json:"id"`
	Time  time.Time `json:"time"`
	Ranks int       `json:"ranks"`
	Vars  int64     `json:"vars"`  // number of variables of all ranks
	Data  int64     `json:"data"`  // size of the variables of all ranks in bytes
	Bytes int64     `json:"bytes"` // size of the files of all ranks in bytes
	Slot  int       `json:"slot"`
}

// list returns the kept checkpoints for callers, oldest first.
func (r *record) list() []Info {
	if r == nil {
		return nil
	}
	return r.infos(r.Checkpoints)
}

func (r *record) infos(entries []entry) []Info {
	var l []Info
	for _, e := range entries {
		l = append(l, Info{ID: e.ID, Time: time.Unix(0, e.Time).UTC(), Ranks: r.Ranks, Vars: e.Vars, Data: e.Data, Bytes: e.Files, Slot: e.Slot})
	}
	return l
}
