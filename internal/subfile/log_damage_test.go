package subfile

import (
	"errors"
	"strings"
	"testing"

	"blobio/internal/base/crashtest"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// TestLogDamage: a truncated log, or one that ends in zeros, has the commits before the damage. A flipped bit loses no commit and
// is reported. A log of an older version has only one copy of each entry, so a flipped bit is an error.
func TestLogDamage(t *testing.T) {
	mem, by := vfs.NewMem(), By{Tag: mine}
	l, m := session(t, mem, by, 4)
	must(t, l.Close())
	good := content(t, mem, LogName("d.nc", mine))
	at := func(b string) (*State, error) {
		must(t, mem.Remove(LogName("d.nc", mine)))
		must(t, vfs.WriteFile(mem, LogName("d.nc", mine), []byte(b)))
		return ReadState(mem, "d.nc")
	}
	var ends []int
	for n := int64(2); n <= 4; n++ {
		b := need(entry(m, n).Encode())
		ends = append(ends, len(b))
		if n > 2 {
			ends[n-2] += ends[n-3]
		}
	}
	for n := range len(good) + 1 {
		want := int64(0)
		for _, end := range ends {
			if n >= end {
				want++
			}
		}
		if st, err := at(good[:n]); err != nil || st.Manifest.Records != want || st.LogEnd+st.LogTorn != int64(n) {
			t.Fatalf("cut to %d: %v, want %d records", n, err, want)
		}
	}
	once := ""
	for k, line := range strings.SplitAfter(good, "\n") {
		if k%2 == 0 && line != "" {
			once += string(sealed(strings.TrimSuffix(line, "\n")))
		}
	}
	if st, err := at(once); err != nil || st.Manifest.Records != 3 || len(st.Flaws) > 0 {
		t.Fatalf("of an older version: %v", err)
	}
	for _, log := range []string{good, once} {
		for k := range log {
			for bit := range 8 {
				if !crashtest.Long() && bit != k%8 {
					continue
				}
				b := []byte(log)
				b[k] ^= 1 << bit
				st, err := at(string(b))
				if err == nil && (st.Manifest.Records != 3 || st.LogTorn != 0 || len(st.Flaws) != 1) || err != nil && (log == good || !errors.Is(err, fault.ErrCorrupt)) {
					t.Fatalf("bit %d of byte %d of %d: %v", bit, k, len(log), err)
				}
				if err == nil {
					continue
				}
				st, err = ReadForced(mem, "d.nc")
				if err != nil || st.Lost == nil || st.Manifest.Records > 2 {
					t.Fatalf("bit %d of byte %d of %d, forced: %v", bit, k, len(log), err)
				}
			}
		}
	}
	for n := ends[1]; n < len(good); n++ {
		if st, err := at(good[:n] + strings.Repeat("\x00", len(good)-n)); err != nil || st.Manifest.Records != 2 && len(st.Flaws) == 0 {
			t.Fatalf("zeros from %d on: %v", n, err)
		}
	}
	for what, e := range map[string]*Entry{
		"another dataset":  {ID: m.ID[1:] + "0", Commit: 5, Records: 3, Subfiles: []Growth{{Size: 12}}},
		"commit twice":     {ID: m.ID, Commit: 4, Records: 3, Subfiles: []Growth{{Size: 12}}},
		"commit left out":  {ID: m.ID, Commit: 6, Records: 3, Subfiles: []Growth{{Size: 12}}},
		"fewer records":    {ID: m.ID, Commit: 5, Records: 2, Subfiles: []Growth{{Size: 12}}},
		"too many records": {ID: m.ID, Commit: 5, Records: maxRecords + 1, Subfiles: []Growth{{Size: 12}}},
		"other subfiles":   {ID: m.ID, Commit: 5, Records: 3, Subfiles: []Growth{{Size: 12}, {Size: 12}}},
		"shorter":          {ID: m.ID, Commit: 5, Records: 3, Subfiles: []Growth{{Size: 11}}},
		"nothing":          {ID: m.ID, Commit: 5, Records: 3},
		"pieces":           {ID: m.ID, Commit: 5, Records: 3, Subfiles: []Growth{{Size: 12, Pieces: CRCs{1}}}},
		"a set twice":      {ID: m.ID, Commit: 5, Records: 3, Sets: []SetInfo{{Base: "d.nc", First: 3, Subfiles: make([]Subfile, 1)}}},
		"maps, no ranks":   {ID: m.ID, Commit: 5, Records: 3, Sets: []SetInfo{{Base: "d.nc+1", First: 3, Maps: []string{"0123456789abcdef"}, Subfiles: make([]Subfile, 1)}}},
		"too few ranks":    {ID: m.ID, Commit: 5, Records: 3, Sets: []SetInfo{{Base: "d.nc+1", First: 3, Ranks: 1, Subfiles: make([]Subfile, 2)}}},
	} {
		b := need(e.Encode())
		if _, err := at(good + string(b)); !errors.Is(err, fault.ErrCorrupt) || !strings.Contains(err.Error(), LogName("d.nc", mine)) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := at(good + "{\"blobio_commit\":2}\n{\"crc32\":\"00000000\"}\n"); !errors.Is(err, fault.ErrCorrupt) {
		t.Errorf("written to its end: %v", err)
	}
	must(t, mem.Remove(LogName("d.nc", mine)))
	if _, err := ReadState(mem, "d.nc"); !errors.Is(err, fault.ErrMissing) {
		t.Errorf("without the log: %v", err)
	}
}

// TestNextFlips: a flipped bit in a prepared record that waits for its renames changes no state. In a record of an older version,
// a flipped bit may be an error.
func TestNextFlips(t *testing.T) {
	was, now := record("d.nc", true), record("d.nc", true)
	was.Records, was.Sets[0].Records = 1, 1
	now.Records, now.Sets[0].Records = 2, 2
	twice := need(now.Encode())
	old := need(was.Encode())
	line, _, _ := strings.Cut(string(twice), "\n")
	for _, b := range [][]byte{twice, sealed(line)} {
		for k := range b {
			for bit := range 8 {
				if !crashtest.Long() && bit != k%8 {
					continue
				}
				mem := vfs.NewMem()
				bad := append([]byte(nil), b...)
				bad[k] ^= 1 << bit
				must(t, vfs.WriteFile(mem, ManifestName("d.nc"), old))
				must(t, vfs.WriteFile(mem, NextName("d.nc"), bad))
				st, err := ReadState(mem, "d.nc")
				if err == nil && (st.Manifest.Records != 2 || !st.Pending || len(st.Flaws) != 1) || err != nil && (len(b) == len(twice) || !errors.Is(err, fault.ErrChecksum)) {
					t.Fatalf("bit %d of byte %d of %d: %v", bit, k, len(b), err)
				}
				got := need(Recover(mem, "d.nc", By{Tag: mine, Force: true}))
				if st := state(t, mem); len(st.Flaws) > 0 || st.Manifest.Records != got.Records || got.Records != 2 && len(b) == len(twice) {
					t.Fatalf("bit %d of byte %d of %d, recovered: %+v", bit, k, len(b), st)
				}
			}
		}
		for n := range b { // a crash of a writer without durability
			mem := vfs.NewMem()
			must(t, vfs.WriteFile(mem, ManifestName("d.nc"), old))
			must(t, vfs.WriteFile(mem, NextName("d.nc"), b[:n]))
			if st := state(t, mem); st.Manifest.Records != 1 || !st.Writing {
				t.Fatalf("cut at %d: %+v", n, st)
			}
		}
	}
}

// TestLogLostSector: a zero sector is damage, not a crash, if a later commit exists. The later commit may be intact only in its
// second copy, or be visible only in the log's length. The later commit shows damage because a writer begins a commit only when
// the earlier commits are durable.
func TestLogLostSector(t *testing.T) {
	const sector = 512
	hidden := 0
	for commits := int64(6); commits < 30; commits++ {
		mem, by := vfs.NewMem(), By{Tag: mine}
		l, m := session(t, mem, by, commits)
		must(t, l.Close())
		good := content(t, mem, LogName("d.nc", mine))
		last := len(good) - len(need(entry(m, commits).Encode()))
		before := last - len(need(entry(m, commits-1).Encode()))
		damaged := func(from, to int) {
			t.Helper()
			b := []byte(good)
			clear(b[from:to])
			must(t, mem.Remove(LogName("d.nc", mine)))
			must(t, vfs.WriteFile(mem, LogName("d.nc", mine), b))
			if st, err := ReadState(mem, "d.nc"); !errors.Is(err, fault.ErrCorrupt) {
				t.Errorf("%d commits, zeros from %d to %d of %d: %v, error %v", commits, from, to, len(good), st, err)
			}
		}
		if line := before + strings.Index(good[before:], "\n") + 1; commits == 6 { // zeros up to the end of the log look like a crash, regardless of their start
			for from := line; from < last; from++ {
				damaged(from, len(good))
			}
		}
		second := last + strings.LastIndex(good[last:len(good)-1], "\n")
		from := (last - 1) / sector * sector // the sector in which the last commit begins
		if from+sector > second {
			continue
		}
		hidden++
		damaged(from, from+sector)
	}
	if hidden == 0 {
		t.Error("in no log the sector ends before the second copy of the last commit")
	}
}

// TestLogHostile: a log full of false entry starts is read in one pass. If the reader computed a checksum at each start, a log of
// 16 MB would take half an hour.
func TestLogHostile(t *testing.T) {
	m := record("d.nc", true)
	m.Log, m.Commits = mine, 1
	many := strings.Repeat(string(entryStart), 1<<20)
	good := need(entry(m, 7).Encode())
	for what, s := range map[string]string{"no end": many, "one line": many + "\n{\"crc32\":\"00000000\"}\n", "lines": strings.ReplaceAll(many, ":", "\n")} {
		if n, _, err := m.Clone().applyLog([]byte(s), "l"); n != 0 || !errors.Is(err, fault.ErrCorrupt) {
			t.Errorf("%s: %d bytes, %v", what, n, err)
		}
		if n, _, err := m.Clone().applyLog(append([]byte(s), good...), "l"); n != 0 || !errors.Is(err, fault.ErrCorrupt) {
			t.Errorf("%s, and a whole entry: %d bytes, %v", what, n, err)
		}
	}
}
