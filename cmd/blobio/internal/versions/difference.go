package versions

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"blobio/internal/cli"
	"blobio/internal/elem"
	"blobio/versioned"
)

// Differences of two versions of an array, as JSON has them.
type (
	// difference of two versions. Boxes and Fields are those of the array of a level.
	difference struct {
		Array    string      `json:"array"`
		From     int64       `json:"from"`
		To       int64       `json:"to"`
		Equal    bool        `json:"equal"`
		Elements int64       `json:"elements"`          // that were compared
		Differ   int64       `json:"differ"`            // of these
		More     int64       `json:"more"`              // ranges that are not listed
		Largest  *float64    `json:"largest,omitempty"` // difference; nil: there is none, or it is not finite
		Ranges   []diffRange `json:"ranges"`
		Boxes    []diffBox   `json:"boxes,omitempty"`
		Fields   []diffField `json:"fields,omitempty"`
	}
	// diffRange is a run of elements of the flattened array that all differ: those from Lo, before Hi.
	diffRange struct {
		Lo       int64    `json:"lo"`
		Hi       int64    `json:"hi"`
		Elements int64    `json:"elements"`
		Largest  *float64 `json:"largest,omitempty"` // nil: not finite

		largest float64
	}
	// diffBox is a box that differs, or is in one version only.
	diffBox struct {
		Box     int      `json:"box"` // number in the version it is in
		In      string   `json:"in"`  // both, from, to
		Lo      []int32  `json:"lo"`
		Hi      []int32  `json:"hi"`
		Numbers int64    `json:"numbers"`
		Differ  int64    `json:"differ"`
		Largest *float64 `json:"largest,omitempty"` // nil: not finite
	}
	// diffField is something that is said of the whole: shape, time, step, ...
	diffField struct {
		Name string `json:"name"`
		From string `json:"from"`
		To   string `json:"to"`
	}
)

// comparison of two versions.
type comparison struct {
	v        *versioned.View
	from, to versioned.VersionInfo
	most     int  // ranges that are listed
	values   bool // the bytes of the array of a level, too, and not its boxes
	progress func(done, total int64)

	difference
}

// run compares the versions element by element, by their bits, where both have elements. Of two versions of the array of a
// level, boxes of the same cells are compared, and those that only one version has are listed.
func (c *comparison) run(ctx context.Context) error {
	c.difference = difference{Array: c.v.Spec().Name, From: c.from.Number, To: c.to.Number, Ranges: []diffRange{}}
	a, b, err := c.tables(ctx)
	switch {
	case err != nil:
	case a != nil:
		err = c.boxes(ctx, a, b)
	default:
		err = c.elements(ctx)
	}
	c.Equal = c.Differ == 0 && len(c.Fields) == 0 && len(c.Boxes) == 0
	return err
}

// tables are those of the array of a level, nil of others.
func (c *comparison) tables(ctx context.Context) (a, b *versioned.LevelInfo, err error) {
	if name, level := versioned.MemberOf(c.Array); name == "" || level < 0 || c.values {
		return nil, nil, nil
	}
	if a, err = c.v.Table(ctx, c.From); err == nil {
		b, err = c.v.Table(ctx, c.To)
	}
	if errors.Is(err, versioned.ErrNotFormat) {
		return nil, nil, nil
	}
	return a, b, err
}

// field notes what is said of the whole, if the versions differ in it.
func (c *comparison) field(name, from, to string) {
	if from != to {
		c.Fields = append(c.Fields, diffField{name, from, to})
	}
}

func (c *comparison) elements(ctx context.Context) error {
	c.field("shape", extentText(c.from.Shape), extentText(c.to.Shape))
	s := streams{t: c.v.Spec().Type, most: c.most}
	size := int64(s.t.Size())
	lo, hi, total := make([]int64, len(c.to.Shape)), make([]int64, len(c.to.Shape)), size
	for k := range hi {
		hi[k] = min(c.from.Shape[k], c.to.Shape[k])
		total *= hi[k]
	}
	var other []byte
	err := c.v.Pieces(ctx, c.To, lo, hi, versionsPiece, func(lo, hi []int64, b []byte) error {
		if len(other) < len(b) {
			other = make([]byte, len(b))
		}
		a := other[:len(b)]
		if err := c.v.Get(ctx, c.From, lo, hi, a); err != nil {
			return err
		}
		s.add(a, b)
		c.progress(s.at*size, total)
		return ctx.Err()
	})
	c.Elements, c.Differ, c.More = s.at, s.differ, s.more
	for _, r := range s.runs {
		r.Elements, r.Largest = r.Hi-r.Lo, cli.Finite(r.largest)
		c.Ranges = append(c.Ranges, r)
	}
	if s.differ > 0 {
		c.Largest = cli.Finite(s.large)
	}
	return err
}

// boxes compares two versions of the array of a level, box by box.
func (c *comparison) boxes(ctx context.Context, a, b *versioned.LevelInfo) error {
	c.field("time", cli.NumberText(a.Time), cli.NumberText(b.Time))
	c.field("dt", cli.NumberText(a.Dt), cli.NumberText(b.Dt))
	c.field("step", fmt.Sprint(a.Step), fmt.Sprint(b.Step))
	c.field("regrid", fmt.Sprint(a.Epoch), fmt.Sprint(b.Epoch))
	c.field("boxes", fmt.Sprint(len(a.Boxes)), fmt.Sprint(len(b.Boxes)))
	c.field("components", fmt.Sprint(a.Comps), fmt.Sprint(b.Comps))
	type cells struct{ lo, hi [3]int32 }
	was := map[cells]int{}
	for i, x := range a.Boxes {
		was[cells{x.Lo, x.Hi}] = i
	}
	only := func(t *versioned.LevelInfo, i int, in string) diffBox {
		x := &t.Boxes[i]
		return diffBox{Box: i, In: in, Lo: x.Lo[:t.Dim], Hi: x.Hi[:t.Dim], Numbers: t.Offsets[i+1] - t.Offsets[i]}
	}
	for i, x := range b.Boxes {
		key := cells{x.Lo, x.Hi}
		box := only(b, i, "to")
		if k, ok := was[key]; ok && a.Comps == b.Comps {
			delete(was, key)
			s := streams{t: elem.Float64}
			if err := c.numbers(ctx, &s, boxBytes(a, k), boxBytes(b, i), 8*box.Numbers); err != nil {
				return err
			}
			c.Elements += s.at
			c.Differ += s.differ
			if s.differ == 0 {
				continue
			}
			box.In, box.Differ, box.Largest = "both", s.differ, cli.Finite(s.large)
		}
		c.Boxes = append(c.Boxes, box)
		c.progress(b.Offsets[i]*8, b.Offsets[len(b.Boxes)]*8)
	}
	for i, x := range a.Boxes {
		if k, ok := was[cells{x.Lo, x.Hi}]; ok && k == i {
			c.Boxes = append(c.Boxes, only(a, i, "from"))
		}
	}
	return nil
}

// boxBytes is where the data of a box begin in the array of a level.
func boxBytes(t *versioned.LevelInfo, box int) int64 { return t.DataOffset() + 8*t.Offsets[box] }

// numbers compares n bytes of both versions, little-endian numbers from different offsets on.
func (c *comparison) numbers(ctx context.Context, s *streams, from, to, n int64) error {
	x, y := make([]byte, min(n, versionsPiece)), make([]byte, min(n, versionsPiece))
	for at := int64(0); at < n; at += versionsPiece {
		k := min(n-at, versionsPiece)
		err := c.v.Get(ctx, c.From, []int64{from + at}, []int64{from + at + k}, x[:k])
		if err == nil {
			err = c.v.Get(ctx, c.To, []int64{to + at}, []int64{to + at + k}, y[:k])
		}
		if err != nil {
			return err
		}
		elem.Reorder(x[:k], x[:k], 8, false)
		elem.Reorder(y[:k], y[:k], 8, false)
		s.add(x[:k], y[:k])
	}
	return nil
}

// streams are two streams of elements that are compared, and the runs in which they differ.
type streams struct {
	t      versioned.Type
	most   int // runs that are kept
	at     int64
	differ int64
	runs   []diffRange
	more   int64
	end    int64 // of the last run, listed or not
	large  float64
}

// add compares the next elements, in the byte order of the host.
func (s *streams) add(a, b []byte) {
	size := s.t.Size()
	if bytes.Equal(a, b) {
		s.at += int64(len(a) / size)
		return
	}
	for ; len(a) > 0; a, b = a[size:], b[size:] {
		if !bytes.Equal(a[:size], b[:size]) {
			s.one(distance(s.t, a[:size], b[:size]))
		}
		s.at++
	}
}

func (s *streams) one(by float64) {
	s.differ++
	switch {
	case s.differ > 1 && s.end == s.at && s.more == 0:
		r := &s.runs[len(s.runs)-1]
		r.Hi++
		r.largest = max(r.largest, by)
	case s.differ > 1 && s.end == s.at: // goes on with one that is not kept
	case len(s.runs) == s.most:
		s.more++
	default:
		s.runs = append(s.runs, diffRange{Lo: s.at, Hi: s.at + 1, largest: by})
	}
	s.end = s.at + 1
	s.large = max(s.large, by) // NaN if one of them is
}

// distance is how far two elements are from each other. Integers are subtracted before they are rounded: what differs is never 0 apart.
func distance(t versioned.Type, a, b []byte) float64 {
	ne := binary.NativeEndian
	switch t {
	case elem.Int64:
		x, y := int64(ne.Uint64(a)), int64(ne.Uint64(b))
		return float64(uint64(max(x, y)) - uint64(min(x, y))) // also where it does not fit into an int64
	case elem.Uint64:
		x, y := ne.Uint64(a), ne.Uint64(b)
		return float64(max(x, y) - min(x, y))
	}
	var x, y [1]float64
	elem.Load(x[:], a, elem.HostBig, t)
	elem.Load(y[:], b, elem.HostBig, t)
	return math.Abs(x[0] - y[0])
}
