package mapfile

import (
	"errors"
	"fmt"

	"blobio/decomp"
	"blobio/internal/base/fault"
)

// A container is a file with the CDF schema: CDF, HDF5 or netCDF-4.
type container interface {
	name() string
	format() string
	// dim returns the length of a dimension.
	dim(name string) (n int64, ok bool, err error)
	// ints and text return a global attribute.
	ints(name string) (v []int64, ok bool, err error)
	text(name string) (v string, ok bool, err error)
	// list returns a variable of one dimension.
	list(name string) (*list, error)
}

// A list is a variable of one dimension, read as int64. All elements are in the file or, if compressed, their number is limited
// by the file size.
type list struct {
	c    container
	name string
	n    int64
	at   func(i int64) int64 // offset in the file, or -1
	read func(dst []int64, first int64) error

	buf  []int64 // elements from first
	from int64
}

const listBuffer = 1 << 16

// window returns the buffered part of elements [first, first+n). If none is buffered, it reads ahead.
func (l *list) window(first, n int64) ([]int64, error) {
	if first < l.from || first >= l.from+int64(len(l.buf)) {
		k := min(listBuffer, l.n-first)
		if int64(cap(l.buf)) < k {
			l.buf = make([]int64, k)
		}
		l.buf, l.from = l.buf[:k], first
		if err := l.read(l.buf, first); err != nil {
			l.buf = l.buf[:0]
			return nil, err
		}
	}
	b := l.buf[first-l.from:]
	return b[:min(n, int64(len(b)))], nil
}

func (l *list) errAt(i int64, class error, format string, args ...any) error {
	field := l.name
	if i >= 0 {
		field = fmt.Sprintf("%s[%d]", l.name, i)
	}
	return fault.At(l.c.name(), l.at(max(i, 0)), field, class, format, args...)
}

func corrupt(c container, field, format string, args ...any) error {
	return fault.At(c.name(), -1, field, fault.ErrCorrupt, format, args...)
}

// readSchema reads the maps of a container.
func readSchema(c container) (*File, error) {
	n, err := countMaps(c)
	if err != nil {
		return nil, err
	}
	procs, err := wantDim(c, "decomp_nprocs", maxProcs)
	if err != nil {
		return nil, err
	}
	f := &File{Procs: int(procs), Format: c.format()}
	if f.CommandLine, _, err = c.text("command_line"); err != nil {
		return nil, err
	}
	for k := range n {
		raw, err := readMap(c, fmt.Sprintf("D%d.", k+1), int(procs))
		if err != nil {
			return nil, err
		}
		f.Maps = append(f.Maps, *raw)
	}
	return f, nil
}

// countMaps returns the number of maps. No variable uses the dimension num_decomp, so programs that copy variables (ncks, xarray)
// drop it. Then the maps are D1, D2, ... as long as they have dims.
func countMaps(c container) (int64, error) {
	if _, ok, err := c.dim("num_decomp"); ok || err != nil {
		return wantDim(c, "num_decomp", maxMaps)
	}
	for k := int64(1); k <= maxMaps+1; k++ {
		_, ok, err := c.ints(fmt.Sprintf("D%d.dims", k))
		switch {
		case err != nil:
			return 0, err
		case ok:
			continue
		case k == 1:
			return wantDim(c, "num_decomp", maxMaps) // returns the error for the missing dimension
		}
		if l, err := c.list(fmt.Sprintf("D%d.offsets", k)); err != nil {
			return 0, err
		} else if l != nil {
			return 0, corrupt(c, fmt.Sprintf("attribute D%d.dims", k), "missing, and the dimension num_decomp is missing, too")
		}
		return k - 1, nil
	}
	return 0, fault.At(c.name(), -1, "attribute D1.dims", fault.ErrTooLarge, "found maps beyond D%d, the last possible one", maxMaps)
}

func wantDim(c container, name string, most int64) (int64, error) {
	n, ok, err := c.dim(name)
	switch {
	case err != nil:
		return 0, err
	case !ok:
		return 0, fault.At(c.name(), -1, "", fault.ErrNotFormat, "the %s file has no dimension %s, so it is not a decomposition map", c.format(), name)
	case n < 1 || n > most:
		return 0, fault.At(c.name(), -1, "dimension "+name, limitClass(n), "%d, want 1 to %d", n, most)
	}
	return n, nil
}

// readMap reads one map. p is the prefix of the names of its variables and attributes, such as "D1.".
func readMap(c container, p string, procs int) (*Raw, error) {
	dims, ok, err := c.ints(p + "dims")
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, corrupt(c, "attribute "+p+"dims", "missing")
	case len(dims) < 1 || len(dims) > maxDims:
		return nil, corrupt(c, "attribute "+p+"dims", "%d values, want 1 to %d", len(dims), maxDims)
	}
	if nd, ok, err := c.ints(p + "ndims"); err != nil {
		return nil, err
	} else if ok && (len(nd) != 1 || nd[0] != int64(len(dims))) {
		return nil, corrupt(c, "attribute "+p+"ndims", "value is %v, but %sdims has %d values", nd, p, len(dims))
	}
	elems := int64(1)
	for _, d := range dims {
		if d < 1 || d > (1<<63-1)/elems {
			return nil, corrupt(c, "attribute "+p+"dims", "%v, want lengths >= 1 with a product < 2^63", dims)
		}
		elems *= d
	}
	raw := new(Raw)
	nreqs, err := readCounts(c, p+"nreqs", procs)
	if err != nil {
		return nil, err
	}
	offsets, err := c.list(p + "offsets")
	if err != nil {
		return nil, err
	}
	lengths, err := c.list(p + "lengths")
	if err != nil {
		return nil, err
	}
	if offsets == nil || lengths == nil {
		return nil, corrupt(c, p+"offsets, "+p+"lengths", "missing")
	}
	if raw.Reqs, err = readReqs(dims, nreqs, p+"nreqs", offsets, lengths, 0); err != nil {
		return nil, err
	}
	starts, err := readFillStarts(c, p+"fill_starts", nreqs)
	if err != nil {
		return nil, err
	}
	raw.FillStarts = starts
	if t, ok, err := c.text(p + "fully_covered"); err != nil {
		return nil, err
	} else if ok {
		full := t == "true"
		raw.FullyCovered = &full
	}
	return raw, readElems(c, p, dims, procs, raw)
}

// readCounts reads a list with one number for each process.
func readCounts(c container, name string, procs int) ([]int64, error) {
	l, err := c.list(name)
	if err != nil {
		return nil, err
	}
	if l == nil {
		return nil, corrupt(c, name, "missing")
	}
	if l.n != int64(procs) {
		return nil, corrupt(c, name, "%d values, want one for each of %d processes", l.n, procs)
	}
	v := make([]int64, procs)
	if err := l.read(v, 0); err != nil {
		return nil, err
	}
	for i, n := range v {
		if n < 0 {
			return nil, l.errAt(int64(i), fault.ErrCorrupt, "%d, want >= 0", n)
		}
	}
	return v, nil
}

// readFillStarts reads the optional list of filler starts.
func readFillStarts(c container, name string, nreqs []int64) ([]int64, error) {
	l, err := c.list(name)
	if err != nil || l == nil {
		return nil, err
	}
	v, err := readCounts(c, name, len(nreqs))
	if err != nil {
		return nil, err
	}
	for i := range v {
		if v[i] > nreqs[i] {
			return nil, l.errAt(int64(i), fault.ErrCorrupt, "%d, but the process has %d requests", v[i], nreqs[i])
		}
	}
	return v, nil
}

// readElems reads the optional lists of elements before merging.
func readElems(c container, p string, dims []int64, procs int, raw *Raw) error {
	offsets, err := c.list(p + "raw_offsets")
	if err != nil || offsets == nil {
		return err
	}
	if l, err := c.list(p + "raw_nreqs"); err != nil || l == nil {
		return err
	}
	counts, err := readCounts(c, p+"raw_nreqs", procs)
	if err != nil {
		return err
	}
	raw.Elems, err = readReqs(dims, counts, p+"raw_nreqs", offsets, nil, 1)
	return err
}

// readReqs reads lists of requests, process by process. If lengths is nil, each request has length 1. The offsets in the file
// count from first.
func readReqs(dims, counts []int64, countsName string, offsets, lengths *list, first int64) (*decomp.Map, error) {
	sum := int64(0)
	for _, n := range counts {
		if n > offsets.n-sum {
			sum = -1
			break
		}
		sum += n
	}
	if sum != offsets.n {
		return nil, corrupt(offsets.c, offsets.name, "%d values, want as many as the sum of %s", offsets.n, countsName)
	}
	if lengths != nil && lengths.n != offsets.n {
		return nil, corrupt(offsets.c, lengths.name, "%d values, but %s has %d", lengths.n, offsets.name, offsets.n)
	}
	b := decomp.NewBuilder(dims, len(counts))
	var reqs []decomp.Req
	at := int64(0)
	for p, n := range counts {
		reqs = reqs[:0]
		for end := at + n; at < end; {
			o, err := offsets.window(at, end-at)
			if err != nil {
				return nil, err
			}
			k := len(reqs)
			for _, off := range o {
				reqs = append(reqs, decomp.Req{Offset: off - first, Length: 1})
			}
			at += int64(len(o))
			if lengths == nil {
				continue
			}
			for from := at - int64(len(o)); from < at; {
				w, err := lengths.window(from, at-from)
				if err != nil {
					return nil, err
				}
				for i, length := range w {
					reqs[k+i].Length = length
				}
				k += len(w)
				from += int64(len(w))
			}
		}
		if err := b.Set(p, reqs); err != nil {
			if bad := new(decomp.RequestError); errors.As(err, &bad) {
				return nil, offsets.errAt(at-n+bad.Index, err, "invalid request of process %d", p)
			}
			return nil, err
		}
	}
	return b.Map()
}
