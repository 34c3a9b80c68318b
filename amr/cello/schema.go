package cello

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"blobio/internal/amr"
	"blobio/internal/base/fault"
	"blobio/internal/base/h5"
)

// schemaCol describes a dataset that every block has.
type schemaCol struct {
	name  string
	typ   h5.Type
	dims  []int64 // shape in the block that gave the schema
	field bool
}

// firstBlock is the block that gives the schema and the geometry.
type firstBlock struct {
	name           string
	index          amr.Index
	lower, upper   []float64
	dim, start, to []int64
	redshift       float64
	enzo           amr.Type
	adapt          *adaptBuffer
}

// schema is the list of datasets common to all blocks, taken from one block.
type schema struct {
	cols     []schemaCol
	byName   map[string]int // index in cols
	first    *firstBlock    // the block that gave the schema
	template *h5.Template   // template for groups written by this module; nil if no template fits
	root     rootValues     // root attributes of the file with this block
}

// findSchema takes datasets and geometry from the first readable block that matches the manifest. If no block matches, it takes
// another readable block and sets unsure. All ranks that scan the directory together find the same block. findSchema returns
// only I/O errors; the scan of a file finds the file's faults.
func (s *scanner) findSchema() error {
	for _, sure := range [...]bool{true, false} {
		for i, f := range s.files {
			found, err := s.schemaOf(i, f, sure)
			if found || err != nil && !ofFormat(err) {
				return err
			}
		}
	}
	return nil
}

// ofFormat reports whether an error is about the content of a file, not about reading it.
func ofFormat(err error) bool {
	for _, c := range []error{ErrMissing, ErrTruncated, ErrCorrupt, ErrChecksum, ErrNotFormat, ErrTooLarge, ErrUsage, ErrExist, fault.ErrUnsupported, fault.ErrRange, fs.ErrNotExist} {
		if errors.Is(err, c) {
			return true
		}
	}
	return false
}

func (s *scanner) schemaOf(i int, f *scannedFile, sure bool) (found bool, err error) {
	list := f.list
	if f.other { // another rank reads it
		if list, _, err = s.blockList(f.name); err != nil {
			return false, err
		}
	}
	if len(list) == 0 {
		return false, nil
	}
	h, _, err := s.openH5(f.name)
	if err != nil {
		return false, err
	}
	root, err := h.Root()
	if err != nil {
		return false, err
	}
	if sure {
		if err := s.describes(i, root, list, -1); err != nil {
			s.unsure = cmp.Or(s.unsure, err)
			return false, err
		}
	}
	// Prefer a block of level 0 or finer, because its bounds give the number of root blocks.
	for _, negative := range [...]bool{false, true} {
		for n, e := range list {
			if (e.Level < 0) != negative {
				continue
			}
			if sure {
				if err := s.describes(i, root, list, n); err != nil {
					s.unsure = cmp.Or(s.unsure, err)
					if !ofFormat(err) {
						return false, err
					}
					continue
				}
			}
			o, err := root.Lookup(e.Name)
			if err == nil {
				if err = s.schema.take(o, e.Name); err == nil {
					part := &scannedFile{name: f.name}
					part.rootAttrs(root)
					s.schema.root = part.root
					if sure {
						s.unsure = nil
					}
					return true, nil
				}
			}
			if !ofFormat(err) {
				return false, err
			}
		}
	}
	return false, nil
}

// take reads the schema from the group of a block.
func (s *schema) take(o *h5.Object, name string) error {
	g, err := o.Group()
	if err != nil {
		return err
	}
	type at struct {
		schemaCol
		addr int64
	}
	var l []at
	for k, err := range g.Members() {
		if err != nil {
			return err
		}
		if !strings.HasPrefix(k.Name, fieldPrefix) && !strings.HasPrefix(k.Name, particlePrefix) || k.Kind != h5.LinkHard {
			continue
		}
		d, err := g.Dataset(k.Name)
		if err != nil {
			return err
		}
		l = append(l, at{schemaCol{k.Name, d.Type(), d.Dims(), strings.HasPrefix(k.Name, fieldPrefix)}, k.Addr()})
	}
	at0, err := blockAttrsOf(o)
	if err != nil {
		return err
	}
	b := &firstBlock{name: name, enzo: amr.Float64}
	floats := func(k, n int) []float64 {
		if a := at0[k]; a != nil && a.Elems() == int64(n) {
			if v, err := a.Float64s(); err == nil {
				return v
			}
		}
		return nil
	}
	ints := func(k int) []int64 {
		if a := at0[k]; a != nil && a.Elems() == 3 {
			if v, err := a.Int64s(); err == nil {
				return v
			}
		}
		return nil
	}
	x := ints(attrIndex)
	b.dim, b.start, b.to = ints(attrGridDimension), ints(attrGridStart), ints(attrGridEnd)
	b.lower, b.upper = floats(attrLower, 3), floats(attrUpper, 3)
	if x == nil || b.dim == nil || b.start == nil || b.to == nil || b.lower == nil || b.upper == nil {
		return fault.At(name, -1, "attributes", ErrCorrupt, "index, bounds or grid cannot be read")
	}
	b.index = amr.Index{int32(x[0]), int32(x[1]), int32(x[2])}
	if a := at0[attrEnzoDt]; a != nil && a.Type.Little() == h5.Float32 {
		b.enzo = amr.Float32
	}
	if v := floats(attrRedshift, 1); v != nil {
		b.redshift = v[0]
	}
	if a := at0[attrAdapt]; a != nil {
		if raw, err := a.Raw(); err == nil {
			b.adapt, _ = decodeAdapt(raw)
		}
	}
	slices.SortFunc(l, func(a, b at) int { // in order of creation
		if a.addr < b.addr {
			return -1
		}
		return 1
	})
	s.byName = map[string]int{}
	s.cols = []schemaCol{}
	for i, c := range l {
		s.byName[c.name] = i
		s.cols = append(s.cols, c.schemaCol)
	}
	s.first = b
	s.template = readTemplate(b.enzo, s.cols)
	return nil
}
