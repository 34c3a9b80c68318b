package cdf5

import (
	"blobio/internal/base/fault"
	"fmt"
	"math"
)

// LayoutOptions place the variables. All values are in bytes; 0 means the default. A nil pointer means all defaults, which give
// the tight layout of blob files.
type LayoutOptions struct {
	// HeaderAlign aligns the data section, which follows the header and HeaderReserve. Default 1, range 1 to 2^30.
	HeaderAlign int64
	// HeaderReserve is the free space after the header, into which the header can grow. Default 0.
	HeaderReserve int64
	// VarAlign aligns the begin of each fixed variable. Default 1.
	VarAlign int64
	// RecordAlign aligns the begin of the record section. Default 1.
	RecordAlign int64
	// OddNames accepts names of old files that the netCDF libraries read but do not create: see DecodeOptions.Note.
	OddNames bool
}

// Validate returns an ErrUsage if a value is out of range.
func (o *LayoutOptions) Validate() error {
	if o == nil {
		return nil
	}
	for _, a := range []struct {
		name string
		v    int64
	}{{"HeaderAlign", o.HeaderAlign}, {"HeaderReserve", o.HeaderReserve}, {"VarAlign", o.VarAlign}, {"RecordAlign", o.RecordAlign}} {
		if a.v < 0 || a.v > 1<<30 {
			return fault.Usage("%s %d, want 0 to 2^30", a.name, a.v)
		}
	}
	return nil
}

// maxDim is the maximum length of a dimension in a version, as netCDF-C enforces it. It is also the maximum size in bytes of a
// fixed variable, or of one record of a record variable, except for the last variable. The -3 leaves space for the pad.
func (v Version) maxDim() int64 {
	switch v {
	case CDF1:
		return math.MaxInt32 - 3
	case CDF2:
		return math.MaxUint32 - 3
	}
	return math.MaxInt64 - 3
}

// maxName is NC_MAX_NAME of the netCDF libraries.
const maxName = 256

// Layout checks the header against the rules and limits of its version and sets VSize and Begin of every variable. Fixed
// variables follow the header in definition order. Then come the record variables, in definition order within a record. Every
// begin is a multiple of 4.
//
// A broken format rule is an ErrUsage. A broken version limit is an ErrTooLarge. After an error, the header is unchanged.
func (h *Header) Layout(o *LayoutOptions) error {
	if err := o.Validate(); err != nil {
		return err
	}
	if o == nil {
		o = &LayoutOptions{}
	}
	if err := h.validate(o.OddNames); err != nil {
		return err
	}
	vsize := make([]int64, len(h.Vars))
	begin := make([]int64, len(h.Vars))
	records := 0
	for i := range h.Vars {
		vsize[i] = pad4(h.Bytes(i))
		if h.IsRecord(i) {
			records++
		}
	}
	end, err := alignUp(h.EncodedLen()+o.HeaderReserve, o.HeaderAlign)
	if err != nil {
		return err
	}
	place := func(i int) error {
		if h.Version == CDF1 && end > math.MaxInt32 {
			return fault.Class(ErrTooLarge, "var %q: begin %d, want <= %d in CDF-1", h.Vars[i].Name, end, math.MaxInt32)
		}
		begin[i] = end
		if end > math.MaxInt64-4-vsize[i] {
			return fault.Class(ErrTooLarge, "var %q: the variable ends past 2^63", h.Vars[i].Name)
		}
		end += vsize[i]
		return nil
	}
	for i := range h.Vars {
		if h.IsRecord(i) {
			continue
		}
		if end, err = alignUp(end, o.VarAlign); err != nil {
			return err
		}
		if err := place(i); err != nil {
			return err
		}
	}
	if records > 0 {
		if end, err = alignUp(end, o.RecordAlign); err != nil {
			return err
		}
		first := end
		for i := range h.Vars {
			if h.IsRecord(i) {
				if err := place(i); err != nil {
					return err
				}
			}
		}
		if n, ok := mulFits(max(h.NumRecs, 0), h.RecSize()); !ok || n > math.MaxInt64-4-first {
			return fault.Class(ErrTooLarge, "numrecs %d: the records end past 2^63", h.NumRecs)
		}
	}
	for i := range h.Vars {
		h.Vars[i].VSize, h.Vars[i].Begin = vsize[i], begin[i]
	}
	return nil
}

// alignUp rounds n up to a multiple of align (0 counts as 1) and of 4.
func alignUp(n, align int64) (int64, error) {
	if align < 1 {
		align = 1
	}
	if n > math.MaxInt64-2*align-8 {
		return 0, fault.Class(ErrTooLarge, "offset %d is too large to align", n)
	}
	n = (n + align - 1) / align * align
	return pad4(n), nil
}

// Validate checks the header except for VSize and Begin: names, types, dimension ids, and the version's limits on dimensions and
// variables. The netCDF libraries must accept the names in new files.
func (h *Header) Validate() error { return h.validate(false) }

func (h *Header) validate(odd bool) error {
	if !h.Version.Valid() {
		return fault.Usage("version %d, want 1, 2 or 5", h.Version)
	}
	if h.NumRecs < Streaming || (h.Version != CDF5 && h.NumRecs >= 1<<32-1) {
		return fault.Class(ErrTooLarge, "numrecs %d does not fit %v", h.NumRecs, h.Version)
	}
	seen := newNames(int64(len(h.Dims)))
	unlimited := -1
	for i := range h.Dims {
		d := &h.Dims[i]
		if err := checkNew(&seen, "dim", d.Name, odd); err != nil {
			return err
		}
		switch {
		case d.Len < 0:
			return fault.Usage("dim %q: length %d, want >= 0", d.Name, d.Len)
		case d.Len == 0 && unlimited >= 0:
			return fault.Usage("dim %q: a second unlimited dimension (length 0), the first is %q", d.Name, h.Dims[unlimited].Name)
		case d.Len == 0:
			unlimited = i
		case d.Len > h.Version.maxDim():
			return fault.Class(ErrTooLarge, "dim %q: length %d, want <= %d in %v", d.Name, d.Len, h.Version.maxDim(), h.Version)
		}
	}
	if err := h.validateAtts("the file", h.Atts, odd); err != nil {
		return err
	}
	seen = newNames(int64(len(h.Vars)))
	for i := range h.Vars {
		v := &h.Vars[i]
		if err := checkNew(&seen, "var", v.Name, odd); err != nil {
			return err
		}
		if !v.Type.ValidIn(h.Version) {
			return fault.Usage("var %q has type %v, which %v does not support", v.Name, v.Type, h.Version)
		}
		for k, d := range v.Dims {
			if d < 0 || d >= len(h.Dims) {
				return fault.Usage("var %q: dimid[%d]: %d, want < %d", v.Name, k, d, len(h.Dims))
			}
			if k > 0 && h.Dims[d].Len == 0 {
				return fault.Usage("var %q: dimid[%d]: the unlimited dimension %q must come first", v.Name, k, h.Dims[d].Name)
			}
		}
		if err := h.validateAtts(v.Name, v.Atts, odd); err != nil {
			return err
		}
		if _, ok := h.sizeWithin(i, math.MaxInt64-3); !ok {
			return fault.Class(ErrTooLarge, "var %q: the size exceeds 2^63-4 bytes", v.Name)
		}
	}
	return h.validateSizes()
}

func (h *Header) validateAtts(of string, atts []Att, odd bool) error {
	seen := newNames(int64(len(atts)))
	for i := range atts {
		a := &atts[i]
		if err := checkNew(&seen, "attribute", a.Name, odd); err != nil {
			return fmt.Errorf("%w of %s", err, of)
		}
		if !a.Type.ValidIn(h.Version) {
			return fault.Usage("%s: attribute %q has type %v, which %v does not support", of, a.Name, a.Type, h.Version)
		}
		if n := a.Len(); n < 0 {
			return fault.Usage("%s: attribute %q: value of Go type %T does not match %v", of, a.Name, a.Value, a.Type)
		} else if n > math.MaxInt32 && h.Version != CDF5 {
			return fault.Class(ErrTooLarge, "%s: attribute %q: %d elements do not fit %v", of, a.Name, n, h.Version)
		}
	}
	return nil
}

// validateSizes checks the rules of CDF-1 and CDF-2 on large variables. At most one variable may exceed the limit, and no other
// begin may depend on its size. So the large variable must be the last record variable, or the last fixed variable of a file
// without record variables.
func (h *Header) validateSizes() error {
	if h.Version == CDF5 {
		return nil
	}
	limit := h.Version.maxDim() // sizes have the same limit
	big, lastFixed, lastRecord, records := -1, -1, -1, 0
	bigRecord := -1
	for i := range h.Vars {
		_, ok := h.sizeWithin(i, limit)
		if h.IsRecord(i) {
			records++
			lastRecord = i
			if !ok {
				if bigRecord >= 0 {
					return fault.Class(ErrTooLarge, "var %q: a record exceeds %d bytes, and %v allows only one such variable; the first is %q", h.Vars[i].Name, limit, h.Version, h.Vars[bigRecord].Name)
				}
				bigRecord = i
			}
			continue
		}
		lastFixed = i
		if !ok {
			if big >= 0 {
				return fault.Class(ErrTooLarge, "var %q: the variable exceeds %d bytes, and %v allows only one such variable; the first is %q", h.Vars[i].Name, limit, h.Version, h.Vars[big].Name)
			}
			big = i
		}
	}
	if big >= 0 && (big != lastFixed || records > 0) {
		return fault.Class(ErrTooLarge, "var %q: the variable exceeds %d bytes, but in %v only the last variable of a file without records may do this", h.Vars[big].Name, limit, h.Version)
	}
	if bigRecord >= 0 && bigRecord != lastRecord {
		return fault.Class(ErrTooLarge, "var %q: a record exceeds %d bytes, but in %v only the last record variable may do this", h.Vars[bigRecord].Name, limit, h.Version)
	}
	return nil
}

// Unopenable returns the reason why netCDF-C and PnetCDF cannot open a file with this header, although this package can: the
// variables are not in definition order, or too many variables are large for the version. It returns nil if they can open it.
func (h *Header) Unopenable() error {
	if err := h.validateSizes(); err != nil {
		return err
	}
	for _, record := range []bool{false, true} {
		last := -1
		for i := range h.Vars {
			if h.IsRecord(i) != record {
				continue
			}
			if last >= 0 && h.Vars[i].Begin < h.Vars[last].Begin {
				return fmt.Errorf("var %q at %d precedes var %q at %d, which is defined first", h.Vars[i].Name, h.Vars[i].Begin, h.Vars[last].Name, h.Vars[last].Begin)
			}
			last = i
		}
	}
	return nil
}

// sizeWithin returns Bytes(v) and true if it is at most limit.
func (h *Header) sizeWithin(v int, limit int64) (int64, bool) {
	n := int64(h.Vars[v].Type.Size())
	ids := h.Vars[v].Dims
	if h.IsRecord(v) {
		ids = ids[1:]
	}
	// A dimension of length 0 here (only with ZeroDims) makes the variable empty, regardless of the other dimensions.
	for _, d := range ids {
		if h.Dims[d].Len == 0 {
			return 0, true
		}
	}
	for _, d := range ids {
		var ok bool
		if n, ok = mulFits(n, h.Dims[d].Len); !ok || n > limit {
			return 0, false
		}
	}
	return n, n <= limit
}
