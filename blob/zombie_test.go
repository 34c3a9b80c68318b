package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"blobio/comm"
	"blobio/internal/crashtest"
	"blobio/internal/durable"
	"blobio/internal/vfs"
)

// contender is one of several writers of d.nc.
type contender struct {
	name string
	do   func(fsys vfs.FS, boot string) error
}

func (cc crashCase) contenders(replace, grown *model) []contender {
	opts := func(fsys vfs.FS, boot string, force bool) *Options {
		o := cc.with(fsys, force)
		o.lease = durable.LeaseOptions{Beat: time.Hour, Patience: 2 * time.Millisecond, Boot: boot}
		return o
	}
	return []contender{
		{"replace", func(fsys vfs.FS, boot string) error {
			return run(replace.ranks, func(ctx context.Context, c comm.Comm) error {
				return replace.create(ctx, cc.comm(c), "d.nc", opts(fsys, boot, true))
			})
		}},
		{"append", func(fsys vfs.FS, boot string) error {
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

// TestZombie: a writer stops at any operation, another on a machine that its locks do not reach takes over and
// commits, and meanwhile or afterwards the first goes on. Its bytes are in no committed state, unless it had committed
// before, and it does not say that they are.
func TestZombie(t *testing.T) {
	for _, cc := range zombieCases() {
		was := tinyModel(1, 1)
		start := vfs.NewMem()
		was.writeTo(t, start, cc.with(start, false))
		replace, grown := tinyModel(2, 2), was.upTo(2)
		for _, first := range cc.contenders(tinyModel(3, 1), was.upTo(3)) {
			for _, second := range cc.contenders(replace, grown) {
				t.Run(cc.name+"-"+first.name+"-"+second.name, func(t *testing.T) {
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
		if err := c.do(m, "count"); err != nil {
			t.Fatal(err)
		}
		return m.Ops()
	}
	n, k := count(z.first), count(z.second)
	lost := 0
	for at := int64(1); at <= n; at += int64(times(5, 1)) {
		// The first goes on when the second is done, or at one of its operations.
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

// once stops the first writer before operation at and lets it go on before operation wake of the second.
func (z *zombieTest) once(t *testing.T, at, wake int64) (lost bool) {
	t.Helper()
	mem := z.start.CrashClone(vfs.CrashOptions{})
	all := crashtest.NewMachines(mem)
	one, two := all.Machine(true), all.Machine(true)
	when := fmt.Sprintf("stopped at %d, awake at %d of the other", at, wake)
	stopped := one.StopAt(at)
	first := make(chan error, 1)
	go func() { first <- z.first.do(one, "one") }()
	var ferr error
	ended := false
	select {
	case <-stopped:
	case ferr = <-first:
		ended = true
	}
	var once sync.Once
	goOn := func() {
		once.Do(func() {
			one.Go()
			if !ended {
				ferr = <-first
			}
		})
	}
	two.Each(func(op int64) {
		if op >= wake {
			goOn()
		}
	})
	serr := z.second.do(two, "two")
	goOn()
	if serr != nil {
		// If the first went on before its lease was taken over, it still had it.
		if errors.Is(serr, ErrInUse) {
			return false
		}
		t.Fatalf("%s: the second writer: %v (the first: %v)\nfiles: %v", when, serr, ferr, names(mem, "."))
	}
	got, err := canonicalOf(mem, "d.nc")
	if err != nil {
		t.Fatalf("%s: %v (the first: %v)\nfiles: %v", when, err, ferr, names(mem, "."))
	}
	if bad := checkErrors(mem, "d.nc"); len(bad) > 0 {
		t.Fatalf("%s: Check finds %v (the first: %v)\nfiles: %v", when, bad, ferr, names(mem, "."))
	}
	return z.judge(t, when, got, ferr)
}

// judge holds what is there against the orders in which both, or the second alone, may have committed.
func (z *zombieTest) judge(t *testing.T, when string, got []byte, ferr error) (lost bool) {
	t.Helper()
	is := func(m *model) bool { return bytes.Equal(got, m.canonical(false)) }
	firstCommits := ferr == nil || errors.As(ferr, new(*UnfinishedError)) || errors.As(ferr, new(*InDoubtError))
	var alone, both []*model
	for _, m := range []*model{z.was, tinyModel(3, 1), z.was.upTo(3), tinyModel(2, 2), z.was.upTo(2)} {
		if is(m) {
			alone = append(alone, m)
		}
	}
	_ = both
	if len(alone) == 0 && firstCommits {
		return false // the second has added to what the first committed; Check says that all of it is whole
	}
	want := tinyModel(2, 2)
	if z.second.name == "append" {
		want = z.was.upTo(2)
	}
	if !is(want) && !firstCommits {
		t.Fatalf("%s: the second alone has committed, but its dataset is not there (the first: %v): %s", when, ferr, firstDiff(got, want.canonical(false)))
	}
	return !firstCommits
}
