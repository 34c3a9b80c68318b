// Package cdftest builds whole CDF files in memory for tests, and reads whole variables. It is simple: headers, offsets and
// conversion come from package cdf5, whose tests compare them with other programs.
package cdftest

import (
	"bytes"
	"encoding/binary"
	"testing"

	"blobio/cdf5"
)

// Build lays out h and returns the file with h.NumRecs records. values has all elements of each variable in C order, of any type
// that ToFile accepts, or nil. A missing entry counts as nil. With fill, the variables without values, and all pads, have the
// fill value of their variable. Without fill, they are zero.
func Build(t testing.TB, h *cdf5.Header, fill bool, values ...any) []byte {
	t.Helper()
	if err := h.Layout(nil); err != nil {
		t.Fatal(err)
	}
	head, err := h.AppendTo(nil, binary.BigEndian, false)
	if err != nil {
		t.Fatal(err)
	}
	file := make([]byte, max(h.FileSize(h.NumRecs), int64(len(head))))
	copy(file, head)
	for v := range h.Vars {
		x := &h.Vars[v]
		records := recordsOf(h, v, h.NumRecs)
		raw := make([]byte, records*h.Bytes(v))
		if v < len(values) && values[v] != nil {
			if n, _, _ := cdf5.SliceLen(values[v]); int64(n) != records*h.Elems(v) {
				t.Fatalf("%s: %d values for %d", x.Name, n, records*h.Elems(v))
			}
			if err := cdf5.ToFile(raw, true, x.Type, values[v]); err != nil {
				t.Fatalf("%s: %v", x.Name, err)
			}
		} else if fill {
			cdf5.FillBytes(raw, x.Type, nil, h.FillAtt(v))
		}
		for rec := range records { // in ascending order, because a record without a pad overwrites the pad of the record before
			at, n := h.Extent(v, rec)
			copy(file[at:], raw[rec*n:(rec+1)*n])
			if end := at + n; fill {
				cdf5.FillBytes(file[end:min((end+3)&^3, int64(len(file)))], x.Type, nil, h.FillAtt(v))
			}
		}
	}
	return file
}

// Values returns all elements of variable v of a file in C order, in the type of the file (see cdf5.NewSlice).
func Values(t testing.TB, file []byte, v int) any {
	t.Helper()
	h, _, err := cdf5.DecodeHeader(bytes.NewReader(file), int64(len(file)), nil)
	if err != nil {
		t.Fatal(err)
	}
	var raw []byte
	for rec := range recordsOf(h, v, h.Records(int64(len(file)))) {
		at, n := h.Extent(v, rec)
		raw = append(raw, file[at:at+n]...)
	}
	typ := h.Vars[v].Type
	dst := cdf5.NewSlice(typ, len(raw)/typ.Size())
	if err := cdf5.FromFile(dst, raw, true, typ); err != nil {
		t.Fatal(err)
	}
	return dst
}

func recordsOf(h *cdf5.Header, v int, records int64) int64 {
	if h.IsRecord(v) {
		return records
	}
	return 1
}
