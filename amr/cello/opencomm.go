package cello

import (
	"context"
	"encoding/binary"
	"errors"

	"blobio/comm"
	"blobio/internal/amr"
	"blobio/internal/amr/cellodir"
)

// OpenComm is the collective form of Open. The ranks divide the files: rank floor(f*ranks/files) reads the headers of file f.
// Ranks of one process share the Checkpoint, and each rank must close it.
func OpenComm(ctx context.Context, c comm.Comm, dir string, o *OpenOptions) (*Checkpoint, error) {
	s := newScanner(dir, o)
	k, err := s.openComm(ctx, c, o)
	if err != nil {
		return nil, errors.Join(err, s.pool.Close())
	}
	return k, nil
}

// readerOf returns the rank that reads the headers of a file.
func readerOf(file, files, ranks int) int {
	return int(int64(file) * int64(ranks) / int64(files))
}

func (s *scanner) openComm(ctx context.Context, c comm.Comm, o *OpenOptions) (*Checkpoint, error) {
	var err error
	if c.Rank() == 0 {
		err = s.fileList()
	}
	if err = comm.Agree(ctx, c, err); err != nil {
		return nil, err
	}
	if s.listB, err = c.Bcast(ctx, 0, s.listB); err != nil {
		return nil, err
	}
	here, err := c.Share(ctx, s)
	if err != nil {
		return nil, err
	}
	apart := int64(0)
	for _, l := range here {
		if l == nil {
			apart = 1
		}
	}
	if apart, err = comm.AllreduceOne(ctx, c, apart, comm.Max); err != nil {
		return nil, err
	}
	leader := 0 // rank of each heap that does the work common to its ranks
	for here[leader] == nil {
		leader++
	}
	names, err := cellodir.DecodeFileList(s.listB, s.pathOf(cellodir.FileList))
	mine := func(f int) bool { return readerOf(f, len(names), c.Size()) == c.Rank() }
	if err == nil {
		err = s.lists(ctx, mine)
	}
	if err == nil && leader == c.Rank() {
		s.loadManifest()
		err = s.findSchema()
	}
	if err = comm.Agree(ctx, c, err); err != nil {
		return nil, err
	}
	if l := here[leader].(*scanner); l != s {
		s.schema, s.man = l.schema, l.man
	}
	if err = s.headers(ctx, mine); err == nil {
		err = s.firstError()
	}
	var b []byte
	if err == nil && apart != 0 {
		b = s.encode()
	}
	if err = comm.Agree(ctx, c, err); err != nil {
		return nil, err
	}
	var all [][]byte
	if apart != 0 {
		if all, err = c.Allgather(ctx, b); err != nil {
			return nil, err
		}
	}
	var k *Checkpoint
	if leader == c.Rank() {
		for r, b := range all {
			if r != c.Rank() {
				s.decode(b)
			}
		}
		if apart == 0 {
			s.join(here)
		}
		k, err = s.checkpoint(o)
	}
	if err = comm.Agree(ctx, c, err); err != nil {
		return nil, err
	}
	shared, err := c.Share(ctx, k)
	if err != nil {
		return nil, err
	}
	if leader != c.Rank() {
		k = shared[leader].(*Checkpoint)
		k.users.Add(1)
		if err := s.pool.Close(); err != nil {
			return nil, err
		}
	}
	// No rank may close before all ranks are counted as users.
	return k, c.Barrier(ctx)
}

// join merges into s the scans of the other ranks of this heap.
func (s *scanner) join(here []any) {
	for _, x := range here {
		for i, f := range x.(*scanner).files {
			if !f.other {
				s.files[i] = f
			}
		}
	}
}

func (s *scanner) encode() (b []byte) {
	num := func(v int64) { b = binary.AppendVarint(b, v) }
	for i, f := range s.files {
		if f.other {
			continue
		}
		num(int64(i))
		num(f.size)
		num(int64(f.listSum))
		num(int64(len(f.blocks)))
		for k := range f.blocks {
			e := &f.blocks[k]
			num(int64(len(e.name)))
			b = append(b, e.name...)
			for _, v := range [...]int64{int64(e.level), e.addr, int64(e.index[0]), int64(e.index[1]), int64(e.index[2]), e.order, e.count, oneIf(e.damaged)} {
				num(v)
			}
			last := int64(0)
			for _, x := range e.data {
				num(x.off - last)
				num(x.elems)
				if last = x.off; x.off < 0 {
					num(x.addr)
				}
			}
		}
	}
	return b
}

func oneIf(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func (s *scanner) decode(b []byte) {
	num := func() int64 {
		v, n := binary.Varint(b)
		b = b[n:]
		return v
	}
	for len(b) > 0 {
		i := int(num())
		f := s.files[i]
		f.other = false
		f.size = num()
		f.listSum = uint32(num())
		f.blocks = make([]scanned, num())
		f.list = make([]cellodir.Entry, len(f.blocks))
		for k := range f.blocks {
			e := &f.blocks[k]
			n := num()
			e.name = string(b[:n])
			b = b[n:]
			e.file, e.known = int32(i), true
			e.level, e.addr = int(num()), num()
			e.index = amr.Index{int32(num()), int32(num()), int32(num())}
			e.order, e.count = num(), num()
			e.damaged = num() != 0
			e.known = !e.damaged
			f.list[k] = cellodir.Entry{Name: e.name, Level: e.level}
			e.data = make([]extent, len(s.schema.cols))
			last := int64(0)
			for c := range e.data {
				x := &e.data[c]
				x.off = last + num()
				x.elems = num()
				if last = x.off; x.off < 0 {
					x.addr = num()
				}
			}
		}
	}
}
