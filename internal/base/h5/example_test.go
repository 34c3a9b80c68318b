package h5_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log"

	"blobio/internal/base/h5"
)

// The program lays out a file, writes data at the offsets of Layout, and reads the file back.
func Example() {
	b := h5.NewBuilder()
	b.Attr("title", h5.FixedString(8), nil, "example")
	temp := b.Dataset("T", h5.Float32, []int64{2, 3}, nil)
	temp.Attr("units", h5.FixedString(2), nil, "K")
	l, err := b.Layout()
	if err != nil {
		log.Fatal(err)
	}
	file := make([]byte, l.Size) // any io.WriterAt works, in any number of processes
	for _, p := range l.Pieces {
		copy(file[p.Off:], p.Data)
	}
	if _, err := binary.Encode(file[temp.Offset():], binary.LittleEndian, []float32{1, 2, 3, 4, 5, 6}); err != nil {
		log.Fatal(err)
	}

	f, err := h5.NewFile(bytes.NewReader(file), l.Size, "example.h5")
	if err != nil {
		log.Fatal(err)
	}
	d, err := f.Dataset("T")
	if err != nil {
		log.Fatal(err)
	}
	row := make([]float64, 3) // converted
	if err := d.Read([]int64{1, 0}, []int64{1, 3}, row); err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Type(), d.Dims(), row)
	// Output:
	// float32 [2 3] [4 5 6]
}
