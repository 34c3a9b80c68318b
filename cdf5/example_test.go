package cdf5_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log"

	"blobio/cdf5"
)

// The program makes a file with one variable and reads back its second record.
func ExampleDecodeHeader() {
	h := &cdf5.Header{Version: cdf5.CDF5, NumRecs: 2,
		Dims: []cdf5.Dim{{Name: "time"}, {Name: "x", Len: 3}}, // length 0 means unlimited
		Vars: []cdf5.Var{{Name: "t", Type: cdf5.Float, Dims: []int{0, 1}}}}
	if err := h.Layout(nil); err != nil {
		log.Fatal(err)
	}
	file, err := h.AppendTo(nil, binary.BigEndian, false)
	if err != nil {
		log.Fatal(err)
	}
	file = append(file, make([]byte, h.FileSize(h.NumRecs)-int64(len(file)))...)
	for rec := range h.NumRecs {
		off, n := h.Extent(0, rec)
		if err := cdf5.ToFile(file[off:off+n], true, cdf5.Float, []float64{float64(rec), 1.5, 2}); err != nil {
			log.Fatal(err)
		}
	}

	h, _, err = cdf5.DecodeHeader(bytes.NewReader(file), int64(len(file)), &cdf5.DecodeOptions{File: "t.nc"})
	if err != nil {
		log.Fatal(err)
	}
	v := h.VarIndex("t")
	off, n := h.Extent(v, 1)
	t := make([]float32, h.Elems(v))
	if err := cdf5.FromFile(t, file[off:off+n], true, h.Vars[v].Type); err != nil {
		log.Fatal(err)
	}
	fmt.Println(t)
	// Output: [1 1.5 2]
}
