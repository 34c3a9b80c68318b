package versioned

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"blobio/ffformat"
	"blobio/internal/vfs"
)

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
func (a *Array) writeFile(ctx context.Context, rec *record, v verInfo, p *part) (*written, error) {
	number := v.Number
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
	if err := a.cleanOlder(ctx, w, keep, a.keeps); err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(parts, func(p *part) bool { return len(p.dirty)+len(p.moved) > 0 }) {
		return w, nil
	}
	var said []byte
	if !a.memory {
		if said, err = json.Marshal(aboutOf(rec, a.nodeID, v, keep, len(w.dead) > 0)); err != nil {
			return nil, err
		}
	}
	return w, a.encode(ctx, w, number, parts, said)
}

// encode writes the container. said is what it says of the array, nil for nothing.
func (a *Array) encode(ctx context.Context, w *written, number int64, parts []*part, said []byte) (err error) {
	fsys, name := a.store.fs, filepath.Join(a.store.dir, w.info.Name)
	f, err := a.createAnew(name)
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
	if said != nil {
		if err := u.AddAll(ctx, []ffformat.VarBuf{{ID: aboutID, Data: said}}); err != nil {
			u.Abort()
			return err
		}
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
// could not be removed then; or it is of a version that another program has committed.
func (a *Array) createAnew(name string) (vfs.File, error) {
	fsys := a.store.fs
	f, err := fsys.Create(name)
	if !errors.Is(err, fs.ErrExist) {
		return f, err
	}
	rec, rerr := readRecord(fsys, a.store.dir)
	if rerr == nil && slices.ContainsFunc(rec.Files, func(f fileInfo) bool { return f.Name == filepath.Base(name) }) {
		return nil, pkg.Errorf("array %s: another program has committed %s: %w", a.spec.Name, name, ErrConflict)
	}
	if rerr != nil && !errors.Is(rerr, ErrMissing) && !a.memory {
		return nil, errors.Join(err, rerr)
	}
	if err = fsys.Remove(name); err == nil {
		f, err = fsys.Create(name)
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

func (w *written) file() *fileInfo {
	if w == nil || w.info.Sum == "" {
		return nil
	}
	return &w.info
}
