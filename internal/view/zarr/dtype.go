package zarr

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"blobio/cdf5"
	"blobio/internal/base/elem"
)

const fillName = "_FillValue"

// dtype holds the names of a netCDF type in both versions.
type dtype struct{ v2, v3 string }

var dtypes = [...]dtype{cdf5.Byte: {"|i1", "int8"}, cdf5.Char: {"|S1", "uint8"}, cdf5.Short: {"<i2", "int16"}, cdf5.Int: {"<i4", "int32"},
	cdf5.Float: {"<f4", "float32"}, cdf5.Double: {"<f8", "float64"}, cdf5.UByte: {"|u1", "uint8"}, cdf5.UShort: {"<u2", "uint16"},
	cdf5.UInt: {"<u4", "uint32"}, cdf5.Int64: {"<i8", "int64"}, cdf5.UInt64: {"<u8", "uint64"}}

func typeOf(t cdf5.Type) *dtype { return &dtypes[t] }

// fillBytes returns the array's fill value, little-endian: its own, or netCDF's default.
func (a *array) fillBytes() []byte {
	b := make([]byte, a.v.Type.Size())
	cdf5.FillBytes(b, a.v.Type, binary.LittleEndian, a.fill)
	return b
}

// fillV2 returns fill_value for version 2: null if the variable has none.
func (a *array) fillV2() any {
	switch {
	case a.fill == nil:
		return nil
	case a.v.Type == cdf5.Char:
		return base64.StdEncoding.EncodeToString(a.fillBytes())
	}
	return number(a.fill.Value, 0)
}

func (a *array) fillV3() any {
	switch {
	case a.v.Type == cdf5.Char:
		return int(a.fillBytes()[0])
	case a.fill == nil:
		b := a.fillBytes()
		v := cdf5.NewSlice(a.v.Type, 1)
		_ = cdf5.FromFile(v, b, false, a.v.Type) // the types match
		return number(v, 0)
	}
	return number(a.fill.Value, 0)
}

// fillAtt returns the attribute _FillValue in xarray's form for version 3.
func (a *array) fillAtt() any {
	if a.v.Type != cdf5.Float && a.v.Type != cdf5.Double {
		return a.fillV3()
	}
	var x float64
	switch v := a.fill.Value.(type) {
	case []float32:
		x = float64(v[0])
	case []float64:
		x = v[0]
	}
	return base64.StdEncoding.EncodeToString(binary.LittleEndian.AppendUint64(nil, math.Float64bits(x)))
}

// number returns element i of a slice of numbers for JSON.
func number(slice any, i int) any {
	x := elem.At(slice, i)
	switch f := x.(type) {
	case float32:
		return float(float64(f))
	case float64:
		return float(f)
	}
	return x
}

func float(x float64) any {
	switch {
	case math.IsNaN(x):
		return "NaN"
	case math.IsInf(x, 1):
		return "Infinity"
	case math.IsInf(x, -1):
		return "-Infinity"
	}
	// Unlike encoding/json, write a point or an exponent, because readers would parse digits alone as an
	// integer, which may be too large.
	s := strconv.FormatFloat(x, 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return json.Number(s)
}
