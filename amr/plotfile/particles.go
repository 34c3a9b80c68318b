package plotfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"

	"blobio/amr"
	"blobio/internal/elem"
	"blobio/internal/vfs"
)

// Kind is a kind of particles: a directory beside those of the levels, with a file Header of its own.
type Kind struct {
	Name   string
	Type   amr.Type // of real numbers
	Reals  []string // beside the place
	Ints   []string // beside id and cpu
	Count  int64
	IDs    bool // id and cpu are there
	nextID int64
	parts  []particlePart
}

// particlePart is where the particles of a grid are.
type particlePart struct {
	level, grid int
	file        int
	count       int64
	offset      int64
}

const particleVersion = "Version_Two_Dot_Zero_double"

// readKinds finds directories with particles and reads their headers.
func (p *Plotfile) readKinds() error {
	list, err := p.root.ReadDir(p.root.Dir())
	if err != nil {
		return err
	}
	for _, d := range list {
		if !d.IsDir() || strings.HasPrefix(d.Name(), ".") {
			continue
		}
		name := path.Join(d.Name(), HeaderName)
		if _, err := vfs.Lstat(p.root, p.files.path(name)); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		b, err := p.head(name)
		if err != nil {
			return err
		}
		if !bytes.HasPrefix(b, []byte("Version_")) {
			continue // something else of the program's
		}
		k, err := parseKind(name, b, p.Rank)
		if err != nil {
			return err
		}
		k.Name = d.Name()
		p.Kinds = append(p.Kinds, *k)
	}
	return nil
}

func parseKind(name string, b []byte, rank int) (*Kind, error) {
	t := &text{file: name, b: b}
	v := t.line("version")
	k := &Kind{}
	switch rest, is := strings.CutPrefix(v, "Version_Two_Dot_"); {
	case is && strings.HasSuffix(rest, "_double"):
		k.Type = amr.Float64
	case is && strings.HasSuffix(rest, "_single"):
		k.Type = amr.Float32
	default:
		return nil, pkg.At(name, 0, "version", ErrUnsupported, "%s, want %s", clip(v), particleVersion)
	}
	t.int("dimensions", rank, rank)
	t.line("dimensions")
	for _, list := range []*[]string{&k.Reals, &k.Ints} {
		n := t.int("number of components", 0, maxFields)
		t.line("number of components")
		for i := 0; i < n && t.err == nil; i++ {
			*list = append(*list, strings.TrimSpace(t.line("component")))
		}
	}
	k.IDs = t.int("is checkpoint", 0, 1) == 1
	k.Count = t.integer("number of particles", "", 0, math.MaxInt64)
	k.nextID = t.integer("next id", "", math.MinInt64, math.MaxInt64)
	levels := t.int("finest level", 0, maxLevels-1) + 1
	grids := make([]int, levels)
	for l := range grids {
		grids[l] = t.int("number of grids", 0, len(b))
	}
	sum := int64(0)
	for l, n := range grids {
		for i := 0; i < n && t.err == nil; i++ {
			field := fmt.Sprintf("particles of grid %d of level %d", i, l)
			x := particlePart{level: l, grid: i, file: t.int(field, 0, 1<<30)}
			x.count, x.offset = t.integer(field, "", 0, math.MaxInt32), t.integer(field, "", 0, 1<<62)
			k.parts, sum = append(k.parts, x), sum+x.count
		}
	}
	if t.err == nil && sum != k.Count {
		t.fail(-1, "number of particles", ErrCorrupt, "%d, the grids have %d", k.Count, sum)
	}
	return k, t.err
}

// Integers of 64 bits have no place in the format: they are two integers, of these names, the low half first.
const (
	LowHalf  = "_low"
	HighHalf = "_high"
)

// column is one of what a particle has: a real number, an integer, or two integers that are halves of one of 64 bits.
type column struct {
	amr.AttrSpec
	real bool
	at   int // among the numbers of its sort
}

// columns are the place, real numbers, id and cpu, and integers.
func (k *Kind) columns(rank int) (out []column) {
	for i, name := range slices.Concat([]string{"x", "y", "z"}[:rank], k.Reals) {
		out = append(out, column{amr.AttrSpec{Name: name, Type: k.Type}, true, i})
	}
	ints := k.Ints
	if k.IDs {
		ints = slices.Concat([]string{"id", "cpu"}, ints)
		if slices.Contains(ints, "id"+LowHalf) { // AMReX's own only count then
			ints[0], ints[1] = "", ""
		}
	}
	for i := 0; i < len(ints); i++ {
		name, low := strings.CutSuffix(ints[i], LowHalf)
		switch {
		case ints[i] == "":
		case low && i+1 < len(ints) && ints[i+1] == name+HighHalf:
			out = append(out, column{amr.AttrSpec{Name: name, Type: amr.Int64}, false, i})
			i++
		default:
			out = append(out, column{amr.AttrSpec{Name: ints[i], Type: amr.Int32}, false, i})
		}
	}
	return out
}

// Columns are the names of what a particle has: its place, real numbers, id and cpu, and integers.
func (k *Kind) Columns(rank int) (out []amr.AttrSpec) {
	for _, c := range k.columns(rank) {
		out = append(out, c.AttrSpec)
	}
	return out
}

// Parts is how many grids, with particles or without, a kind has.
func (k *Kind) Parts() int { return len(k.parts) }

// partFile is the file with the particles of a part.
func (k *Kind) partFile(x *particlePart) string {
	return path.Join(k.Name, fmt.Sprintf("Level_%d", x.level), fmt.Sprintf("DATA_%05d", x.file))
}

// Particles reads the particles of a part of a kind: for each of its Columns elements in the order of the host.
func (p *Plotfile) Particles(ctx context.Context, kind, part int) (columns [][]byte, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	k := &p.Kinds[kind]
	b, err := p.particleBytes(kind, part)
	if err == nil && p.verify {
		if got, want := crc32.ChecksumIEEE(b), p.manifest.Kinds[k.Name][part]; got != want {
			x := &k.parts[part]
			err = pkg.At(k.partFile(x), x.offset, "particles "+k.Name, ErrChecksum, "grid %d of level %d: data sum to %08x, the manifest says %08x", x.grid, x.level, got, want)
		}
	}
	if err != nil {
		return nil, p.named(err)
	}
	n, list := int(k.parts[part].count), k.columns(p.Rank)
	ints, reals, size := len(k.Ints), p.Rank+len(k.Reals), k.Type.Size()
	if k.IDs {
		ints += 2
	}
	columns = make([][]byte, len(list))
	for c, x := range list {
		width, base, elems, one := 4, 0, ints, 4
		if x.real {
			width, base, elems, one = size, n*ints*4, reals, size
		} else if x.Type == amr.Int64 {
			width = 8
		}
		out := make([]byte, n*width)
		for i := range n {
			from := base + (i*elems+x.at)*one
			copy(out[i*width:], b[from:from+width])
		}
		elem.Reorder(out, out, width, false)
		columns[c] = out
	}
	return columns, nil
}

// particleBytes are the bytes of a part: the integers of all its particles, then the real numbers.
func (p *Plotfile) particleBytes(kind, part int) ([]byte, error) {
	k := &p.Kinds[kind]
	x := &k.parts[part]
	if x.count == 0 {
		return nil, nil
	}
	each := int64(4*len(k.Ints) + k.Type.Size()*(p.Rank+len(k.Reals)))
	if k.IDs {
		each += 8
	}
	if x.count > maxGrid/each {
		return nil, pkg.At(k.Name+"/"+HeaderName, -1, "particles", ErrTooLarge, "%d particles in a grid", x.count)
	}
	return p.files.read(k.partFile(x), x.offset, x.count*each, fmt.Sprintf("particles of grid %d of level %d", x.grid, x.level))
}
