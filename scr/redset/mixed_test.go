package redset

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// TestRecoverOtherRanks checks that Recover rejects files that a different number of ranks wrote.
func TestRecoverOtherRanks(t *testing.T) {
	cl := newCluster(t, Options{Scheme: XOR, SetSize: 4}, even[:4])
	must(t, cl.encode("shared", cl.own))
	before := fromMem(t, cl.fs, ".")
	for _, n := range []int{3, 5} {
		cl.n = n
		if _, err := cl.recover("shared", cl.own); !errors.Is(err, fault.ErrUsage) {
			t.Errorf("%d ranks: %v", n, err)
		}
		same(t, fromMem(t, cl.fs, "."), before)
	}
}

// TestMixedSets mixes redundancy files of two encodes whose names match. Recover must detect that they contradict each other.
func TestMixedSets(t *testing.T) {
	for want, other := range map[string]func(cl *cluster){
		"in its set: set":               func(cl *cluster) { cl.o.K = 1 },
		"in its set: files of member 1": func(cl *cluster) { cl.files[1] = []string{"n1/g0"} },
	} {
		cl := newCluster(t, Options{Scheme: RS, SetSize: 4, K: 2}, [][]int{{1200}, {1200}, {1200}, {1200}})
		must(t, vfs.WriteFile(cl.fs, "n1/g0", bytes.Repeat([]byte("g"), 1200)))
		must(t, cl.encode("shared", cl.own))
		second := &cluster{n: cl.n, o: cl.o, files: append([][]string(nil), cl.files...), fs: copyFS(t, cl.fs)}
		other(second)
		must(t, second.encode("shared", second.own))
		mixed := 0
		for name, b := range fromMem(t, second.fs, "n1") {
			if strings.Contains(name, ".grp_") {
				replace(t, cl.fs, name, b)
				mixed++
			}
		}
		if _, err := cl.recover("shared", cl.own); mixed != 1 || !errors.Is(err, fault.ErrCorrupt) || !strings.Contains(err.Error(), want) {
			t.Errorf("%d files, want %q: %v", mixed, want, err)
		}
	}
}

// TestOtherChunk checks that a header is rejected if its chunk size does not match its files, even if all headers agree.
func TestOtherChunk(t *testing.T) {
	for _, by := range []int64{-1, 1} {
		cl := newCluster(t, Options{Scheme: XOR, SetSize: 4}, [][]int{{1200}, {1200}, {1200}, {1200}})
		must(t, cl.encode("shared", cl.own))
		for r := range cl.n {
			all, err := list(cl.fs, fmt.Sprintf("n%d/rs.", r))
			if err != nil || len(all) != 1 {
				t.Fatal(all, err)
			}
			h, err := readHeader(cl.fs, all[0])
			must(t, err)
			whole := fromMem(t, cl.fs, ".")[all[0].name]
			was, err := h.encode()
			if err != nil || !bytes.HasPrefix(whole, was) {
				t.Fatal("the header is not what it was", err)
			}
			h.chunk += by
			now, err := h.encode()
			must(t, err)
			replace(t, cl.fs, all[0].name, append(now, whole[len(was):]...))
		}
		if _, err := cl.recover("shared", cl.own); !errors.Is(err, fault.ErrCorrupt) || !strings.Contains(err.Error(), "CHUNK") {
			t.Errorf("by %d: %v", by, err)
		}
	}
}

// TestMixedForms gives a rank files of an encode with other sets. The rank must get an error, and nothing may change.
func TestMixedForms(t *testing.T) {
	cl := newCluster(t, Options{Scheme: XOR, SetSize: 4}, even[:8])
	second := &cluster{n: cl.n, o: Options{Scheme: XOR, SetSize: 2}, files: cl.files, fs: copyFS(t, cl.fs)}
	must(t, errors.Join(cl.encode("shared", cl.own), second.encode("shared", second.own)))
	for name := range fromMem(t, cl.fs, "n7") {
		if strings.Contains(name, "/rs.") {
			must(t, cl.fs.Remove(name))
		}
	}
	for name, b := range fromMem(t, second.fs, "n7") {
		replace(t, cl.fs, name, b)
	}
	before := fromMem(t, cl.fs, ".")
	if _, err := cl.recover("shared", cl.own); !errors.Is(err, fault.ErrCorrupt) || !strings.Contains(err.Error(), "but its files have") {
		t.Error(err)
	}
	same(t, fromMem(t, cl.fs, "."), before)
}

// TestOlderForm lets redundancy files of an older encode with other sets reappear. They must not determine the position of a
// rank.
func TestOlderForm(t *testing.T) {
	cl := newCluster(t, Options{Scheme: XOR, SetSize: 4}, even[:8])
	must(t, cl.encode("shared", cl.own))
	older := fromMem(t, cl.fs, ".")
	cl.again(t)
	cl.o.SetSize = 2
	must(t, cl.encode("shared", cl.own))
	whole := fromMem(t, cl.fs, ".")
	for name, b := range older {
		if _, ok := whole[name]; !ok {
			replace(t, cl.fs, name, b)
		}
	}
	for name := range whole {
		if strings.HasPrefix(name, "n7/rs.") && strings.Contains(name, ".grp_") {
			must(t, cl.fs.Remove(name))
		}
	}
	if _, err := cl.recover("shared", cl.own); err != nil {
		t.Fatal(err)
	}
	got := fromMem(t, cl.fs, ".")
	for name, b := range whole {
		if !bytes.Equal(got[name], b) {
			t.Errorf("%s is not what it was", name)
		}
	}
}

// TestFileGrew checks that a file that has become longer is rebuilt.
func TestFileGrew(t *testing.T) {
	for _, o := range schemes {
		cl := newCluster(t, o, even[:5])
		must(t, cl.encode("shared", cl.own))
		whole := fromMem(t, cl.fs, ".")
		replace(t, cl.fs, "n1/f0", append(bytes.Clone(whole["n1/f0"]), 0))
		if _, err := cl.recover("shared", cl.own); err != nil {
			t.Errorf("%s: %v", o.label(), err)
		}
		same(t, fromMem(t, cl.fs, "."), whole)
	}
}

// TestHeaderRefuses checks that a header is rejected if its member contradicts the file name, or if numbers are invalid.
func TestHeaderRefuses(t *testing.T) {
	for _, o := range schemes {
		cl := newCluster(t, o, even[:5])
		must(t, cl.encode("shared", cl.own))
		all, err := list(cl.fs, "n1/rs.")
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		b, err := readRecord(cl.fs, all[0].name)
		must(t, err)
		if _, err := parseHeader(all[0].name, all[0].position, b); err != nil {
			t.Fatal(err)
		}
		for what, change := range map[string]func(p *position){
			"rank": func(p *position) { p.rank++ }, "n": func(p *position) { p.n++ }, "set": func(p *position) { p.set++ },
			"world": func(p *position) { p.world++ }, "sets": func(p *position) { p.sets++ },
		} {
			p := all[0].position
			if change(&p); p.gen != GenC && what != "n" {
				continue // only the file name contains this value
			}
			if _, err := parseHeader(all[0].name, p, b); !errors.Is(err, fault.ErrCorrupt) {
				t.Errorf("%s: another %s: %v", o.label(), what, err)
			}
		}
	}
	good := position{gen: GenC, scheme: XOR, k: 1, sets: 2, n: 4, worlds: 8}
	for what, change := range map[string]func(p *position){
		"": func(*position) {}, "rank": func(p *position) { p.rank = 4 }, "set": func(p *position) { p.set = 2 }, "world": func(p *position) { p.world = 8 },
	} {
		p := good
		if change(&p); (p.check() == nil) != (what == "") {
			t.Errorf("%s out of range: %v", what, p.check())
		}
	}
	for _, n := range []int{1, 2} {
		_, err := parseDesc(good.newDescTree([]file{{"a", vfs.Meta{Size: maxBytes}}, {"b", vfs.Meta{Size: maxBytes}}}[:n]))
		if (err == nil) != (n == 1) {
			t.Errorf("%d files of %d bytes: %v", n, int64(maxBytes), err)
		}
	}
}
