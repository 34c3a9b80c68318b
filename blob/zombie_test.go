package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/resume"
	"blobio/blob/internal/write"
	"blobio/comm"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
)

// contender is one of two writers of d.nc.
type contender struct {
	name  string
	after func(m *model) *model // returns the content after the writer's commit to content m; nil: unknown
	do    func(fsys vfs.FS, boot string) error
}

func (cc crashCase) contenders(replace, grown *model) []contender {
	opts := func(fsys vfs.FS, boot string, force bool) *dataset.Settings {
		o := cc.with(fsys, force)
		o.Lease = durable.LeaseOptions{Beat: time.Hour, Patience: 2 * time.Millisecond, Boot: boot}
		return o
	}
	return []contender{
		{"replace", func(*model) *model { return replace }, func(fsys vfs.FS, boot string) error {
			return run(replace.ranks, func(ctx context.Context, c comm.Comm) error {
				return replace.create(ctx, cc.comm(c), "d.nc", opts(fsys, boot, true))
			})
		}},
		{"append", func(m *model) *model {
			if m.seed != grown.seed {
				return nil
			}
			return m.upTo(max(m.records, grown.records))
		}, func(fsys vfs.FS, boot string) error {
			return run(grown.ranks, func(ctx context.Context, c comm.Comm) error {
				return grown.add(ctx, cc.comm(c), "d.nc", opts(fsys, boot, false))
			})
		}},
	}
}

func zombieCases() (l []crashCase) {
	for _, cc := range crashCases() {
		switch cc.name {
		case "variable-centric-rename-1", "process-centric-rename-3", "variable-centric-manifest-3", "apart-variable-centric-1-0", "compressed-2":
			l = append(l, cc)
		}
	}
	return l
}

// TestZombie stops a writer before any operation. A second writer, on a machine that the first writer's locks do not reach,
// takes over and commits. The first writer goes on meanwhile or afterwards. Unless the first writer had committed before, no
// committed state may contain its bytes, and it must not report a commit.
func TestZombie(t *testing.T) {
	for _, cc := range crashtest.Some(t, 2, zombieCases()) {
		was := tinyModel(1, 1)
		start := vfs.NewMem()
		was.writeTo(t, start, cc.with(start, false))
		replace, grown := tinyModel(2, 2), was.upTo(2)
		for _, first := range cc.contenders(tinyModel(3, 1), was.upTo(3)) {
			for _, second := range cc.contenders(replace, grown) {
				t.Run(cc.name+"-"+first.name+"-"+second.name, func(t *testing.T) {
					t.Parallel()
					z := zombieTest{cc: cc, start: start, first: first, second: second, was: was}
					z.run(t)
				})
			}
		}
	}
}

type zombieTest struct {
	cc            crashCase
	start         *vfs.Mem
	first, second contender
	was           *model
}

func (z *zombieTest) run(t *testing.T) {
	count := func(c contender) int64 {
		m := crashtest.NewMachines(z.start.CrashClone(vfs.CrashOptions{})).Machine(true)
		noError(t, c.do(m, "count"))
		return m.Ops()
	}
	n, k := count(z.first), count(z.second)
	lost := 0
	for at := int64(1); at <= n; at += int64(times(61, 2)) {
		// The first writer goes on after the end of the second, or before one of its operations.
		for _, wake := range []int64{k + 1000, 1 + (at*7919)%k, 1 + (at*104729)%k} {
			if z.once(t, at, wake) {
				lost++
			}
		}
	}
	if lost == 0 {
		t.Error("the first writer never lost: the test sees one side only")
	}
}

// awakened stops the first writer before its operation at. It lets the writer go on before operation wake of the second writer,
// or at that writer's end. It returns the errors of both.
func awakened(mem *vfs.Mem, at, wake int64, first, second func(fsys vfs.FS) error) (ferr, serr error) {
	all := crashtest.NewMachines(mem)
	one, two := all.Machine(true), all.Machine(true)
	stopped, done := one.StopAt(at), make(chan error, 1)
	go func() { done <- first(one) }()
	ended := false
	select {
	case <-stopped:
	case ferr = <-done:
		ended = true
	}
	var once sync.Once
	goOn := func() {
		once.Do(func() {
			one.Go()
			if !ended {
				ferr = <-done
			}
		})
	}
	two.Each(func(op int64) {
		if op >= wake {
			goOn()
		}
	})
	serr = second(two)
	goOn()
	return ferr, serr
}

// once runs both writers, and compares the files with the possible results.
func (z *zombieTest) once(t *testing.T, at, wake int64) (lost bool) {
	t.Helper()
	mem := z.start.CrashClone(vfs.CrashOptions{})
	when := fmt.Sprintf("stopped at %d, awake at %d of the other", at, wake)
	ferr, serr := awakened(mem, at, wake, func(fsys vfs.FS) error { return z.first.do(fsys, "one") }, func(fsys vfs.FS) error { return z.second.do(fsys, "two") })
	got, err := canonicalOf(mem, "d.nc")
	if err != nil {
		t.Fatalf("%s: %v (the first: %v)\nfiles: %v", when, err, ferr, names(mem, "."))
	}
	if bad := checkErrors(mem, "d.nc"); len(bad) > 0 {
		t.Fatalf("%s: Check finds %v (the first: %v)\nfiles: %v", when, bad, ferr, names(mem, "."))
	}
	return z.judge(t, when, got, ferr, serr)
}

// judge compares the content with the results of all possible orders of the reported commits.
func (z *zombieTest) judge(t *testing.T, when string, got []byte, ferr, serr error) (lost bool) {
	t.Helper()
	committed := func(err error) bool {
		return err == nil || errors.As(err, new(*dataset.UnfinishedError)) || errors.As(err, new(*dataset.InDoubtError))
	}
	a, b := committed(ferr), committed(serr)
	if !a && !b {
		t.Fatalf("%s: nobody has committed: %v, %v", when, ferr, serr)
	}
	may, unknown := map[string]*model{}, false
	add := func(what string, order ...contender) {
		m := z.was
		for _, c := range order {
			if m = c.after(m); m == nil {
				unknown = true
				return
			}
		}
		may[what] = m
	}
	switch {
	case a && b:
		add("both", z.first, z.second)
		add("both, the second first", z.second, z.first)
	case a:
		add("the first", z.first)
	default:
		add("the second", z.second)
	}
	for _, m := range may {
		if bytes.Equal(got, m.canonical(false)) {
			return !a
		}
	}
	if unknown {
		return !a // records of both writers, and Check has found no fault
	}
	for what, m := range may {
		t.Errorf("%s: not as %s would leave it: %s", when, what, firstDiff(got, m.canonical(false)))
	}
	t.Fatalf("the first: %v; the second: %v\nfiles: %v", ferr, serr, z.was)
	return false
}

// TestZombieBetween checks a writer that takes a dataset over from a writer that may be alive, and ends without writing the
// dataset anew. The next writer must know this: it must not append to files that the first writer may still write to.
func TestZombieBetween(t *testing.T) {
	cc := zombieCases()[0]
	was := tinyModel(1, 1)
	start := vfs.NewMem()
	was.writeTo(t, start, cc.with(start, false))
	grown := was.upTo(2)
	lease := func(boot string) durable.LeaseOptions {
		return durable.LeaseOptions{Beat: time.Hour, Patience: 2 * time.Millisecond, Boot: boot}
	}
	add := cc.contenders(was, grown)[1]
	create := func(fsys vfs.FS, boot string, force, end bool) error {
		o := cc.with(fsys, force)
		o.Lease = lease(boot)
		m := tinyModel(2, 2)
		return run(m.ranks, func(ctx context.Context, c comm.Comm) error {
			w, err := write.CreateWith(ctx, cc.comm(c), "d.nc", m.s, m.parts(c.Rank()), o)
			if err == nil && end {
				w.Abort()
				err = c.Barrier(ctx)
			}
			return err
		})
	}
	between := map[string]func(fsys vfs.FS, boot string) error{
		"recover": func(fsys vfs.FS, boot string) error {
			_, err := resume.RecoverWith(context.Background(), "d.nc", nil, dataset.Knobs{Fs: fsys, Lease: lease(boot)})
			return err
		},
		"refused": func(fsys vfs.FS, boot string) error {
			if err := create(fsys, boot, false, false); !errors.Is(err, dataset.ErrExist) && !errors.Is(err, dataset.ErrInUse) {
				return err
			}
			return nil
		},
		"aborted": func(fsys vfs.FS, boot string) error { return create(fsys, boot, true, true) },
	}
	for name, do := range between {
		t.Run(name, func(t *testing.T) {
			other := was.upTo(2) // the same records with other values
			other.seed = 77
			z := zombieTest{cc: cc, start: start, first: cc.contenders(was, other)[1], was: was}
			z.second = contender{add.name, add.after, func(fsys vfs.FS, boot string) error {
				if err := do(fsys, boot); err != nil {
					return err
				}
				return add.do(fsys, boot)
			}}
			z.run(t)
		})
	}
}
