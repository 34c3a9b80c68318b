package fti

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"blobio/comm"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/testfiles"
	"blobio/internal/base/vfs"
)

func TestMain(m *testing.M) { crashtest.Main(m) }

var must = testfiles.Must

const ranks = 4

const template = `[Advanced]
Local_test = 1
Block_size = 1024
[Basic]
Head = 0
Node_size = 1
Ckpt_dir = Local	#/path
Glbl_dir = Global ; here
Meta_dir = "Meta"
Ckpt_L1 = 3
Group_size = 4
ckpt_io = 3
Verbosity = 2
enable_dcp = 1
dcp_mode = 1
dcp_block_size = 512
%s
[Restart]
# 1 in a restart
Failure = 0
Exec_ID = NONE
`

// disk is a file system with a configuration file.
func disk(t testing.TB, more string) *vfs.Mem {
	m := vfs.NewMem()
	must(t, vfs.WriteFile(m, "config", fmt.Appendf(nil, template, more)))
	must(t, m.SyncDir("."))
	return m
}

// memory returns the protected variables of a rank at a step: a number, bytes that grow and shrink, bytes that change in part,
// and an empty variable.
func memory(rank, step int) map[int32][]byte {
	grows := bytes.Repeat([]byte{byte(rank), byte(step)}, 300*(1+step%3))
	some := bytes.Repeat([]byte{byte(rank)}, 5000)
	for i := step % 4 * 1000; i < step%4*1000+400; i++ {
		some[i] = byte(step)
	}
	return map[int32][]byte{1: binary.LittleEndian.AppendUint64(nil, uint64(step)), 7: grows, 3: some, 4: {}}
}

func protect(s *Session, m map[int32][]byte) error {
	for _, id := range []int32{7, 1, 3, 4} {
		if err := s.Protect(int64(id), m[id], int64(len(m[id]))); err != nil {
			return err
		}
	}
	return nil
}

// job runs a program with FTI on all ranks. It dies without closing its Session.
func job(fsys vfs.FS, f func(ctx context.Context, c comm.Comm, s *Session) error) error {
	return comm.Run(context.Background(), ranks, nil, func(ctx context.Context, c comm.Comm) error {
		s, err := Open(ctx, c, "config", &Options{FS: fsys})
		if s == nil {
			return err
		}
		if err == nil {
			err = f(ctx, c, s)
		}
		s.last.close()
		return errors.Join(err, s.release())
	})
}

// write takes the checkpoint of a step.
func write(ctx context.Context, c comm.Comm, s *Session, step int, id int32, level int) error {
	if err := protect(s, memory(c.Rank(), step)); err != nil {
		return err
	}
	return s.Checkpoint(ctx, id, level)
}

// recovered returns the step of the restart's checkpoint, 0 in a new run. It compares all bytes.
func recovered(ctx context.Context, c comm.Comm, s *Session) (int, error) {
	if s.Status() == 0 {
		return 0, nil
	}
	got := map[int32][]byte{}
	for _, id := range []int32{7, 1, 3, 4} {
		got[id] = make([]byte, s.StoredSize(id))
	}
	if err := protect(s, got); err != nil {
		return 0, err
	}
	if err := s.Recover(ctx); err != nil {
		return 0, err
	}
	step := int(binary.LittleEndian.Uint64(got[1]))
	for id, want := range memory(c.Rank(), step) {
		if !bytes.Equal(got[id], want) {
			return 0, fmt.Errorf("rank %d: variable %d differs from step %d", c.Rank(), id, step)
		}
	}
	steps, err := comm.Allreduce(ctx, c, []int64{int64(step), int64(-step)}, comm.Max)
	if err == nil && steps[0] != -steps[1] {
		err = fmt.Errorf("ranks are in steps %d to %d", -steps[1], steps[0])
	}
	return step, err
}

// stepOf returns the step from which a restart begins.
func stepOf(fsys vfs.FS) (step int, err error) {
	err = job(fsys, func(ctx context.Context, c comm.Comm, s *Session) error {
		n, err := recovered(ctx, c, s)
		if c.Rank() == 0 {
			step = n
		}
		return err
	})
	return step, err
}
