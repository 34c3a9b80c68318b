package ffformat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"blobio/internal/base/crashtest"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// repaired repairs a file in memory. b is nil if Repair wrote no file.
func repaired(t rapid.TB, old []byte, name string, o *Options) (rep *RepairReport, b []byte, err error) {
	t.Helper()
	before := bytes.Clone(old)
	dst, bytesOf := created(t)
	rep, err = Repair(context.Background(), bytes.NewReader(old), int64(len(old)), name, dst, o)
	if !bytes.Equal(old, before) {
		t.Fatalf("%s: the old file was changed", name)
	}
	if err == nil && rep.File != nil {
		b = bytesOf()
		noFaults(t, b, "repaired "+name)
	} else if len(bytesOf()) != 0 {
		t.Errorf("%s: bytes were written without a file", name)
	}
	return rep, b, err
}

// TestRepairVectors: undamaged vectors need no repair. In checkpoint 7 from v1.3 on, Repair replaces the checksum by the
// reader's checksum and keeps all other bytes.
func TestRepairVectors(t *testing.T) {
	dir, m := vectors(t)
	n := 0
	for name, e := range m {
		old := readVector(t, dir, name)
		rep, b, err := repaired(t, old, path.Base(name), nil)
		if strings.Contains(name, "RSed") {
			if !errors.Is(err, ErrUnsupported) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if e.ChecksumRules["cs_content_only"] || !e.ChecksumRules["cs_all_stored_hashes"] {
			if !rep.Sound || b != nil {
				t.Errorf("%s: %+v", name, rep)
			}
			continue
		}
		n++
		if rep.Sound || len(rep.Bad) != 0 || len(rep.Good) != 5 || len(rep.Actions) != 1 || !strings.Contains(rep.Actions[0].Msg, "reader's rule") {
			t.Errorf("%s: %+v", name, rep)
		}
		f, err := decodeBytes(old, name, nil)
		must(t, err)
		for _, x := range f.Extents() {
			switch {
			case x.Kind == extentEmpty: // stale bytes are not copied to the new file
			case x.Kind == extentMeta && x.Block < 0:
				if !bytes.Equal(old[x.Off+49:x.End()-1], b[x.Off+49:x.End()-1]) {
					t.Errorf("%s: the file block differs in more than checksum and myHash", name)
				}
			case !bytes.Equal(old[x.Off:x.End()], b[x.Off:x.End()]):
				t.Errorf("%s: %v at %#x differs", name, x.Kind, x.Off)
			}
		}
	}
	if n < 10 {
		t.Errorf("only %d files with the writer's checksum", n)
	}
}

// TestRepairTornAndBugs: Repair keeps all good variables of torn and buggy files and names the bad ones.
func TestRepairTornAndBugs(t *testing.T) {
	dir, _ := vectors(t)
	for _, v := range damagedVectors {
		old := readVector(t, dir, v.name+".fti")
		for _, how := range []string{"", "zero", "keep"} {
			rep, b, err := repaired(t, old, v.name, &Options{Bad: how})
			if len(v.bad) == 0 && v.good == 0 {
				if err == nil || rep != nil {
					t.Errorf("%s: %+v, %v: want an error, its metadata are gone", v.name, rep, err)
				}
				continue
			}
			if how == "" && v.good == 0 {
				if !errors.Is(err, ErrMissing) || len(rep.Bad) != len(v.bad) {
					t.Errorf("%s: %v", v.name, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", v.name, err)
				continue
			}
			if len(v.bad) == 0 {
				if !rep.Sound {
					t.Errorf("%s: %+v", v.name, rep)
				}
				continue
			}
			var bad []int32
			for _, x := range rep.Bad {
				bad = append(bad, x.ID)
				if x.Bytes == 0 || len(x.Lost) == 0 || !errors.Is(x.Err, ErrChecksum) || x.Fate != fateOf[how] {
					t.Errorf("%s: %+v", v.name, x)
				}
			}
			if !slices.Equal(bad, v.bad) || len(rep.Good) != v.good {
				t.Errorf("%s: %v bad, %v good", v.name, bad, rep.Good)
			}
			checkFate(t, v.name, how, rep, old, b)
		}
	}
}

// checkFate compares the new file with the old file, variable by variable.
func checkFate(t *testing.T, name string, how string, rep *RepairReport, old, b []byte) {
	t.Helper()
	r := reader(t, old, name)
	got := allVars(t, b, name)
	if want := len(rep.Good) + len(rep.Bad)*min(len(how), 1); len(got) != want {
		t.Errorf("%s: %d variables, want %d", name, len(got), want)
	}
	for _, v := range r.File().Vars() {
		if got[v.ID] == nil {
			continue
		}
		want := make([]byte, v.Size)
		if _, err := r.readAt(v.ID, want, 0, nil); err != nil {
			t.Fatal(err)
		}
		for _, x := range rep.Bad {
			for _, l := range x.Lost {
				if x.ID == v.ID && how == "zero" {
					clear(want[l.Off : l.Off+l.Len])
				}
			}
		}
		if !bytes.Equal(got[v.ID], want) {
			t.Errorf("%s: variable %d differs", name, v.ID)
		}
	}
}

// cannot has the faults of the negative corpus by which variables are lost, and how many of the five variables are lost.
var cannot = map[string]int{
	"hash of a chunk":                  1,
	"id of the last container unknown": 0,
	"id of a first container":          2,
}

// TestRepairNegative: each file of the negative corpus becomes sound, and no variable gets wrong bytes.
func TestRepairNegative(t *testing.T) {
	for _, n := range negative {
		for _, k := range kinds {
			if n.only != "" && !slices.Contains(strings.Fields(n.only), k.name) {
				continue
			}
			t.Run(n.name+"/"+k.name, func(t *testing.T) {
				f, old := build(t, k.layout, k.hash, 512, n.specs)
				n.change(f)
				reseal(t, f, old)
				rep, b, err := repaired(t, old, "", nil)
				must(t, err)
				if rep.Sound && n.name == "hascontent of an empty container" {
					return // FTI accepts this fault
				}
				if rep.Sound {
					t.Fatal("called sound")
				}
				want := contentOf(n.specs)
				for id, got := range allVars(t, b, "") {
					if !bytes.Equal(got, want[id]) {
						t.Errorf("variable %d: %d wrong bytes, want %d; %v", id, len(got), len(want[id]), rep.Actions)
					}
				}
				lost := cannot[n.name]
				if k.layout == LayoutB && n.field == "variable 4" {
					lost = 0 // the checksum shows that the bytes are good and the hash is wrong
				}
				if len(rep.Good) != 5-lost {
					t.Errorf("good %v, bad %v; %v", rep.Good, rep.Bad, rep.Actions)
				}
			})
		}
	}
}

// TestRepairCut: Repair handles a file that is truncated at any byte, or that has additional bytes at its end.
func TestRepairCut(t *testing.T) {
	for _, k := range kinds {
		f, whole := build(t, k.layout, k.hash, 512, six)
		want := contentOf(six)
		for cut := int64(1); cut < f.Size; cut += 1 + cut/7 {
			rep, b, err := repaired(t, whole[:f.Size-cut], "", nil)
			if err != nil {
				if k.layout.atEnd() && cut <= k.layout.fbSize() {
					t.Errorf("%s, %d bytes cut: %v", k.name, cut, err)
				}
				continue
			}
			got := map[int32][]byte{}
			if b != nil {
				got = allVars(t, b, "")
			}
			for id, p := range got {
				if !bytes.Equal(p, want[id]) && len(rep.File.Containers(id)) == len(f.Containers(id)) {
					t.Errorf("%s, %d bytes cut: variable %d is wrong", k.name, cut, id)
				}
			}
			if k.layout.atEnd() && len(rep.Good) != 5 {
				t.Errorf("%s, %d bytes cut: good %v", k.name, cut, rep.Good)
			}
		}
		for _, more := range []int{1, 100, 5000} {
			rep, b, err := repaired(t, append(bytes.Clone(whole), make([]byte, more)...), "", nil)
			if err != nil {
				t.Errorf("%s and %d bytes: %v", k.name, more, err)
				continue
			}
			sameVars(t, fmt.Sprintf("%s and %d bytes", k.name, more), allVars(t, b, ""), want)
			if rep.Sound || int64(len(b)) != f.Size {
				t.Errorf("%s and %d bytes: %+v", k.name, more, rep)
			}
		}
	}
}

// TestRepairRecordHash: if the hash in a record is wrong but the checksum fits the bytes, no data are lost.
func TestRepairRecordHash(t *testing.T) {
	for _, k := range kinds {
		f, old := build(t, k.layout, k.hash, 512, seven)
		f.at(1, 0).Hash[3] ^= 0x40
		put(t, f, old) // do not compute the checksum again
		rep, b, err := repaired(t, old, "", nil)
		if err != nil {
			t.Fatalf("%s: %v", k.name, err)
		}
		if k.hash == Fast || k.layout == LayoutA { // in these files the checksum covers the record
			if len(rep.Bad) != 1 || len(rep.Good) != 4 {
				t.Errorf("%s: %+v", k.name, rep)
			}
			continue
		}
		if len(rep.Bad) != 0 {
			t.Errorf("%s: %+v", k.name, rep)
		}
		sameVars(t, k.name, allVars(t, b, ""), contentOf(seven))
	}
}

// TestRepairEveryBit: for any flipped bit of the metadata Repair does not panic, makes a sound file, and never stores wrong
// bytes under the id and size of a variable.
func TestRepairEveryBit(t *testing.T) {
	want := contentOf(seven)
	for i, k := range kinds {
		good, old := build(t, k.layout, k.hash, 512, seven)
		pieces, err := good.encode()
		must(t, err)
		whole, n := 0, 0
		for _, p := range pieces {
			for at := p.Off + int64(i%3); at < p.Off+int64(len(p.Data)); at += crashtest.Times[int64](21, 3) {
				bit := (at*5 + int64(i)) % 8
				old[at] ^= 1 << bit
				rep, b, err := repaired(t, old, "", nil)
				n++
				switch {
				case err != nil:
					t.Errorf("%s: byte %#x bit %d: %v", k.name, at, bit, err)
				case rep.Sound, len(rep.Good) == 5:
					whole++
				}
				if f, _ := decodeBytes(old, "", &Options{Lenient: true}); b != nil && f != nil && !idChanged(good, f) {
					for id, got := range allVars(t, b, "") {
						if w, ok := want[id]; ok && !bytes.Equal(got, w) {
							t.Errorf("%s: byte %#x bit %d: variable %d is wrong: %v", k.name, at, bit, id, rep.Actions)
						}
					}
				}
				old[at] ^= 1 << bit
			}
		}
		t.Logf("%s: of %d flipped bits %d cost nothing", k.name, n, whole)
	}
}

func TestRepairRefuses(t *testing.T) {
	_, b := build(t, LayoutF, MD5, 0, seven)
	for _, o := range []*Options{{Bad: "mend"}, {Workers: -1}, {Layout: 99}, {CkptID: -1}} {
		if _, _, err := repaired(t, b, "", o); !errors.Is(err, fault.ErrUsage) {
			t.Errorf("%+v: %v", *o, err)
		}
	}
	if _, _, err := repaired(t, bytes.Repeat([]byte("no checkpoint "), 1000), "", nil); !errors.Is(err, ErrNotFormat) {
		t.Errorf("another format: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dst, err := vfs.NewMem().Create("x")
	must(t, err)
	if _, err := Repair(ctx, bytes.NewReader(b), int64(len(b)), "", dst, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func FuzzRepair(f *testing.F) {
	for _, k := range kinds {
		_, b := build(f, k.layout, k.hash, 512, seven)
		f.Add(b, uint8(0))
		f.Add(b[:len(b)-50], uint8(1))
		b = bytes.Clone(b)
		b[len(b)-300] ^= 4
		f.Add(b, uint8(2))
	}
	f.Fuzz(func(t *testing.T, b []byte, how uint8) {
		if g, err := decodeBytes(b, "", &Options{Lenient: true}); err == nil && max(g.FB.FileSize, g.FB.DataSize) > 1<<24 {
			return // the new file may be as large as the records say
		}
		if _, _, err := repaired(t, b, "", &Options{Bad: []string{"", "zero", "keep"}[how%3]}); isIO(err) && !errors.Is(err, fault.ErrUsage) {
			t.Error(err)
		}
	})
}

// TestRepairManyVariables: the time to repair a file does not grow with the square of the number of variables, whatever the
// records are.
func TestRepairManyVariables(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	n := crashtest.Times(5_000, 20_000)
	specs := make([][]spec, 1)
	for i := range n {
		specs[0] = append(specs[0], spec{int32(i), 1, 1})
	}
	for _, c := range []struct {
		name   string
		l      Layout
		damage func(c *Container)
		good   int
	}{
		{"sound", LayoutF, func(*Container) {}, n},
		{"bad chunks", LayoutF, func(c *Container) { c.Hash[0] ^= byte(c.ID & 1) }, n / 2},
		{"all in one place", LayoutF, func(c *Container) { c.Fptr, c.Hash = 0, digest{} }, 0},
		{"one place in the table", LayoutA, func(c *Container) { c.Idx = 0 }, n},
	} {
		f, b := build(t, c.l, MD5, 0, specs)
		for i := range f.Blocks[0].Containers {
			c.damage(&f.Blocks[0].Containers[i])
		}
		reseal(t, f, b)
		start := time.Now()
		rep, err := Repair(context.Background(), bytes.NewReader(b), int64(len(b)), c.name, nil, &Options{DryRun: true, Bad: "zero"})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if len(rep.Good) != c.good || len(rep.Bad) != n-c.good {
			t.Errorf("%s: %d good, %d bad, want %d good of %d", c.name, len(rep.Good), len(rep.Bad), c.good, n)
		}
		t.Logf("%s: %v", c.name, time.Since(start))
	}
}
