package scr

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path"
	"strconv"

	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/cachedir"
	"blobio/internal/scr/record"
	"blobio/scr/kvtree"
)

const (
	tagList = 7001 + iota
	tagData
	tagAck
)

// movePiece is the number of file bytes in a message. At most two messages of a transfer are in transit.
const movePiece = 1 << 20

// moveRound does the moves of one round. This rank takes part in at most one of them. Both sides of a move must finish it.
// Therefore a rank with a disk error sends the error to the other side.
func (mv *mover) moveRound(ctx context.Context, d *cachedSet, round []move) error {
	for _, m := range round {
		switch mv.c.Rank() {
		case m.from:
			return mv.sendFiles(ctx, d, m.rank)
		case m.rank:
			return mv.recvFiles(ctx, d, m.from)
		}
	}
	return nil
}

// sendFiles sends all files of a rank that are on this device. It skips unreadable files, and the receiver rebuilds them like
// lost files.
func (mv *mover) sendFiles(ctx context.Context, d *cachedSet, rank int) error {
	names, err := ranksIn(mv.fs, d.Path)
	if err != nil {
		mv.log.Warn("scr: cache", "err", err)
	}
	files := mv.userFiles(d.Path, rank)
	files = append(files, names[rank]...)
	t := kvtree.New()
	var list []string
	var sizes []int64
	for _, n := range files {
		m, err := vfs.MetaOf(mv.fs, n)
		if err != nil {
			mv.log.Warn("scr: a cached file cannot be read", "file", n, "err", err)
			continue
		}
		t.SetAt(record.Meta{Size: m.Size, Stat: m, HasStat: true}.Tree(), strconv.Itoa(len(list)), n)
		list, sizes = append(list, n), append(sizes, m.Size)
	}
	b, bad := kvtree.Pack(t)
	if bad != nil {
		b = nil // without a list the receiver gets an empty message, because it waits for one
	}
	if err := mv.c.Send(ctx, rank, tagList, b); err != nil {
		return err
	}
	// Send nothing before the receiver has confirmed that it can read the list.
	ok, err := mv.c.Recv(ctx, rank, tagAck)
	if err != nil || bad != nil {
		return errors.Join(bad, err)
	}
	if len(ok) != 1 || ok[0] != 1 {
		return nil // the receiver returns the error
	}
	o := outbox{j: mv.job, to: rank, buf: make([]byte, movePiece)}
	for i, name := range list {
		if err := o.file(ctx, name, sizes[i]); err != nil {
			return err
		}
	}
	for ; o.acked < o.sent; o.acked++ {
		if _, err := mv.c.Recv(ctx, rank, tagAck); err != nil {
			return err
		}
	}
	return nil
}

// outbox sends files to a rank. It opens them one by one, because there may be more files than a process may open.
type outbox struct {
	j           *job
	to          int
	buf         []byte
	sent, acked int // in pieces
}

// file sends one file. It returns only communication errors. If the file cannot be read or has become shorter, file sends filler
// bytes, and the receiver notices that the checksum is wrong.
func (o *outbox) file(ctx context.Context, name string, size int64) error {
	f, bad := o.j.fs.Open(name)
	if bad == nil {
		defer f.Close()
	}
	crc := crc32.NewIEEE()
	for off := int64(0); off < size; {
		b := o.buf[:min(movePiece, size-off)]
		n := 0
		if bad == nil {
			if n, bad = f.ReadAt(b, off); n == len(b) {
				bad = nil
			} else if bad == nil || bad == io.EOF {
				bad = io.ErrUnexpectedEOF
			}
		}
		clear(b[n:])
		crc.Write(b)
		if err := o.j.c.Send(ctx, o.to, tagData, b); err != nil {
			return err
		}
		off += int64(len(b))
		for o.sent++; o.sent-o.acked > 2; o.acked++ {
			if _, err := o.j.c.Recv(ctx, o.to, tagAck); err != nil {
				return err
			}
		}
	}
	sum := crc.Sum32()
	if bad != nil {
		o.j.log.Warn("scr: a cached file cannot be read", "file", name, "err", bad)
		sum = ^sum
	}
	return o.j.c.Send(ctx, o.to, tagData, binary.BigEndian.AppendUint32(nil, sum))
}

// recvFiles receives the files of this rank. If a disk error occurs, it returns the error only after the sender has finished.
func (mv *mover) recvFiles(ctx context.Context, d *cachedSet, from int) error {
	b, err := mv.c.Recv(ctx, from, tagList)
	if err != nil {
		return err
	}
	list, bad := parseList(b, d.Path)
	ok := []byte{1}
	if bad != nil {
		ok[0] = 0
	}
	if err := mv.c.Send(ctx, from, tagAck, ok); err != nil || bad != nil {
		return errors.Join(bad, err)
	}
	var failed error
	for _, f := range list {
		if err := mv.recvFile(ctx, from, f.Name, f.Meta, &failed); err != nil {
			return err
		}
	}
	return failed
}

// parseList parses the list of files that will be received. All files must be in the dataset's folder.
func parseList(b []byte, dir string) ([]cachedir.MapFile, error) {
	if len(b) == 0 {
		return nil, fmt.Errorf("cache: %w: the sending rank could not list its files", ErrCorrupt)
	}
	t, err := kvtree.Unpack(b, nil)
	if err != nil {
		return nil, err
	}
	var list []cachedir.MapFile
	for i := range t.Len() {
		name, mt := t.Get(strconv.Itoa(i)).First()
		m, err := record.ParseMeta(mt, name)
		if err != nil {
			return nil, err
		}
		name = path.Clean(name)
		if !inFolder(dir, name) && path.Dir(name) != cachedir.MetaDir(dir) {
			return nil, fmt.Errorf("%w: file %.200q is not in %s", ErrCorrupt, name, dir)
		}
		list = append(list, cachedir.MapFile{Name: name, Meta: m})
	}
	return list, nil
}

// recvFile receives one file and renames it when it is whole. It returns only communication errors. It stores disk errors in
// failed, and then receives the rest of the file without writing it.
func (mv *mover) recvFile(ctx context.Context, from int, name string, m record.Meta, failed *error) error {
	var f *durable.Temp
	fail := func(err error) {
		if err != nil && *failed == nil {
			*failed = fmt.Errorf("cache: %w", err)
		}
	}
	if *failed == nil {
		var err error
		f, err = durable.CreateTemp(mv.fs, name, durable.TempOptions{Owner: "scr rank " + strconv.Itoa(mv.c.Rank()), Mkdir: true, Sync: true})
		fail(err)
		defer f.Discard() // does nothing if there is no file
	}
	crc := crc32.NewIEEE()
	for off := int64(0); off < m.Size; off += movePiece { // the sender sends the same pieces, whatever their content
		b, err := mv.c.Recv(ctx, from, tagData)
		if err != nil {
			return err
		}
		if want := min(movePiece, m.Size-off); int64(len(b)) != want {
			fail(fmt.Errorf("%w: piece at %[3]d of %[4]s has %[2]d bytes, want %[5]d", ErrCorrupt, len(b), off, name, want))
		}
		crc.Write(b)
		if *failed == nil {
			_, err := f.WriteAt(b, off)
			fail(err)
		}
		if err := mv.c.Send(ctx, from, tagAck, nil); err != nil {
			return err
		}
	}
	sum, err := mv.c.Recv(ctx, from, tagData)
	if err != nil {
		return err
	}
	if f == nil {
		return nil
	}
	if *failed != nil || len(sum) != 4 || binary.BigEndian.Uint32(sum) != crc.Sum32() {
		return nil
	}
	fail(f.Finish())
	if *failed == nil {
		if err := vfs.SetMeta(mv.fs, f.Name(), m.Stat); err != nil {
			mv.log.Warn("scr: cannot copy the metadata of a file", "file", name, "err", err)
		}
		fail(f.Rename())
	}
	if *failed == nil {
		fail(vfs.SyncParent(mv.fs, name))
	}
	return nil
}
