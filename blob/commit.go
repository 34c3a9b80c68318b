package blob

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"path/filepath"

	"blobio/comm"
	"blobio/internal/crccat"
	"blobio/subfile"
)

// commit makes the dataset whole: every subfile complete and synced, then the
// manifest. See the package subfile for the states on the way. Collective.
func (w *Writer) commit(ctx context.Context, records int64) error {
	all, broken, err := w.seal(ctx, records)
	if broken != nil {
		w.fail(broken)
		return broken
	}
	if err := w.lastCall(ctx, err); err != nil {
		return err
	}
	sync := w.opt.Durability == DurableCommit
	m, err := w.record(ctx, all, records, sync)
	if err != nil {
		w.fail(err)
		return err
	}
	// From here on the new dataset is the one that is read, whatever fails.
	if w.info.old != nil && w.opt.Layout == VariableCentric {
		if w.lead && w.eng.table.id[0] == 0 {
			err = w.eng.moveRecords(records, w.opt.Durability != DurableNone)
			if cerr := w.eng.proc.pool.CloseFile(w.eng.name); err == nil {
				err = cerr
			}
		}
		if err := comm.Agree(ctx, w.c, err); err != nil {
			return err
		}
	}
	if w.c.Rank() == 0 {
		if err = subfile.Finish(w.opt.fs, w.base, m, sync); err == nil && w.info.replace {
			err = subfile.RemoveStale(w.opt.fs, w.base, m)
		}
	}
	return comm.Agree(ctx, w.c, err)
}

// lastCall is the guard before the record is written. If it is the agreement
// itself that breaks, rank 0 may have heard everybody and write the record, so
// the other ranks leave their files; the next writer finds out.
func (w *Writer) lastCall(ctx context.Context, err error) error {
	v, agreed := comm.AgreeMin(ctx, w.c, err, 0)
	if agreed == nil {
		return nil
	}
	w.committed = w.c.Rank() != 0 && v == nil
	w.fail(agreed)
	return agreed
}

// record writes the prepared manifest; the error is agreed. If that fails the record is taken back;
// where even this fails it may be on disk or not, so no rank removes anything,
// and the next writer finds out.
func (w *Writer) record(ctx context.Context, all [][]byte, records int64, sync bool) (m *subfile.Manifest, err error) {
	state := int64(recordUnknown)
	if w.c.Rank() == 0 {
		state = recordWritten
		if m, err = w.manifest(all, records); err == nil {
			err = subfile.WriteNext(w.opt.fs, w.base, m, sync)
		}
		if err != nil {
			state = recordTaken
			if rerr := subfile.DropNext(w.opt.fs, w.base); rerr != nil {
				state, err = recordUnknown, errors.Join(err, rerr)
			}
		}
	}
	v, err := comm.AgreeMin(ctx, w.c, err, state)
	w.committed = v == nil || v[0] != recordTaken // nil: it broke
	return m, err
}

// What became of the prepared manifest.
const (
	recordWritten = iota
	recordTaken
	recordUnknown // the greatest: the other ranks say so
)

// seal completes the subfiles. World rank 0 gets what all ranks tell of them: descriptions of subfiles by
// their first ranks, and sums of the maps. broken is an error of the communication, err
// is of this rank alone.
func (w *Writer) seal(ctx context.Context, records int64) (all [][]byte, broken, err error) {
	first := w.sub.Rank() == 0
	var o sealed
	if w.lead {
		if o.err = w.eng.drain(); o.err == nil {
			o.err = w.eng.sealLocal(records, first, w.opt.Durability != DurableNone)
		}
		if cerr := w.eng.proc.pool.CloseFile(w.eng.name); o.err == nil {
			o.err = cerr // some file systems tell only now that data are lost
		}
		o.of(w.eng, first)
		o.prints = w.prints()
	}
	err = o.err
	// Processes that share this subfile bring what they know to its first rank.
	told, broken := w.sub.Gather(ctx, 0, o.bytes())
	if broken != nil {
		return nil, broken, nil
	}
	var mine []byte
	if first && err == nil {
		mine, err = w.describe(told, records)
	}
	if w.info.subfiles == 1 {
		return [][]byte{mine}, nil, err
	}
	all, broken = w.c.Gather(ctx, 0, mine)
	return all, broken, err
}

// described is what the first rank of a subfile tells world rank 0.
type described struct {
	Prints  []int64          `json:"prints"` // sums over its ranks
	Subfile *subfile.Subfile `json:"subfile"`
}

// describe describes the subfile of which this is the first rank.
func (w *Writer) describe(told [][]byte, records int64) ([]byte, error) {
	e := w.eng
	var blobs []int64
	var rows [][]byte
	d := described{Prints: make([]int64, e.place.nd())}
	for r, b := range told {
		var o sealed
		if err := o.parse(b); err != nil {
			return nil, fmt.Errorf("blob: %s: checksums of sub rank %d: %w", e.name, r, err)
		}
		if o.err != nil {
			return nil, fmt.Errorf("blob: %s: sub rank %d: %w", e.name, r, o.err)
		}
		for k := range min(len(o.prints), len(d.Prints)) {
			d.Prints[k] += o.prints[k]
		}
		for _, x := range o.redo {
			e.sums.again(x)
		}
		for _, s := range o.segs {
			e.sums.add(s.ext, s.seg)
		}
		rows = append(rows, o.rows)
		for i, id := range o.ids {
			for int64(len(blobs)) <= id {
				blobs = append(blobs, 0)
			}
			blobs[id] = o.blobs[i]
		}
	}
	if e.team != nil && e.pack != nil {
		if err := e.sealTeam(rows, records-e.recBase(), w.opt.Durability != DurableNone); err != nil {
			return nil, err
		}
	} else if e.team != nil { // what was put again may have been written by any rank
		if err := e.resum(e.team.all, records); err != nil {
			return nil, err
		}
	}
	sf, err := e.describe(records, w.info.old)
	if err != nil {
		return nil, err
	}
	if w.opt.Layout == ProcessCentric {
		sf.Blobs = append(blobs, e.place.dataOff+e.place.dataLen)
	}
	d.Subfile = sf
	return json.Marshal(d)
}

// sealLocal ends this process's part of the subfile.
func (e *engine) sealLocal(records int64, first, sync bool) error {
	if e.team != nil && !first && !e.wrote.Load() {
		return nil
	}
	f, done, err := e.file()
	if err != nil {
		return err
	}
	defer done()
	if e.team == nil {
		if err := e.resum(e.table, records); err != nil {
			return err
		}
	}
	if e.pack != nil {
		if e.team == nil {
			if err := e.sealPacked(f, e.pack.x, records-e.recBase()); err != nil {
				return err
			}
		}
	} else if first && !e.appended {
		if err := e.writeContainer(f, e.meta, records-e.recBase()); err != nil {
			return err
		}
	} else if first {
		if err := f.Truncate(e.place.fileSize(records)); err != nil {
			return err
		}
	}
	if sync {
		return f.Sync()
	}
	return nil
}

// resum sums anew the extents that were put more than once, from the file: the pieces of the
// ranks of t.
func (e *engine) resum(t *ranks, records int64) error {
	if len(e.sums.redo) == 0 {
		return nil
	}
	f, done, err := e.file()
	if err != nil {
		return err
	}
	defer done()
	redo := e.sums.redo
	e.sums.redo = map[int64]bool{}
	buf := make([]byte, 1<<20)
	one := func(i int, p *pend) error {
		off, n, at := e.spotOf(t, i, p.v, p.rec)
		for n > 0 {
			b := buf[:min(n, int64(len(buf)))]
			if k, err := f.ReadAt(b, off); k < len(b) {
				return err
			}
			e.sums.add(e.extent(p), seg{at, int64(len(b)), crc32.ChecksumIEEE(b)})
			off, at, n = off+int64(len(b)), at+int64(len(b)), n-int64(len(b))
		}
		return nil
	}
	for v := range e.schema.vars {
		lo, hi := int64(0), int64(1)
		if e.schema.vars[v].Record {
			lo, hi = e.first, records
		}
		for rec := lo; rec < hi; rec++ {
			p := pend{v: int32(v), rec: rec}
			if !redo[e.extent(&p)] {
				continue
			}
			for i := range t.id {
				if e.schema.vars[v].Decomp == 0 && t.id[i] != 0 {
					continue
				}
				if err := one(i, &p); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// extentLen is the length in bytes of extent k (fixed and map variables, then
// one record after the other) as ExtentIndex counts, and its name.
func (p *place) extentLen(fileVar int) int64 {
	h := p.hdr
	if p.layout == ProcessCentric {
		// the padding of rows, and the element of an empty map, are not there
		if fileVar >= p.nd()*mapVars {
			if d := p.schema.vars[fileVar-p.nd()*mapVars].Decomp; d != 0 {
				return p.shape.nelems[d-1] * int64(h.Vars[fileVar].Type.Size())
			}
		}
	}
	return h.Elems(fileVar) * int64(h.Vars[fileVar].Type.Size())
}

// describe returns the manifest's entry of a complete subfile.
func (e *engine) describe(records int64, old *subfile.Manifest) (*subfile.Subfile, error) {
	sf := &subfile.Subfile{Size: e.place.fileSize(records), HeaderOff: e.place.hdrOff, HeaderLen: e.place.hdrLen}
	crc, err := e.place.headerCRC()
	if err != nil {
		return nil, err
	}
	sf.HeaderCRC = subfile.CRC(crc)
	grow := old != nil && e.place.layout == VariableCentric
	var fixed, recs []int
	for v := range e.place.hdr.Vars {
		if e.place.hdr.IsRecord(v) {
			recs = append(recs, v)
		} else {
			fixed = append(fixed, v)
		}
	}
	add := func(ext int64, v int, rec int64) error {
		if e.pack != nil {
			crc, err := e.place.packed.x.sum(v, rec)
			if err != nil {
				return fmt.Errorf("blob: %s: variable %q: %w", e.name, e.place.hdr.Vars[v].Name, err)
			}
			sf.Extents = append(sf.Extents, crc)
			return nil
		}
		n := e.place.extentLen(v)
		crc, ok := e.sums.whole(ext, n)
		if !ok {
			if crc, ok = e.loose(ext, v, n); !ok {
				return fmt.Errorf("blob: %s: variable %q: its bytes were not all written", e.name, e.place.hdr.Vars[v].Name)
			}
		}
		sf.Extents = append(sf.Extents, crc)
		return nil
	}
	if grow {
		sf.Extents = append(sf.Extents, old.Sets[0].Subfiles[e.index].Extents...)
	} else {
		for k, v := range fixed {
			if err := add(int64(k), v, 0); err != nil {
				return nil, err
			}
		}
	}
	for rec := range records - e.first {
		for k, v := range recs {
			if err := add(subfile.ExtentIndex(e.fixedN, e.recN, k, true, rec), v, rec); err != nil {
				return nil, err
			}
		}
	}
	return sf, nil
}

// loose returns the checksum of extents that are not the sum of the ranks'
// pieces: the lists of a process-centric map, whose rows have no padding, and
// the one element of a map that is empty in this subfile.
func (e *engine) loose(ext int64, v int, n int64) (uint32, bool) {
	e.sums.mu.Lock()
	defer e.sums.mu.Unlock()
	l := e.sums.ext[ext]
	isList := v < e.place.nd()*mapVars && v%mapVars >= mapOffsets
	if len(l) == 0 && isList && e.place.layout == ProcessCentric && e.place.shape.maxReqs[v/mapVars] == 0 {
		return 0, true // the sum of nothing
	}
	if len(l) == 0 {
		return crccat.Zeros(n), e.place.layout == VariableCentric && e.emptyMapVar(v)
	}
	if e.place.layout == ProcessCentric && isList && len(l) == 1 && l[0].at == 0 {
		return l[0].crc, true
	}
	return 0, false
}

func (e *engine) emptyMapVar(v int) bool {
	v -= e.place.nd() * mapVars
	if v < 0 {
		return false
	}
	d := e.schema.vars[v].Decomp
	return d != 0 && e.place.shape.nelems[d-1] == 0
}

// headerCRC is the checksum of the header with numrecs as zeros.
func (p *place) headerCRC() (uint32, error) {
	b, err := p.headerBytes(0)
	if err != nil {
		return 0, err
	}
	return crc32.ChecksumIEEE(b), nil
}

// manifest puts the subfiles' descriptions together, on world rank 0.
func (w *Writer) manifest(all [][]byte, records int64) (*subfile.Manifest, error) {
	subs := make([]subfile.Subfile, w.info.subfiles)
	prints := make([]int64, len(w.schema.decomps))
	seen := 0
	for r, b := range all {
		if len(b) == 0 {
			continue
		}
		var d described
		if err := json.Unmarshal(b, &d); err != nil || len(d.Prints) > len(prints) {
			return nil, fmt.Errorf("blob: description of the subfile of rank %d: %w", r, err)
		}
		for k, v := range d.Prints {
			prints[k] += v
		}
		// Subfiles are numbered by their first rank, except round robin; both come in that order.
		if seen < len(subs) {
			subs[seen] = *d.Subfile
		}
		seen++
	}
	if seen != w.info.subfiles {
		return nil, fmt.Errorf("blob: %d subfiles described, want %d", seen, w.info.subfiles)
	}
	if w.info.old == nil {
		w.info.prints = printTexts(prints)
	}
	return w.newManifest(records, subs), nil
}

// newManifest describes the dataset with the subfiles of this session.
func (w *Writer) newManifest(records int64, subs []subfile.Subfile) *subfile.Manifest {
	m := &subfile.Manifest{Prepared: true, ID: newID(), Layout: w.opt.Layout.String(), Base: filepath.Base(w.base),
		Records: records, Ranks: w.info.ranks, Maps: w.info.prints}
	set := subfile.SetInfo{Base: m.Base, Records: records, Subfiles: subs}
	if w.opt.Compress.on() {
		m.Codec = manifestCodec
	}
	if old := w.info.old; old != nil {
		if old.Codec != "" {
			m.Codec = old.Codec
		}
		m.ID = old.ID
		if w.opt.Layout == ProcessCentric {
			set.Base = filepath.Base(subfile.SetBase(w.base, len(old.Sets)))
			set.First, set.Records = w.first, records-w.first
			m.Sets = append(m.Sets, old.Sets...)
		}
	}
	m.Sets = append(m.Sets, set)
	return m
}

// intent is the unprepared manifest that announces a writer.
func (w *Writer) intent() *subfile.Manifest {
	return &subfile.Manifest{ID: newID(), Layout: w.opt.Layout.String(), Base: filepath.Base(w.base), Ranks: w.info.ranks,
		Sets: []subfile.SetInfo{{Base: filepath.Base(w.base), Subfiles: make([]subfile.Subfile, w.info.subfiles)}}}
}

// moveRecords sets the record count of a variable-centric subfile.
func (e *engine) moveRecords(records int64, sync bool) error {
	f, done, err := e.file()
	if err != nil {
		return err
	}
	defer done()
	var b [numrecsLen]byte
	binary.BigEndian.PutUint64(b[:], uint64(records))
	if _, err := f.WriteAt(b[:], numrecsAt); err != nil {
		return err
	}
	if sync {
		return f.Sync()
	}
	return nil
}

// abandon removes what this rank made: the partial subfile, and on world rank
// 0 the announcement. Committed files are not touched. It reports nothing: it
// runs after an error that is reported.
func (w *Writer) abandon() {
	if w.eng == nil {
		return
	}
	w.eng.ground()
	if w.committed {
		return
	}
	w.removeMade()
	if w.c.Rank() != 0 || !w.claimed || w.info.foreign {
		return
	}
	if w.files != filesNone && !w.info.rename && w.info.old == nil && !w.removeFinals() {
		return
	}
	_ = w.opt.fs.Remove(subfile.NextName(w.base))
}

// removeMade removes the subfile that this process created.
func (w *Writer) removeMade() {
	if !w.lead {
		return
	}
	e := w.eng
	e.proc.pool.CloseFile(e.name)
	if e.made {
		_ = w.opt.fs.Remove(e.name) // another rank may have done it
	}
}

// removeFinals removes, on rank 0, the subfiles of all ranks that were written
// under final names. Without the announcement they would look like a dataset of
// another program, so it says whether they are gone for good.
func (w *Writer) removeFinals() bool {
	if w.files != filesAll {
		return false // other ranks may still be creating them
	}
	for i := range w.info.subfiles {
		if err := w.opt.fs.Remove(subfile.Name(w.set, i)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return w.opt.fs.SyncDir(subfile.Dir(w.base)) == nil
}
