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

// sumSuffix ends the names of checksum files. Only this library writes checksum files. SCR ignores them, because it reads only
// names that end in .redset, .scr or .xor.
const sumSuffix = ".redsum"

// writer is the owner in the names of temporary files.
const writer = "redset"

// position identifies a member in headers and file names.
type position struct {
	gen    Generation
	scheme Scheme
	k      int
	set    int // number of the set; in generations A and B the world rank of member 0
	sets   int // 0 in generations A and B
	rank   int // rank in the set
	n      int
	world  int // world rank
	worlds int // number of ranks in the world
}

// dataName returns the name of the redundancy file, which contains header and payload.
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

// descName returns the name of the descriptor file, or "" if the generation has none.
func (p *position) descName(prefix string) string {
	if p.gen != GenC {
		return ""
	}
	return prefix + strconv.Itoa(p.world) + ".redset"
}

func (p *position) sumName(prefix string) string {
	if p.gen != GenC {
		return p.dataName(prefix) + sumSuffix
	}
	return prefix + strconv.Itoa(p.world) + sumSuffix
}

// names returns the names of all files of the member. The redundancy file is last.
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

// parseName parses the name of a redundancy file without directory and prefix. The name does not contain k and worlds. In
// generations A and B it does not contain world either.
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

type found struct {
	position
	name string // name with its directory
}

// list returns the redundancy files with a prefix, sorted by name. If the directory is missing, the list is empty.
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

// createTemp creates an empty temporary file. It replaces a temporary file that a crash left.
func createTemp(fsys vfs.FS, name string) (*durable.Temp, error) {
	return durable.CreateTemp(fsys, name, durable.TempOptions{Owner: writer, Mkdir: true, Sync: true})
}

func small(fsys vfs.FS, name string, b []byte) (*durable.Temp, error) {
	t, err := createTemp(fsys, name)
	if err != nil {
		return nil, err
	}
	if _, err = t.WriteAt(b, 0); err != nil {
		t.Discard()
	}
	return t, err
}

// Files returns the names of the existing redundancy files of a world rank, for all schemes and generations. They are
// descriptors, checksum files, and files with header and payload.
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
	// Find other files of a rank whose redundancy file is missing.
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

// Drop removes the redundancy files of a world rank. It keeps the protected files.
func Drop(fsys vfs.FS, prefix string, rank int) error {
	fsys = vfs.OrOS(fsys)
	names, err := Files(fsys, prefix, rank)
	if err != nil {
		return err
	}
	for i := range names { // remove the redundancy file first, because without it the others are not trusted
		if err := durable.Remove(fsys, names[len(names)-1-i]); err != nil {
			return err
		}
	}
	if len(names) > 0 {
		return fsys.SyncDir(dirOf(prefix))
	}
	return nil
}
