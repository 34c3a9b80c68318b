package redset

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
)

// sumSuffix ends the names of our files of checksums. The reference looks at names that
// end in .redset, .scr or .xor only.
const sumSuffix = ".redsum"

// writer is the owner of files that are being made.
const writer = "redset"

// position is where a member stands, as headers and names tell it.
type position struct {
	gen    Generation
	scheme Scheme
	k      int
	set    int // number of the set; generation A, B: the world rank of member 0
	sets   int // 0 in generation A, B
	rank   int // in the set
	n      int
	world  int // world rank
	worlds int // ranks of the world
}

// dataName is the name of the redundancy file, with header and payload.
func (p *position) dataName(prefix string) string {
	switch p.gen {
	case GenA:
		return fmt.Sprintf("%s%d_of_%d_in_%d.xor", prefix, p.rank+1, p.n, p.set)
	case GenB:
		return fmt.Sprintf("%sxor.%d_%d_of_%d.scr", prefix, p.set, p.rank+1, p.n)
	}
	return fmt.Sprintf("%s%d.%s.grp_%d_of_%d.mem_%d_of_%d.redset", prefix, p.world,
		strings.ToLower(p.scheme.String()), p.set+1, p.sets, p.rank+1, p.n)
}

// descName is the name of the file of descriptors; "" if the generation has none.
func (p *position) descName(prefix string) string {
	if p.gen != GenC {
		return ""
	}
	return prefix + strconv.Itoa(p.world) + ".redset"
}

// sumName is the name of the file of checksums.
func (p *position) sumName(prefix string) string {
	if p.gen != GenC {
		return p.dataName(prefix) + sumSuffix
	}
	return prefix + strconv.Itoa(p.world) + sumSuffix
}

// names returns the names of all files of the member, the redundancy file last.
func (p *position) names(prefix string) []string {
	v := []string{p.sumName(prefix), p.dataName(prefix)}
	if d := p.descName(prefix); d != "" {
		v = append([]string{d}, v...)
	}
	return v
}

var (
	nameC = regexp.MustCompile(`^(\d+)\.(single|partner|xor|rs)\.grp_(\d+)_of_(\d+)\.mem_(\d+)_of_(\d+)\.redset$`)
	nameB = regexp.MustCompile(`^xor\.(\d+)_(\d+)_of_(\d+)\.scr$`)
	nameA = regexp.MustCompile(`^(\d+)_of_(\d+)_in_(\d+)\.xor$`)
)

// parseName reads the name of a redundancy file, without directory and prefix. k and worlds are not in it,
// and world is not in names of generation A and B.
func parseName(base string) (p position, ok bool) {
	num := func(s string, min int) int {
		n, err := strconv.Atoi(s)
		if err != nil || n < min || n > 1<<30 {
			ok = false
		}
		return n
	}
	ok = true
	if m := nameC.FindStringSubmatch(base); m != nil {
		s, _ := ParseScheme(strings.ToUpper(m[2]))
		p = position{gen: GenC, scheme: s, world: num(m[1], 0), set: num(m[3], 1) - 1, sets: num(m[4], 1), rank: num(m[5], 1) - 1, n: num(m[6], 1)}
	} else if m := nameB.FindStringSubmatch(base); m != nil {
		p = position{gen: GenB, scheme: XOR, k: 1, set: num(m[1], 0), rank: num(m[2], 1) - 1, n: num(m[3], 1), world: -1}
	} else if m := nameA.FindStringSubmatch(base); m != nil {
		p = position{gen: GenA, scheme: XOR, k: 1, rank: num(m[1], 1) - 1, n: num(m[2], 1), set: num(m[3], 0), world: -1}
	} else {
		return p, false
	}
	return p, ok && p.rank < p.n
}

// found is a redundancy file in a directory.
type found struct {
	position
	name string // with directory
}

// list returns the redundancy files of a prefix, by name. No directory is no files.
func list(fsys vfs.FS, prefix string) ([]found, error) {
	dir, base := filepath.Split(prefix)
	if dir == "" {
		dir = "."
	}
	entries, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var v []found
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), base)
		if !ok || e.IsDir() {
			continue
		}
		if p, ok := parseName(rest); ok {
			v = append(v, found{p, prefix + rest})
		}
	}
	return v, nil
}

// createTemp makes an empty file that will get a name, in place of one that a crash left.
func createTemp(fsys vfs.FS, name string) (*durable.Temp, error) {
	return durable.CreateTemp(fsys, name, durable.TempOptions{Owner: writer, Mkdir: true, Sync: true})
}

// small makes a small file that will get a name.
func small(fsys vfs.FS, name string, b []byte) (*durable.Temp, error) {
	t, err := createTemp(fsys, name)
	if err != nil {
		return nil, err
	}
	if _, err = t.WriteAt(b, 0); err == nil {
		err = t.Finish()
	}
	if err != nil {
		t.Discard()
	}
	return t, err
}

// Files returns the names of the redundancy files of a world rank that are there: descriptors, checksums, and the one with
// header and payload, of any scheme and generation.
func Files(fsys vfs.FS, prefix string, rank int) ([]string, error) {
	fsys = vfs.OrOS(fsys)
	all, err := list(fsys, prefix)
	if err != nil {
		return nil, err
	}
	var v []string
	seen := map[string]bool{}
	add := func(names []string) error {
		for _, name := range names {
			if seen[name] {
				continue
			}
			if _, err := fsys.Stat(name); errors.Is(err, fs.ErrNotExist) {
				continue
			} else if err != nil {
				return err
			}
			seen[name] = true
			v = append(v, name)
		}
		return nil
	}
	// Files of a rank whose redundancy file is gone.
	p := position{world: rank}
	if err := add([]string{p.descName(prefix), p.sumName(prefix)}); err != nil {
		return nil, err
	}
	for _, f := range all {
		if f.gen != GenC {
			if h, err := readHeader(fsys, f); err == nil {
				f.world = h.world
			}
		}
		if f.world == rank {
			if err := add(f.names(prefix)); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// Drop removes the redundancy files of a world rank. The files that they protect stay.
func Drop(fsys vfs.FS, prefix string, rank int) error {
	fsys = vfs.OrOS(fsys)
	names, err := Files(fsys, prefix, rank)
	if err != nil {
		return err
	}
	for i := range names { // the redundancy file first: without it nothing is trusted
		if err := durable.Remove(fsys, names[len(names)-1-i]); err != nil {
			return err
		}
	}
	if len(names) > 0 {
		return fsys.SyncDir(dirOf(prefix))
	}
	return nil
}
