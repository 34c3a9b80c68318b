package ffstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"blobio/comm"
	"blobio/ffformat"
	"blobio/internal/vfs"
)

// BenchmarkChoice compares ways of updating a checkpoint file so that a crash cannot
// lose it, with FTI-FF bytes that FTI can read after each checkpoint, all synced:
//
//	slots    two files in turn, as Store does it
//	undo     one file; the old bytes go to a journal first
//	redo     one file; the new bytes go to a journal first, and then to their places
//	copy     a new file each time, the old one copied and then updated
//
// 64 MiB; 1, 10 or 50 % of the blocks change, the same ones each time or others. BLOBIO_BENCH_DIR says
// where; default /dev/shm, or the temporary directory. The metrics tell bytes written, syncs and
// bytes on disk per checkpoint.
func BenchmarkChoice(b *testing.B) {
	const size = 64 << 20
	dir := os.Getenv("BLOBIO_BENCH_DIR")
	if dir == "" {
		if _, err := os.Stat("/dev/shm"); err == nil {
			dir = "/dev/shm"
		}
	}
	ctx := context.Background()
	for _, share := range []int{1, 10, 50} {
		for _, others := range []bool{false, true} {
			for _, how := range []string{"slots", "undo", "redo", "copy"} {
				b.Run(fmt.Sprintf("%d%%/others=%v/%s", share, others, how), func(b *testing.B) {
					dir, err := os.MkdirTemp(dir, "choice")
					must(b, err)
					defer os.RemoveAll(dir)
					data := make([]byte, size)
					rand.NewChaCha8([32]byte{5}).Read(data)
					turn := 0
					change := func() {
						turn++
						for k := range size / ffformat.DefaultBlockSize {
							x := k * 37
							if others {
								x += turn * share
							}
							if x%100 < share {
								data[k*ffformat.DefaultBlockSize+5]++
							}
						}
					}
					count := vfs.Count(vfs.OS)
					write := journalled(b, count, dir, how, data)
					if how == "slots" {
						s, err := Open(ctx, comm.Self(), filepath.Join(dir, "d"), &Options{FS: count})
						must(b, err)
						s.Protect(1, data)
						id := int32(0)
						write = func() {
							id++
							if _, err := s.CheckpointDiff(ctx, id); err != nil {
								b.Fatal(err)
							}
						}
					}
					for range 3 {
						change()
						write()
					}
					w0, s0 := count.Bytes(vfs.OpWrite), count.Kind(vfs.OpSync)+count.Kind(vfs.OpSyncDir)
					n := 0
					b.SetBytes(size)
					for b.Loop() {
						b.StopTimer()
						change()
						b.StartTimer()
						write()
						n++
					}
					b.ReportMetric(float64(count.Bytes(vfs.OpWrite)-w0)/float64(n)/(1<<20), "MiB-written/op")
					b.ReportMetric(float64(count.Kind(vfs.OpSync)+count.Kind(vfs.OpSyncDir)-s0)/float64(n), "syncs/op")
					var disk int64
					filepath.WalkDir(dir, func(_ string, e os.DirEntry, err error) error {
						if i, ierr := e.Info(); err == nil && ierr == nil && !e.IsDir() {
							disk += i.Size()
						}
						return err
					})
					b.ReportMetric(float64(disk)/(1<<20), "MiB-on-disk")
				})
			}
		}
	}
}

// held is a file whose writes are kept back.
type held struct {
	vfs.File
	writes []ffformat.Piece
}

func (h *held) WriteAt(p []byte, off int64) (int, error) {
	h.writes = append(h.writes, ffformat.Piece{Off: off, Data: append([]byte(nil), p...)})
	return len(p), nil
}

func (h *held) Truncate(int64) error { return nil }

// journalled are prototypes of the other ways, just enough to be measured: they do all
// the writes and syncs, and no recovery.
func journalled(b *testing.B, fsys vfs.FS, dir, how string, data []byte) func() {
	ctx := context.Background()
	w, err := ffformat.NewWriter(nil)
	must(b, err)
	name, journal := filepath.Join(dir, "f"), filepath.Join(dir, "journal")
	must := func(err error) {
		must(b, err)
	}
	var prev *ffformat.Digests
	update := func(f vfs.File) {
		u, err := w.Begin(f, ffformat.UpdateOptions{CkptID: 1, Prev: prev, Differential: true})
		must(err)
		must(u.Add(ctx, 1, data))
		res, err := u.Finish(ctx)
		must(err)
		prev = res.Digests
	}
	return func() {
		if prev == nil {
			f, err := fsys.Create(name)
			must(err)
			update(f)
			must(f.Sync())
			must(f.Close())
			return
		}
		if how == "copy" {
			old, err := fsys.Open(name)
			must(err)
			f, err := fsys.Create(name + ".next")
			must(err)
			size, err := old.Size()
			must(err)
			buf := make([]byte, 1<<20)
			for off := int64(0); off < size; off += int64(len(buf)) {
				n := min(int64(len(buf)), size-off)
				_, err := old.ReadAt(buf[:n], off)
				must(err)
				_, err = f.WriteAt(buf[:n], off)
				must(err)
			}
			update(f)
			must(f.Sync())
			must(f.Close())
			must(old.Close())
			must(fsys.Rename(name+".next", name))
			must(vfs.SyncParent(fsys, name))
			return
		}
		f, err := fsys.OpenRW(name)
		must(err)
		h := &held{File: f}
		update(h)
		j, err := fsys.Create(journal)
		must(err)
		at := int64(0)
		for _, p := range h.writes {
			keep := p.Data
			if how == "undo" {
				keep = make([]byte, len(p.Data))
				f.ReadAt(keep, p.Off) // short at the end of the file, where nothing is to be kept
			}
			_, err := j.WriteAt(keep, at)
			must(err)
			at += int64(len(keep))
		}
		must(j.Sync())
		must(vfs.SyncParent(fsys, journal))
		for _, p := range h.writes {
			_, err := f.WriteAt(p.Data, p.Off)
			must(err)
		}
		must(f.Sync())
		must(f.Close())
		must(j.Close())
		must(fsys.Remove(journal))
		must(vfs.SyncParent(fsys, journal))
	}
}
