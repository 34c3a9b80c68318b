package cello

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"blobio/comm"
	"blobio/internal/amr"
	"blobio/internal/base/vfs"
	"blobio/internal/comm/commtest"
)

// cuts are the values of Options.Cut.
var cuts = []string{cutBlocks, cutBytes, cutCost}

// memory is a Restorer that keeps its blocks.
type memory struct {
	levels []string
	blocks map[amr.Index]*amr.Block // nil until the block has its data
	all    *sync.Map                // created blocks of all ranks
	fail   func(what string, level int) error
}

func (m *memory) check(what string, level int) error {
	if m.fail != nil {
		return m.fail(what, level)
	}
	return nil
}

func (m *memory) Create(_ context.Context, level int, l []BlockInfo) error {
	m.levels = append(m.levels, fmt.Sprintf("create %d", level))
	for _, b := range l {
		if _, ok := m.blocks[b.Index]; ok {
			return fmt.Errorf("block %s is created twice", b.Name)
		}
		if max(b.Level, 0) != level {
			return fmt.Errorf("block %s of level %d is created in level %d", b.Name, b.Level, level)
		}
		if level > 0 {
			if _, ok := m.all.Load(b.Index.Parent()); !ok {
				return fmt.Errorf("block %s has no parent yet", b.Name)
			}
		}
		m.blocks[b.Index] = nil
		m.all.Store(b.Index, true)
	}
	return m.check("create", level)
}

func (m *memory) Data(_ context.Context, b *amr.Block) error {
	if x, ok := m.blocks[b.Index]; !ok || x != nil {
		return fmt.Errorf("data of block %v, which was not created or has its data", b.Index)
	}
	m.blocks[b.Index] = b
	return m.check("data", b.Index.Level())
}

func (m *memory) LevelDone(_ context.Context, level, created, ready int) error {
	m.levels = append(m.levels, fmt.Sprintf("done %d: %d %d", level, created, ready))
	return m.check("done", level)
}

// restartAll restarts on some ranks and returns the blocks of all.
func restartAll(ctx context.Context, ranks int, isolate bool, dir string, o *RestartOptions, fail func(rank int, what string, level int) error) ([]*memory, error) {
	apps := make([]*memory, ranks)
	created := &sync.Map{}
	for i := range apps {
		apps[i] = &memory{blocks: map[amr.Index]*amr.Block{}, all: created}
		if fail != nil {
			apps[i].fail = func(what string, level int) error { return fail(i, what, level) }
		}
	}
	return apps, comm.Run(ctx, ranks, nil, func(ctx context.Context, c comm.Comm) error {
		if isolate {
			c = commtest.Isolate(c)
		}
		return Restart(ctx, c, dir, apps[c.Rank()], o)
	})
}

// TestRestart: a checkpoint written by P ranks into F files and restarted on Q ranks gives the same state.
func TestRestart(t *testing.T) {
	ctx := context.Background()
	c := small().build(t)
	want := map[amr.Index]*amr.Block{}
	levels := map[int]int{}
	for _, b := range c.blocks {
		want[b.Index] = b
		levels[max(b.Index.Level(), 0)]++
	}
	for i, p := range []int{1, 2, 4, 7} {
		for n, files := range []int{1, 3, 16, len(c.blocks) + 2} {
			if !long && n != i && n != 3-i {
				continue // two numbers of files for each p; all q for each number of files
			}
			mem := memDir(t)
			if err := c.write(ctx, p, p%2 == 0, "c", &Options{Files: files, FS: mem, Cut: cuts[p%3]}); err != nil {
				t.Fatal(err)
			}
			for _, q := range []int{1, 3, 8} {
				for _, apart := range []bool{false, true} {
					if !long && apart != ((p+q)%2 == 0) {
						continue
					}
					o := &RestartOptions{Cut: cuts[(p+q)%3]}
					o.FS = mem
					apps, err := restartAll(ctx, q, apart, "c", o, nil)
					if err != nil {
						t.Fatalf("%d ranks, %d files, restart on %d: %v", p, files, q, err)
					}
					n := 0
					for r, a := range apps {
						for x, b := range a.blocks {
							n++
							if b == nil {
								t.Fatalf("block %v has no data", x)
							}
							if err := same(c.meta, b, want[x]); err != nil {
								t.Fatal(err)
							}
						}
						wantLevels := ""
						for l := range len(levels) {
							wantLevels += fmt.Sprintf("create %d done %d: %d %d ", l, l, levels[l], levels[l])
						}
						if got := fmt.Sprint(a.levels); got != "["+wantLevels[:len(wantLevels)-1]+"]" {
							t.Fatalf("rank %d: phases %s, want %s", r, got, wantLevels)
						}
					}
					if n != len(c.blocks) {
						t.Fatalf("%d blocks, want %d", n, len(c.blocks))
					}
				}
			}
		}
	}
}

// TestRestartErrors: an application error on one rank is an error on all.
func TestRestartErrors(t *testing.T) {
	ctx := context.Background()
	c := small().build(t)
	mem := memDir(t)
	if err := c.write(ctx, 2, false, "c", &Options{Files: 3, FS: mem}); err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	for _, what := range []string{"create", "data", "done"} {
		for level := range 3 {
			o := &RestartOptions{OpenOptions: OpenOptions{FS: mem}}
			errs := make([]error, 3)
			apps := make([]*memory, 3)
			all := &sync.Map{}
			err := comm.Run(ctx, 3, nil, func(ctx context.Context, co comm.Comm) error {
				r := co.Rank()
				apps[r] = &memory{blocks: map[amr.Index]*amr.Block{}, all: all}
				if r == 1 {
					apps[r].fail = func(w string, l int) error {
						if w == what && l == level {
							return boom
						}
						return nil
					}
				}
				errs[r] = Restart(ctx, co, "c", apps[r], o)
				return errs[r]
			})
			if !errors.Is(err, boom) {
				t.Fatalf("%s %d: %v", what, level, err)
			}
			for r, e := range errs {
				if !errors.Is(e, boom) {
					t.Errorf("%s %d: rank %d: %v", what, level, r, e)
				}
			}
		}
	}
	for what, owner := range map[string]func(k *Checkpoint, ranks int) ([]int, error){
		"too few":         func(*Checkpoint, int) ([]int, error) { return make([]int, 3), nil },
		"below the ranks": func(k *Checkpoint, _ int) ([]int, error) { return slices.Repeat([]int{-1}, len(k.Blocks())), nil },
		"beyond the ranks": func(k *Checkpoint, ranks int) ([]int, error) {
			return slices.Repeat([]int{ranks}, len(k.Blocks())), nil
		},
		"one of all beyond": func(k *Checkpoint, ranks int) ([]int, error) {
			return append(make([]int, len(k.Blocks())-1), ranks), nil
		},
	} {
		o := &RestartOptions{Owner: owner, OpenOptions: OpenOptions{FS: mem}}
		if _, err := restartAll(ctx, 2, false, "c", o, nil); !errors.Is(err, ErrUsage) {
			t.Errorf("wrong placement, %s: %v", what, err)
		}
	}
}

// TestRestartLosesNone: Restart detects blocks that no rank takes.
func TestRestartLosesNone(t *testing.T) {
	c := tiny().build(t)
	mem := memDir(t)
	must(c.write(context.Background(), 2, false, "c", &Options{Files: 2, FS: mem}))
	for _, apart := range []bool{false, true} {
		err := comm.Run(context.Background(), 2, nil, func(ctx context.Context, co comm.Comm) error {
			if apart {
				co = commtest.Isolate(co)
			}
			o := &RestartOptions{OpenOptions: OpenOptions{FS: mem}, Owner: func(k *Checkpoint, ranks int) ([]int, error) {
				return slices.Repeat([]int{1 - co.Rank()}, len(k.Blocks())), nil
			}}
			err := Restart(ctx, co, "c", &memory{blocks: map[amr.Index]*amr.Block{}, all: &sync.Map{}}, o)
			if !errors.Is(err, ErrProtocol) {
				t.Errorf("rank %d: %v", co.Rank(), err)
			}
			return err
		})
		if !errors.Is(err, ErrProtocol) {
			t.Error(err)
		}
	}
}

// TestRestartCounts: if the number of blocks differs from the count in a block, Restart fails at once.
func TestRestartCounts(t *testing.T) {
	c, mem := flat(t)
	for _, n := range []int{len(c.blocks) - 1, len(c.blocks) + 1} {
		r := loadRaw(t, mem, "good")
		r.files[1].groups[0].attr("count_order").value = []int64{int64(n)}
		bad := vfs.NewMem()
		r.store(bad, "bad")
		apps, err := restartAll(context.Background(), 2, false, "bad", &RestartOptions{OpenOptions: OpenOptions{FS: bad}}, nil)
		if !errors.Is(err, ErrCorrupt) || len(apps[0].levels)+len(apps[1].levels) > 0 {
			t.Errorf("count_order %d of %d blocks: %v, phases %v", n, len(c.blocks), err, apps[0].levels)
		}
	}
}

// TestRestartPlaces: any placement of blocks works, and cuts by bytes and by cost are balanced.
func TestRestartPlaces(t *testing.T) {
	ctx := context.Background()
	s := small()
	s.particles = false
	c := s.build(t)
	mem := memDir(t)
	if err := c.write(ctx, 2, false, "c", &Options{Files: 3, FS: mem}); err != nil {
		t.Fatal(err)
	}
	k, err := Open(ctx, "c", &OpenOptions{FS: mem})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	for _, how := range cuts {
		owner, q, err := k.Plan(5, how)
		if err != nil {
			t.Fatal(err)
		}
		most := 0.0
		for i, b := range k.Blocks() {
			if how == cutBlocks && owner[i] != int(int64(i)*5/int64(len(owner))) {
				t.Fatalf("block %d on rank %d", i, owner[i])
			}
			w := map[string]float64{cutBlocks: 1, cutBytes: float64(b.Bytes), cutCost: b.Cost}[how]
			most = max(most, w)
		}
		if q.Max > q.Mean+most || q.Eff < 0.8 {
			t.Errorf("%v: %+v", how, q)
		}
	}
	if _, _, err := k.Plan(5, "weight"); !errors.Is(err, ErrUsage) {
		t.Errorf("an unknown cut: %v", err)
	}
}
