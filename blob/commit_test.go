package blob

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/blob/internal/resume"
	"blobio/comm"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
)

// TestRecordInDoubt lets a commit write its record, but the record's name does not become durable, and undoing it fails too.
// The commit may be in force. Then no rank may remove the files that the record names, and every rank must report an
// InDoubtError.
func TestRecordInDoubt(t *testing.T) {
	for _, cc := range crashtest.Some(t, 2, crashCases()) {
		t.Run(cc.name, func(t *testing.T) {
			was, now := tinyModel(2, 1), tinyModel(1, 2)
			mem := vfs.NewMem()
			was.writeTo(t, mem, &dataset.Settings{Options: dataset.Options{Subfiles: 2}, Knobs: dataset.Knobs{Fs: mem}})
			named := false // the prepared record is about to get its name
			fsys := vfs.NewFault(mem, func(op vfs.Op) error {
				switch {
				case op.Kind == vfs.OpRename && strings.HasSuffix(op.New, ".manifest.next"):
					b, err := slurp(mem, op.Name)
					named = named || err == nil && bytes.Contains(b, []byte(`"prepared":true`))
				case named && (op.Kind == vfs.OpSyncDir || op.Kind == vfs.OpRename):
					return &fs.PathError{Op: op.Kind.String(), Path: op.Name, Err: errDisk}
				}
				return nil
			})
			o := cc.with(fsys, true)
			o.Durability = dataset.DurableCommit
			told := make([]error, now.ranks)
			_ = run(now.ranks, func(ctx context.Context, c comm.Comm) error {
				told[c.Rank()] = now.create(ctx, cc.comm(c), "d.nc", o)
				return told[c.Rank()]
			})
			for r, err := range told {
				var doubt *dataset.InDoubtError
				if !errors.As(err, &doubt) || !strings.Contains(err.Error(), errDisk.Error()) {
					t.Errorf("rank %d: %v", r, err)
				}
			}
			readsAs(t, "what the record names is not there", mem, "d.nc", now)
		})
	}
}

// deaf is a Comm of a rank that misses the result of one reduction. All other ranks get this result.
type deaf struct {
	comm.Comm
	at int // reductions until the missed one
}

var errDeaf = errors.New("the network is down")

func (d *deaf) AllreduceInt64(ctx context.Context, v []int64, op comm.Op) ([]int64, error) {
	all, err := d.Comm.AllreduceInt64(ctx, v, op)
	if d.at--; d.at == 0 {
		return nil, errDeaf
	}
	return all, err
}

// TestDeafRank lets one rank lose the result of one reduction during a commit. The other ranks, including rank 0, have all
// results, and complete the commit. The deaf rank must not remove its files, nor report that the commit failed.
func TestDeafRank(t *testing.T) {
	for _, mode := range []int{dataset.CommitRename, dataset.CommitManifestOnly} {
		for _, layout := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
			was, now := tinyModel(2, 1), tinyModel(1, 1)
			start := vfs.NewMem()
			was.writeTo(t, start, &dataset.Settings{Options: dataset.Options{Subfiles: 2}, Knobs: dataset.Knobs{Fs: start}})
			counts := map[string]int{}
			for at := 1; ; at++ {
				mem := start.CrashClone(vfs.CrashOptions{})
				heard := 0
				first := errors.New("rank 0 has not ended")
				var told error
				_ = run(now.ranks, func(ctx context.Context, c comm.Comm) error {
					if c.Rank() == 1 {
						d := &deaf{c, at}
						defer func() { heard = d.at }()
						c = d
					}
					err := now.create(ctx, c, "d.nc", &dataset.Settings{Options: dataset.Options{Force: true, Layout: layout, Renames: mode, Subfiles: 4, Workers: 1}, Knobs: dataset.Knobs{Fs: mem}})
					switch c.Rank() {
					case 0:
						first = err
					case 1:
						told = err
					}
					return err
				})
				if heard > 0 {
					break // the session has fewer reductions than at
				}
				state := seen(t, crash{fs: mem, when: fmt.Sprintf("%v, deaf at %d (rank 0: %v)", layout, at, first), last: first == nil}, "d.nc",
					was.canonical(false), now.canonical(false))
				counts[state]++
				if state == "now" && !errors.As(told, new(*dataset.InDoubtError)) && !errors.As(told, new(*dataset.UnfinishedError)) {
					t.Errorf("%v, deaf at %d: committed, and the deaf rank says %v", layout, at, told)
				}
			}
			if counts["was"] == 0 || counts["now"] == 0 {
				t.Errorf("%v: states %v: the test sees one side only", layout, counts)
			}
		}
	}
}

// TestCutAppendCountsRecords interrupts an append between its commit and the update of the record count in the headers. The
// next writer repairs the headers, even if it adds no record.
func TestCutAppendCountsRecords(t *testing.T) {
	was := tinyModel(1, 1)
	now := was.upTo(3)
	start := vfs.NewMem()
	was.writeTo(t, start, &dataset.Settings{Options: dataset.Options{Subfiles: 2}, Knobs: dataset.Knobs{Fs: start}})
	counts := func(fsys *vfs.Mem) (l []int64) {
		for _, n := range []string{"d.nc.0000", "d.nc.0001"} {
			b := need(slurp(fsys, n))
			l = append(l, int64(binary.BigEndian.Uint64(b[layout.NumrecsAt:])))
		}
		return l
	}
	mended := 0
	for _, c := range crashesOf(t, start, 1, 2, 1, func(fsys vfs.FS) error { // all operations, because few lie between the commit and the headers
		return run(now.ranks, func(ctx context.Context, c comm.Comm) error {
			return now.add(ctx, c, "d.nc", &dataset.Settings{Options: dataset.Options{Subfiles: 2}, Knobs: dataset.Knobs{Fs: fsys}})
		})
	}) {
		if seen(t, c, "d.nc", was.canonical(false), now.canonical(false)) != "now" {
			continue
		}
		before := fmt.Sprint(counts(c.fs.(*vfs.Mem)))
		if err := run(now.ranks, func(ctx context.Context, co comm.Comm) error {
			w := need(resume.AppendWith(ctx, co, "d.nc", now.parts(co.Rank()), &dataset.Settings{Options: dataset.Options{Subfiles: 2}, Knobs: dataset.Knobs{Fs: c.fs}}))
			return w.Close(ctx)
		}); err != nil {
			t.Fatalf("%s: %v", c.when, err)
		}
		if after := fmt.Sprint(counts(c.fs.(*vfs.Mem))); after != "[3 3]" {
			t.Fatalf("%s: the headers tell of %s records, then of %s; want 3", c.when, before, after)
		} else if before != after {
			mended++
		}
	}
	if mended == 0 {
		t.Error("no append was cut short between its commit and its headers")
	}
}
