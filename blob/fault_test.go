package blob

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"blobio/blob/internal/convert"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/blob/internal/read"
	"blobio/comm"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

var errDisk = errors.New("the disk is on fire")

// faults are ways to let an operation fail.
var faults = []crashtest.Way{crashtest.Fails(errDisk), crashtest.Short(vfs.ErrNoSpace)}

// disk returns m as the list of disks that crashtest.Scenario wants.
func disk(m *vfs.Mem) []*vfs.Mem { return []*vfs.Mem{m} }

// mayIgnore reports whether the program may ignore an error of an operation if all values are right. Such operations close a
// file that was read, test whether a file exists, or read nothing.
func mayIgnore(op vfs.Op) bool { return mayIgnoreIn(op, crashtest.Places() != nil) }

// mayIgnoreIn is mayIgnore for a file system that other machines may write to, if shared is set.
func mayIgnoreIn(op vfs.Op, shared bool) bool {
	if strings.HasSuffix(op.Name, ".lock") { // the lease ends with the process even if its file remains
		return true
	}
	aside := shared && strings.Contains(op.Name, subfile.NextName("")+".") // the record has such a name also when the program reads it
	return op.Kind == vfs.OpClose && (aside || !strings.HasSuffix(op.Name, ".partial")) || op.Kind == vfs.OpStat || op.Kind == vfs.OpRead && op.N == 0
}

// writtenLater reports whether a full disk may stop an operation without an error, because a later commit or Close repeats it:
// opening a file, or writing numrecs.
func writtenLater(op vfs.Op, err error) bool {
	return vfs.Full(err) && (op.Kind == vfs.OpOpen || op.Kind == vfs.OpWrite && op.Off == layout.NumrecsAt)
}

// bubble runs f in a testing/synctest bubble. There the test fails if a goroutine of f does not end, and a sleep takes no real
// time. On shared file systems bubble calls f directly, because other machines need real time.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	if crashtest.Places() != nil {
		f(t)
		return
	}
	synctest.Test(t, f)
}

func inBubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { bubble(t, f) })
}

// inParallel runs f in a bubble, as a parallel subtest.
func inParallel(t *testing.T, name string, f func(t *testing.T)) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		bubble(t, f)
	})
}

// eachRank runs f on n ranks and returns the error of each rank. err is the error of the run.
func eachRank(n int, f func(ctx context.Context, c comm.Comm) error) (errs []error, err error) {
	errs = make([]error, n)
	err = comm.Run(context.Background(), n, nil, func(ctx context.Context, c comm.Comm) error {
		errs[c.Rank()] = f(ctx, c)
		return errs[c.Rank()]
	})
	return errs, err
}

// faultTest lets each operation of a session fail once. On shared file systems it also kills the session at an operation, and
// then another client examines the files and writes.
func faultTest(t *testing.T, start *vfs.Mem, cc crashCase, was, now *model, work func(ctx context.Context, c comm.Comm, fsys vfs.FS) error) {
	t.Helper()
	var old []byte
	if was != nil {
		old = was.canonical(false)
	}
	want := now.canonical(false)
	var errs []error
	every, ways := times(11, 1)*raced(3), faults
	in := crashtest.Places()
	if in != nil {
		every, ways = times(60, 10), append(slices.Clone(faults), crashtest.Dies(errDisk))
	}
	s := crashtest.Scenario{Start: disk(start), In: in, Every: every, Run: func(d *crashtest.Disks) (err error) {
		errs, err = eachRank(now.ranks, func(ctx context.Context, c comm.Comm) error { return work(ctx, c, d.FS[0]) })
		return err
	}}
	k := 0
	for f := range s.Faults(t, ways...) {
		left, when, err := f.FS[0], f.When, f.Err
		c := crash{fs: left, when: when}
		if err != nil {
			if !tells(err, f.Way.Err) {
				t.Fatalf("%s: %v, want the error of the operation", when, err)
			}
			for r, e := range errs {
				if !tells(e, f.Way.Err) {
					t.Fatalf("%s: rank %d has %v, others %v", when, r, e, err)
				}
			}
		} else if !mayIgnoreIn(*f.Op, cc.far || in != nil) {
			t.Fatalf("%s: no error\nfiles: %v", when, names(left, "."))
		}
		state := seen(t, c, "d.nc", old, want)
		if err == nil && state != "now" {
			t.Fatalf("%s: no error, but the dataset reads as %q", when, state)
		}
		if after := seen(t, crash{fs: c.after(), when: when + ", then power loss"}, "d.nc", old, want); err == nil && after != "now" {
			t.Fatalf("%s: no error, but after a power loss the dataset reads as %q", when, after)
		}
		if k++; k%times(3, 2) == 0 || in != nil {
			nextWriter(t, cc, c, int(f.N), state, was, now)
		}
	}
}

// tells reports whether err is of the wanted kind. An error without a class passes between heaps as text, so tells compares
// errDisk by text.
func tells(err, want error) bool {
	return errors.Is(err, want) || want == errDisk && err != nil && strings.Contains(err.Error(), want.Error())
}

func TestFaultCreate(t *testing.T) {
	fixed := crashCase{name: "apart-process-centric-records", o: dataset.Settings{Options: dataset.Options{OwnMin: 1 << 20, Layout: dataset.ProcessCentric, Workers: 1, Stripe: dataset.Stripe{Size: 4096}}}, apart: true}
	for _, cc := range append(crashtest.Some(t, 2, withFar()), fixed) {
		inParallel(t, cc.name, func(t *testing.T) {
			now := tinyModel(1, 2)
			faultTest(t, vfs.NewMem(), cc, nil, now, func(ctx context.Context, c comm.Comm, fsys vfs.FS) error {
				o := cc.with(fsys, false)
				if cc.name == fixed.name {
					o.Records = now.records
				}
				return now.create(ctx, cc.comm(c), "d.nc", o)
			})
		})
	}
}

func TestFaultReplace(t *testing.T) {
	for k, cc := range crashtest.Some(t, 2, withFar()) {
		for _, foreign := range []bool{false, true} {
			inParallel(t, fmt.Sprintf("%s-foreign=%v", cc.name, foreign), func(t *testing.T) {
				was, now := tinyModel(2, 1), tinyModel(1, 2)
				start := vfs.NewMem()
				was.writeTo(t, start, &dataset.Settings{Options: dataset.Options{Layout: dataset.Layout((k / 2) % 2), Subfiles: 2 + k%2}, Knobs: dataset.Knobs{Fs: start}})
				if foreign {
					must(start.Remove(subfile.ManifestName("d.nc")))
					must(start.SyncDir("."))
				}
				faultTest(t, start, cc, was, now, func(ctx context.Context, c comm.Comm, fsys vfs.FS) error {
					return now.create(ctx, cc.comm(c), "d.nc", cc.with(fsys, true))
				})
			})
		}
	}
}

// TestFaultAppend is TestFaultCreate for appends, with and without new variables and dimensions.
func TestFaultAppend(t *testing.T) {
	for _, cc := range crashtest.Some(t, 2, withFar()) {
		for _, more := range []bool{false, true} {
			inParallel(t, fmt.Sprintf("%s-more=%v", cc.name, more), func(t *testing.T) {
				was := tinyModel(1, 1)
				if more {
					was = was.extended(1, extendTiny)
				}
				start := vfs.NewMem()
				was.writeTo(t, start, cc.with(start, false))
				now := was.upTo(2)
				faultTest(t, start, cc, was, now, func(ctx context.Context, c comm.Comm, fsys vfs.FS) error {
					return now.add(ctx, cc.comm(c), "d.nc", cc.with(fsys, false))
				})
			})
		}
	}
}

// TestFaultRecover lets each operation of the recovery of an interrupted commit fail once. No committed data may be lost.
func TestFaultRecover(t *testing.T) {
	for _, cc := range crashtest.Some(t, 2, withFar()) {
		inParallel(t, cc.name, func(t *testing.T) {
			was, now, third := tinyModel(2, 1), tinyModel(1, 2), tinyModel(3, 1)
			start := vfs.NewMem()
			was.writeTo(t, start, &dataset.Settings{Options: dataset.Options{Subfiles: 2}, Knobs: dataset.Knobs{Fs: start}})
			faultTest(t, pendingCommit(t, start, now, 3), cc, now, third, func(ctx context.Context, c comm.Comm, fsys vfs.FS) error {
				return third.create(ctx, cc.comm(c), "d.nc", cc.with(fsys, true))
			})
		})
	}
}

// TestFaultFullDisk writes on disks of increasing size until the dataset fits.
func TestFaultFullDisk(t *testing.T) {
	for _, cc := range crashtest.Some(t, 2, withFar()) {
		t.Run(cc.name, func(t *testing.T) {
			was, now := tinyModel(2, 1), tinyModel(1, 2)
			for size := int64(4096); ; size += 4096 {
				mem := vfs.NewMem()
				was.writeTo(t, mem, cc.with(mem, false))
				mem.SetCapacity(mem.Used() + size)
				errs, err := eachRank(now.ranks, func(ctx context.Context, c comm.Comm) error {
					return now.create(ctx, cc.comm(c), "d.nc", cc.with(mem, true))
				})
				state := seen(t, crash{fs: mem, when: fmt.Sprintf("%d bytes of room", size)}, "d.nc", was.canonical(false), now.canonical(false))
				if err == nil {
					if state != "now" {
						t.Fatalf("no error, but the dataset reads as %q", state)
					}
					if size == 4096 {
						t.Fatal("the disk was never full")
					}
					break
				}
				for r, e := range errs {
					if !errors.Is(e, vfs.ErrNoSpace) {
						t.Fatalf("rank %d: %v, want no space", r, e)
					}
				}
				if state != "was" {
					t.Fatalf("%v, but the dataset reads as %q", err, state)
				}
				for _, n := range names(mem, ".") {
					if strings.Contains(n, ".partial") || strings.Contains(n, ".next") {
						t.Fatalf("left over: %s, after %v", n, err)
					}
				}
			}
		})
	}
}

// TestFaultConvert is TestFaultCreate for conversions. Operations on the source and on the output fail.
func TestFaultConvert(t *testing.T) {
	src, other := tinyModel(1, 2), tinyModel(2, 1)
	start := vfs.NewMem()
	must(start.Mkdir("in"))
	for _, in := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		noError(t, run(src.ranks, func(ctx context.Context, c comm.Comm) error {
			return src.create(ctx, c, fmt.Sprintf("in/%v.nc", in), &dataset.Settings{Options: dataset.Options{Layout: in, Subfiles: 2}, Knobs: dataset.Knobs{Fs: start}})
		}))
	}
	must(start.SyncDir("."))
	for _, in := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		for _, replace := range []bool{false, true} {
			for _, co := range crashtest.Some(t, 2, []convert.ConvertOptions{{}, {NetCDF4: &convert.NetCDF4Options{Zstd: 3, ChunkBytes: 8}}, {Blobs: true, Subfiles: 3}, {Blobs: true, Layout: dataset.ProcessCentric, Ranks: 3}}) {
				inParallel(t, fmt.Sprintf("%v-replace=%v-blobs=%v-%v-nc4=%v", in, replace, co.Blobs, co.Layout, co.NetCDF4 != nil), func(t *testing.T) {
					from := start.CrashClone(vfs.CrashOptions{})
					var was []byte
					if replace {
						was = other.canonical(false)
						if co.Blobs {
							other.writeTo(t, from, &dataset.Settings{Options: dataset.Options{Subfiles: 2}, Knobs: dataset.Knobs{Fs: from}})
						} else {
							must(vfs.WriteFile(from, "d.nc", was))
						}
					}
					convert := func(fsys vfs.FS) error {
						ctx := context.Background()
						r, err := read.OpenWith(ctx, fmt.Sprintf("in/%v.nc", in), &read.OpenOptions{Workers: 1}, dataset.Knobs{Fs: fsys})
						if err != nil {
							return err
						}
						o := co
						o.Force, o.Workers = true, 1
						return errors.Join(convert.Convert(ctx, r, "d.nc", &o), r.Close())
					}
					must(from.SyncDir("."))
					want := src.canonical(false)
					sc := crashtest.Scenario{Start: disk(syncedClone(from)), Run: crashtest.One(convert), Every: times(11, 1) * raced(3)}
					for f := range sc.Faults(t, faults...) {
						mem, when, err := f.Mem[0], f.When, f.Err
						if err == nil && !mayIgnore(*f.Op) || err != nil && !errors.Is(err, f.Way.Err) {
							t.Fatalf("%s: %v", when, err)
						}
						state := seen(t, crash{fs: mem, when: when}, "d.nc", was, want)
						if err == nil && state != "now" {
							t.Fatalf("%s: no error, but the output reads as %q", when, state)
						}
						if f.N%4 == 0 {
							if err := convert(mem); err != nil {
								t.Fatalf("%s: converted again: %v", when, err)
							}
							seen(t, crash{fs: mem, when: when, last: true}, "d.nc", nil, want)
						}
					}
				})
			}
		}
	}
}

// pendingCommit starts to replace d.nc by m, and returns the disk at the first rename of the commit.
func pendingCommit(t *testing.T, start *vfs.Mem, m *model, subfiles int) (cut *vfs.Mem) {
	t.Helper()
	fsys := vfs.NewFault(start, func(op vfs.Op) error {
		if op.Kind == vfs.OpRename && cut == nil && strings.HasSuffix(op.New, ".0000") {
			cut = start.CrashClone(vfs.CrashOptions{})
		}
		return nil
	})
	m.writeTo(t, fsys, &dataset.Settings{Options: dataset.Options{Subfiles: subfiles, Force: true}, Knobs: dataset.Knobs{Fs: fsys}})
	return cut
}

// syncedClone returns a copy of m in which all files and directories are synced.
func syncedClone(m *vfs.Mem) *vfs.Mem {
	for _, dir := range []string{".", "in"} {
		es, err := m.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range es {
			if !e.IsDir() {
				f := need(m.OpenRW(dir + "/" + e.Name()))
				must(f.Sync())
				must(f.Close())
			}
		}
		must(m.SyncDir(dir))
	}
	return m.CrashClone(vfs.CrashOptions{})
}
