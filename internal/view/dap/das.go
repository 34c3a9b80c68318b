package dap

import (
	"encoding/binary"
	"strconv"
	"strings"

	"blobio/cdf5"
	"blobio/internal/base/elem"
)

// AppendDAS appends the attributes of the dataset. No constraint applies to them.
func (d *Dataset) AppendDAS(b []byte) []byte {
	b = append(b, "Attributes {\n"...)
	for _, v := range d.vars {
		if n := len(v.name) - len("global"); d.client == NetCDFClient && n >= 0 && strings.EqualFold(v.name[n:], "global") {
			continue // a client would treat its attributes as attributes of the dataset
		}
		b = append(append(append(b, "    "...), v.name...), " {\n"...)
		b = d.appendAtts(b, v.Atts)
		switch {
		case v.kind == dapString:
			// The netCDF library expects these names with a dot, not nested attributes.
			b = append(b, "        Int32 DODS.strlen "...)
			b = append(strconv.AppendInt(b, v.row, 10), ";\n"...)
			if v.last != "" {
				b = append(append(append(b, `        String DODS.dimName "`...), v.last...), "\";\n"...)
			}
		case v.Type == cdf5.Byte && cdf5.FindAtt(v.Atts, "_Unsigned") == nil:
			b = append(b, "        String _Unsigned \"false\";\n"...)
		case changed(v.Type):
			b = append(append(append(b, `        String blobio_type "`...), v.Type.String()...), "\";\n"...)
			// The client uses the default fill value of the declared type, but unwritten elements have the default fill value of
			// the type in the file. So the attribute is needed. Bytes have no default fill value in netCDF.
			if v.Type.Size() > 1 && cdf5.FindAtt(v.Atts, "_FillValue") == nil {
				b = append(append(append(b, "        "...), v.kind.String()...), " _FillValue "...)
				b = append(appendRaw(b, v.Type, d.fill(v), binary.BigEndian), ";\n"...)
			}
		}
		b = append(b, "    }\n"...)
	}
	b = append(b, "    NC_GLOBAL {\n"...)
	b = d.appendAtts(b, d.hdr.Atts)
	b = append(b, "    }\n"...)
	if u := d.hdr.Unlimited(); u >= 0 {
		b = append(b, "    DODS_EXTRA {\n        String Unlimited_Dimension \""...)
		b = append(append(b, d.encode(d.hdr.Dims[u].Name)...), "\";\n    }\n"...)
	}
	return append(b, "}\n"...)
}

// appendAtts appends the attributes of one variable or of the dataset. In DAP2 an attribute without values can only be text.
func (d *Dataset) appendAtts(b []byte, atts []cdf5.Att) []byte {
	for i := range atts {
		a := &atts[i]
		n := a.Len()
		if n < 0 || n == 0 && a.Type != cdf5.Char {
			continue
		}
		b = append(append(b, "        "...), kinds[a.Type].String()...)
		b = append(append(append(b, ' '), strings.ReplaceAll(d.encode(a.Name), "%2E", ".")...), ' ')
		if text, ok := a.Value.(string); ok {
			b = appendQuoted(b, text)
		} else {
			b = appendNumbers(b, a.Type, a.Value)
		}
		b = append(b, ";\n"...)
	}
	return b
}

// appendNumbers appends the values of an attribute. 64-bit integers become the nearest double.
func appendNumbers(b []byte, t cdf5.Type, value any) []byte {
	_, raw, _ := elem.Of(value)
	return appendRaw(b, t, raw, elem.HostOrder())
}

// appendRaw appends numbers in the given byte order.
func appendRaw(b []byte, t cdf5.Type, raw []byte, order binary.ByteOrder) []byte {
	for i := 0; i < len(raw); i += t.Size() {
		if i > 0 {
			b = append(b, ", "...)
		}
		if p := raw[i:]; t == cdf5.Int64 || t == cdf5.UInt64 {
			x, _ := double(t, order.Uint64(p))
			b = strconv.AppendFloat(b, x, 'g', -1, 64)
		} else {
			b = elems[t].AppendText(b, p, order)
		}
	}
	return b
}
