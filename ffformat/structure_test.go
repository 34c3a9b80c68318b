package ffformat

import (
	"blobio/internal/base/fault"
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestOverlap: if containers overlap, only containers that are not at the place that the growth rule gives are lost.
func TestOverlap(t *testing.T) {
	one := [][]spec{{{1, 100, 100}, {2, 10, 10}, {3, 10, 10}, {4, 0, 0}, {5, 100, 100}}}
	for _, n := range []struct {
		name     string
		lost     []int32
		overlaps int // number of findings about overlaps
		change   func(at func(i int) *Container)
	}{
		{"onto the one before", []int32{2}, 1, func(at func(int) *Container) { at(1).Fptr = at(0).Fptr + 99 }},
		{"onto the one behind", []int32{2}, 1, func(at func(int) *Container) { at(1).Fptr = at(2).Fptr - 1 }},
		{"a long one onto all before", []int32{5}, 1, func(at func(int) *Container) { at(4).Fptr = at(0).Fptr + 95 }},
		{"two into a long one", []int32{2, 3}, 2, func(at func(int) *Container) { at(1).Fptr, at(2).Fptr = at(0).Fptr+20, at(0).Fptr+50 }},
		{"two onto each other", []int32{2, 3}, 2, func(at func(int) *Container) { at(1).Fptr, at(2).Fptr = at(1).Fptr+5, at(2).Fptr-2 }},
		{"places changed", nil, 0, func(at func(int) *Container) { at(1).Fptr, at(2).Fptr = at(2).Fptr, at(1).Fptr }},
		{"one of an impossible size", []int32{2}, 0, func(at func(int) *Container) { at(1).Fptr, at(1).ChunkSize = at(0).Fptr+20, 11 }},
		{"an empty one", nil, 0, func(at func(int) *Container) { at(3).Fptr = at(0).Fptr + 50 }},
	} {
		for _, k := range kinds {
			t.Run(n.name+"/"+k.name, func(t *testing.T) {
				f, b := build(t, k.layout, k.hash, 512, one)
				n.change(func(i int) *Container { return f.at(0, i) })
				reseal(t, f, b)
				r, err := NewReader(bytes.NewReader(b), int64(len(b)), "", &Options{Lenient: true})
				must(t, err)
				var lost []int32
				for id := int32(1); id <= 5; id++ {
					if _, err := r.VarSize(id); err != nil {
						lost = append(lost, id)
					}
				}
				if !slices.Equal(lost, n.lost) {
					t.Errorf("lost are %v, want %v", lost, n.lost)
				}
				overlaps := 0
				for _, fi := range findings(t, b, "", nil) {
					if strings.Contains(fi.Msg, "overlaps") {
						overlaps++
						if id, _ := fi.Var.Get(); !slices.Contains(n.lost, int32(id)) || !errors.Is(fi.Err, ErrCorrupt) {
							t.Errorf("%v", fi)
						}
					}
				}
				if overlaps != n.overlaps {
					t.Errorf("%d findings of overlaps, want %d", overlaps, n.overlaps)
				}
			})
		}
	}
}

// TestNumvars: numvars is too low, so records of a block are lost. In layouts A and B, dbsize still leads to the rest of the
// file. If the last container of a variable is among the lost records, the variable must not be read as a shorter one.
func TestNumvars(t *testing.T) {
	for _, k := range kinds {
		for i := range six {
			f, b := build(t, k.layout, k.hash, 512, six)
			b[f.Blocks[i].Offset]--
			if !slices.ContainsFunc(findings(t, b, "", nil), func(x Finding) bool { return x.Severity >= Error }) {
				t.Errorf("%s: Check does not find that block %d lost a record", k.name, i)
			}
			neverWrong(t, b, six)
		}
	}
}

// TestManyFindings: for a file of garbage, Check reports the first findings of each kind and counts the others. It still
// reports every bad variable.
func TestManyFindings(t *testing.T) {
	const n = 3*maxFlaws + 7
	specs := func(size int64) [][]spec {
		b := make([]spec, n)
		for i := range b {
			b[i] = spec{int32(i), size, size}
		}
		return [][]spec{b}
	}
	for _, c := range []struct {
		name   string
		size   int64
		change func(c *Container)
		sev    fault.Severity
		more   string
		lost   bool
	}{
		{"chunks", 1, func(c *Container) { c.Hash[0] ^= 1 }, Error, fmt.Sprintf("%d more hashes are bad", n-maxFlaws), false},
		{"empty chunks", 0, func(c *Container) { c.Hash[0] ^= 1 }, fault.Note, fmt.Sprintf("%d more empty chunks", n-maxFlaws), false},
		{"records", 1, func(c *Container) { c.Dptr = 3 }, Error, fmt.Sprintf("%d more errors", n-maxFlaws), true},
		{"sizes", 1, func(c *Container) { c.ChunkSize = 2 }, Error, fmt.Sprintf("%d more errors", n-maxFlaws), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, b := build(t, LayoutF, MD5, 0, specs(c.size))
			for i := range f.Blocks[0].Containers {
				c.change(f.at(0, i))
			}
			reseal(t, f, b)
			list := findings(t, b, "", nil)
			if len(list) > maxFlaws+5 {
				t.Errorf("%d findings", len(list))
			}
			if !slices.ContainsFunc(list, func(x Finding) bool { return x.Severity == c.sev && strings.Contains(x.Msg, c.more) }) {
				t.Errorf("no %q in %v", c.more, list[len(list)-2:])
			}
			r, err := NewReader(bytes.NewReader(b), int64(len(b)), "x", &Options{Lenient: true})
			must(t, err)
			for _, id := range []int32{0, maxFlaws - 1, maxFlaws, n - 1} {
				_, err := r.VarSize(id)
				var fe *FormatError
				if c.lost != (err != nil) || c.lost && (!errors.As(err, &fe) || !errors.Is(err, ErrCorrupt) || !slices.Contains(BadVars(err), id) ||
					fe.Offset <= f.RecordOffset(0, int(id)) || fe.Offset >= f.RecordOffset(0, int(id)+1)) {
					t.Errorf("variable %d: %v", id, err)
				}
				if c.lost && (id < maxFlaws) == strings.Contains(err.Error(), "many headers here do") {
					t.Errorf("variable %d: %v", id, err)
				}
			}
		})
	}
}

// TestManyWarnings: more than maxFlaws warnings are not an error, and they do not hide errors.
func TestManyWarnings(t *testing.T) {
	var b1, b2 []spec
	for i := range int32(maxFlaws + 50) {
		b1 = append(b1, spec{i, 2, 1})
		b2 = append(b2, spec{i, 1, 0}) // with content, so each container gives a warning
	}
	f, b := build(t, LayoutF, MD5, 0, [][]spec{b1, b2})
	w, err := NewWriter(nil)
	must(t, err)
	resume := func() error {
		g, err := decodeBytes(b, "x", nil)
		must(t, err)
		return w.Resume(g)
	}
	for _, x := range findings(t, b, "x", nil) {
		if x.Severity >= Error {
			t.Fatal(x)
		}
	}
	if err := resume(); err != nil {
		t.Error(err)
	}
	f.at(1, maxFlaws+49).ContainerID = 0 // after the last reported flaw
	reseal(t, f, b)
	if !slices.ContainsFunc(findings(t, b, "x", nil), func(x Finding) bool { return x.Severity >= Error }) {
		t.Error("the warnings hide an error")
	}
	if err := resume(); !errors.Is(err, ErrCorrupt) {
		t.Errorf("Resume of a file whose error nobody told: %v", err)
	}
}
