package versioned

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"testing"

	"blobio/comm"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/versioned/arrays"
)

// soundRecord returns a record with two generations, a file and two versions.
func soundRecord() *record {
	r := &record{
		Spec: spec{Name: "a", Type: "float64", Shape: []int64{100}, Chunk: 512}, Order: "little",
		Generations: []geometry{{ID: 1, Capacity: 100, Seg: 64, Segs: 2}, {ID: 3, Capacity: 100, Seg: 128, Segs: 1}},
		Files:       []fileInfo{{Name: dataName(1, 1, 0), Gen: 1, Born: 1, From: 1, Size: 9, Sum: "00112233445566778899aabbccddeeff", Segs: []int{0, 1}}},
		Versions:    []verInfo{{VersionInfo: VersionInfo{Number: 1, Generation: 1, Shape: []int64{100}}}, {VersionInfo: VersionInfo{Number: 2, Generation: 3, Shape: []int64{90}}}},
	}
	r.SealHead = records.Head(4)
	return r
}

// TestRecordRefused: a record with a right checksum but impossible content is refused.
func TestRecordRefused(t *testing.T) {
	for what, spoil := range map[string]func(r *record, f *fileInfo){
		"":                       func(*record, *fileInfo) {},
		"seq":                    func(r *record, _ *fileInfo) { r.Seq = 0 },
		"byte order":             func(r *record, _ *fileInfo) { r.Order = "middle" },
		"type":                   func(r *record, _ *fileInfo) { r.Spec.Type = "float63" },
		"no generation":          func(r *record, _ *fileInfo) { r.Generations = nil },
		"generations backwards":  func(r *record, _ *fileInfo) { r.Generations[1].ID = 1 },
		"segments too short":     func(r *record, _ *fileInfo) { r.Generations[1].Capacity = 129 },
		"file: a path":           func(_ *record, f *fileInfo) { f.Name = "../" + f.Name },
		"file: an absolute path": func(_ *record, f *fileInfo) { f.Name = "/" + f.Name },
		"file: of another kind":  func(_ *record, f *fileInfo) { f.Name = recordName },
		"file: no name":          func(_ *record, f *fileInfo) { f.Name = "" },
		"file: size":             func(_ *record, f *fileInfo) { f.Size = -1 },
		"file: node":             func(_ *record, f *fileInfo) { f.Node = -1 },
		"file: generation":       func(_ *record, f *fileInfo) { f.Gen = 2 },
		"file: from later":       func(_ *record, f *fileInfo) { f.From = 2 },
		"file: sum":              func(_ *record, f *fileInfo) { f.Sum = "00" },
		"file: segment":          func(_ *record, f *fileInfo) { f.Segs[1] = 2 },
		"file: segment below 0":  func(_ *record, f *fileInfo) { f.Segs[1] = -1 },
		"no version":             func(r *record, _ *fileInfo) { r.Versions = nil },
		"versions backwards":     func(r *record, _ *fileInfo) { r.Versions[0].Number = 3 },
		"a version twice":        func(r *record, _ *fileInfo) { r.Versions[0].Number = 2 },
		"version below 0":        func(r *record, _ *fileInfo) { r.Versions[0].Number = -1 },
		"version: generation":    func(r *record, _ *fileInfo) { r.Versions[1].Generation = 2 },
		"version: dimensions":    func(r *record, _ *fileInfo) { r.Versions[1].Shape = []int64{10, 9} },
		"version: too long":      func(r *record, _ *fileInfo) { r.Versions[1].Shape = []int64{101} },
	} {
		r := soundRecord()
		spoil(r, &r.Files[0])
		b, err := r.encode()
		must(t, err)
		if _, err := decodeRecord(b, "x"); errors.Is(err, ErrCorrupt) != (what != "") || what == "" && err != nil {
			t.Errorf("%q: %v", what, err)
		}
	}
}

// TestLastSeq: lastSeq ignores a damaged record. A record that is temporarily unreadable is an error, because it may be
// newer.
func TestLastSeq(t *testing.T) {
	mem, _ := memStore(t)
	b, err := soundRecord().encode()
	must(t, err)
	if seq, err := lastSeq(mem, "d"); seq != 0 || err != nil {
		t.Errorf("without records: %d, %v", seq, err)
	}
	for i, put := range [][]byte{b, []byte("{\"damaged\":\n")} {
		must(t, vfs.WriteFile(mem, filepath.Join("d", arrays.Seals[i]), put))
		if seq, err := lastSeq(mem, "d"); seq != 4 || err != nil {
			t.Errorf("%d records: %d, %v", i+1, seq, err)
		}
	}
	reads := 0
	count := vfs.NewFault(mem, func(op vfs.Op) error {
		if op.Kind != vfs.OpClose {
			reads++
		}
		return nil
	})
	if _, err := lastSeq(count, "d"); err != nil || reads == 0 {
		t.Fatal(reads, err)
	}
	for fail := 1; fail <= reads; fail++ {
		n := 0
		fsys := vfs.NewFault(mem, func(op vfs.Op) error {
			if op.Kind == vfs.OpClose {
				return nil
			}
			if n++; n == fail {
				return fs.ErrPermission
			}
			return nil
		})
		if seq, err := lastSeq(fsys, "d"); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("operation %d of %d cannot be done: %d, %v", fail, reads, seq, err)
		}
	}
	// A record of a newer program is an error, too.
	r := soundRecord()
	r.Ver++
	if b, err = r.encode(); err != nil {
		t.Fatal(err)
	}
	for _, n := range arrays.Seals {
		name := filepath.Join("d", n)
		must(t, errors.Join(mem.Remove(name), vfs.WriteFile(mem, name, b)))
	}
	if seq, err := lastSeq(mem, "d"); !errors.Is(err, fault.ErrVersion) {
		t.Errorf("of a newer program: %d, %v", seq, err)
	}
}

// TestSnapshotRefused: a snapshot that does not name exactly one version of each level is refused.
func TestSnapshotRefused(t *testing.T) {
	for text, good := range map[string]bool{
		`{"Spec":{"Subcycling":{"Levels":2,"Ratio":2}},"Versions":[1,2]}`:   true,
		`{"Spec":{"Subcycling":{"Levels":2,"Ratio":2}},"Versions":[1]}`:     false,
		`{"Spec":{"Subcycling":{"Levels":2,"Ratio":2}},"Versions":[1,2,3]}`: false,
		`{"Spec":{"Subcycling":{"Levels":2,"Ratio":2}}}`:                    false,
		`{"Spec":{"Subcycling":{"Levels":0,"Ratio":2}},"Versions":[]}`:      false,
		`{"Spec":`: false,
	} {
		if _, err := decodeGlobal([]byte(text), "x"); (err == nil) != good || err != nil && !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestTableRefused: a table entry with an impossible chunk, version or range of bytes is refused.
func TestTableRefused(t *testing.T) {
	const chunks, data, born = 4, 1000, 7
	for what, c := range map[string]struct {
		e    entry
		good bool
	}{
		"the last chunk":         {entry{chunk: 3, since: 7, off: 500, stored: 500}, true},
		"a chunk too far":        {entry{chunk: 4, since: 7, stored: 500}, false},
		"a chunk below 0":        {entry{chunk: -1, since: 7, stored: 500}, false},
		"a later version":        {entry{chunk: 3, since: 8, stored: 500}, false},
		"a version below 0":      {entry{chunk: 3, since: -1, stored: 500}, false},
		"bytes beyond the end":   {entry{chunk: 3, since: 7, off: 501, stored: 500}, false},
		"bytes from beyond":      {entry{chunk: 3, since: 7, off: 1001}, false},
		"bytes below 0":          {entry{chunk: 3, since: 7, off: -1, stored: 500}, false},
		"so many bytes below 0":  {entry{chunk: 3, since: 7, off: 500, stored: -1}, false},
		"bytes that do not add":  {entry{chunk: 3, since: 7, off: 500, stored: 1<<63 - 1}, false},
		"off that does not add ": {entry{chunk: 3, since: 7, off: 1<<63 - 1, stored: 500}, false},
	} {
		if _, err := decodeTable(appendEntry(nil, c.e), "x", 0, chunks, data, born); (err == nil) != c.good || err != nil && !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := decodeTable(make([]byte, entryLen+1), "x", 0, chunks, data, born); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a byte more: %v", err)
	}
}

// TestRecordOfNewerProgram: if a newer program has written a record that this program cannot read, neither an open array nor
// a View overwrites it.
func TestRecordOfNewerProgram(t *testing.T) {
	mem, st := memStore(t)
	ranks(t, 2, func(ctx context.Context, c comm.Comm) error {
		a := floats(ctx, t, c, st, 64, nil)
		inc(ctx, t, a)
		var view *View
		if c.Rank() == 0 {
			view = openOne(t, mem, "a")
			rec := a.cat.record().clone()
			rec.Ver++
			must(t, writeRecord(mem, "d/a", rec, true))
		}
		must(t, c.Barrier(ctx))
		if _, err := a.Inc(ctx, 1, ""); !errors.Is(err, fault.ErrVersion) {
			return fmt.Errorf("Inc: %w", err)
		}
		if c.Rank() == 0 {
			if _, _, err := view.Drop(ctx, false, 0); !errors.Is(err, fault.ErrVersion) {
				return fmt.Errorf("Drop: %w", err)
			}
			if _, err := readRecord(mem, "d/a"); !errors.Is(err, fault.ErrVersion) {
				return fmt.Errorf("the record: %w", err)
			}
		}
		return nil
	})
}
