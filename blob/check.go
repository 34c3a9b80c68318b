package blob

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"blobio/decomp"
	"blobio/internal/vfs"
	"blobio/subfile"
)

// CheckOptions of Check. The zero value, or nil, checks everything.
type CheckOptions struct {
	Quick    bool                    // structure and maps only: data are not read, checksums not compared
	Workers  int                     // default GOMAXPROCS
	MaxOpen  int                     // default 256
	Progress func(done, total int64) // bytes; called often, by several goroutines

	fs vfs.FS
}

// Check looks for everything that is wrong with a dataset of any layout: its
// state on disk, the structure of every file, sizes, the maps (ranges, sums,
// coverage, overlaps), agreement between subfiles, and, where there is a manifest,
// sizes and checksums. It reports all it finds and never stops at the
// first. It changes nothing. If path cannot be looked at at all, the one finding's Err says why.
func Check(ctx context.Context, path string, o *CheckOptions) iter.Seq[Finding] {
	return func(yield func(Finding) bool) {
		c := &checker{ctx: ctx}
		if o != nil {
			c.o = *o
		}
		if c.o.Workers <= 0 {
			c.o.Workers = runtime.GOMAXPROCS(0)
		}
		if c.o.fs == nil {
			c.o.fs = vfs.OS
		}
		c.pool = subfile.NewPool(c.o.fs, c.o.MaxOpen)
		defer c.pool.Close()
		c.run(path)
		for _, f := range c.found {
			if !yield(f) {
				return
			}
		}
	}
}

type checker struct {
	ctx  context.Context
	o    CheckOptions
	pool *subfile.Pool

	mu      sync.Mutex
	found   []Finding
	missing atomic.Int64 // subfiles of the set
	done    atomic.Int64
	total   int64
}

// checkPart is one subfile under check.
type checkPart struct {
	*filePart
	set    *subfile.SetInfo // of the manifest, or nil
	base   string
	noData bool // its data cannot be compared with the manifest's checksums
}

func (c *checker) add(f Finding) {
	c.mu.Lock()
	c.found = append(c.found, f)
	c.mu.Unlock()
}

func (c *checker) say(sev Severity, file string, off int64, field string, class error, format string, args ...any) {
	c.add(Finding{sev, file, off, field, fmt.Sprintf(format, args...), class})
}

// inOrder sorts the findings added since n by place, for they came from several goroutines.
func (c *checker) inOrder(n int) {
	slices.SortStableFunc(c.found[n:], func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Offset, b.Offset))
	})
}

func (c *checker) run(path string) {
	set, err := subfile.Find(c.o.fs, path)
	if err != nil {
		c.add(findingOf(Error, path, err))
		return
	}
	sets := c.collect(set)
	for k, parts := range sets {
		n := len(c.found)
		c.missing.Store(0)
		inParallel(c.o.Workers, len(parts), func(i int) { c.structure(parts[i]) })
		if more := c.missing.Load() - maxListed; more > 0 {
			c.say(Error, "", -1, "subfile", ErrMissing, "%d more are not there", more)
		}
		c.inOrder(n)
		c.together(set, parts, k)
		n = len(c.found)
		maps := c.maps(parts)
		c.inOrder(n)
		if !slices.ContainsFunc(c.found[n:], func(f Finding) bool { return f.Severity == Error }) {
			c.prints(parts, maps)
		}
		c.coverage(parts, maps)
	}
	if c.o.Quick {
		return
	}
	n := len(c.found)
	for _, parts := range sets {
		for _, p := range parts {
			if p.table != nil || p.place != nil && p.place.layout == Canonical {
				c.total += max(p.size-p.place.hdrLen, 0)
			}
		}
	}
	for _, parts := range sets {
		inParallel(c.o.Workers, len(parts), func(i int) { c.data(parts[i]) })
	}
	c.inOrder(n)
}

// collect lists the subfiles, and reports the state of the commit.
func (c *checker) collect(found *subfile.Set) [][]*checkPart {
	r := &Reader{opt: OpenOptions{fs: c.o.fs, AllowMissing: true}, pool: c.pool, base: found.Base}
	if found.Single {
		return [][]*checkPart{{{filePart: &filePart{r: r, name: found.Base}, base: found.Base}}}
	}
	st, err := subfile.ReadState(c.o.fs, found.Base)
	if err != nil {
		if errors.Is(err, ErrNotCommitted) {
			c.say(Error, subfile.NextName(found.Base), -1, "commit", ErrNotCommitted, "the dataset was never finished; what follows is about what is there")
		} else {
			c.add(findingOf(Error, subfile.ManifestName(found.Base), err))
		}
		st = &subfile.State{}
	} else if st.Writing {
		c.say(Warning, subfile.NextName(found.Base), -1, "commit", nil, "a writer is at work on this dataset, or died; the manifest before it is in force")
	}
	if st.Pending {
		c.say(Warning, subfile.NextName(found.Base), -1, "commit", nil, "complete, but cut short during the renames; the next writer finishes them")
	}
	for _, name := range found.Partials {
		if !st.Pending {
			c.say(Warning, name, -1, "commit", ErrNotCommitted, "a partial subfile, not part of the dataset")
		}
	}
	if st.Manifest == nil {
		if err == nil && len(found.Members) == 0 {
			c.say(Error, "", -1, "commit", ErrNotCommitted, "only partial subfiles are here; what follows is about them")
		} else if err == nil {
			c.say(Note, "", -1, "manifest", nil, "none: written by another program; data have no checksums")
		}
		var parts []*checkPart
		members := found.Members
		if len(members) == 0 {
			members = found.Partials
		}
		n := 0
		for i := range members {
			n = max(n, i+1)
		}
		if most := len(members) + maxMissing; n > most {
			c.say(Error, members[n-1], -1, "subfile number", ErrMissing, "%d, but only %d subfiles are here; those from %d on are not looked at", n-1, len(members), most)
			n = most
		}
		for i := range n {
			parts = append(parts, &checkPart{filePart: &filePart{r: r, index: i, name: members[i]}, base: found.Base})
		}
		return [][]*checkPart{parts}
	}
	r.pending, r.manifest = st.Pending, st.Manifest
	if codec := st.Manifest.Codec; codec != "" {
		c.say(Error, subfile.ManifestName(found.Base), 0, "codec", ErrUnsupported, "%q, want none", codec)
	}
	var sets [][]*checkPart
	for k := range st.Manifest.Sets {
		si := &st.Manifest.Sets[k]
		base := filepath.Join(subfile.Dir(found.Base), si.Base)
		var parts []*checkPart
		for i := range si.Subfiles {
			name, err := r.finalOrPartial(subfile.Name(base, i))
			if err != nil {
				c.add(findingOf(Error, subfile.Partial(name), err))
			}
			parts = append(parts, &checkPart{set: si, base: base, filePart: &filePart{r: r, index: i, info: &si.Subfiles[i], name: name}})
		}
		sets = append(sets, parts)
	}
	stale, _ := subfile.Stale(c.o.fs, found.Base, st.Manifest)
	for _, name := range stale {
		c.say(Warning, name, -1, "manifest", nil, "a subfile that the manifest does not list")
	}
	return sets
}

// structure checks one file on its own: header, size, table of blobs.
func (c *checker) structure(p *checkPart) {
	if p.name == "" || p.gone() {
		if c.missing.Add(1) <= maxListed {
			c.say(Error, p.wanted(), -1, "subfile", ErrMissing, "not there")
		}
		p.name = ""
		return
	}
	f, done, err := p.file()
	if err != nil {
		c.add(findingOf(Error, p.name, p.whatIsIt(err)))
		return
	}
	defer done()
	if p.size, err = f.Size(); err != nil {
		c.add(findingOf(Error, p.name, err))
		return
	}
	pl, records, err := decodePlace(f, p.size, p.name)
	if err != nil {
		c.add(findingOf(Error, p.name, p.whatIsIt(err)))
		return
	}
	p.place, p.records = pl, records
	c.sizes(p)
	c.manifest(p)
	if pl.layout == Canonical {
		return
	}
	if pl.layout == ProcessCentric {
		for v := range pl.hdr.Vars {
			if b := pl.hdr.Vars[v].Begin; b != 0 {
				c.say(Note, p.name, -1, fmt.Sprintf("variable %q begin", pl.hdr.Vars[v].Name), nil, "%d, the reference writes 0", b)
				break
			}
		}
	}
	t, err := readTable(f, pl, p.name, func(err error) { c.add(findingOf(Error, p.name, err)) })
	if err != nil {
		c.add(findingOf(Error, p.name, err))
		return
	}
	p.table = t
	if p.info != nil && pl.layout == ProcessCentric {
		if n := len(p.info.Blobs); n != len(t.blob)+1 {
			c.say(Error, p.name, -1, "blobs", ErrCorrupt, "the manifest has %d offsets, want %d for %d blobs and the end of the last", n, len(t.blob)+1, len(t.blob))
		} else if end := pl.dataOff + pl.dataLen; p.info.Blobs[n-1] != end {
			c.say(Error, p.name, end, "blobs", ErrCorrupt, "the last ends at %#x, the manifest says %#x", end, p.info.Blobs[n-1])
		}
		for j, off := range t.blob {
			if j < len(p.info.Blobs) && p.info.Blobs[j] != off {
				c.say(Error, p.name, off, fmt.Sprintf("blob %d", j), ErrCorrupt, "begins at %#x, the manifest says %#x", off, p.info.Blobs[j])
			}
		}
	}
}

// sizes holds the length of the file against what its header promises.
func (c *checker) sizes(p *checkPart) {
	pl := p.place
	records := p.records
	if p.info != nil {
		if err := pl.holds(p.name, p.records, p.set.Records); err != nil {
			c.add(findingOf(Error, p.name, err))
			p.noData = true // how much of it to read is not known
			return
		}
		if n := pl.fileSize(p.set.Records); n != p.info.Size {
			c.say(Error, p.name, -1, "file", ErrCorrupt, "%d bytes by its header and %d records, the manifest says %d", n, p.set.Records, p.info.Size)
		}
	}
	if p.info != nil && pl.layout == VariableCentric {
		records = p.set.Records
		if p.records != records {
			c.say(Warning, p.name, numrecsAt, "numrecs", nil, "%d, the manifest says %d: a commit was cut short, the manifest is right", p.records, records)
		}
	}
	if pl.layout == ProcessCentric {
		return // the datasets' extents were checked when they were found
	}
	want := pl.fileSize(records)
	least := want
	for v := range pl.hdr.Vars { // a last pad may be missing
		if pl.hdr.IsRecord(v) && records > 0 {
			if v == lastRecordVar(pl) {
				off, n := pl.at.Extent(v, records-1)
				least = off + n
			}
		}
	}
	if last, end := pl.lastPiece(records); pl.layout == Canonical && p.size >= last && p.size < end {
		c.say(Warning, p.name, p.size, "file", nil, "%d bytes of the last variable are not there: never written (programs without fill mode leave them out) or lost; they read as zeros", end-p.size)
		return
	}
	switch {
	case p.size < min(least, want):
		c.say(Error, p.name, p.size, "file", ErrTruncated, "%d bytes, but the header promises %d", p.size, want)
	case p.size > want && p.info != nil:
		c.say(Warning, p.name, want, "file", nil, "%d bytes behind the committed end: an append that was not finished", p.size-want)
	case p.size > want:
		c.say(Warning, p.name, want, "file", nil, "%d bytes behind the end that the header promises", p.size-want)
	}
}

func lastRecordVar(pl *place) int {
	last := -1
	for v := range pl.hdr.Vars {
		if pl.hdr.IsRecord(v) && (last < 0 || pl.hdr.Vars[v].Begin > pl.hdr.Vars[last].Begin) {
			last = v
		}
	}
	return last
}

// manifest holds the file against the manifest's description of it.
func (c *checker) manifest(p *checkPart) {
	if p.info == nil {
		return
	}
	if m := p.r.manifest; p.place.layout.String() != m.Layout {
		c.say(Error, p.name, p.place.hdrOff, "header", ErrCorrupt, "%v, the manifest says %s", p.place.layout, m.Layout)
	} else if p.place.shape.ranks != m.Ranks {
		c.say(Error, p.name, p.place.locate().globalAtt(attNprocs), "attribute "+attNprocs, ErrCorrupt, "%d, the manifest says %d", p.place.shape.ranks, m.Ranks)
	}
	if p.size < p.info.Size {
		c.say(Error, p.name, p.size, "file", ErrTruncated, "%d bytes, the manifest says %d", p.size, p.info.Size)
	}
	if p.place.hdrLen != p.info.HeaderLen || p.place.hdrOff != p.info.HeaderOff {
		c.say(Error, p.name, p.place.hdrOff, "header", ErrCorrupt, "%d bytes at %#x, the manifest says %d at %#x", p.place.hdrLen, p.place.hdrOff, p.info.HeaderLen, p.info.HeaderOff)
		return
	}
	if p.place.layout != Canonical {
		crc, err := p.headerCRC()
		if err != nil {
			c.add(findingOf(Error, p.name, err))
		} else if crc != p.info.HeaderCRC {
			c.say(Error, p.name, p.place.hdrOff, "header", ErrChecksum, "sums to %08x, the manifest says %08x", uint32(crc), uint32(p.info.HeaderCRC))
		}
	}
}

// maxListed is how many missing subfiles are named one by one.
const maxListed = 100

// together checks that the subfiles belong to one dataset and are all of it.
func (c *checker) together(found *subfile.Set, parts []*checkPart, set int) {
	var lead *checkPart
	blobs, missing := 0, false
	for _, p := range parts {
		if p.place == nil {
			missing = true
			continue
		}
		blobs += p.place.shape.nblobs
		if lead == nil {
			lead = p
		} else if err := sameDataset(lead.place, p.place, p.info != nil); err != nil {
			c.say(Error, p.name, p.place.hdrOff, "header", ErrCorrupt, "not of the same dataset as %s: %v", lead.name, err)
		}
	}
	if lead == nil {
		return
	}
	sh := lead.place.shape
	if lead.place.layout == Canonical {
		if !found.Single {
			c.say(Error, lead.name, 0, "header", ErrNotFormat, "an ordinary netCDF file under the name of a subfile")
		}
		return
	}
	for i := len(parts); i < sh.subfiles; i++ {
		missing = true
		if i == len(parts)+maxListed && i < sh.subfiles-1 {
			c.say(Error, subfile.Name(parts[0].base, i), -1, "subfile", ErrMissing, "not there, nor are the %d subfiles after it", sh.subfiles-1-i)
			break
		}
		c.say(Error, subfile.Name(parts[0].base, i), -1, "subfile", ErrMissing, "not there, %s of %s is %d", attSubfiles, lead.name, sh.subfiles)
	}
	if len(parts) > sh.subfiles {
		c.say(Error, lead.name, lead.place.locate().globalAtt(attSubfiles), "attribute "+attSubfiles, ErrCorrupt, "%d, but there are %d subfiles", sh.subfiles, len(parts))
	}
	if !missing && blobs != sh.ranks {
		c.say(Error, lead.name, lead.place.locate().globalAtt(attNprocs), "attribute "+attNprocs, ErrCorrupt, "%d, but the subfiles hold %d blobs", sh.ranks, blobs)
	}
}

// maps reads every map of all subfiles and checks every request. It returns
// them as far as they could be read.
func (c *checker) maps(parts []*checkPart) []*decomp.Map {
	var lead *checkPart
	blobs := 0
	for _, p := range parts {
		if p.table == nil {
			continue
		}
		if lead == nil {
			lead = p
		} else if sameDataset(lead.place, p.place, true) != nil {
			continue
		}
		p.first = blobs
		blobs += p.place.shape.nblobs
	}
	if lead == nil {
		return nil
	}
	maps := make([]*decomp.Map, lead.place.nd())
	for d := range maps {
		dims := lead.place.schema.DecompDims(DecompID(d + 1))
		b := decomp.NewBuilder(dims, blobs)
		last := dims[len(dims)-1]
		for _, p := range parts {
			if p.table == nil || sameDataset(lead.place, p.place, true) != nil {
				continue
			}
			f, done, err := p.file()
			if err != nil {
				c.add(findingOf(Error, p.name, err))
				continue
			}
			err = readRequests(c.ctx, f, p.place, p.table, p.name, d, c.o.Workers, func(j int, reqs []decomp.Req) error {
				for k, q := range reqs {
					if q.Length == 0 {
						at, _ := p.place.mapPiece(d, mapLengths, p.table, j)
						c.say(Note, p.name, at+4*int64(k), fmt.Sprintf("D%d.lengths[%d][%d]", d+1, j, k), nil, "0: a request of no elements")
						break
					}
					if q.Length > 0 && q.Offset >= 0 && q.Offset%last+q.Length > last {
						at, _ := p.place.mapPiece(d, mapLengths, p.table, j)
						c.say(Warning, p.name, at+4*int64(k), fmt.Sprintf("D%d.lengths[%d][%d]", d+1, j, k), nil,
							"request of %d elements from %d on goes beyond the end of its row of %d", q.Length, q.Offset, last)
						break
					}
				}
				return b.Set(p.first+j, reqs)
			}, func(err error) { c.add(findingOf(Error, p.name, err)) })
			if err != nil {
				c.add(findingOf(Error, p.name, err))
			}
			if p.place.layout == VariableCentric {
				c.padding(p, f, d)
			}
			done()
		}
		m, err := b.Map()
		if err != nil {
			c.add(findingOf(Error, lead.name, err))
			continue
		}
		maps[d] = m
	}
	return maps
}

// prints holds the maps, all of which could be read, against the manifest's fingerprints.
func (c *checker) prints(parts []*checkPart, maps []*decomp.Map) {
	for _, p := range parts {
		if p.table == nil || p.info == nil {
			return
		}
	}
	if len(maps) == 0 {
		return
	}
	r := parts[0].r
	name := subfile.ManifestName(r.base)
	if n := len(r.manifest.Maps); n != len(maps) {
		c.say(Error, name, -1, "maps", ErrCorrupt, "%d fingerprints, but the files have %d maps", n, len(maps))
		return
	}
	for d, m := range maps {
		sum := int64(0)
		for _, p := range parts {
			sum += mapPrint(m.Sub(p.first, p.place.shape.nblobs), p.table, p.index)
		}
		if got, want := fmt.Sprintf("%016x", uint64(sum)), r.manifest.Maps[d]; got != want {
			c.say(Error, name, -1, fmt.Sprintf("maps[%d]", d), ErrMapMismatch, "fingerprint %q, but that of D%d of %s is %s", want, d+1, parts[0].base, got)
		}
	}
}

// padding notes rows of a map whose unused entries are not zero: what the reference leaves there.
func (c *checker) padding(p *checkPart, f vfs.File, d int) {
	width, nd := p.place.shape.maxReqs[d], p.place.nd()
	for j := range p.place.shape.nblobs {
		for _, m := range []int{mapOffsets, mapLengths} {
			off, n := p.place.mapPiece(d, m, p.table, j)
			used := p.table.nreqs[j*nd+d] * n / max(width, 1)
			b := make([]byte, min(n-used, 1<<16))
			if len(b) == 0 || readFull(f, b, off+used, p.name, "padding") != nil {
				continue
			}
			if i := slices.IndexFunc(b, func(x byte) bool { return x != 0 }); i >= 0 {
				c.say(Note, p.name, off+used+int64(i), fmt.Sprintf("D%d.%s[%d]", d+1, mapVarDefs[m].name, j), nil,
					"not zero behind the last request: undefined bytes, as the reference leaves them")
				return // one per map is enough to know
			}
		}
	}
}

// coverage reports elements that several ranks own, or none.
func (c *checker) coverage(parts []*checkPart, maps []*decomp.Map) {
	lost := slices.ContainsFunc(c.found, func(f Finding) bool { return errors.Is(f.Err, ErrMissing) })
	for d, m := range maps {
		if m == nil {
			continue
		}
		cov, err := m.Coverage()
		if err != nil {
			c.say(Error, "", -1, fmt.Sprintf("D%d", d+1), ErrCorrupt, "%v", err)
			continue
		}
		name := fmt.Sprintf("D%d", d+1)
		if cov.Overlapped > 0 {
			c.say(Error, "", -1, name, ErrCorrupt, "%d elements are owned by several ranks%s", cov.Overlapped, overlapExample(parts, cov))
		}
		switch {
		case cov.Uncovered > 0 && lost: // holes of the map cannot be told from what the missing files had
			c.say(Error, "", -1, name, ErrMissing, "%d of %d elements are in no subfile that is there", cov.Uncovered, m.Elems())
		case cov.Uncovered > 0:
			c.say(Note, "", -1, name, nil, "%d of %d elements are owned by no rank and read as fill values", cov.Uncovered, m.Elems())
		}
	}
}

// overlapExample names the first overlap by subfile and blob.
func overlapExample(parts []*checkPart, cov decomp.Coverage) string {
	if len(cov.Overlaps) == 0 {
		return ""
	}
	who := func(rank int) string {
		for _, p := range slices.Backward(parts) {
			if p.table != nil && p.first <= rank {
				return fmt.Sprintf("blob %d of %s", rank-p.first, p.name)
			}
		}
		return fmt.Sprintf("blob %d", rank)
	}
	o := cov.Overlaps[0]
	return fmt.Sprintf(": the first are %d from %d on, of %s and %s", o.Len, o.Off, who(o.Rank), who(o.Other))
}

// data compares the checksums of all extents with the manifest's, or reads the
// data for the sake of reading where there is none.
func (c *checker) data(p *checkPart) {
	if p.table == nil || c.ctx.Err() != nil || p.info == nil || p.noData {
		return
	}
	f, done, err := p.file()
	if err != nil {
		c.add(findingOf(Error, p.name, err))
		return
	}
	defer done()
	pl := p.place
	want := int64(0)
	err = sumExtents(c.ctx, f, pl, p.table, p.name, p.set.Records, func(ext int64, v int, rec int64, crc uint32) {
		want = max(want, ext+1)
		field := fmt.Sprintf("variable %q", pl.hdr.Vars[v].Name)
		off := int64(-1)
		if pl.layout == VariableCentric {
			off, _ = pl.at.Extent(v, rec)
		}
		if pl.hdr.IsRecord(v) {
			field += fmt.Sprintf(" record %d", rec+p.set.First)
		}
		switch {
		case ext >= int64(len(p.info.Extents)):
			c.say(Error, p.name, off, field, ErrChecksum, "the manifest has no checksum of it")
		case p.info.Extents[ext] != crc:
			c.say(Error, p.name, off, field, ErrChecksum, "sums to %08x, the manifest says %08x", crc, p.info.Extents[ext])
		}
	}, func(n int64) {
		if d := c.done.Add(n); c.o.Progress != nil {
			c.o.Progress(d, c.total)
		}
	})
	switch n := int64(len(p.info.Extents)); {
	case err != nil:
		c.add(findingOf(Error, p.name, err))
	case n > want:
		c.say(Error, p.name, -1, "extents", ErrCorrupt, "the manifest has %d checksums, the file %d extents", n, want)
	}
}
