package ffformat

import (
	"context"
	"crypto/md5"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// UpdateOptions are the options of Writer.Begin.
type UpdateOptions struct {
	CkptID    int32
	Timestamp int64 // ns since 1970; the file stores only OwnTime(Timestamp)

	// Vars are the protected variables, in the order of protection. The caller must add all of them, with these sizes, before
	// Finish. Layouts A and B require Vars. In other layouts, a checkpoint without Vars holds the added variables.
	Vars []VarSize

	// Prev has the digests of the bytes in dst. Blocks whose digest is unchanged are not written. If Prev is nil or has another
	// BlockSize or Hash, the update writes everything.
	Prev *Digests
	// Recent has the digests of a newer state, in another file. If a chunk is equal there, its MD5 is taken from Recent and not
	// computed again.
	Recent *Digests

	// Differential sets the mark hasCkpt in the containers, like FTI's differential checkpoints. It does not affect which blocks
	// are written; Prev does.
	Differential bool
	// Fresh means that dst is empty, so that its unwritten bytes read as zeros.
	Fresh bool
}

// Stats are the figures of one update.
type Stats struct {
	Data    int64 // size of the variables in bytes
	Written int64 // bytes written, including metadata
	MD5     int64 // bytes hashed with MD5
	Blocks  int64 // number of blocks of all chunks
	Dirty   int64 // number of blocks written
}

// Result is the result of one update.
type Result struct {
	File    *File
	Digests *Digests
	Stats   Stats
}

// Update is a checkpoint that is being written to one file. The file is not a valid checkpoint until Finish returns. After that,
// the caller must sync the file.
type Update struct {
	w      *Writer
	o      UpdateOptions
	dst    vfs.File
	g      *growth
	sizes  map[int32]int64 // sizes from o.Vars
	added  map[int32]bool
	chunks []chunkDigests // by container
	maxFs  int64
	err    error
	md5s   md5Server

	data, written, md5, blocks, dirty atomic.Int64
}

// Begin starts an update of dst. A Writer allows only one update at a time.
func (w *Writer) Begin(dst vfs.File, o UpdateOptions) (*Update, error) {
	if w.open != nil {
		return nil, fault.Usage("Begin during another update")
	}
	if dst == nil {
		return nil, fault.Usage("output file is nil")
	}
	u := &Update{w: w, o: o, dst: dst, g: w.g.clone(), sizes: map[int32]int64{}, added: map[int32]bool{}, maxFs: -1}
	u.o.Prev, u.o.Recent = w.usable(o.Prev), w.usable(o.Recent)
	for _, v := range o.Vars {
		if _, seen := u.sizes[v.ID]; v.Size < 0 || seen {
			return nil, fault.Usage("variable %d has size %d or is protected twice", v.ID, v.Size)
		}
		u.sizes[v.ID] = v.Size
		u.g.variable(v.ID)
	}
	if !w.o.Layout.atEnd() {
		if len(o.Vars) == 0 {
			return nil, fault.Usage("layout %v needs the sizes of all variables before the first write", w.o.Layout)
		}
		if err := u.g.grow(o.Vars); err != nil {
			return nil, err
		}
	}
	for id, v := range u.g.vars { // variables that are not added are empty
		if _, seen := u.sizes[id]; !seen || w.o.Layout.atEnd() {
			u.g.fit(id, 0)
		}
		if len(v.at) > 0 {
			u.g.container(v.at[0]).Hash = emptyHash(&File{Hash: w.o.Hash})
		}
	}
	w.open = u
	return u, nil
}

// usable returns d if d has the Writer's block size and hash, and otherwise nil. Only then the Writer can compare the digests and
// copy chunk hashes to records.
func (w *Writer) usable(d *Digests) *Digests {
	if d == nil || d.BlockSize != w.o.BlockSize || d.Hash != w.o.Hash {
		return nil
	}
	return d
}

// Add writes one variable. The caller must not change data until Add returns. New containers are in the order of the calls.
func (u *Update) Add(ctx context.Context, id int32, data []byte) error {
	return u.AddAll(ctx, []VarBuf{{id, data}})
}

// AddAll writes several variables, with the same result as calls of Add in this order, but processes their chunks in parallel.
// After an error the caller can only abort the update.
func (u *Update) AddAll(ctx context.Context, vars []VarBuf) error {
	if u.err != nil {
		return fmt.Errorf("an earlier update failed: %w: %w", fault.ErrBroken, u.err)
	}
	if err := u.addAll(ctx, vars); err != nil {
		u.err = err
		return err
	}
	return nil
}

func (u *Update) addAll(ctx context.Context, vars []VarBuf) error {
	for _, v := range vars {
		if u.added[v.ID] {
			return fault.Usage("variable %d is added twice", v.ID)
		}
		size := int64(len(v.Data))
		if want, ok := u.sizes[v.ID]; len(u.o.Vars) > 0 && (!ok || want != size) {
			return fault.Usage("variable %d of %d bytes is not among those passed to Begin", v.ID, size)
		}
		u.added[v.ID] = true
		u.data.Add(size)
		if u.w.o.Layout.atEnd() {
			if rest, more := u.g.fit(v.ID, size); more {
				if err := u.g.add(VarSize{v.ID, rest}); err != nil {
					return err
				}
			}
		}
	}
	if n := u.g.size(); !u.w.o.Layout.wide() && n > math.MaxInt32 {
		return fault.At(u.dst.Name(), -1, "FB.fs", fault.ErrRange, "%d bytes, layout %v holds at most %d", n, u.w.o.Layout, math.MaxInt32)
	}
	for len(u.chunks) < u.g.n {
		u.chunks = append(u.chunks, chunkDigests{})
	}
	var jobs []*writeJob
	for _, v := range vars {
		for _, s := range u.g.vars[v.ID].at {
			c := u.g.container(s)
			if !c.HasContent {
				continue
			}
			jobs = append(jobs, u.newJob(s.seq, c, v.Data[c.Dptr:c.Dptr+c.ChunkSize]))
		}
	}
	if err := u.write(ctx, jobs); err != nil {
		return err
	}
	for _, j := range jobs {
		j.c.Hash = j.hash
		u.chunks[j.seq] = chunkDigests{j.c.ID, j.c.ContainerID, j.c.ChunkSize, j.hash, j.cur}
	}
	return nil
}

// Abort ends the update and restores the state of the Writer. The file is then invalid.
func (u *Update) Abort() {
	if u.w.open == u {
		u.md5s.close()
		u.w.open = nil
		u.err = fault.ErrBroken
	}
}

// Finish writes the metadata and ends the update. The update also ends if Finish fails.
func (u *Update) Finish(ctx context.Context) (*Result, error) {
	if u.w.open != u {
		return nil, fault.Usage("update has already ended")
	}
	defer u.Abort()
	if u.err != nil {
		return nil, fmt.Errorf("an earlier update failed: %w: %w", fault.ErrBroken, u.err)
	}
	for _, v := range u.o.Vars {
		if !u.added[v.ID] {
			return nil, fault.Usage("variable %d is protected and was not added: the checkpoint would be incomplete", v.ID)
		}
	}
	f, err := u.file()
	if err != nil {
		return nil, err
	}
	if err := u.size(f); err != nil {
		return nil, err
	}
	if err := f.writeMeta(ctx, u.dst, u.put); err != nil {
		return nil, err
	}
	sum, err := f.MetaSum()
	if err != nil {
		return nil, err
	}
	d := &Digests{
		CkptID: u.o.CkptID, Timestamp: u.o.Timestamp, MetaSum: sum, Hash: u.w.o.Hash, BlockSize: u.w.o.BlockSize, chunks: u.chunks,
	}
	res := &Result{File: f, Digests: d.index(), Stats: u.stats()}
	u.w.before, u.w.beforeDCP = u.w.g, slices.Clone(u.w.dcp)
	u.w.g = u.g
	for len(u.w.dcp) < u.g.n {
		u.w.dcp = append(u.w.dcp, false)
	}
	if u.o.Differential {
		for i := range u.w.dcp {
			u.w.dcp[i] = true
		}
	}
	return res, nil
}

// SetLargest sets the size in bytes of the largest file among the ranks whose files FTI may protect together by parity (level 3).
func (u *Update) SetLargest(size int64) { u.maxFs = size + 8 }

// file returns the metadata to be written, without checksum and MyHash.
func (u *Update) file() (*File, error) {
	l := u.w.o.Layout
	f := &File{Name: u.dst.Name(), Layout: l, Hash: u.w.o.Hash, FB: FileBlock{MaxFs: u.maxFs, PtFs: -1, Timestamp: u.o.Timestamp}}
	if f.Hash == Fast {
		f.BlockSize = u.w.o.BlockSize
	}
	if l.table().fb.ckptID.len > 0 {
		f.FB.CkptID = u.o.CkptID
	}
	for len(u.chunks) < u.g.n {
		u.chunks = append(u.chunks, chunkDigests{})
	}
	seq := 0
	for _, b := range u.g.blocks {
		for j := range b.Containers {
			c := &b.Containers[j]
			if !c.HasContent && !l.atEnd() {
				c.Hash = emptyHash(f)
			}
			u.chunks[seq].id, u.chunks[seq].n = c.ID, c.ContainerID
			c.HasCkpt = u.o.Differential && seq < len(u.w.dcp) && u.w.dcp[seq]
			seq++
		}
		b.Containers = slices.Clone(b.Containers)
		f.Blocks = append(f.Blocks, b)
	}
	f.vouch()
	if err := f.layOut(); err != nil {
		return nil, err
	}
	_, err := f.encode() // fails before any metadata are written
	return f, err
}

func emptyHash(f *File) digest {
	if f.Hash == Fast {
		return fastChunk(nil)
	}
	return md5.Sum(nil)
}

// size removes bytes after the end of the checkpoint and, in layout A, fills containers with zeros. A fresh file of layout B ends
// after its last written byte.
func (u *Update) size(f *File) error {
	if u.o.Fresh {
		if f.Layout == LayoutA {
			return u.dst.Truncate(f.Size)
		}
		return nil
	}
	now, err := u.dst.Size()
	if err != nil {
		return err
	}
	if now > f.Size || f.Layout == LayoutA && now < f.Size {
		if err := u.dst.Truncate(f.Size); err != nil {
			return err
		}
	}
	if f.Layout != LayoutA {
		return nil
	}
	zeros := make([]byte, writePiece)
	for p := range f.all() {
		for at := p.ChunkSize; at < p.ContainerSize; at += writePiece {
			if err := u.put(zeros[:min(writePiece, p.ContainerSize-at)], p.Fptr+at); err != nil {
				return err
			}
		}
	}
	return nil
}

func (u *Update) put(b []byte, off int64) error {
	if len(b) == 0 {
		return nil
	}
	u.written.Add(int64(len(b)))
	_, err := u.dst.WriteAt(b, off)
	return err
}

// stats returns the counters.
func (u *Update) stats() Stats {
	return Stats{Data: u.data.Load(), Written: u.written.Load(), MD5: u.md5.Load(), Blocks: u.blocks.Load(), Dirty: u.dirty.Load()}
}
