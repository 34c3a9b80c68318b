package cello

import (
	"context"
	"hash/crc32"
	"slices"

	"blobio/internal/amr"
	"blobio/internal/amr/cellodir"
	"blobio/internal/base/fault"
	"blobio/internal/base/h5"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

const (
	// flushBytes is the number of bytes that a writer collects before it writes. It is small enough for the data to be still in
	// the cache when they are checksummed.
	flushBytes = 256 << 10
	// flushMeta is the same limit for groups, which are written to another part of the file.
	flushMeta = 256 << 10
)

// fileWriter writes one HDF5 file and its block list. Blocks are added in file order.
type fileWriter struct {
	j     *job
	file  int
	name  string // without suffix
	first int64  // index of the first block in the plan
	count int64

	f      vfs.File
	stamps []*h5.Stamp
	next   int64 // number of the next block
	metaAt int64 // file offset of the next group; dataAt of the next data
	dataAt int64

	meta  []byte // stamps not yet written
	group []byte // the last stamp
	iov   [][]byte
	data  int64    // bytes in iov
	sum   [][]byte // datasets not yet checksummed
	mem   arena    // memory of converted data in iov
	entry manifestFile
	np    []int64
}

// newFileWriter computes the layout of the file and creates it.
func (j *job) newFileWriter(file int) (*fileWriter, error) {
	w := &fileWriter{j: j, file: file, name: j.names[file], first: j.plan.starts[file], count: j.plan.starts[file+1] - j.plan.starts[file]}
	w.np = make([]int64, len(j.m.Particles))
	b := h5.NewBuilder()
	if err := j.rootGroup(b); err != nil {
		return nil, err
	}
	total, meta := int64(0), int64(0)
	for i := range w.count {
		e := &j.plan.blocks[w.first+i]
		t, err := j.template(e.sig)
		if err != nil {
			return nil, err
		}
		b.Stamp(e.index.Name(j.m.Rank, j.m.Roots), t.Template)
		total += e.bytes
		meta += t.Len()
	}
	if total > 0 {
		b.Reserve(total, 4096)
	}
	l, err := b.Layout()
	if err != nil {
		return nil, err
	}
	w.stamps = b.Stamps()
	w.entry = manifestFile{Name: w.name, Size: l.Size, Blocks: int(w.count)}
	w.entry.Data = make(subfile.CRCs, 0, w.count*int64(len(j.cols)))
	w.entry.Groups = make(subfile.CRCs, 0, w.count)
	w.dataAt = l.Reserved
	w.meta = make([]byte, 0, min(meta, flushMeta+1<<13))
	if w.f, err = j.fs.Create(j.path(w.name + cellodir.DataSuffix)); err != nil {
		return nil, err
	}
	for _, p := range l.Pieces { // a single piece, at 0
		if _, err := w.f.WriteAt(p.Data, p.Off); err != nil {
			return w, err
		}
		w.entry.Head = subfile.CRC(crc32.ChecksumIEEE(p.Data))
		w.entry.Root = w.entry.Head
		w.metaAt = p.Off + int64(len(p.Data))
	}
	return w, w.f.Truncate(l.Size)
}

// rootGroup writes the attributes of "/".
func (j *job) rootGroup(b *h5.Builder) error {
	m := j.m
	values := [len(rootAttrs)]any{m.Rank, m.Cycle, m.Time, m.Dt, m.Lower[:], m.Upper[:], m.MaxLevel}
	for i, d := range rootAttrs {
		b.Attr(d.name, d.typ(j.enzo), []int64{int64(d.n)}, values[i])
	}
	more, err := extras(m.Attrs)
	if err != nil {
		return err
	}
	for _, e := range more {
		if !slices.ContainsFunc(rootAttrs[:], func(d attrDef) bool { return d.name == e.name }) {
			b.Attr(e.name, e.typ, []int64{e.n}, e.val)
		}
	}
	return nil
}

// stamp encodes the group of the next block. It sets the datasets; the caller sets the attributes in the returned bytes.
func (w *fileWriter) stamp() (*shapeTemplate, []byte, error) {
	t, err := w.j.template(w.j.plan.blocks[w.first+w.next].sig)
	if err != nil {
		return nil, nil, err
	}
	at0, n0 := len(w.meta), int(t.Len())
	w.meta = slices.Grow(w.meta, n0)[:at0+n0]
	dst := w.meta[at0:]
	w.group = dst
	s := w.stamps[w.next]
	s.Encode(dst)
	n := len(w.np)
	copy(w.np, w.j.plan.np[int(w.first+w.next)*n:])
	at := w.dataAt + w.data
	for i := range w.j.cols {
		c := &w.j.cols[i]
		var d []int64
		if c.field == nil {
			d = []int64{w.np[c.ptype]}
		}
		t.SetDataset(dst, i, d, at)
		at += up8(c.size(w.np))
	}
	return t, dst, nil
}

func (w *fileWriter) put(b []byte) {
	w.sum = append(w.sum, b)
	if len(b) == 0 {
		return
	}
	w.iov = append(w.iov, b)
	w.data += int64(len(b))
	if pad := -len(b) & 7; pad > 0 {
		w.iov = append(w.iov, zeros[:pad])
		w.data += int64(pad)
	}
}

func (w *fileWriter) add(b *amr.Block) error {
	t, dst, err := w.stamp()
	if err != nil {
		return err
	}
	e := &w.j.plan.blocks[w.first+w.next]
	if b.Index != e.index {
		return w.j.blockErr(b, "the source returned this block when asked for %s", e.index.Name(w.j.m.Rank, w.j.m.Roots))
	}
	if err := w.j.values(t, w.first+w.next, b, func(k int) []byte { return t.Attr(dst, k) }); err != nil {
		return err
	}
	for i := range w.j.cols {
		p, err := w.j.piece(&w.j.cols[i], b, w.np, &w.mem)
		if err != nil {
			return err
		}
		w.put(p)
	}
	return w.done()
}

// addImage adds the next block from the message of another process. It returns the rest of the message.
func (w *fileWriter) addImage(msg []byte) ([]byte, error) {
	t, dst, err := w.stamp()
	if err != nil {
		return nil, err
	}
	need := t.bytes
	for i := range w.j.cols {
		need += w.j.cols[i].size(w.np)
	}
	if int64(len(msg)) < need {
		return nil, fault.Usage("message ends inside a block")
	}
	for k := range t.attrs {
		msg = msg[copy(t.Attr(dst, k), msg):]
	}
	for i := range w.j.cols {
		n := w.j.cols[i].size(w.np)
		w.put(msg[:n])
		msg = msg[n:]
	}
	return msg, w.done()
}

func (w *fileWriter) done() error {
	w.next++
	w.entry.Groups = append(w.entry.Groups, crc32.ChecksumIEEE(w.group))
	if w.data >= flushBytes {
		if err := w.writeData(); err != nil {
			return err
		}
	}
	if len(w.meta) >= flushMeta {
		return w.writeMeta()
	}
	return nil
}

func (w *fileWriter) flush() error {
	if err := w.writeMeta(); err != nil {
		return err
	}
	return w.writeData()
}

func (w *fileWriter) writeMeta() error {
	if len(w.meta) > 0 {
		w.entry.Head = subfile.CRC(crc32.Update(uint32(w.entry.Head), crc32.IEEETable, w.meta))
		if _, err := w.f.WriteAt(w.meta, w.metaAt); err != nil {
			return err
		}
		w.metaAt += int64(len(w.meta))
		w.meta = w.meta[:0]
	}
	return nil
}

func (w *fileWriter) writeData() error {
	if len(w.iov) > 0 {
		if _, err := w.f.WritevAt(w.iov, w.dataAt); err != nil {
			return err
		}
		w.dataAt += w.data
		clear(w.iov)
		w.iov, w.data = w.iov[:0], 0
	}
	// Checksum the data after the write. The kernel has then loaded them into the cache, faster than this loop would.
	for _, b := range w.sum {
		w.entry.Data = append(w.entry.Data, crc32.ChecksumIEEE(b))
	}
	clear(w.sum)
	w.sum = w.sum[:0]
	w.mem.reset()
	return nil
}

// finish completes the file and writes the block list.
func (w *fileWriter) finish() error {
	if w.next != w.count {
		return fault.Usage("only %d of %d blocks of file %s were given", w.next, w.count, w.name)
	}
	if err := w.flush(); err != nil {
		return err
	}
	w.entry.Meta = w.metaAt
	if err := w.f.Sync(); err != nil {
		return err
	}
	if err := w.close(); err != nil {
		return err
	}
	l := make([]cellodir.Entry, w.count)
	for i := range l {
		x := w.j.plan.blocks[w.first+int64(i)].index
		l[i] = cellodir.Entry{Name: x.Name(w.j.m.Rank, w.j.m.Roots), Level: x.Level()}
		if w.j.costs {
			w.entry.Costs = append(w.entry.Costs, w.j.plan.blocks[w.first+int64(i)].cost)
		}
	}
	if w.j.yt != "" {
		return nil
	}
	b := cellodir.EncodeBlockList(l)
	w.entry.List = subfile.CRC(crc32.ChecksumIEEE(b))
	return vfs.WriteFile(w.j.fs, w.j.path(w.name+cellodir.ListSuffix), b)
}

func (w *fileWriter) close() error {
	f := w.f
	if f == nil {
		return nil
	}
	w.f = nil
	return f.Close()
}

func (w *fileWriter) take(ctx context.Context, s Source, i int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	b, err := s.Block(ctx, int(w.j.plan.blocks[i].local))
	if err != nil {
		return err
	}
	return w.add(b)
}
