package versioned

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"time"

	"blobio/ffformat"
	"blobio/internal/base/fault"
)

// dataWriter writes the files of versions to the store of this node.
type dataWriter struct {
	nodes *nodes
	cat   *catalog
	clock func() time.Time
	sync  bool
}

// written describes a file after it was written.
type written struct {
	info    fileInfo
	tables  [][]entry // tables by segment, in the order of info.Segs
	changed int64     // size of the new chunks in bytes
}

// write writes the file of a version with the change sets of the ranks of this process. It reads the memory of these ranks. said
// is the description of the array; nil omits it. write syncs the file if commits are to be durable. After an error write removes
// the file if possible.
func (d *dataWriter) write(ctx context.Context, info fileInfo, sets []*changeSet, said []byte) (w *written, err error) {
	w = &written{info: info}
	w.info.From = info.Born
	f, err := d.nodes.create(info.Name)
	if err != nil {
		return nil, err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			err = errors.Join(err, d.nodes.store.fs.Remove(d.nodes.file(info.Name)))
		}
	}()
	fw, err := ffformat.NewWriter(&ffformat.Options{Layout: ffformat.LayoutF, Hash: ffformat.Fast})
	if err != nil {
		return w, err
	}
	u, err := fw.Begin(f, ffformat.UpdateOptions{CkptID: int32(w.info.Born & 0x7fffffff), Timestamp: d.clock().UnixNano(), Fresh: true})
	if err != nil {
		return w, err
	}
	for _, p := range sets {
		if p.empty() {
			continue
		}
		es, data, err := d.cat.pack(p, w.info.Born)
		if err != nil {
			u.Abort()
			return w, err
		}
		var table []byte
		for _, e := range es {
			table = appendEntry(table, e)
			w.info.From = min(w.info.From, e.since)
		}
		if err := u.AddAll(ctx, []ffformat.VarBuf{{ID: int32(2 * p.rank), Data: table}, {ID: int32(2*p.rank + 1), Data: data}}); err != nil {
			u.Abort()
			return w, err
		}
		w.info.Segs = append(w.info.Segs, p.rank)
		w.tables = append(w.tables, es)
		w.changed += int64(len(p.dirty)) * d.cat.chunk
	}
	if said != nil {
		if err := u.AddAll(ctx, []ffformat.VarBuf{{ID: aboutID, Data: said}}); err != nil {
			u.Abort()
			return w, err
		}
	}
	res, err := u.Finish(ctx)
	if err != nil {
		return w, err
	}
	sum, err := res.File.MetaSum()
	if err != nil {
		return w, err
	}
	w.info.Sum = hex.EncodeToString(sum[:])
	if w.info.Size, err = f.Size(); err != nil {
		return w, err
	}
	if !d.sync {
		return w, nil
	}
	if err := f.Sync(); err != nil {
		return w, err
	}
	return w, d.nodes.store.fs.SyncDir(d.nodes.store.dir)
}

// pack converts chunks to their stored form. If there is no codec and the chunks of a change set are adjacent in memory, pack
// does not copy them.
func (c *catalog) pack(p *changeSet, number int64) (es []entry, data []byte, err error) {
	plain := c.code.plain()
	n := int64(len(p.dirty))
	es = make([]entry, 0, len(p.dirty)+len(p.moved))
	if plain && len(p.moved) == 0 && n > 0 && p.dirty[n-1]-p.dirty[0] == n-1 {
		for i, k := range p.dirty {
			es = append(es, entry{k, number, int64(i) * c.chunk, c.chunk, p.sums[k]})
		}
		return es, p.local[p.dirty[0]*c.chunk : (p.dirty[n-1]+1)*c.chunk], nil
	}
	if plain {
		data = make([]byte, 0, n*c.chunk)
	}
	for _, k := range p.dirty {
		off := int64(len(data))
		data = c.code.encode(data, p.local[k*c.chunk:(k+1)*c.chunk])
		es = append(es, entry{k, number, off, int64(len(data)) - off, p.sums[k]})
	}
	for _, m := range p.moved { // moved chunks are already in their stored form
		off := int64(len(data))
		data = slices.Grow(data, int(m.stored))[:off+m.stored]
		if err := c.readStored(p.rank, m, data[off:], make([]byte, c.chunk)); err != nil {
			return nil, nil, err
		}
		e := m.entry
		e.off = off
		es = append(es, e)
	}
	return es, data, nil
}

// aboutID is the variable of a data file that describes the file. All other variables have lower ids.
const aboutID = math.MaxInt32

// maxAbout is the maximum size of the variable aboutID in bytes.
const maxAbout = 64 << 20

// about is the description of the array in a data file. If the record is lost, Rebuild makes a new record from these
// descriptions.
type about struct {
	Seq   int64  `json:"seq"`  // number of the commit
	Node  int    `json:"node"` // number of the node that wrote the file
	Spec  spec   `json:"array"`
	Order string `json:"byte_order"`
	Key   string `json:"key,omitempty"`

	Generations []geometry `json:"generations"` // generations to which Versions belong
	// Versions lists versions that no other file may list, and last the version for which the file was written. The former are
	// versions without files and, if the commit drops files, all versions that remain.
	Versions []verInfo `json:"versions"`
}

// aboutOf returns the description for a file of version v. dead is true if the commit drops files.
func aboutOf(rec *record, node int, v verInfo, keep []int64, dead bool) *about {
	x := &about{Seq: rec.Seq, Node: node, Spec: rec.Spec, Order: rec.Order, Key: rec.Key}
	for _, o := range rec.Versions {
		if _, stays := slices.BinarySearch(keep, o.Number); stays && (dead || o.Changed == 0) {
			x.Versions = append(x.Versions, o)
		}
	}
	x.Versions = append(x.Versions, v)
	for _, g := range rec.Generations {
		if slices.ContainsFunc(x.Versions, func(v verInfo) bool { return v.Generation == g.ID }) {
			x.Generations = append(x.Generations, g)
		}
	}
	return x
}

// readAbout reads the description. It returns nil if the file has no description.
func readAbout(ctx context.Context, r *ffformat.Reader, name string) (*about, error) {
	if !slices.ContainsFunc(r.File().Vars(), func(v ffformat.VarInfo) bool { return v.ID == aboutID }) {
		return nil, nil
	}
	n, err := r.VarSize(aboutID)
	if err != nil {
		return nil, err
	}
	if n > min(maxAbout, r.File().Size) {
		return nil, fault.At(name, -1, "about", fault.ErrTooLarge, "%d bytes", n)
	}
	b := make([]byte, n)
	if err := r.ReadVar(ctx, aboutID, b); err != nil {
		return nil, err
	}
	x := &about{}
	if err := json.Unmarshal(b, x); err != nil || len(x.Versions) == 0 {
		return nil, fault.At(name, -1, "about", ErrCorrupt, "%d versions: %v", len(x.Versions), err)
	}
	return x, nil
}
