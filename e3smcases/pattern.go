package e3smcases

import (
	"fmt"
	"iter"
	"strings"

	"blobio/cdf5"
	"blobio/decomp"
)

// Pattern is a rule that determines the values of elements.
type Pattern uint8

const (
	// Reference writes the values of E3SM-IO: every element is the world rank of its writer; in text, it is 'a' + rank (mod 256).
	// It detects wrong owners but not wrong positions.
	Reference Pattern = iota
	// Unique writes a hash of variable name, record and canonical index, as a value that the type in the file represents exactly. It
	// detects wrong positions.
	Unique
	// Smooth makes fields that resemble fields of models: temperature, wind, rain with dry places, an ocean with a bottom.
	Smooth
)

var patternNames = [...]string{"reference", "unique", "smooth"}

func (p Pattern) String() string {
	if int(p) < len(patternNames) {
		return patternNames[p]
	}
	return fmt.Sprintf("pattern %d", uint8(p))
}

// ParsePattern returns the pattern with a name: reference, unique or smooth.
func ParsePattern(name string) (Pattern, error) {
	for i, n := range patternNames {
		if n == name {
			return Pattern(i), nil
		}
	}
	return 0, fmt.Errorf("unknown pattern %q, want one of %s", name, strings.Join(patternNames[:], ", "))
}

// Values makes the values of a case. It is safe for concurrent use.
type Values struct {
	c       *Case
	pattern Pattern
	float   bool
	fields  *fields
}

// NewValues returns the values of case c with a pattern. The dimensions of c must match the maps, see Case.WithMapDims. float is
// the float setting; it determines the types in the file, which values must fit.
func NewValues(c *Case, p Pattern, float bool) (*Values, error) {
	x := &Values{c: c, pattern: p, float: float}
	switch p {
	case Reference, Unique:
	case Smooth:
		g, err := newGeometry(c)
		if err != nil {
			return nil, err
		}
		x.fields = newFields(c, g)
	default:
		return nil, fmt.Errorf("unknown %v", p)
	}
	return x, nil
}

// Fill sets dst to the values of variable v (an index of Case.Vars) in record rec (0 for fixed variables) at the canonical
// elements of runs, in order. With Map.Reqs(rank) as runs this is the order of the rank's blob. A canonical index counts elements
// of one record. rank is the world rank that writes the elements (Reference only).
//
// dst is []float64, []float32, []int32, []int64 or []byte (text) with the number of elements of runs. The type of dst must be
// able to hold every value of the type in the file. The values do not depend on the type of dst.
func (x *Values) Fill(dst any, v int, rec int64, runs iter.Seq[decomp.Req], rank int) error {
	if v < 0 || v >= len(x.c.Vars) {
		return fmt.Errorf("variable number %d, want 0 to %d", v, len(x.c.Vars)-1)
	}
	name := x.c.Vars[v].Name
	t, _ := x.c.Vars[v].FileType(x.float)
	if x.pattern == Unique {
		return fillUnique(dst, t, name, rec, runs)
	}
	if err := fits(dst, t); err != nil {
		return fmt.Errorf("variable %s: %w", name, err)
	}
	if x.pattern == Smooth {
		n, err := x.fields.fill(dst, v, rec, runs, t)
		if err != nil {
			return err
		}
		return lengthErr(name, dst, n)
	}
	n := int64(0)
	for q := range runs {
		n += q.Length
	}
	if l, _, _ := cdf5.SliceLen(dst); int64(l) != n {
		return lengthErr(name, dst, int(min(n, 1<<31-1)))
	}
	switch d := dst.(type) {
	case []byte:
		if t == cdf5.Char {
			constant(d, 'a'+byte(rank))
		} else {
			constant(d, byte(rank))
		}
	case []float64:
		constant(d, float64(rank))
	case []float32:
		constant(d, float32(rank))
	case []int32:
		constant(d, int32(rank))
	case []int64:
		constant(d, int64(rank))
	default:
		return fmt.Errorf("variable %s: unsupported memory type %T", name, dst)
	}
	return nil
}

func constant[T any](dst []T, v T) {
	for i := range dst {
		dst[i] = v
	}
}

// FillRange is Fill for canonical elements from off. The length of dst is the number of elements.
func (x *Values) FillRange(dst any, v int, rec, off int64, rank int) error {
	n, _, ok := cdf5.SliceLen(dst)
	if !ok {
		return fmt.Errorf("unsupported memory type %T", dst)
	}
	return x.Fill(dst, v, rec, Range(off, int64(n)), rank)
}

// Range returns a sequence of one run of n elements from off.
func Range(off, n int64) iter.Seq[decomp.Req] {
	return func(yield func(decomp.Req) bool) { yield(decomp.Req{Offset: off, Length: n}) }
}

// Whole returns one run of all elements of variable v in a record. Rank 0 of a subfile writes this run if the variable is not
// decomposed.
func (c *Case) Whole(v int) iter.Seq[decomp.Req] { return Range(0, c.Elems(v)) }
