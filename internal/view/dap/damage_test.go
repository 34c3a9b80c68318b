package dap

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"blobio/cdf5"
)

// TestDamageBetween checks that unreadable elements are an error only for requests that include such an element, not for
// requests that skip these elements.
func TestDamageBetween(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &cdf5.Header{Version: cdf5.CDF5}
		v := cdf5.Var{Name: "v", Type: cdf5.Int}
		var shape []int64
		for i := range rapid.IntRange(1, 3).Draw(t, "rank") {
			shape = append(shape, rapid.Int64Range(1, 7).Draw(t, "length"))
			h.Dims = append(h.Dims, cdf5.Dim{Name: fmt.Sprint("d", i), Len: shape[i]})
			v.Dims = append(v.Dims, i)
		}
		h.Vars = []cdf5.Var{v}
		m := &memory{hdr: h}
		m.fill()
		var bad []int64
		for _, n := range shape {
			bad = append(bad, rapid.Int64Range(0, n-1).Draw(t, "bad"))
		}
		damage := errors.New("damaged")
		d := New("x", h, AnyClient, func(ctx context.Context, name string, start, count []int64, dst []byte) error {
			within := true
			for i, k := range bad {
				within = within && k >= start[i] && k < start[i]+count[i]
			}
			if within {
				return damage
			}
			return m.ReadAt(ctx, name, start, count, dst)
		})
		d.window, d.gap = rapid.Int64Range(4, 200).Draw(t, "window"), rapid.Int64Range(0, 100).Draw(t, "gap")
		word, at, asked := "v", []slice{}, true
		for i, n := range shape {
			s := slice{start: rapid.Int64Range(0, n-1).Draw(t, "start"), stride: rapid.Int64Range(1, 3).Draw(t, "stride")}
			s.count = (rapid.Int64Range(s.start, n-1).Draw(t, "stop")-s.start)/s.stride + 1
			word += fmt.Sprintf("[%d:%d:%d]", s.start, s.stride, s.start+(s.count-1)*s.stride)
			k := bad[i] - s.start
			asked = asked && k >= 0 && k%s.stride == 0 && k/s.stride < s.count
			at = append(at, s)
		}
		q, err := d.Request(word)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		err = q.WriteDODS(t.Context(), &b)
		if asked != errors.Is(err, damage) || !asked && err != nil {
			t.Fatalf("%s of %v, damaged at %v: %v", word, shape, bad, err)
		}
		if asked {
			return
		}
		_, body, _ := bytes.Cut(b.Bytes(), []byte(dataMark))
		if want := choose(m.data["v"], shape, at, 4); !bytes.Equal(body[8:], want) {
			t.Fatalf("%s of %v: %x, want %x", word, shape, body[8:], want)
		}
	})
}
