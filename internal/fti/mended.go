package fti

import (
	"context"
	"crypto/md5"
	"encoding/binary"
	"errors"
	"hash"
	"io"

	"blobio/ffformat"
	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
)

// sizeLen is the length of the size at the end of an extended file.
const sizeLen = 8

// extended is a checkpoint file as level 3 encodes it: the bytes of the file, zeros, and the size of the file in the last 8 of full
// bytes. In FTI's POSIX mode zeros take the place of the size.
type extended struct {
	io.ReaderAt
	size, full int64
	sized      bool
}

// ReadAt implements io.ReaderAt.
func (e *extended) ReadAt(b []byte, off int64) (int, error) {
	clear(b)
	if off < e.size {
		want := b[:min(int64(len(b)), e.size-off)]
		if n, err := e.ReaderAt.ReadAt(want, off); n < len(want) {
			return n, err
		}
	}
	if at := e.full - sizeLen; e.sized && off+int64(len(b)) > at {
		size := binary.LittleEndian.AppendUint64(nil, uint64(e.size))
		for i, x := range size {
			if n := at + int64(i) - off; n >= 0 && n < int64(len(b)) {
				b[n] = x
			}
		}
	}
	return len(b), nil
}

// mended holds the files that a rank computes.
type mended struct {
	*redundancy
	key
	*elements
	posix bool
	full  int64

	newFile, newBackup *durable.Temp
	sum                hash.Hash // of newBackup
}

// create makes the file of a task.
func (m *mended) create(j task) (s sink, err error) {
	m.full = j.n
	kind, to := ckpt, &m.newFile
	if j.to.backup {
		kind, to = backupOf(m.Level), &m.newBackup
	}
	name := m.p.fresh(m.key, kind)
	if m.posix { // FTI's metadata have this name
		name = m.p.final(m.key, kind)
	}
	*to, err = durable.CreateTemp(m.fs, name, durable.TempOptions{Temp: m.p.partial(m.Level, kind), Sync: true})
	if err != nil {
		return s, err
	}
	s.w = *to
	if kind == parity {
		m.sum = md5.New()
		s.sum = m.sum
	}
	return s, nil
}

// finish completes the files, and durably gives them their names.
func (m *mended) finish(ctx context.Context) error {
	if m.newFile != nil {
		if m.Level == 3 {
			if err := m.cut(ctx); err != nil {
				return err
			}
		}
		if err := m.newFile.Commit(); err != nil {
			return err
		}
	}
	if m.newBackup != nil {
		if m.Level == 3 && !m.posix {
			b, err := m.meta.ParityBlock(m.full, [md5.Size]byte(m.sum.Sum(nil)))
			if err == nil {
				_, err = m.newBackup.WriteAt(b, m.full)
			}
			if err != nil {
				return err
			}
		}
		if err := m.newBackup.Commit(); err != nil {
			return err
		}
	}
	return m.fs.SyncDir(m.p.level(m.Level))
}

// cut removes what level 3 added to a rebuilt checkpoint file.
func (m *mended) cut(ctx context.Context) error {
	if m.posix {
		p, err := ffformat.FindPosix(m.newFile.Final())
		if err != nil || p == nil {
			return errors.Join(fault.At(m.newFile.Final(), -1, "", fault.ErrMissing, "no metadata of FTI"), err)
		}
		if err := m.newFile.Truncate(p.Size); err != nil {
			return err
		}
		return p.Complete(ctx, m.newFile)
	}
	var b [sizeLen]byte
	if _, err := m.newFile.ReadAt(b[:], m.full-sizeLen); err != nil {
		return err
	}
	size := int64(binary.LittleEndian.Uint64(b[:]))
	if size <= 0 || size > m.full-sizeLen {
		return fault.At(m.newFile.Final(), m.full-sizeLen, "size", fault.ErrCorrupt, "%d, want 1 to %d", size, m.full-sizeLen)
	}
	err := m.newFile.Truncate(size)
	if err == nil {
		m.meta, err = ffformat.Decode(m.newFile, size, m.newFile.Final(), nil)
	}
	return err
}

func (m *mended) discard() {
	m.newFile.Discard()
	m.newBackup.Discard()
}
