package elem

import (
	"encoding/binary"
	"math"
	"strconv"
)

// AppendText appends the text of the first element of p, in this byte order. The text is the shortest that parses to the same
// number. p has at least t.Size() bytes. An invalid type has no text.
func (t Type) AppendText(b, p []byte, order binary.ByteOrder) []byte {
	var x uint64
	switch t.Size() {
	case 1:
		x = uint64(p[0])
	case 2:
		x = uint64(order.Uint16(p))
	case 4:
		x = uint64(order.Uint32(p))
	case 8:
		x = order.Uint64(p)
	default:
		return b
	}
	unused := 64 - 8*t.Size() // in bits
	switch {
	case t == Float32:
		return strconv.AppendFloat(b, float64(math.Float32frombits(uint32(x))), 'g', -1, 32)
	case t.Float():
		return strconv.AppendFloat(b, math.Float64frombits(x), 'g', -1, 64)
	case t.Signed():
		return strconv.AppendInt(b, int64(x<<unused)>>unused, 10)
	}
	return strconv.AppendUint(b, x, 10)
}
