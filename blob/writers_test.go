package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"blobio/blob/internal/convert"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/lease"
	"blobio/blob/internal/read"
	"blobio/blob/internal/resume"
	"blobio/blob/internal/write"
	"blobio/comm"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// TestSecondWriter checks that a second writer of a dataset gets an error that names the first writer, and that it changes no
// file.
func TestSecondWriter(t *testing.T) {
	ctx := context.Background()
	for _, layout := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		for _, how := range []string{"create", "replace", "append", "convert to blobs", "convert"} {
			inBubble(t, fmt.Sprintf("%v-%s", layout, how), func(t *testing.T) {
				was, other := tinyModel(1, 1), tinyModel(2, 1)
				mem := vfs.NewMem()
				other.writeTo(t, mem, &dataset.Settings{Knobs: dataset.Knobs{Fs: mem}})
				src, err := read.OpenWith(ctx, "d.nc", nil, dataset.Knobs{Fs: mem})
				must(err)
				defer src.Close()
				o := func(force bool) *dataset.Settings {
					return &dataset.Settings{Options: dataset.Options{Layout: layout, Force: force}, Knobs: dataset.Knobs{Fs: mem}}
				}
				first := func(c comm.Comm) (*write.Writer, error) {
					return write.CreateWith(ctx, c, "out.nc", was.s, was.parts(c.Rank()), o(true))
				}
				want := was
				if how != "create" {
					must(run(was.ranks, func(ctx context.Context, c comm.Comm) error { return was.create(ctx, c, "out.nc", o(false)) }))
				}
				if how == "append" {
					want = was.upTo(2)
					first = func(c comm.Comm) (*write.Writer, error) {
						return resume.AppendWith(ctx, c, "out.nc", was.parts(c.Rank()), o(false))
					}
				}
				second := func() error {
					switch how {
					case "append":
						return run(want.ranks, func(ctx context.Context, c comm.Comm) error { return want.add(ctx, c, "out.nc", o(false)) })
					case "convert to blobs":
						return convert.ConvertWith(ctx, comm.Self(), src, "out.nc", &convert.ConvertOptions{Blobs: true, Layout: layout, Force: true}, dataset.Knobs{Fs: mem})
					case "convert":
						return convert.ConvertWith(ctx, comm.Self(), src, "out.nc", &convert.ConvertOptions{Force: true}, dataset.Knobs{Fs: mem})
					}
					return run(other.ranks, func(ctx context.Context, c comm.Comm) error {
						return other.create(ctx, c, "out.nc", o(how != "create"))
					})
				}
				attempt := func() error {
					before := names(mem, ".")
					err := second()
					if !errors.Is(err, dataset.ErrInUse) {
						return fmt.Errorf("the second writer: %w", err)
					}
					for _, want := range []string{"out.nc", "in use by", fmt.Sprint(os.Getpid())} {
						if !strings.Contains(err.Error(), want) {
							return fmt.Errorf("%q lacks %q", err, want)
						}
					}
					if after := names(mem, "."); fmt.Sprint(after) != fmt.Sprint(before) {
						return fmt.Errorf("it has changed %v to %v", before, after)
					}
					return nil
				}
				err = run(was.ranks, func(ctx context.Context, c comm.Comm) error {
					w, err := first(c)
					must(err)
					tell := func() error {
						if c.Rank() == 0 {
							return attempt()
						}
						return nil
					}
					err = comm.Agree(ctx, c, tell())
					for rec := w.Puts.Records(); rec < want.records && err == nil; rec++ {
						err = was.putRecord(w, rec, c.Rank(), rec == 0)
					}
					if err = errors.Join(err, w.Flush(ctx)); err == nil {
						err = comm.Agree(ctx, c, tell())
					}
					return errors.Join(err, w.Close(ctx))
				})
				noError(t, err)
				readsAs(t, "the first writer's dataset", mem, "out.nc", want)
				if l := names(mem, "."); strings.Contains(fmt.Sprint(l), ".lock") {
					t.Errorf("left: %v", l)
				}
			})
		}
	}
}

// TestOpenWhileReplaced checks Open while a writer replaces the dataset again and again. Open must return one complete dataset,
// the old one or the new one, in memory and on the operating system's files.
func TestOpenWhileReplaced(t *testing.T) {
	for _, missing := range []bool{false, true} {
		t.Run(fmt.Sprintf("AllowMissing=%v", missing), func(t *testing.T) {
			x := replacedTest{fs: vfs.NewMem(), base: "d.nc", missing: missing, replacements: times(10, 600)}
			x.run(t)
		})
		t.Run(fmt.Sprintf("AllowMissing=%v-system", missing), func(t *testing.T) {
			x := replacedTest{fs: vfs.OS, base: filepath.Join(t.TempDir(), "d.nc"), missing: missing, replacements: times(4, 200)}
			x.run(t)
		})
	}
}

// replacedTest opens a dataset repeatedly while it is replaced.
type replacedTest struct {
	fs           vfs.FS
	base         string
	missing      bool
	replacements int
}

func (x *replacedTest) run(t *testing.T) {
	models := []*model{tinyModel(1, 1), tinyModel(2, 2), tinyModel(3, 1)}
	var may [][]byte
	for _, m := range models {
		may = append(may, m.canonical(false))
	}
	write := func(k int) error {
		m := models[k%len(models)]
		o := &dataset.Settings{Options: dataset.Options{Force: true, Subfiles: 1 + k%3, Layout: dataset.Layout(k / 3 % 2)}, Knobs: dataset.Knobs{Fs: x.fs}}
		if x.fs == vfs.OS {
			o.Durability = dataset.DurableNone // durability does not change what readers see
		}
		return run(m.ranks, func(ctx context.Context, c comm.Comm) error { return m.create(ctx, c, x.base, o) })
	}
	must(write(0))
	var opens, stale atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for ctx.Err() == nil {
				r, err := read.OpenWith(context.Background(), x.base, &read.OpenOptions{AllowMissing: x.missing, Workers: 1}, dataset.Knobs{Fs: x.fs})
				if err != nil {
					t.Errorf("open %d: %v", opens.Load(), err)
					stop()
					return
				}
				opens.Add(1)
				got, err := convertBytes(context.Background(), r, &convert.ConvertOptions{Workers: 1})
				r.Close()
				switch {
				case errors.Is(err, dataset.ErrBroken):
					stale.Add(1) // the dataset was replaced between Open and the first read
					continue
				case err != nil:
					t.Errorf("read %d: %v", opens.Load(), err)
				case !slices.ContainsFunc(may, func(b []byte) bool { return bytes.Equal(got, b) }):
					t.Errorf("open %d: no dataset that was ever committed", opens.Load())
				default:
					continue
				}
				stop()
				return
			}
		})
	}
	k := 0
	for ; ctx.Err() == nil && k < x.replacements; k++ {
		must(write(k))
	}
	stop()
	wg.Wait()
	t.Logf("%d opens during %d replacements, %d of them replaced before the first read", opens.Load(), k, stale.Load())
}

// TestRecover lets a writer die at any operation. Recover must list the remaining files, finish the dataset, and remove files
// of no committed state.
func TestRecover(t *testing.T) {
	ctx := context.Background()
	for _, cc := range crashtest.Some(t, 2, zombieCases()) {
		t.Run(cc.name, func(t *testing.T) {
			was := tinyModel(1, 1)
			start := vfs.NewMem()
			was.writeTo(t, start, cc.with(start, false))
			for _, job := range cc.contenders(tinyModel(2, 2), was.upTo(2)) {
				now := job.after(was)
				for _, c := range crashes(t, start, 3, 1, func(fsys vfs.FS) error { return job.do(fsys, "") }) {
					state := seen(t, c, "d.nc", was.canonical(false), now.canonical(false))
					todo, err := resume.RecoverWith(ctx, "d.nc", &resume.RecoverOptions{DryRun: true}, dataset.Knobs{Fs: c.fs})
					if err != nil {
						t.Fatalf("%s: dry run: %v", c.when, err)
					}
					before := names(c.fs, ".")
					if _, err := resume.RecoverWith(ctx, "d.nc", nil, dataset.Knobs{Fs: c.fs}); err != nil {
						t.Fatalf("%s: %v", c.when, err)
					}
					want := was
					if state == "now" {
						want = now
					}
					expect(t, c, job.name+", recovered", want)
					if after := names(c.fs, "."); len(todo) == 0 && fmt.Sprint(after) != fmt.Sprint(before) {
						t.Fatalf("%s: nothing to do, but %v became %v", c.when, before, after)
					}
					if again, err := resume.RecoverWith(ctx, "d.nc", &resume.RecoverOptions{DryRun: true}, dataset.Knobs{Fs: c.fs}); err != nil || len(again) > 0 {
						t.Fatalf("%s: after it: %v %v", c.when, again, err)
					}
				}
			}
		})
	}
}

// TestRecoverConversion checks that Recover finds and removes the hidden file of a killed conversion, and keeps the file of a
// running one.
func TestRecoverConversion(t *testing.T) {
	ctx := context.Background()
	mem := vfs.NewMem()
	f := need(mem.Create(".out.nc.0123abcd.partial"))
	must(f.Close())
	must(mem.MkdirAll(".out.nc.4567cdef.partial/mesh")) // an unfinished output that is a directory
	must(vfs.WriteFile(mem, ".out.nc.4567cdef.partial/mesh/data", []byte("x")))
	if l, err := resume.UnfinishedIn(mem, "."); err != nil || fmt.Sprint(l) != "[out.nc]" {
		t.Fatalf("%v %v", l, err)
	}
	l := need(durable.Acquire(ctx, mem, "out.nc", durable.LeaseOptions{}))
	if _, err := resume.RecoverWith(ctx, "out.nc", nil, dataset.Knobs{Fs: mem}); !errors.Is(err, dataset.ErrInUse) {
		t.Fatalf("while it is at work: %v", err)
	}
	must(l.Release())
	steps, err := resume.RecoverWith(ctx, "out.nc", nil, dataset.Knobs{Fs: mem})
	if err != nil || len(steps) != 2 || len(names(mem, ".")) != 0 {
		t.Fatalf("%v %v %v", steps, err, names(mem, "."))
	}
}

// TestRecoverNamed checks that Recover takes the dataset with exactly the given name, even if a subfile of another
// dataset could have that name.
func TestRecoverNamed(t *testing.T) {
	ctx := context.Background()
	tag := durable.TagOf(durable.NewID())
	start := vfs.NewMem()
	m := tinyModel(1, 1)
	m.writeTo(t, start, &dataset.Settings{Options: dataset.Options{Subfiles: 2}, Knobs: dataset.Knobs{Fs: start}})
	of := func(name string, files ...string) {
		t.Helper()
		mem := start.CrashClone(vfs.CrashOptions{})
		for _, n := range append(files, "d.nc.0000."+tag+".partial") { // Recover would remove this file of d.nc
			must(vfs.WriteFile(mem, n, []byte("x")))
		}
		steps := need(resume.RecoverWith(ctx, name, &resume.RecoverOptions{DryRun: true}, dataset.Knobs{Fs: mem}))
		again := need(resume.RecoverWith(ctx, name, nil, dataset.Knobs{Fs: mem}))
		if fmt.Sprint(again) != fmt.Sprint(steps) {
			t.Errorf("%s: %v were to be done, and %v were", name, steps, again)
		}
		var got []string
		for _, s := range steps {
			got = append(got, s.File)
		}
		var want []string
		if len(files) == 0 || name == "d.nc" {
			want = append(want, "d.nc.0000."+tag+".partial")
		}
		if len(files) > 0 {
			want = append(want, files[1:]...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s beside %v: %v, want %v", name, files, got, want)
		}
		for _, n := range want {
			if _, err := mem.Stat(n); err == nil {
				t.Errorf("%s: %s is still there", name, n)
			}
		}
	}
	must(start.SyncDir("."))
	of("d.nc")
	of("d.nc.0000")
	of("d.nc.0000." + tag + ".partial")
	of("d.nc.0007", "d.nc.0007") // the file is not a subfile, so nothing is done
	of("d.nc.0001", "other", ".d.nc.0001.0123abcd.partial")
	of("d.nc.0007", "d.nc.0007", ".d.nc.0007.0123abcd.partial")
	of("d.nc.0009", "d.nc.0009.0000", "d.nc.0009.manifest.next", "d.nc.0009.0000.partial")
	of("d.nc", "other", ".d.nc.lock."+tag)
}

// TestErrorsBehindTheCommit checks an error after the commit. It must be an UnfinishedError, because the new dataset is already
// in force.
func TestErrorsBehindTheCommit(t *testing.T) {
	for _, layout := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		was, now := tinyModel(1, 1), tinyModel(2, 2)
		mem := vfs.NewMem()
		was.writeTo(t, mem, &dataset.Settings{Options: dataset.Options{Layout: layout}, Knobs: dataset.Knobs{Fs: mem}})
		full := vfs.NewFault(mem, vfs.FailOn(vfs.OpRename, "d.nc.000*", 1, syscall.ENOSPC))
		err := run(now.ranks, func(ctx context.Context, c comm.Comm) error {
			return now.create(ctx, c, "d.nc", &dataset.Settings{Options: dataset.Options{Layout: layout, Force: true}, Knobs: dataset.Knobs{Fs: full}})
		})
		var u *dataset.UnfinishedError
		if !errors.As(err, &u) || !errors.Is(err, vfs.ErrNoSpace) || u.Base != "d.nc" {
			t.Fatalf("%v: %v", layout, err)
		}
		readsAs(t, fmt.Sprintf("%v: what is said to be committed", layout), mem, "d.nc", now)
		need(resume.RecoverWith(context.Background(), "d.nc", nil, dataset.Knobs{Fs: mem}))
		expect(t, crash{fs: mem, when: layout.String()}, "recovered", now)
	}
}

// TestPlantedLinks puts symbolic links at the names of a writer's files. The writer must not write to the files that the links
// point to.
func TestPlantedLinks(t *testing.T) {
	m := tinyModel(1, 1)
	for _, planted := range []string{".manifest.next.partial", ".manifest.next", ".0000.partial", ".0000", ".manifest"} {
		for _, layout := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
			dir := t.TempDir()
			base, victim := filepath.Join(dir, "d.nc"), filepath.Join(dir, "victim")
			must(os.WriteFile(victim, []byte("keep"), 0o666))
			if err := os.Symlink(victim, base+planted); err != nil {
				t.Skip(err)
			}
			for _, force := range []bool{false, true} {
				_ = run(m.ranks, func(ctx context.Context, c comm.Comm) error {
					return m.create(ctx, c, base, &dataset.Settings{Options: dataset.Options{Layout: layout, Force: force, Durability: dataset.DurableNone}})
				})
				_ = run(m.ranks, func(ctx context.Context, c comm.Comm) error {
					return m.upTo(2).add(ctx, c, base, &dataset.Settings{Options: dataset.Options{Layout: layout, Durability: dataset.DurableNone}})
				})
				if b, err := os.ReadFile(victim); err != nil || string(b) != "keep" {
					t.Fatalf("%s, force %v: %q, %v", planted, force, b, err)
				}
			}
		}
	}
}

// TestForeignBesideAnnouncement checks a dataset that another program wrote after a writer had announced its files and died.
// Recover and a new writer must not take it for the dead writer's files.
func TestForeignBesideAnnouncement(t *testing.T) {
	ctx := context.Background()
	foreign, next := tinyModel(1, 2), tinyModel(2, 1)
	for _, how := range []string{"recover", "replace"} {
		mem := vfs.NewMem()
		dead := need(lease.Hold(ctx, &dataset.Settings{Knobs: dataset.Knobs{Fs: mem}}, "d.nc"))
		announced := &subfile.Manifest{ID: durable.NewID(), Writer: dead.Tag(), Layout: dataset.VariableCentric.String(), Base: "d.nc", Ranks: 1,
			Sets: []subfile.SetInfo{{Base: "d.nc", Subfiles: make([]subfile.Subfile, 1)}}}
		other := vfs.NewMem()
		foreign.writeTo(t, other, &dataset.Settings{Options: dataset.Options{Subfiles: 2}, Knobs: dataset.Knobs{Fs: other}})
		for _, n := range []string{"d.nc.0000", "d.nc.0001"} {
			b := need(slurp(other, n))
			must(vfs.WriteFile(mem, n, b))
		}
		must(subfile.WriteNext(mem, "d.nc", announced, false, subfile.By{}))
		must(mem.SyncDir("."))
		must(dead.Release())
		want := foreign
		if how == "recover" {
			need(resume.RecoverWith(ctx, "d.nc", nil, dataset.Knobs{Fs: mem}))
		} else {
			want = next
			next.writeTo(t, mem, &dataset.Settings{Options: dataset.Options{Force: true}, Knobs: dataset.Knobs{Fs: mem}})
		}
		readsAs(t, how, mem, "d.nc", want)
	}
}
