package subfile

import (
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"blobio/internal/base/crashtest"
	"blobio/internal/base/crccat"
	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// session creates a dataset with one variable-centric subfile, and its writer continues after this number of commits.
func session(t *testing.T, fsys vfs.FS, by By, commits int64) (*Log, *Manifest) {
	t.Helper()
	m := &Manifest{ID: "0123456789abcdef0123456789abcdef", Writer: by.Tag, Layout: "variable-centric", Base: "d.nc", Ranks: 1, Prepared: true, Log: by.Tag, Commits: 1,
		Sets: []SetInfo{{Base: "d.nc", Subfiles: []Subfile{{Size: 8, HeaderLen: 8, Extents: CRCs{}}}}}}
	must(t, vfs.WriteFile(fsys, "d.nc.0000", make([]byte, 8)))
	l := need(CreateLog(fsys, "d.nc", by.Tag))
	must(t, WriteNext(fsys, "d.nc", m, true, by))
	must(t, Finish(fsys, "d.nc", m, true, by))
	for n := int64(1); n < commits; n++ {
		must(t, l.Add(entry(m, n+1), true, by))
	}
	return l, m
}

// entry returns commit n, with n-1 records.
func entry(m *Manifest, n int64) *Entry {
	return &Entry{ID: m.ID, Commit: n, Records: n - 1, Subfiles: []Growth{{Size: 8 + n, Extents: CRCs{uint32(n)}}}}
}

func state(t *testing.T, fsys vfs.FS) *State {
	t.Helper()
	return need(ReadState(fsys, "d.nc"))
}

// TestLogState: the state is the manifest with all entries. Fold makes a manifest of version 1 and removes the log.
func TestLogState(t *testing.T) {
	for _, shared := range []bool{false, true} {
		mem, by := vfs.NewMem(), By{Tag: mine, Shared: shared}
		l, _ := session(t, mem, by, 4)
		st := state(t, mem)
		if m := st.Manifest; m.Records != 3 || m.Commits != 4 || m.Sets[0].Records != 3 || m.Sets[0].Subfiles[0].Size != 12 ||
			!reflect.DeepEqual(m.Sets[0].Subfiles[0].Extents, CRCs{2, 3, 4}) || st.LogEnd != l.end || st.LogTorn != 0 {
			t.Fatalf("%+v", st.Manifest)
		}
		if r := st.Record; r.Records != 0 || r.Commits != 1 || r.Version != logVersion || len(r.Sets[0].Subfiles[0].Extents) != 0 {
			t.Errorf("the record changed with the state: %+v", r)
		}
		must(t, l.Close())
		must(t, l.Close())
		need(Fold(mem, "d.nc", st.Manifest, true, by))
		m := state(t, mem).Manifest
		if m.Log != "" || m.Commits != 0 || m.Version != plainVersion || m.Records != 3 {
			t.Errorf("folded: %+v", m)
		}
		left(t, "left", mem, "d.nc.0000", "d.nc.manifest")
	}
}

// TestLogSets tests entries that add sets, and entries that fill the room of the last set.
func TestLogSets(t *testing.T) {
	m := record("d.nc", true)
	m.Log, m.Commits = mine, 1
	c := m.Clone()
	set := func(first, n, room int64, base string) *Entry {
		return &Entry{ID: m.ID, Commit: c.Commits + 1, Records: first + n, Sets: []SetInfo{{Base: base, First: first, Records: n, Room: room, Subfiles: make([]Subfile, 2)}}}
	}
	must(t, c.apply(set(0, 2, 0, "d.nc+1"), "l", 0))
	must(t, c.apply(set(2, 1, 4, "d.nc+2"), "l", 0))
	grow := &Entry{ID: m.ID, Commit: 4, Records: 6, Subfiles: make([]Growth, 2)}
	must(t, c.Clone().apply(grow, "l", 0))
	grow.Records++
	for what, e := range map[string]*Entry{"over its room": grow, "of a name before": set(3, 1, 0, "d.nc+1"), "not behind": set(4, 1, 0, "d.nc+3"), "room for fewer": set(3, 2, 1, "d.nc+3")} {
		if err := c.Clone().apply(e, "l", 7); !errors.Is(err, fault.ErrCorrupt) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if len(m.Sets) != 1 || c.Records != 3 {
		t.Errorf("%+v", m)
	}
}

// TestLogFails: an entry that cannot be made durable is removed; if the removal fails, the error is an UnsureError.
func TestLogFails(t *testing.T) {
	on := errors.New("on fire")
	for _, tries := range []int{1, 2} {
		mem, by := vfs.NewMem(), By{Tag: mine}
		left := 0
		fsys := vfs.NewFault(mem, func(op vfs.Op) error {
			if left > 0 && op.Kind == vfs.OpSync {
				left--
				return on
			}
			return nil
		})
		l, m := session(t, fsys, by, 2)
		left = tries
		err := l.Add(entry(m, 3), true, by)
		if !errors.Is(err, on) || errors.Is(err, durable.ErrUnsure) != (tries == 2) {
			t.Errorf("%d: %v", tries, err)
		}
		if n := state(t, mem).Manifest.Commits; tries == 1 && n != 2 {
			t.Errorf("%d commits", n)
		}
	}
}

// late adds an entry without checks, as if the writer had checked its lease and the name of the log before.
func late(t *testing.T, l *Log, e *Entry) {
	t.Helper()
	b, err := e.Encode()
	must(t, err)
	_, err = l.file.WriteAt(b, l.end)
	must(t, errors.Join(err, l.file.Sync()))
	l.end += int64(len(b))
}

// TestLogTaken: a new writer gets the existing entries, but no later entries. The writer that lost its lease returns an error.
func TestLogTaken(t *testing.T) {
	mem, lost := vfs.NewMem(), error(nil)
	old := By{Tag: mine, Check: func() error { return lost }}
	l, m := session(t, mem, old, 3)
	must(t, vfs.WriteFile(mem, "d.nc.manifest."+theirs+".log", nil)) // log of a third writer
	got, err := Recover(mem, "d.nc", By{Tag: theirs})
	must(t, err)
	if got.Records != 2 || got.Log != "" {
		t.Fatalf("%+v", got)
	}
	late(t, l, entry(m, 4))
	lost = fault.ErrInUse
	if err := l.Add(entry(m, 5), true, old); !errors.Is(err, fault.ErrInUse) || errors.Is(err, durable.ErrUnsure) {
		t.Errorf("lost: %v", err)
	}
	if m := state(t, mem).Manifest; m.Records != 2 {
		t.Errorf("%d records", m.Records)
	}
	left(t, "left", mem, "d.nc.0000", "d.nc.manifest")
	// The lease is lost between the entry and the second check.
	calls := 0
	l, m = session(t, vfs.NewMem(), By{Tag: mine}, 1)
	err = l.Add(entry(m, 2), true, By{Tag: mine, Check: func() error {
		if calls++; calls == 2 {
			return fault.ErrInUse
		}
		return nil
	}})
	if !errors.Is(err, durable.ErrUnsure) || !errors.Is(err, fault.ErrInUse) {
		t.Errorf("lost behind it: %v", err)
	}
}

// TestLogCrash: a power cut at any operation while a dead writer's log is folded does not change the state.
func TestLogCrash(t *testing.T) {
	for _, shared := range []bool{false, true} {
		start := vfs.NewMem()
		l, m := session(t, start, By{Tag: mine}, 3)
		b, err := entry(m, 4).Encode()
		must(t, err)
		_, err = l.file.WriteAt(b[:len(b)-3], l.end) // an incomplete entry
		must(t, err)
		must(t, errors.Join(l.file.Sync(), l.Close(), start.SyncDir(".")))
		n := 0
		sc := crashtest.Scenario{Start: []*vfs.Mem{start}, Torn: 1, Run: crashtest.One(func(fsys vfs.FS) error {
			_, err := Recover(fsys, "d.nc", By{Tag: theirs, Shared: shared})
			return err
		})}
		for _, cut := range sc.Cuts(t) {
			c := cut.Mem[0]
			n++
			if got := state(t, c).Manifest; got.Records != 2 {
				t.Fatalf("%d records; %v", got.Records, names(t, c))
			}
			need(Recover(c, "d.nc", By{Tag: "w00000003"}))
			left(t, "left", c, "d.nc.0000", "d.nc.manifest")
			if m := state(t, c).Manifest; m.Records != 2 || m.Log != "" {
				t.Fatalf("%+v", m)
			}
		}
		if n < 10 {
			t.Errorf("%d cuts", n)
		}
	}
}

// TestLogRemovedLate: a reader of the manifest before the fold finds no log and reads the manifest again.
func TestLogRemovedLate(t *testing.T) {
	mem, by := vfs.NewMem(), By{Tag: mine}
	l, _ := session(t, mem, by, 3)
	must(t, l.Close())
	folded := false
	fsys := vfs.NewFault(mem, func(op vfs.Op) error {
		if op.Kind == vfs.OpOpen && strings.HasSuffix(op.Name, logSuffix) && !folded {
			folded = true
			_, err := Fold(mem, "d.nc", state(t, mem).Manifest, true, by)
			return err
		}
		return nil
	})
	if st, err := ReadState(fsys, "d.nc"); err != nil || st.Manifest.Records != 2 || !folded {
		t.Errorf("%v", err)
	}
	if _, err := mem.Stat(LogName("d.nc", mine)); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// FuzzLog: any log is read or refused with a typed error that names the log. The resulting state is a valid manifest.
func FuzzLog(f *testing.F) {
	m := record("d.nc", true)
	m.Log, m.Commits, m.Piece = mine, 1, 8
	good := need((&Entry{ID: m.ID, Commit: 2, Records: 1, Sets: []SetInfo{{Base: "d.nc+1", Records: 1, Room: 3, Subfiles: make([]Subfile, 2)}}}).Encode())
	more := need((&Entry{ID: m.ID, Commit: 3, Records: 2, Subfiles: []Growth{{Size: 1, Extents: CRCs{1}, Pieces: CRCs{2}}, {}}}).Encode())
	f.Add(append(good, more...))
	f.Add(more[:len(more)-3])
	f.Add([]byte(`{"blobio_commit":1,"id":"` + m.ID + `","commit":2,"records":-1,"sets":[{"subfiles":[{"size":-1}]}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, in := range [][]byte{b, sealed(string(b))} {
			st := m.Clone()
			n, _, err := st.applyLog(in, "l")
			if err != nil {
				var fe *fault.FormatError
				if !errors.As(err, &fe) || fe.File != "l" || fe.Offset > int64(len(in)) {
					t.Fatalf("not a typed error: %v", err)
				}
				continue
			}
			if n < 0 || n > int64(len(in)) {
				t.Fatalf("%d of %d bytes", n, len(in))
			}
			file := need(st.Encode())
			if _, err := Decode(file, "m"); err != nil {
				t.Fatalf("no manifest: %v\n%s", err, file)
			}
		}
	})
}

// TestLogLate: an entry added while the log is copied stays, because a reader may have seen it. An entry added after the copy has
// its name belongs to no state.
func TestLogLate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: there nobody can take a log over that is open")
	}
	for _, before := range []bool{true, false} {
		mem, by := vfs.NewMem(), By{Tag: mine}
		l, m := session(t, mem, by, 2)
		seen, named, added := int64(0), false, false
		fsys := vfs.NewFault(mem, func(op vfs.Op) error {
			names := op.Kind == vfs.OpRename && op.New == LogName("d.nc", mine)
			at := names && before || op.Kind == vfs.OpSyncDir && named && !before
			named = named || names
			if !at || added {
				return nil
			}
			added = true
			late(t, l, entry(m, 3))
			seen = state(t, mem).Manifest.Records
			return nil
		})
		got := need(Recover(fsys, "d.nc", By{Tag: theirs}))
		if want := map[bool]int64{true: 2, false: 1}[before]; got.Records != want || seen != want || !added {
			t.Errorf("before %v: %d records, a reader has found %d, want %d", before, got.Records, seen, want)
		}
	}
}

// TestLogTakenBack: an entry that could not be made durable is removed, but a new writer may already have copied it.
func TestLogTakenBack(t *testing.T) {
	on, lost := errors.New("on fire"), error(nil)
	mem, by := vfs.NewMem(), By{Tag: mine, Check: func() error { return lost }}
	armed := false
	fsys := vfs.NewFault(mem, func(op vfs.Op) error {
		if armed && op.Kind == vfs.OpSync {
			armed, lost = false, fault.ErrInUse
			_, err := Recover(mem, "d.nc", By{Tag: theirs})
			return errors.Join(on, err)
		}
		return nil
	})
	l, m := session(t, fsys, by, 2)
	armed = true
	err := l.Add(entry(m, 3), true, by)
	if n := state(t, mem).Manifest.Records; n != 2 {
		t.Fatalf("%d records: the other one has not found it", n)
	}
	if !errors.Is(err, on) || !errors.Is(err, durable.ErrUnsure) {
		t.Errorf("it counts, but the writer is told: %v", err)
	}
}

// TestLogLimits: a log too large to read is not written. Added sets get no piece checksums if the dataset has the maximum.
func TestLogLimits(t *testing.T) {
	mem, by := vfs.NewMem(), By{Tag: mine}
	l, m := session(t, mem, by, 2)
	l.end = maxManifest - 10
	if err := l.Add(entry(m, 3), true, by); !errors.Is(err, fault.ErrTooLarge) || errors.Is(err, durable.ErrUnsure) {
		t.Errorf("a log that is too large: %v", err)
	}
	if st := state(t, mem); st.Manifest.Commits != 2 || st.LogTorn != 0 {
		t.Errorf("then %d commits, %d bytes behind", st.Manifest.Commits, st.LogTorn)
	}
	m = record("d.nc", true)
	m.Log, m.Commits, m.Piece = mine, 1, 8
	c := m.Clone()
	c.pieces = crccat.MaxPieces - 1
	for k, want := range []int{1, 0} {
		e := &Entry{ID: m.ID, Commit: c.Commits + 1, Sets: []SetInfo{{Base: fmt.Sprint("d.nc+", k+1), Subfiles: []Subfile{{Pieces: CRCs{1}}}}}}
		must(t, c.apply(e, "l", 0))
		if n := len(c.Sets[len(c.Sets)-1].Subfiles[0].Pieces); n != want || c.pieces != crccat.MaxPieces {
			t.Errorf("set %d: checksums of %d pieces, %d of all", k, n, c.pieces)
		}
	}
}

// TestAddAtts: attributes of many entries are appended or replace attributes of the same name. A change of one state does not
// change another state.
func TestAddAtts(t *testing.T) {
	att := func(of, name, v string) AttInfo { return AttInfo{Var: of, Name: name, Type: "char", Data: []byte(v)} }
	text := func(m *Manifest) (s string) {
		for _, a := range m.Atts {
			s += a.Var + ":" + a.Name + "=" + string(a.Data) + " "
		}
		return s
	}
	m := &Manifest{Atts: []AttInfo{att("", "a", "1"), att("T", "a", "2")}}
	m.AddAtts([]AttInfo{att("T", "a", "3"), att("T", "b", "4"), att("T", "b", "5")})
	c := m.Clone()
	c.AddAtts([]AttInfo{att("", "a", "6"), att("", "c", "7")})
	m.AddAtts([]AttInfo{att("T", "b", "8")})
	if got, want := text(m), ":a=1 T:a=3 T:b=8 "; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := text(c), ":a=6 T:a=3 T:b=5 :c=7 "; got != want {
		t.Errorf("of a clone %q, want %q", got, want)
	}
	const n = 200_000 // comparing all pairs would take 2e10 comparisons
	for k := range n {
		c.AddAtts([]AttInfo{att("", fmt.Sprint(k%(n/2)), "x")})
	}
	if len(c.Atts) != 4+n/2 {
		t.Errorf("%d attributes", len(c.Atts))
	}
}

// TestLogHeldBack: the state lists the records that its last commit held back. The finished manifest does not list them. An entry
// may contain only held-back records. A value that does not fit the state is an error.
func TestLogHeldBack(t *testing.T) {
	mem, by := vfs.NewMem(), By{Tag: mine}
	l, m := session(t, mem, by, 3)
	held := &HeldBack{Record: 2, Put: 5, Var: "T", Rank: 1}
	must(t, l.Add(&Entry{ID: m.ID, Commit: 4, Records: 2, Held: held}, true, by))
	st := state(t, mem)
	if st.Manifest.Records != 2 || st.Manifest.Commits != 4 || st.Manifest.Held == nil || *st.Manifest.Held != *held {
		t.Errorf("%+v", st.Manifest)
	}
	if got, want := held.String(), `records 2 to 4 are held back: rank 1 has not put "T" of record 2`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if m := st.Manifest.finished(mine); m.Held != nil {
		t.Errorf("the finished manifest holds back %v", m.Held)
	}
	must(t, l.Add(entry(m, 5), true, by)) // holds back nothing
	must(t, l.Close())
	if st = state(t, mem); st.Manifest.Records != 4 || st.Manifest.Held != nil {
		t.Errorf("%+v", st.Manifest)
	}
	for what, h := range map[string]HeldBack{"committed": {3, 5, "T", 1}, "not put": {4, 4, "T", 1}, "no variable": {4, 5, "", 1}, "no rank": {4, 5, "T", -2}, "too many": {4, maxRecords + 1, "T", 0}} {
		err := st.Manifest.Clone().Apply(&Entry{ID: m.ID, Commit: 6, Records: 4, Held: &h})
		if !errors.Is(err, fault.ErrCorrupt) || !strings.Contains(err.Error(), "held_back") {
			t.Errorf("%s: %v", what, err)
		}
		c := st.Record.Clone()
		c.Held = &h
		if err := c.validate("d.nc.manifest"); !errors.Is(err, fault.ErrCorrupt) || !strings.Contains(err.Error(), "held_back") {
			t.Errorf("%s, in a manifest: %v", what, err)
		}
	}
	if err := st.Manifest.Clone().Apply(&Entry{ID: m.ID, Commit: 6, Records: 4}); !errors.Is(err, fault.ErrCorrupt) {
		t.Errorf("an entry of nothing: %v", err)
	}
}
