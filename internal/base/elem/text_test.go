package elem_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"blobio/internal/base/elem"
)

// TestAppendText: the text of every type, in both byte orders, equals the text of package fmt.
func TestAppendText(t *testing.T) {
	check := func(x any, want string) {
		t.Helper()
		s, ok := elem.One(x)
		if !ok {
			t.Fatalf("%T is no element", x)
		}
		typ, host, _ := elem.Of(s)
		for order, big := range map[binary.ByteOrder]bool{binary.LittleEndian: false, binary.BigEndian: true} {
			p := make([]byte, len(host))
			elem.Reorder(p, host, len(p), big)
			if got := string(typ.AppendText([]byte("x="), append(p, 0x55), order)); got != "x="+want {
				t.Errorf("%T in %v: %q, want %q", x, order, got, "x="+want)
			}
		}
	}
	for _, x := range []any{int8(math.MinInt8), int8(5), int16(math.MinInt16), int16(300), int32(math.MinInt32), int32(70000), int64(math.MinInt64), int64(math.MaxInt64),
		uint8(math.MaxUint8), uint16(math.MaxUint16), uint32(math.MaxUint32), uint64(math.MaxUint64)} {
		check(x, fmt.Sprint(x))
	}
	check(float32(0.1), "0.1")
	check(float32(-1e-30), "-1e-30")
	check(0.1, "0.1")
	check(float64(float32(0.1)), "0.10000000149011612")
	check(math.NaN(), "NaN")
	check(math.Inf(-1), "-Inf")
	check(float32(math.Inf(1)), "+Inf")
	if got := elem.Type(0).AppendText(nil, nil, binary.BigEndian); len(got) != 0 {
		t.Errorf("no type: %q", got)
	}
}
