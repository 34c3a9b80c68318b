package versions

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"

	"blobio/internal/base/elem"
	"blobio/internal/cli"
	"blobio/versioned"
)

// The JSON output types for differences of two versions of an array.
type (
	// difference describes two versions.
	difference struct {
		Array    string      `json:"array"`
		From     int64       `json:"from"`
		To       int64       `json:"to"`
		Equal    bool        `json:"equal"`
		Elements int64       `json:"elements"`          // compared elements
		Differ   int64       `json:"differ"`            // elements that differ
		More     int64       `json:"more"`              // ranges not listed
		Largest  *float64    `json:"largest,omitempty"` // largest difference; nil: none, or not finite
		Ranges   []diffRange `json:"ranges"`
		Fields   []diffField `json:"fields,omitempty"`
	}
	// diffRange is a run of differing elements of the flattened array, from Lo to before Hi.
	diffRange struct {
		Lo       int64    `json:"lo"`
		Hi       int64    `json:"hi"`
		Elements int64    `json:"elements"`
		Largest  *float64 `json:"largest,omitempty"` // nil: not finite

		largest float64
	}
	// diffField is a difference that concerns the whole array: the shape.
	diffField struct {
		Name string `json:"name"`
		From string `json:"from"`
		To   string `json:"to"`
	}
)

// comparison is a comparison of two versions in progress.
type comparison struct {
	v        *versioned.View
	from, to versioned.VersionInfo
	most     int // maximum number of listed ranges
	progress func(done, total int64)

	difference
	at, end int64 // the next element; the end of the last differing run, listed or not
	largest float64
}

// run compares the versions bit by bit, in the elements that both have.
func (c *comparison) run(ctx context.Context) error {
	c.difference = difference{Array: c.v.Spec().Name, From: c.from.Number, To: c.to.Number, Ranges: []diffRange{}}
	if from, to := extentText(c.from.Shape), extentText(c.to.Shape); from != to {
		c.Fields = append(c.Fields, diffField{"shape", from, to})
	}
	t := c.v.Spec().Type
	size := t.Size()
	lo, hi, total := make([]int64, len(c.to.Shape)), make([]int64, len(c.to.Shape)), int64(size)
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
		if bytes.Equal(a, b) {
			c.at += int64(len(a) / size)
			a = nil
		}
		for ; len(a) > 0; a, b = a[size:], b[size:] {
			if !bytes.Equal(a[:size], b[:size]) {
				c.differs(distance(t, a[:size], b[:size]))
			}
			c.at++
		}
		c.progress(c.at*int64(size), total)
		return ctx.Err()
	})
	c.Elements = c.at
	for i := range c.Ranges {
		r := &c.Ranges[i]
		r.Elements, r.Largest = r.Hi-r.Lo, cli.Finite(r.largest)
	}
	if c.Differ > 0 {
		c.Largest = cli.Finite(c.largest)
	}
	c.Equal = c.Differ == 0 && len(c.Fields) == 0
	return err
}

// differs records that the next element differs, and by how much.
func (c *comparison) differs(by float64) {
	goesOn := c.Differ > 0 && c.end == c.at
	c.Differ++
	switch {
	case goesOn && c.More == 0:
		r := &c.Ranges[len(c.Ranges)-1]
		r.Hi++
		r.largest = max(r.largest, by)
	case goesOn: // continues a run that is not listed
	case len(c.Ranges) == c.most:
		c.More++
	default:
		c.Ranges = append(c.Ranges, diffRange{Lo: c.at, Hi: c.at + 1, largest: by})
	}
	c.end = c.at + 1
	c.largest = max(c.largest, by) // NaN if either is NaN
}

// distance returns the absolute difference of two elements. Integers are subtracted before rounding, so that different integers
// never have distance 0.
func distance(t versioned.Type, a, b []byte) float64 {
	ne := binary.NativeEndian
	switch t {
	case elem.Int64:
		x, y := int64(ne.Uint64(a)), int64(ne.Uint64(b))
		return float64(uint64(max(x, y)) - uint64(min(x, y))) // correct even if it exceeds int64
	case elem.Uint64:
		x, y := ne.Uint64(a), ne.Uint64(b)
		return float64(max(x, y) - min(x, y))
	}
	var x, y [1]float64
	elem.Load(x[:], a, elem.HostBig, t)
	elem.Load(y[:], b, elem.HostBig, t)
	return math.Abs(x[0] - y[0])
}
