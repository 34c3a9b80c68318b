package blocks

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"blobio/amr"
	"blobio/blob"
	"blobio/comm"
	"blobio/internal/crashtest"
	"blobio/internal/durable"
	"blobio/internal/fault"
	"blobio/internal/vfs"
)

// long says that faults happen at every call, not at a part of them: BLOBIO_LONG=1.
var long = crashtest.Long()

// errDisk is of a class that ranks without a common heap can tell.
var errDisk = fmt.Errorf("the disk is on fire: %w", fs.ErrPermission)

// on does something while another file system stands for that of the system, which is
// the one that package blob takes too.
func on(fsys vfs.FS, f func()) {
	old := vfs.OS
	vfs.OS = fsys
	defer func() { vfs.OS = old }()
	f()
}

// small is a toy of few blocks.
func small() (*amr.Meta, []*amr.Block) {
	m, blocks := toy(3, 2)
	return m, blocks
}

// state says whether a dataset is whole or absent; anything else fails the test.
func state(t *testing.T, fsys vfs.FS, name, when string, m *amr.Meta, blocks []*amr.Block) (there bool) {
	t.Helper()
	on(fsys, func() {
		d, err := Open(context.Background(), name, nil)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, blob.ErrNotCommitted) || errors.Is(err, blob.ErrMissing) {
			return
		}
		if err != nil {
			t.Fatalf("%s: neither absent nor whole: %v (%v)", when, err, namesIn(fsys))
		}
		defer d.Close()
		there = true
		same(t, d, m, blocks)
		if t.Failed() {
			t.Fatalf("%s: half of it is there", when)
		}
	})
	return there
}

func namesIn(fsys vfs.FS) (l []string) {
	es, _ := fsys.ReadDir(".")
	for _, e := range es {
		l = append(l, e.Name())
	}
	return l
}

// writeOn writes from three ranks and returns the error of each.
func writeOn(fsys vfs.FS, form Form, apart bool, m *amr.Meta, blocks []*amr.Block, o Options) (errs [3]error, err error) {
	parts := deal(blocks, 3, 0)
	o.Form = form
	if form != Canonical {
		o.Subfiles = 2
	}
	on(fsys, func() {
		err = comm.Run(context.Background(), 3, &comm.Options{RanksPerNode: 2}, func(ctx context.Context, c comm.Comm) error {
			r := c.Rank()
			if apart {
				c = comm.Isolate(c)
			}
			errs[r] = Write(ctx, c, "d", m, parts[r], &o)
			return errs[r]
		})
	})
	return errs, err
}

// TestFaults: every I/O call of a Write fails once: the error comes back on every rank, and the
// dataset is whole or absent; then it can be written again.
func TestFaults(t *testing.T) {
	m, blocks := small()
	for _, form := range []Form{Canonical, VariableCentric, ProcessCentric} {
		for _, apart := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v/apart=%v", form, apart), func(t *testing.T) {
				var errs [3]error
				run := func(fsys vfs.FS) (err error) {
					errs, err = writeOn(fsys, form, apart, m, blocks, Options{Buffer: minBuffer})
					return err
				}
				// each of the commit
				sc := crashtest.Scenario{Run: crashtest.One(run), Every: crashtest.Times(12, 1), Last: 12}
				failed := 0
				for f := range sc.Faults(t, crashtest.Fails(errDisk), crashtest.ShortWrite(errDisk)) {
					if f.Way.Only != nil && !f.Way.Only(*f.Op) {
						continue // as without
					}
					op, mem, err, when := f.Op, f.Mem[0], f.Err, f.When
					there := state(t, mem, "d", when, m, blocks)
					if err == nil {
						if !there {
							t.Fatalf("%s: no error, and no dataset", when)
						}
						if op.Kind != vfs.OpClose && op.Kind != vfs.OpStat && op.Kind != vfs.OpRemove && op.Kind != vfs.OpReadDir && op.Name != durable.LockName("d") {
							t.Fatalf("%s: no error", when)
						}
						continue
					}
					failed++
					for r, e := range errs {
						if !errors.Is(e, fs.ErrPermission) {
							t.Fatalf("%s: rank %d: %v", when, r, e)
						}
						if strings.Count(e.Error(), "rank ") > 1 { // told once, however often it was agreed upon
							t.Fatalf("%s: rank %d: %v", when, r, e)
						}
					}
					if !there {
						if _, err := writeOn(mem, form, false, m, blocks, Options{}); err != nil {
							t.Fatalf("%s: written again: %v (%v)", when, err, namesIn(mem))
						}
						if !state(t, mem, "d", when+", written again", m, blocks) {
							t.Fatalf("%s: written again: it is not there", when)
						}
					}
				}
				if failed < 10 {
					t.Errorf("%d faults were seen", failed)
				}
			})
		}
	}
}

// TestCrash: a power loss at any call leaves no dataset or a whole one.
func TestCrash(t *testing.T) {
	m, blocks := small()
	for _, form := range []Form{Canonical, VariableCentric, ProcessCentric} {
		sc := crashtest.Scenario{Torn: 1, Every: crashtest.Times(8, 1), Always: func(op vfs.Op) bool { return op.Kind != vfs.OpWrite },
			Run: crashtest.One(func(fsys vfs.FS) error {
				_, err := writeOn(fsys, form, false, m, blocks, Options{Buffer: minBuffer})
				return err
			})}
		l, there := sc.Cuts(t), 0
		for _, k := range l {
			is := state(t, k.Mem[0], "d", fmt.Sprint(form, ": ", k.When), m, blocks)
			if is {
				there++
			} else if k.Last {
				t.Errorf("%v: lost after the commit", form)
			}
		}
		if there == len(l) {
			t.Errorf("%v: all of %d states have it", form, len(l))
		}
	}
}

// TestConvertFaults: every call of a conversion, and every one to its source, fails once.
func TestConvertFaults(t *testing.T) {
	m, blocks := small()
	from := vfs.NewMem()
	if _, err := writeOn(from, Canonical, false, m, blocks, Options{}); err != nil {
		t.Fatal(err)
	}
	var src *Dataset
	on(from, func() {
		var err error
		if src, err = Open(t.Context(), "d", nil); err != nil {
			t.Fatal(err)
		}
	})
	defer src.Close()
	for _, form := range []Form{Canonical, VariableCentric, ProcessCentric} {
		run := func(fsys vfs.FS, s Source) (err error) {
			o := &Options{Form: form, Workers: 2, Buffer: minBuffer}
			if form != Canonical {
				o.Ranks, o.Subfiles = 3, 2
			}
			on(fsys, func() { err = Convert(context.Background(), s, "d", o) })
			return err
		}
		calls := &failing{Source: src}
		if err := run(vfs.NewMem(), calls); err != nil {
			t.Fatal(err)
		}
		sc := crashtest.Scenario{Every: crashtest.Times(4, 1), Run: crashtest.One(func(fsys vfs.FS) error { return run(fsys, src) })}
		for f := range sc.Faults(t, crashtest.Fails(errDisk)) {
			op, when := f.Op, fmt.Sprint(form, ": ", f.When)
			there := state(t, f.Mem[0], "d", when, m, blocks)
			switch {
			case f.Err != nil && !errors.Is(f.Err, errDisk) && op.Kind != vfs.OpStat:
				t.Fatalf("%s: %v", when, f.Err)
			case f.Err == nil && !there:
				t.Fatalf("%s: no error, and no dataset", when)
			case f.Err == nil && op.Kind != vfs.OpClose && op.Kind != vfs.OpStat && op.Kind != vfs.OpRemove && op.Kind != vfs.OpReadDir &&
				op.Name != durable.LockName("d") && op.Name != durable.LockName("d.canonical"):
				t.Fatalf("%s: no error", when)
			}
		}
		for n := int64(1); n <= calls.n.Load(); n++ {
			mem := vfs.NewMem()
			err := run(mem, &failing{Source: src, at: n})
			if !errors.Is(err, errDisk) {
				t.Fatalf("%v: call %d to the source: %v", form, n, err)
			}
			if state(t, mem, "d", "source", m, blocks) || len(namesIn(mem)) > 0 {
				t.Fatalf("%v: call %d to the source: left over: %v", form, n, namesIn(mem))
			}
		}
	}
}

// failing is a source of which one call fails.
type failing struct {
	Source
	at int64
	n  atomic.Int64
}

func (f *failing) call() error {
	if f.n.Add(1) == f.at {
		return errDisk
	}
	return nil
}

func (f *failing) Heads(ctx context.Context, first, end int) ([]*amr.Block, error) {
	if err := f.call(); err != nil {
		return nil, err
	}
	return f.Source.Heads(ctx, first, end)
}

func (f *failing) Range(ctx context.Context, first, end int) ([]*amr.Block, error) {
	if err := f.call(); err != nil {
		return nil, err
	}
	return f.Source.Range(ctx, first, end)
}

// TestReadFaults: every call of opening and reading fails once, and so it is in Check.
func TestReadFaults(t *testing.T) {
	m, blocks := small()
	for _, form := range []Form{Canonical, VariableCentric, ProcessCentric} {
		mem := vfs.NewMem()
		if _, err := writeOn(mem, form, false, m, blocks, Options{}); err != nil {
			t.Fatal(err)
		}
		read := func(fsys vfs.FS) (err error) {
			on(fsys, func() {
				var d *Dataset
				if d, err = Open(context.Background(), "d", nil); err != nil {
					return
				}
				defer func() { err = errors.Join(err, d.Close()) }()
				var l []*amr.Block
				if l, err = d.Range(context.Background(), 0, d.Len()); err != nil {
					return
				}
				for i, b := range l {
					sameBlock(t, i, b, blocks[i])
				}
			})
			return err
		}
		look := func(fsys vfs.FS) (err error) {
			on(fsys, func() {
				for f := range Check(context.Background(), "d", &blob.CheckOptions{Workers: 1}) {
					if f.Severity == blob.Error || f.Severity == blob.Warning && f.Err != nil {
						err = errors.Join(err, fmt.Errorf("%v", f))
					}
				}
			})
			return err
		}
		for what, f := range map[string]func(vfs.FS) error{"read": read, "check": look} {
			count := vfs.Count(mem)
			if err := f(count); err != nil {
				t.Fatalf("%v: %s: %v", form, what, err)
			}
			step := int64(1)
			if !long {
				step = max(count.Ops()/60, 1)
			}
			for n := int64(1); n <= count.Ops(); n += step {
				var hit atomic.Pointer[vfs.Op]
				err := f(vfs.NewFault(mem, func(op vfs.Op) error {
					if op.Seq != n {
						return nil
					}
					hit.Store(&op)
					return errDisk
				}))
				if op := hit.Load(); op != nil && err == nil && op.Kind != vfs.OpClose && op.Kind != vfs.OpStat && op.Kind != vfs.OpReadDir && (op.Kind != vfs.OpRead || op.N > 0) {
					t.Errorf("%v: %s: fault at %v: no error", form, what, op)
				}
				if t.Failed() {
					t.FailNow()
				}
			}
		}
	}
}

// TestCheckUnreadable: the blocks beside one that cannot be read are compared with their checksums, before and after it.
func TestCheckUnreadable(t *testing.T) {
	m, blocks := toy(21, 2)
	name := temp(t)
	writeToy(t, name, m, deal(blocks, 1, 0), &Options{Durability: blob.DurableNone})
	d := openToy(t, name)
	last := d.Len() - 1
	size := m.FieldBytes(&m.Fields[0], d.Ghosts(m.Fields[0].Name))
	field := "field_" + m.Fields[0].Name
	var dead int64 // a byte of block 2
	for x, err := range d.Reader().Extents(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if x.Name == field {
			dead = x.Offset + 2*size
		}
	}
	d.Close()
	spoil(t, name, field, 0, 0x77, 0x78)
	spoil(t, name, field, int64(last)*size, 0x77, 0x78)
	damaged, unread := "", ""
	on(vfs.NewFault(vfs.OS, func(op vfs.Op) error {
		if (op.Kind == vfs.OpRead || op.Kind == vfs.OpMap) && op.Off > 0 && op.Off <= dead && dead < op.Off+op.N {
			return errDisk
		}
		return nil
	}), func() {
		for f := range Check(t.Context(), name, nil) {
			switch {
			case f.Field == crcName && errors.Is(f.Err, ErrChecksum):
				damaged += strings.Fields(f.Msg)[1] + " "
			case f.Field == "" && strings.Contains(f.Msg, "disk is on fire"):
				unread += strings.Fields(f.Msg)[1] + " "
			}
		}
	})
	if want := fmt.Sprintf("0 %d ", last); damaged != want || unread != "2 " {
		t.Errorf("damaged blocks %q, want %q; unreadable %q, want block 2", damaged, want, unread)
	}
}

// TestSecondWriter: while a dataset is written nobody else can write it, and whoever tries changes nothing; what dead writers
// of it left goes; and nothing is written through a link that somebody has planted.
func TestSecondWriter(t *testing.T) {
	m, blocks := small()
	for _, form := range []Form{Canonical, VariableCentric, ProcessCentric} {
		for _, apart := range []bool{false, true} {
			mem := vfs.NewMem()
			if err := vfs.WriteFile(mem, ".d.0123abcd.partial", nil); err != nil {
				t.Fatal(err)
			}
			var once atomic.Bool
			fsys := vfs.NewFault(mem, func(op vfs.Op) error {
				if op.Kind != vfs.OpRename || once.Swap(true) {
					return nil
				}
				was := fmt.Sprint(namesIn(mem))
				l, err := durable.Acquire(context.Background(), mem, "d", durable.LeaseOptions{})
				if !errors.Is(err, fault.ErrInUse) {
					t.Errorf("%v: in the middle: %v", form, err)
					_ = l.Release()
				}
				if now := fmt.Sprint(namesIn(mem)); now != was {
					t.Errorf("%v: %s became %s", form, was, now)
				}
				return nil
			})
			if _, err := writeOn(fsys, form, apart, m, blocks, Options{}); err != nil {
				t.Fatal(form, err)
			}
			if !once.Load() || !state(t, mem, "d", form.String(), m, blocks) {
				t.Fatal(form, namesIn(mem))
			}
			if l := fmt.Sprint(namesIn(mem)); form == Canonical && l != "[d]" || strings.Contains(l, ".lock") {
				t.Errorf("%v: left: %s", form, l)
			}
			l, err := durable.Acquire(context.Background(), mem, "d", durable.LeaseOptions{})
			if err != nil {
				t.Fatal(err)
			}
			was := fmt.Sprint(namesIn(mem))
			errs, _ := writeOn(mem, form, apart, m, blocks, Options{Force: true})
			for r, err := range errs {
				if !errors.Is(err, fault.ErrInUse) {
					t.Errorf("%v, apart %v: rank %d: %v", form, apart, r, err)
				}
			}
			if now := fmt.Sprint(namesIn(mem)); now != was {
				t.Errorf("%v: %s became %s", form, was, now)
			}
			_ = l.Release()
		}
	}
}

// TestPlantedLink: no name that somebody can guess is opened for writing.
func TestPlantedLink(t *testing.T) {
	m, blocks := small()
	for _, form := range []Form{Canonical, VariableCentric} {
		dir := t.TempDir()
		victim, name := filepath.Join(dir, "victim"), filepath.Join(dir, "d.nc")
		if err := os.WriteFile(victim, []byte("keep"), 0o666); err != nil {
			t.Fatal(err)
		}
		for _, planted := range []string{".partial", ".canonical.partial"} {
			if err := os.Symlink(victim, name+planted); err != nil {
				t.Skip(err)
			}
		}
		src := &Memory{m, blocks}
		if err := Convert(context.Background(), src, name, &Options{Form: form, Durability: blob.DurableNone}); err != nil {
			t.Fatal(err)
		}
		for _, n := range []string{victim, name + ".partial", name + ".canonical.partial"} {
			if b, err := os.ReadFile(n); err != nil || string(b) != "keep" {
				t.Errorf("%v: %s: %q %v", form, n, b, err)
			}
		}
	}
}
