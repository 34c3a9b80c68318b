package versioned

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"blobio/internal/elem"
)

// Differences of two versions of an array.
type (
	// Difference of two versions. Boxes and Fields are those of the array of a level.
	Difference struct {
		Array    string      `json:"array"`
		From     int64       `json:"from"`
		To       int64       `json:"to"`
		Equal    bool        `json:"equal"`
		Elements int64       `json:"elements"`          // that were compared
		Differ   int64       `json:"differ"`            // of these
		More     int64       `json:"more"`              // ranges that are not listed
		Largest  *float64    `json:"largest,omitempty"` // difference; nil: there is none, or it is not finite
		Ranges   []DiffRange `json:"ranges"`
		Boxes    []DiffBox   `json:"boxes,omitempty"`
		Fields   []DiffField `json:"fields,omitempty"`
	}
	// DiffRange is a run of elements of the flattened array that all differ: those from Lo, before Hi.
	DiffRange struct {
		Lo       int64    `json:"lo"`
		Hi       int64    `json:"hi"`
		Elements int64    `json:"elements"`
		Largest  *float64 `json:"largest,omitempty"` // nil: not finite

		largest float64
	}
	// DiffBox is a box that differs, or is in one version only.
	DiffBox struct {
		Box     int      `json:"box"` // number in the version it is in
		In      string   `json:"in"`  // both, from, to
		Lo      []int32  `json:"lo"`
		Hi      []int32  `json:"hi"`
		Numbers int64    `json:"numbers"`
		Differ  int64    `json:"differ"`
		Largest *float64 `json:"largest,omitempty"` // nil: not finite
	}
	// DiffField is something that is said of the whole: shape, time, step, ...
	DiffField struct {
		Name string `json:"name"`
		From string `json:"from"`
		To   string `json:"to"`
	}
)

// DiffOptions of Diff. nil means the defaults.
type DiffOptions struct {
	Ranges   int  // most ranges that are listed; default 40
	Values   bool // compare the bytes of the array of a level, too, and not its boxes
	Progress func(done, total int64)
}

// diffPiece is how much of a version is in memory at once, bytes.
const diffPiece = 4 << 20

// Diff compares two versions element by element, by their bits, where both have elements. Of two versions of the array of
// a level, boxes of the same cells are compared, and those that only one version has are listed. ErrNoVersion: one is not there.
func (v *View) Diff(ctx context.Context, from, to int64, o *DiffOptions) (*Difference, error) {
	var opt DiffOptions
	if o != nil {
		opt = *o
	}
	if opt.Ranges <= 0 {
		opt.Ranges = 40
	}
	if opt.Progress == nil {
		opt.Progress = func(int64, int64) {}
	}
	d := &Difference{Array: v.spec.Name, From: from, To: to, Ranges: []DiffRange{}}
	done := false
	var err error
	if name, level := MemberOf(d.Array); name != "" && level >= 0 && !opt.Values {
		done, err = d.levels(ctx, v, &opt)
	}
	if err == nil && !done {
		err = d.elements(ctx, v, &opt)
	}
	if err != nil {
		return nil, err
	}
	d.Equal = d.Differ == 0 && len(d.Fields) == 0 && len(d.Boxes) == 0
	return d, nil
}

func (v *View) shape(version int64) ([]int64, error) {
	for _, x := range v.Versions() {
		if x.Number == version {
			return x.Shape, nil
		}
	}
	return nil, fmt.Errorf("array %s: version %d: %w", v.spec.Name, version, ErrNoVersion)
}

// comparer collects the runs in which two streams of elements differ.
type comparer struct {
	t      Type
	most   int // runs that are kept
	at     int64
	differ int64
	runs   []DiffRange
	more   int64
	end    int64 // of the last run, listed or not
	large  float64
}

// add compares the next elements, in the byte order of the host.
func (c *comparer) add(a, b []byte) {
	size := c.t.Size()
	if bytes.Equal(a, b) {
		c.at += int64(len(a) / size)
		return
	}
	for ; len(a) > 0; a, b = a[size:], b[size:] {
		if !bytes.Equal(a[:size], b[:size]) {
			c.one(distance(c.t, a, b))
		}
		c.at++
	}
}

func (c *comparer) one(by float64) {
	c.differ++
	switch {
	case c.differ > 1 && c.end == c.at && c.more == 0:
		r := &c.runs[len(c.runs)-1]
		r.Hi++
		r.largest = larger(r.largest, by)
	case c.differ > 1 && c.end == c.at: // goes on with one that is not kept
	case len(c.runs) == c.most:
		c.more++
	default:
		c.runs = append(c.runs, DiffRange{Lo: c.at, Hi: c.at + 1, largest: by})
	}
	c.end = c.at + 1
	c.large = larger(c.large, by)
}

// larger is NaN if one of them is: such a difference is beyond measure.
func larger(a, b float64) float64 {
	if math.IsNaN(a) || math.IsNaN(b) {
		return math.NaN()
	}
	return max(a, b)
}

func (d *Difference) elements(ctx context.Context, v *View, o *DiffOptions) error {
	from, err := v.shape(d.From)
	if err != nil {
		return err
	}
	to, err := v.shape(d.To)
	if err != nil {
		return err
	}
	if shapeText(from) != shapeText(to) {
		d.Fields = append(d.Fields, DiffField{"shape", shapeText(from), shapeText(to)})
	}
	t := v.spec.Type
	lo, hi, total := make([]int64, len(to)), make([]int64, len(to)), int64(t.Size())
	for k := range hi {
		hi[k] = min(from[k], to[k])
		total *= hi[k]
	}
	c := comparer{t: t, most: o.Ranges}
	var other []byte
	err = v.Pieces(ctx, d.To, lo, hi, diffPiece, func(lo, hi []int64, b []byte) error {
		if len(other) < len(b) {
			other = make([]byte, len(b))
		}
		a := other[:len(b)]
		if err := v.Get(ctx, d.From, lo, hi, a); err != nil {
			return err
		}
		c.add(a, b)
		o.Progress(c.at*int64(t.Size()), total)
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	d.Elements, d.Differ, d.More = c.at, c.differ, c.more
	for _, r := range c.runs {
		r.Elements, r.Largest = r.Hi-r.Lo, finite(r.largest)
		d.Ranges = append(d.Ranges, r)
	}
	if c.differ > 0 {
		d.Largest = finite(c.large)
	}
	return nil
}

// levels compares two versions of the array of a level, box by box. It says false if it is not one.
func (d *Difference) levels(ctx context.Context, v *View, o *DiffOptions) (bool, error) {
	a, err := v.Table(ctx, d.From)
	if err == nil {
		var b *LevelInfo
		if b, err = v.Table(ctx, d.To); err == nil {
			return true, d.boxes(ctx, v, o, a, b)
		}
	}
	if errors.Is(err, ErrNotFormat) {
		err = nil
	}
	return false, err
}

func (d *Difference) boxes(ctx context.Context, v *View, o *DiffOptions, a, b *LevelInfo) error {
	field := func(name, x, y string) {
		if x != y {
			d.Fields = append(d.Fields, DiffField{name, x, y})
		}
	}
	field("time", numberText(a.Time), numberText(b.Time))
	field("dt", numberText(a.Dt), numberText(b.Dt))
	field("step", fmt.Sprint(a.Step), fmt.Sprint(b.Step))
	field("regrid", fmt.Sprint(a.Epoch), fmt.Sprint(b.Epoch))
	field("boxes", fmt.Sprint(len(a.Boxes)), fmt.Sprint(len(b.Boxes)))
	field("components", fmt.Sprint(a.Comps), fmt.Sprint(b.Comps))
	type cells struct{ lo, hi [3]int32 }
	was := map[cells]int{}
	for i, x := range a.Boxes {
		was[cells{x.Lo, x.Hi}] = i
	}
	for i := range b.Boxes {
		x := &b.Boxes[i]
		key := cells{x.Lo, x.Hi}
		bd := DiffBox{Box: i, In: "to", Lo: x.Lo[:b.Dim], Hi: x.Hi[:b.Dim], Numbers: b.Offsets[i+1] - b.Offsets[i]}
		if k, ok := was[key]; ok && a.Comps == b.Comps {
			delete(was, key)
			c := comparer{t: Float64, most: 0}
			if err := d.boxNumbers(ctx, v, &c, a, k, b, i); err != nil {
				return err
			}
			d.Elements += c.at
			d.Differ += c.differ
			if c.differ == 0 {
				continue
			}
			bd.In, bd.Differ, bd.Largest = "both", c.differ, finite(c.large)
		}
		d.Boxes = append(d.Boxes, bd)
		o.Progress(b.Offsets[i]*8, b.Offsets[len(b.Boxes)]*8)
	}
	for i := range a.Boxes {
		x := &a.Boxes[i]
		if k, ok := was[cells{x.Lo, x.Hi}]; ok && k == i {
			d.Boxes = append(d.Boxes, DiffBox{Box: i, In: "from", Lo: x.Lo[:a.Dim], Hi: x.Hi[:a.Dim], Numbers: a.Offsets[i+1] - a.Offsets[i]})
		}
	}
	return nil
}

// boxNumbers compares the data of box i of a with those of box k of b, which has the same cells.
func (d *Difference) boxNumbers(ctx context.Context, v *View, c *comparer, a *LevelInfo, i int, b *LevelInfo, k int) error {
	lo, hi := a.dataRange(i)
	other, _ := b.dataRange(k)
	x, y := make([]byte, min(hi-lo, diffPiece)), make([]byte, min(hi-lo, diffPiece))
	for at := lo; at < hi; at += diffPiece {
		n := min(hi-at, diffPiece)
		if err := v.Get(ctx, d.From, []int64{at}, []int64{at + n}, x[:n]); err != nil {
			return err
		}
		if err := v.Get(ctx, d.To, []int64{other + at - lo}, []int64{other + at - lo + n}, y[:n]); err != nil {
			return err
		}
		fromLittle(x[:n]) // they are little-endian in the array
		fromLittle(y[:n])
		c.add(x[:n], y[:n])
	}
	return nil
}

// distance is how far two elements are from each other. Integers are subtracted before they are rounded: what differs is never 0 apart.
func distance(t Type, a, b []byte) float64 {
	ne := binary.NativeEndian
	switch t {
	case Int64:
		x, y := int64(ne.Uint64(a)), int64(ne.Uint64(b))
		return float64(uint64(max(x, y)) - uint64(min(x, y))) // also where it does not fit into an int64
	case Uint64:
		x, y := ne.Uint64(a), ne.Uint64(b)
		return float64(max(x, y) - min(x, y))
	}
	return math.Abs(asNumber(t, a) - asNumber(t, b))
}

// asNumber is an element as a number, rounded.
func asNumber(t Type, b []byte) float64 {
	ne := binary.NativeEndian
	switch t {
	case Int8:
		return float64(int8(b[0]))
	case Int16:
		return float64(int16(ne.Uint16(b)))
	case Int32:
		return float64(int32(ne.Uint32(b)))
	case Int64:
		return float64(int64(ne.Uint64(b)))
	case Uint8:
		return float64(b[0])
	case Uint16:
		return float64(ne.Uint16(b))
	case Uint32:
		return float64(ne.Uint32(b))
	case Uint64:
		return float64(ne.Uint64(b))
	case Float32:
		return float64(math.Float32frombits(ne.Uint32(b)))
	}
	return math.Float64frombits(ne.Uint64(b))
}

// fromLittle turns little-endian numbers of 8 bytes into those of the host, in place.
func fromLittle(b []byte) {
	if elem.HostBig {
		elem.Swap(b, b, 8)
	}
}

func numberText(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

func shapeText(shape []int64) string {
	s := make([]string, len(shape))
	for i, n := range shape {
		s[i] = strconv.FormatInt(n, 10)
	}
	return strings.Join(s, "x")
}

func finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}
