package scr

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io/fs"
	"path"
	"testing"

	"blobio/internal/scr/record"
	"blobio/internal/vfs"
)

// TestMoveFile: a file that is moved to another node is there, and stays there, only if every byte of it came as it was sent; one
// that cannot be read, is shorter than it was said to be, or was damaged on its way is left out, as if it were lost.
func TestMoveFile(t *testing.T) {
	const name, size = "/local/user1/scr.77/scr.dataset.1/f", 1000
	data := content(1, 0, 0)[:size]
	send := func(ctx context.Context, s *Session) error {
		o := outbox{j: s.job, to: 1, buf: make([]byte, movePiece)}
		if err := o.file(ctx, name, size); err != nil {
			return err
		}
		_, err := s.c.Recv(ctx, 1, tagAck)
		return err
	}
	for what, from := range map[string]func(ctx context.Context, s *Session) error{
		"whole": func(ctx context.Context, s *Session) error {
			return errors.Join(s.fs.MkdirAll(path.Dir(name)), put(s.fs, name, data), send(ctx, s))
		},
		"unreadable": send,
		"shorter": func(ctx context.Context, s *Session) error {
			return errors.Join(s.fs.MkdirAll(path.Dir(name)), put(s.fs, name, data[:500]), send(ctx, s))
		},
		"damaged": func(ctx context.Context, s *Session) error {
			other := bytes.Clone(data)
			other[17]++
			if err := s.c.Send(ctx, 1, tagData, other); err != nil {
				return err
			}
			if err := s.c.Send(ctx, 1, tagData, binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(data))); err != nil {
				return err
			}
			_, err := s.c.Recv(ctx, 1, tagAck)
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			cl := newCluster(t, "node0", "node1")
			each(t, cl, func(ctx context.Context, s *Session, rank int) error {
				if rank == 0 {
					return from(ctx, s)
				}
				var failed error
				err := (&mover{s.job}).recvFile(ctx, 0, name, record.Meta{Size: size, Stat: vfs.Meta{Mode: 0o600}}, &failed)
				if failed != nil {
					t.Errorf("%v", failed)
				}
				return err
			})
			after := cl.fs.(*vfs.Mem).CrashClone(vfs.CrashOptions{})
			if got, err := vfs.ReadFile(after, "/nodes/node1"+name, 1<<20); what == "whole" && !bytes.Equal(got, data) {
				t.Errorf("%d bytes after a power cut, %v", len(got), err)
			} else if what != "whole" && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("it was taken: %d bytes, %v", len(got), err)
			}
			if n := len(tree(t, cl.fs, "/nodes/node1"+path.Dir(name))); what != "whole" && n > 0 {
				t.Errorf("%d files are left", n)
			}
		})
	}
}
