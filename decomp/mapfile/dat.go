package mapfile

import (
	"errors"
	"io"

	"blobio/decomp"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

const formatDat = "PIO text"

// datVersion is the only known version of the text.
const datVersion = 2001

// readDat reads PIO text.
func readDat(r io.ReaderAt, size int64, name string) (*File, error) {
	p := &datParser{scanner: scanner{r: io.NewSectionReader(r, 0, size), name: name}, name: name, size: size}
	raw, procs, err := p.parse()
	if err != nil {
		return nil, err
	}
	return &File{Procs: procs, Maps: []Raw{*raw}, Format: formatDat}, nil
}

type datParser struct {
	scanner
	name  string
	size  int64
	dims  []int64
	elems int64
	last  int64
	merge merger
	raw   []decomp.Req

	beyond int64 // number of offsets beyond the end of the array
}

func (p *datParser) parse() (*Raw, int, error) {
	procs, err := p.header()
	if err != nil {
		return nil, 0, err
	}
	reqs := decomp.NewBuilder(p.dims, procs)
	elems := decomp.NewBuilder(p.dims, procs)
	seen := make([]bool, procs)
	for {
		proc, at, ok, err := p.process(procs)
		if err != nil {
			return nil, 0, err
		}
		if !ok {
			break
		}
		if seen[proc] {
			return nil, 0, p.errAt(at, "process", fault.ErrCorrupt, "%d occurs twice", proc)
		}
		seen[proc] = true
		if err := errors.Join(reqs.Set(proc, p.merge.reqs), elems.Set(proc, p.raw)); err != nil {
			return nil, 0, p.errAt(at, "process", err, "%d", proc)
		}
	}
	raw := &Raw{Unlisted: procs, Beyond: p.beyond}
	for _, there := range seen {
		if there {
			raw.Unlisted--
		}
	}
	if raw.Reqs, err = reqs.Map(); err == nil {
		raw.Elems, err = elems.Map()
	}
	return raw, procs, err
}

// header reads the first two lines.
func (p *datParser) header() (procs int, err error) {
	if err := p.skip(vfs.ByteOrderMark); err != nil {
		return 0, err
	}
	version, _, err := p.labelled("version")
	if err != nil {
		return 0, err
	}
	if version != datVersion {
		return 0, p.errAt(p.tokenAt, "version", fault.ErrVersion, "%d, want %d", version, datVersion)
	}
	n, at, err := p.labelled("npes")
	if err != nil {
		return 0, err
	}
	if n < 1 || n > maxProcs {
		return 0, p.errAt(at, "npes", limitClass(n), "%d, want 1 to %d", n, maxProcs)
	}
	k, at, err := p.labelled("ndims")
	if err != nil {
		return 0, err
	}
	if k < 1 || k > maxDims {
		return 0, p.errAt(at, "ndims", limitClass(k), "%d, want 1 to %d", k, maxDims)
	}
	if err := p.endOfLine("ndims"); err != nil {
		return 0, err
	}
	p.dims = make([]int64, k)
	p.elems = 1
	for i := k - 1; i >= 0; i-- { // the fastest dimension comes first
		d, err := p.number("size of a dimension")
		if err != nil {
			return 0, err
		}
		if d < 1 || d > (1<<63-1)/p.elems {
			return 0, p.errAt(p.tokenAt, "size of a dimension", fault.ErrCorrupt, "%d, want >= 1, and a product < 2^63", d)
		}
		p.dims[i] = d
		p.elems *= d
	}
	p.last = p.dims[k-1]
	return int(n), p.endOfLine("sizes of the dimensions")
}

func limitClass(n int64) error {
	if n > 0 {
		return fault.ErrTooLarge
	}
	return fault.ErrCorrupt
}

// process reads the list of a process into p.merge and p.raw. ok is false at the end of the data.
func (p *datParser) process(procs int) (proc int, at int64, ok bool, err error) {
	word, err := p.word(true)
	at = p.tokenAt
	if err != nil || len(word) == 0 || string(word) == "Obtained" {
		return 0, at, false, err
	}
	n, valid := parseInt(word)
	if !valid {
		return 0, at, false, p.errAt(at, "process", fault.ErrCorrupt, "%s, want a number", quote("", word))
	}
	if n < 0 || n >= int64(procs) {
		return 0, at, false, p.errAt(at, "process", fault.ErrCorrupt, "%d, want 0 to %d", n, procs-1)
	}
	count, err := p.number("number of offsets")
	if err != nil {
		return 0, at, false, err
	}
	// an offset takes at least two bytes: a digit and a separator, which may be missing at the end
	// of the file
	if count < 0 || count > (p.size-p.pos()+1)/2 {
		class := fault.ErrCorrupt
		if count > 0 {
			class = fault.ErrTruncated
		}
		return 0, at, false, p.errAt(p.tokenAt, "number of offsets", class, "%d offsets, but only %d bytes are left", count, p.size-p.pos())
	}
	if err := p.endOfLine("number of offsets"); err != nil {
		return 0, at, false, err
	}
	p.merge.reset(p.last)
	p.raw = p.raw[:0]
	for i := range count {
		off, err := p.offset(i == 0)
		if err != nil {
			return 0, at, false, err
		}
		if off > p.elems {
			p.beyond++
		}
		if off == 0 || off > p.elems {
			continue
		}
		if off < 0 {
			return 0, at, false, p.errAt(p.tokenAt, "offset", fault.ErrCorrupt, "%d, want >= 0", off)
		}
		p.merge.add(off - 1)
		p.raw = append(p.raw, decomp.Req{Offset: off - 1, Length: 1})
	}
	if count > 0 {
		if err := p.endOfLine("offsets"); err != nil {
			return 0, at, false, err
		}
	}
	return int(n), at, true, nil
}

// merger merges adjacent offsets in their order of arrival.
type merger struct {
	reqs []decomp.Req
	last int64 // length of a row
	next int64 // offset that continues the last request, or -1
	row  int64 // end of the last request's row
}

func (m *merger) reset(last int64) { m.reqs, m.last, m.next = m.reqs[:0], last, -1 }

func (m *merger) add(off int64) {
	if off == m.next && off != m.row {
		m.reqs[len(m.reqs)-1].Length++
		m.next++
		return
	}
	m.reqs = append(m.reqs, decomp.Req{Offset: off, Length: 1})
	m.next = off + 1
	m.row = off - off%m.last + m.last
}
