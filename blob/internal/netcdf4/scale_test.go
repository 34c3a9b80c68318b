package netcdf4

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"blobio/internal/base/fault"
	"blobio/internal/base/h5"
)

// TestScales checks that an unreadable attribute that defines or identifies a dimension causes an error. Without the error the
// dataset would become a variable.
func TestScales(t *testing.T) {
	// file makes a file with only the dimension d. edit changes the dataset, and name selects the attribute to damage.
	file := func(edit func(d *h5.DatasetBuilder), name string) (*View, error) {
		b := h5.NewBuilder()
		d := b.Dataset("d", h5.Float32, []int64{3}, nil)
		d.Attr(attClass, h5.FixedString(len(scaleClass)+1), nil, scaleClass)
		edit(d)
		l, err := b.Layout()
		if err != nil {
			t.Fatal(err)
		}
		bytesOf := make([]byte, l.Size)
		for _, p := range l.Pieces {
			copy(bytesOf[p.Off:], p.Data)
		}
		if name != "" { // the datatype follows the name, which is padded to a multiple of 8 bytes
			at := bytes.Index(bytesOf, append([]byte(name), 0))
			if at < 0 || bytes.Count(bytesOf, append([]byte(name), 0)) != 1 {
				t.Fatalf("%s is not there once", name)
			}
			bytesOf[at+(len(name)+8)/8*8] |= 0x0f // not a valid type class
		}
		return open(bytesOf, "d.nc")
	}
	title := func(d *h5.DatasetBuilder) { d.Attr(attName, h5.FixedString(80), nil, noVariable+"         3") }
	id := func(d *h5.DatasetBuilder) { d.Attr(attDimID, h5.Int32, nil, 0) }
	whole := func(d *h5.DatasetBuilder) { title(d); id(d) }

	v, err := file(whole, "")
	if err != nil || len(v.Header().Dims) != 1 || len(v.Header().Vars) != 0 {
		t.Fatalf("a mere dimension: %v", err)
	}
	if v, err = file(id, ""); err != nil || len(v.Header().Vars) != 1 { // HDF5 does not require NAME
		t.Errorf("a dimension without NAME: %v", err)
	}
	for _, name := range []string{attClass, attName, attDimID} {
		if _, err := file(whole, name); !errors.As(err, new(*fault.FormatError)) || !strings.Contains(err.Error(), "d.nc") {
			t.Errorf("%s that cannot be read: %v", name, err)
		}
	}
	for want, edit := range map[string]func(*h5.DatasetBuilder){
		"attribute NAME of d":          func(d *h5.DatasetBuilder) { d.Attr(attName, h5.Int32, nil, 7); id(d) },
		"attribute _Netcdf4Dimid of d": func(d *h5.DatasetBuilder) { title(d); d.Attr(attDimID, h5.Int32, []int64{2}, []int32{0, 1}) },
	} {
		if _, err := file(edit, ""); !errors.Is(err, fault.ErrCorrupt) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is something else: %v", want, err)
		}
	}
}
