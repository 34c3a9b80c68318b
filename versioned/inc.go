package versioned

import (
	"context"
	"encoding/hex"
	"errors"
	"io/fs"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"unicode/utf8"

	"blobio/comm"
	"blobio/ffformat"
	"blobio/internal/vfs"
	"blobio/redset"
)

// part is what one rank has for a version: which chunks, and where they lie in its memory.
type part struct {
	rank  int
	err   error // why the rank has none
	local []byte
	dirty []int64  // chunks, ascending
	sums  []digest // of all chunks of the segment
	buf   *[]byte  // of the rank, for chunks that are to be one after the other; its room is kept for the next version
	moved []place  // chunks of older versions that are written again, out of files that are to go
}

// VersionInfo describes a committed version.
type VersionInfo struct {
	Number     int64   `json:"number"`
	Label      string  `json:"label,omitempty"`
	Time       int64   `json:"time_ns"` // since 1970, UTC
	Generation int     `json:"generation"`
	Shape      []int64 `json:"shape"`
	Changed    int64   `json:"changed"` // bytes of the chunks that were new in it
	Written    int64   `json:"written"` // bytes of the files that it wrote
}

func (v *verInfo) info() VersionInfo {
	return VersionInfo{v.Number, v.Label, v.Time, v.Gen, slices.Clone(v.Shape), v.Changed, v.Written}
}

// Inc commits the current state as a version, step (>= 1) above the newest one. All puts before it are in
// it; none may happen during it. It is collective; all ranks pass the same step and label (UTF-8, at most 1024 bytes). When it returns an error, no
// version was added, on any rank, unless the error wraps ErrBroken.
func (a *Array) Inc(ctx context.Context, step int64, label string) (int64, error) {
	return a.inc(ctx, step, label, nil)
}

// inc is Inc of a rank that may have failed already: then there is no version, and all ranks hear of it.
func (a *Array) inc(ctx context.Context, step int64, label string, bad error) (int64, error) {
	if a.broken != nil { // on all ranks
		return 0, comm.Agree(ctx, a.c, a.broken)
	}
	if bad == nil && (step < 1 || len(label) > 1<<10 || !utf8.ValidString(label)) {
		bad = usageErr("array %s: step %d, label of %d bytes; want >= 1 and at most 1024 of UTF-8", a.spec.Name, step, len(label))
	}
	old := a.cat.record()
	number := step
	if n := len(old.Versions); bad == nil && n > 0 {
		newest := old.Versions[n-1].Number
		if newest > math.MaxInt64-step {
			bad = usageErr("array %s: version %d + %d: there is no such number", a.spec.Name, newest, step)
		}
		number += newest
	}
	if err := a.win.Fence(ctx); err != nil {
		return 0, err
	}
	if a.direct {
		return a.incDirect(ctx, number, label, bad)
	}
	together := a.protected != nil || a.copied() // there are collectives between the writing and the gathering
	if together {
		if err := comm.Agree(ctx, a.c, bad); err != nil {
			return 0, err
		}
	}
	rec := old.clone()
	rec.Seq++
	if last := rec.Generations[len(rec.Generations)-1]; last.ID != a.geo.ID {
		rec.Generations = append(rec.Generations, a.geo)
	}
	rec.Spec.Shape = a.shape
	p := &part{rank: a.c.Rank(), err: bad}
	if bad == nil {
		p = a.changed()
	}
	w, err := a.writeFile(ctx, rec, number, p)
	if bad == nil {
		bad = err
	}
	if together {
		if bad = comm.Agree(ctx, a.c, bad); bad == nil {
			bad = a.copyFile(ctx, w)
		}
		if bad == nil {
			bad = a.protect(ctx, rec, number, w)
		}
		if bad != nil {
			a.discard(w)
			return 0, bad
		}
	}
	v := verInfo{Number: number, Label: label, Gen: a.geo.ID, Shape: slices.Clone(a.shape)}
	if err := a.nextRecord(ctx, rec, v, w, bad); err != nil {
		a.discard(w)
		return 0, err
	}
	if err := a.exposeVersion(ctx, rec, number); err != nil {
		a.discard(w)
		return 0, err
	}
	if err := a.writeRecords(ctx, rec); err != nil {
		if a.broken == nil {
			a.discard(w)
			err = errors.Join(err, a.conceal(ctx, old))
		}
		return 0, err
	}
	a.keep(p)
	return number, a.adopt(ctx, rec)
}

// keep makes the digests of a version that is committed those of the newest one.
func (a *Array) keep(p *part) {
	a.sums, a.spare = p.sums, a.sums
	for _, k := range p.dirty {
		a.has[k] = true
	}
}

// changed finds the chunks that the newest version does not have. Chunks of zeros that never were
// anything else are not kept at all.
func (a *Array) changed() *part {
	p := &part{rank: a.c.Rank(), local: a.local, sums: a.spare, buf: &a.packed, dirty: a.dirty[:0]}
	a.spare = nil // until the version is committed: then the sums of the one before are free
	if len(p.sums) != len(a.sums) {
		p.sums = make([]digest, len(a.sums))
	}
	if a.zero == (digest{}) {
		a.zero = hashChunk(make([]byte, a.spec.Chunk))
	}
	a.hash(p.sums)
	for k, d := range p.sums {
		if a.has[k] && d == a.sums[k] && a.opt.Form == Log || !a.has[k] && d == a.zero {
			continue
		}
		p.dirty = append(p.dirty, int64(k))
	}
	a.dirty = p.dirty
	return p
}

// hash computes the digests of the own chunks, on as many cores as there are for each rank of the process.
func (a *Array) hash(sums []digest) {
	const least = 1 << 20 // bytes that are worth a goroutine
	size := a.spec.Chunk
	part := func(lo, hi int) {
		for k := lo; k < hi; k++ {
			sums[k] = hashChunk(a.local[k*size : (k+1)*size])
		}
	}
	workers := min(runtime.GOMAXPROCS(0)/max(a.node.Size(), 1), len(a.local)/least)
	if workers < 2 {
		part(0, len(sums))
		return
	}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() { part(len(sums)*w/workers, len(sums)*(w+1)/workers) })
	}
	wg.Wait()
}

// written is the file that the leader of a process made for a version; nil elsewhere, and where there was nothing.
type written struct {
	info       fileInfo
	tables     [][]entry // by segment of info
	changed    int64
	redundancy string   // prefix of that of the version, if there is any
	dead       []string // files of this process that no version needs any more, once this one is committed
}

// writeFile writes the chunks of the ranks of this process. The ranks wait in the next collective while
// their memory is read.
func (a *Array) writeFile(ctx context.Context, rec *record, number int64, p *part) (*written, error) {
	got, err := a.node.Share(ctx, p)
	if err != nil || a.node.Rank() != 0 {
		return nil, err
	}
	var parts []*part
	for _, v := range got {
		if v == nil {
			continue
		}
		p := v.(*part)
		if p.err != nil {
			return nil, p.err
		}
		parts = append(parts, p)
	}
	w := &written{info: fileInfo{Name: dataName(a.geo.ID, number, a.c.Rank()), Node: a.nodeID, Gen: a.geo.ID, Born: number}}
	keep := retained(rec.Versions, number, a.spec.Keep, a.pins)
	if err := a.clean(ctx, w, keep, parts); err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(parts, func(p *part) bool { return len(p.dirty)+len(p.moved) > 0 }) {
		return w, nil
	}
	return w, a.encode(ctx, w, number, parts)
}

// encode writes the container.
func (a *Array) encode(ctx context.Context, w *written, number int64, parts []*part) (err error) {
	fsys, name := a.store.fs, filepath.Join(a.store.dir, w.info.Name)
	f, err := createAnew(fsys, name)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			err = errors.Join(err, fsys.Remove(name))
		}
	}()
	fw, err := ffformat.NewWriter(&ffformat.WriterOptions{Layout: ffformat.LayoutF, Hash: ffformat.Fast})
	if err != nil {
		return err
	}
	u, err := fw.Begin(f, ffformat.UpdateOptions{CkptID: int32(number & 0x7fffffff), Timestamp: a.opt.Clock().UnixNano(), Fresh: true})
	if err != nil {
		return err
	}
	w.info.From = number
	for _, p := range parts {
		if len(p.dirty)+len(p.moved) == 0 {
			continue
		}
		es, data, err := a.pack(p, number)
		if err != nil {
			u.Abort()
			return err
		}
		var table []byte
		for _, e := range es {
			table = appendEntry(table, e)
			w.info.From = min(w.info.From, e.since)
		}
		if err := u.AddAll(ctx, []ffformat.VarBuf{{ID: int32(2 * p.rank), Data: table}, {ID: int32(2*p.rank + 1), Data: data}}); err != nil {
			u.Abort()
			return err
		}
		w.info.Segs = append(w.info.Segs, p.rank)
		w.tables = append(w.tables, es)
		w.changed += int64(len(p.dirty)) * a.cat.chunk
	}
	res, err := u.Finish(ctx)
	if err != nil {
		return err
	}
	sum, err := res.File.MetaSum()
	if err != nil {
		return err
	}
	w.info.Sum = hex.EncodeToString(sum[:])
	if w.info.Size, err = f.Size(); err != nil {
		return err
	}
	if a.opt.Durability == DurableCommit {
		if err := f.Sync(); err != nil {
			return err
		}
		return fsys.SyncDir(a.store.dir)
	}
	return nil
}

// createAnew makes a file of a version that is not committed. One of that name is left from an attempt that failed, and
// could not be removed then.
func createAnew(fsys vfs.FS, name string) (vfs.File, error) {
	f, err := fsys.Create(name)
	if errors.Is(err, fs.ErrExist) {
		if err = fsys.Remove(name); err == nil {
			f, err = fsys.Create(name)
		}
	}
	return f, err
}

// pack brings the chunks of a part into the form that is stored. Without codec, chunks that
// follow each other in memory are not copied if they are all there is.
func (a *Array) pack(p *part, number int64) (es []entry, data []byte, err error) {
	c := a.cat
	plain := c.code.plain()
	n := int64(len(p.dirty))
	es = make([]entry, 0, len(p.dirty)+len(p.moved))
	if plain && len(p.moved) == 0 && n > 0 && p.dirty[n-1]-p.dirty[0] == n-1 {
		for i, k := range p.dirty {
			es = append(es, entry{k, number, int64(i) * c.chunk, c.chunk, p.sums[k]})
		}
		return es, p.local[p.dirty[0]*c.chunk : (p.dirty[n-1]+1)*c.chunk], nil
	}
	need := n * c.chunk
	for _, m := range p.moved {
		need += m.stored
	}
	if p.buf != nil && int64(cap(*p.buf)) >= need {
		data = (*p.buf)[:0]
	} else if plain {
		data = make([]byte, 0, need)
	}
	defer func() {
		if p.buf != nil && int64(cap(data)) <= int64(len(p.local))/4 { // not that of a version with nearly all
			*p.buf = data[:0]
		}
	}()
	for _, k := range p.dirty {
		off := int64(len(data))
		chunk := p.local[k*c.chunk : (k+1)*c.chunk]
		if plain {
			data = append(data, chunk...)
		} else {
			data = c.code.encode(data, chunk)
		}
		es = append(es, entry{k, number, off, int64(len(data)) - off, p.sums[k]})
	}
	for _, m := range p.moved { // as they are stored
		off := int64(len(data))
		data = slices.Grow(data, int(m.stored))[:off+m.stored]
		info := c.file(m.file)
		err := c.withFile(info, func(x *reader) error {
			if _, err := x.ReadAt(int32(2*p.rank+1), data[off:], m.off); err != nil {
				return err
			}
			tmp := make([]byte, c.chunk)
			if err := c.code.decode(tmp, data[off:], info.Name); err != nil {
				return err
			}
			if hashChunk(tmp) != m.sum {
				return formatErr(info.Name, -1, "chunk", ErrChecksum, "segment %d, chunk %d", p.rank, m.chunk)
			}
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
		e := m.entry
		e.off = off
		es = append(es, e)
	}
	return es, data, nil
}

// nextRecord completes the record, the same on all ranks, unless one of them has failed: then all get an error. It is collective.
func (a *Array) nextRecord(ctx context.Context, rec *record, v verInfo, w *written, bad error) error {
	m := message{failed: bad != nil}
	if a.c.Rank() == 0 {
		m.time = a.opt.Clock().UnixNano()
	}
	if w != nil && bad == nil {
		m.file, m.changed, m.dead = w.file(), w.changed, w.dead
		if m.file != nil {
			a.cat.mu.Lock()
			a.cat.note(m.file, w.tables) // discard takes it back
			a.cat.mu.Unlock()
		}
	}
	all, err := a.c.Allgather(ctx, m.encode())
	if err != nil {
		return err
	}
	dead := map[string]bool{}
	for r, b := range all {
		if err := m.decode(b); err != nil {
			return err // the same on all ranks
		}
		if m.failed {
			return comm.Agree(ctx, a.c, bad) // all ranks see it
		}
		if r == 0 {
			v.Time = m.time
		}
		v.Changed += m.changed
		if m.file != nil {
			rec.Files = append(rec.Files, *m.file)
			v.Written += m.file.Size
		}
		for _, n := range m.dead {
			dead[n] = true
		}
	}
	a.add(rec, v)
	rec.prune(dead)
	return nil
}

// add adds a version to the record, and takes those away that are too old then.
func (a *Array) add(rec *record, v verInfo) {
	keep := retained(rec.Versions, v.Number, a.spec.Keep, a.pins)
	rec.Versions = append(rec.Versions, v)
	if len(keep) < len(rec.Versions) {
		rec.Versions = slices.DeleteFunc(rec.Versions, func(v verInfo) bool { return !slices.Contains(keep, v.Number) })
	}
}

func (w *written) file() *fileInfo {
	if w == nil || w.info.Sum == "" {
		return nil
	}
	return &w.info
}

// needed lists the generations that have versions, and the current one.
func (r *record) needed() []geometry {
	out := make([]geometry, 0, len(r.Generations))
	for i, g := range r.Generations {
		if i == len(r.Generations)-1 || slices.ContainsFunc(r.Versions, func(v verInfo) bool { return v.Gen == g.ID }) {
			out = append(out, g)
		}
	}
	return out
}

// prune drops files that are not needed: those named, and all of generations without versions.
func (r *record) prune(dead map[string]bool) {
	r.Generations = r.needed()
	gens := map[int]bool{}
	for _, g := range r.Generations {
		gens[g.ID] = true
	}
	for _, p := range r.Sets { // what is protected together goes together
		if slices.ContainsFunc(r.Files, func(f fileInfo) bool { return p.of(&f) && !dead[f.Name] }) {
			for i := range r.Files {
				if p.of(&r.Files[i]) {
					delete(dead, r.Files[i].Name)
				}
			}
		}
	}
	r.Files = slices.DeleteFunc(r.Files, func(f fileInfo) bool { return dead[f.Name] || !gens[f.Gen] })
	r.Sets = slices.DeleteFunc(r.Sets, func(p protection) bool {
		return !slices.ContainsFunc(r.Files, func(f fileInfo) bool { return p.of(&f) })
	})
}

// adopt makes the new record, which all ranks have agreed on, the one of this process, and removes the files that are gone.
func (a *Array) adopt(ctx context.Context, rec *record) error {
	gone := a.cat.install(rec)
	if err := a.conceal(ctx, rec); err != nil {
		return err
	}
	if a.memory { // nothing but what went with this version
		if a.keeper {
			for _, f := range gone {
				a.store.fs.Remove(filepath.Join(a.store.dir, f.Name)) // it may be that of another node
			}
		}
		return nil
	}
	a.sweep(rec)
	return nil
}

// note adds a file whose tables are known to the indexes that are loaded.
func (c *catalog) note(info *fileInfo, tables [][]entry) {
	id, ok := c.ids[info.Name]
	if !ok {
		id = int32(len(c.files))
		c.files = append(c.files, info)
		c.ids[info.Name] = id
	}
	for i, s := range info.Segs {
		if x := c.idx[[2]int{info.Gen, s}]; x != nil {
			x.add(id, tables[i])
		}
	}
}

// discard removes a file that is not to be committed. What cannot be removed is when the array is opened next.
func (a *Array) discard(w *written) {
	if w != nil && w.redundancy != "" {
		redset.Drop(a.store.fs, filepath.Join(a.store.dir, w.redundancy), a.lead.Rank())
	}
	if w.file() == nil {
		return
	}
	a.cat.forget(&w.info)
	a.store.fs.Remove(filepath.Join(a.store.dir, w.info.Name))
	for k := range a.cat.copies {
		if st := a.cat.stores[(a.nodeID+k+1)%a.nodes]; st != nil && st != a.store {
			st.fs.Remove(filepath.Join(st.dir, w.info.Name))
		}
	}
}

// sweep removes data files of this node that the record does not name. An error leaves them to the next sweep.
func (a *Array) sweep(rec *record) {
	if !a.keeper || a.shared && a.c.Rank() != 0 {
		return
	}
	list, err := a.store.fs.ReadDir(a.store.dir)
	if err != nil {
		return
	}
	for _, e := range list {
		if rec.stray(e.Name()) {
			a.store.fs.Remove(filepath.Join(a.store.dir, e.Name()))
		}
	}
}
