package versioned

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"blobio/comm"
	"blobio/internal/crashtest"
	"blobio/internal/vfs"
	"blobio/scr/redset"
)

// nodesOf makes the disks of nodes, each with the directory d.
func nodesOf(t testing.TB, n int) []*vfs.Mem {
	t.Helper()
	disks := make([]*vfs.Mem, n)
	for i := range disks {
		disks[i] = vfs.NewMem()
		if err := errors.Join(disks[i].MkdirAll("d"), disks[i].SyncDir(".")); err != nil {
			t.Fatal(err)
		}
	}
	return disks
}

// onNodes runs f on two ranks of each node, with the node's store.
func onNodes(disks []*vfs.Mem, o redset.Options, isolate bool, f func(ctx context.Context, c comm.Comm, st *Store) error) error {
	fss := make([]vfs.FS, len(disks))
	for i := range fss {
		fss[i] = disks[i]
	}
	return onFS(fss, o, isolate, f)
}

func onFS(fss []vfs.FS, o redset.Options, isolate bool, f func(ctx context.Context, c comm.Comm, st *Store) error) error {
	return comm.Run(bg, 2*len(fss), &comm.Options{RanksPerNode: 2}, func(ctx context.Context, c comm.Comm) error {
		st := &Store{Dir: "d", FS: fss[c.Rank()/2], Private: true, Redundancy: &o}
		if isolate {
			c = comm.Isolate(c)
		}
		return f(ctx, c, st)
	})
}

var schemes = []struct {
	name  string
	o     redset.Options
	bears int // losses of nodes
}{{"PARTNER", redset.Options{Scheme: redset.Partner}, 1}, {"XOR", redset.Options{Scheme: redset.XOR}, 1}, {"RS", redset.Options{Scheme: redset.RS, K: 2}, 2}}

// sameVersions compares all versions and the current state with those of story.
func sameVersions(ctx context.Context, a *Array, newest int64, remote bool) error {
	if a.Newest() != newest {
		return fmt.Errorf("newest version %d, want %d", a.Newest(), newest)
	}
	got := make([]float64, 640)
	for _, v := range a.Versions() {
		err := GetAt(ctx, a, v.Number, []int64{0}, []int64{640}, got)
		if remote && errors.Is(err, ErrRemote) {
			continue
		}
		if err != nil || !slices.Equal(got, storyState(v.Number)) {
			return fmt.Errorf("version %d: %v", v.Number, err)
		}
	}
	if err := Get(ctx, a, []int64{0}, []int64{640}, got); err != nil || !slices.Equal(got, storyState(newest)) {
		return fmt.Errorf("current state: %v", err)
	}
	return nil
}

// V11, V14: nodes are lost with their directories. What the scheme bears is rebuilt at Open, byte for byte, on as many nodes as before
// (the lost ones come back empty, or their places are taken in another order), or on fewer; what it does not is an error on all ranks.
func TestRedundancy(t *testing.T) {
	const nodes = 5
	for _, s := range schemes {
		for _, isolate := range []bool{false, true} {
			for lost := range s.bears + 2 {
				for _, how := range []string{"same", "reversed", "fewer"} {
					name := fmt.Sprintf("%s, %d lost, %s, isolated %v", s.name, lost, how, isolate)
					if lost == 0 && how == "fewer" || !long && isolate && (s.o.Scheme != redset.XOR || how == "reversed") {
						continue
					}
					disks := nodesOf(t, nodes)
					if err := onNodes(disks, s.o, isolate, func(ctx context.Context, c comm.Comm, st *Store) error {
						return story(ctx, c, st, nil, func(int64) {})
					}); err != nil {
						t.Fatalf("%s: %v", name, err)
					}
					before := dataFiles(t, disks...)
					for k := range lost {
						disks[2*k] = nodesOf(t, 1)[0] // partners are neighbours: with one replica two neighbours would be too many
						if s.bears == 1 {
							disks[k] = nodesOf(t, 1)[0]
						}
					}
					switch how {
					case "reversed":
						slices.Reverse(disks)
					case "fewer":
						disks = slices.DeleteFunc(disks, func(m *vfs.Mem) bool { l, _ := m.ReadDir("d"); return len(l) == 0 })
					}
					var mu sync.Mutex
					fails := 0
					err := onNodes(disks, s.o, isolate, func(ctx context.Context, c comm.Comm, st *Store) error {
						a, err := Open(ctx, c, st, "a", nil)
						if err != nil {
							mu.Lock()
							fails++
							mu.Unlock()
							var lost *redset.LostError
							var lone *redset.LoneError // too few nodes are left for the scheme
							if c.Rank() == 0 && !errors.As(err, &lost) && !errors.As(err, &lone) {
								return fmt.Errorf("no *redset.LostError: %w", err)
							}
							return nil
						}
						if err := sameVersions(ctx, a, storySteps, isolate); err != nil {
							return err
						}
						return a.Close(ctx)
					})
					if err != nil {
						t.Fatalf("%s: %v", name, err)
					}
					if lost > s.bears {
						if fails != 2*len(disks) {
							t.Fatalf("%s: %d ranks of %d have an error", name, fails, 2*len(disks))
						}
						continue
					}
					if fails > 0 {
						t.Fatalf("%s: %d ranks have an error", name, fails)
					}
					after := dataFiles(t, disks...)
					if !slices.Equal(before, after) {
						t.Fatalf("%s: files\n%v\nwant\n%v", name, after, before)
					}
					// It is protected again: what was rebuilt survives the next loss.
					disks[len(disks)-1] = nodesOf(t, 1)[0]
					if err := onNodes(disks, s.o, isolate, func(ctx context.Context, c comm.Comm, st *Store) error {
						a, err := Open(ctx, c, st, "a", nil)
						if err != nil {
							return err
						}
						if err := sameVersions(ctx, a, storySteps, isolate); err != nil {
							return err
						}
						if n, err := a.Inc(ctx, 1, ""); err != nil || n != storySteps+1 {
							return fmt.Errorf("%d, %w", n, err)
						}
						return a.Close(ctx)
					}); err != nil {
						t.Fatalf("%s, and one more: %v", name, err)
					}
				}
			}
		}
	}
}

// dataFiles are names and contents of the data files of all nodes.
func dataFiles(t testing.TB, disks ...*vfs.Mem) (out []string) {
	t.Helper()
	for _, d := range disks {
		list, _ := d.ReadDir("d/a")
		for _, e := range list {
			if !isData(e.Name()) {
				continue
			}
			b, err := vfs.ReadFile(d, filepath.Join("d/a", e.Name()), 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, e.Name()+string(b))
		}
	}
	slices.Sort(out)
	return out
}

// A file that was cut while there was no redundancy is not protected as what it is now: the opening that begins to protect says what is wrong,
// on all ranks.
func TestCutFileIsNotProtected(t *testing.T) {
	for _, node := range []int{0, 2} {
		disks := nodesOf(t, 3)
		plain := func(st *Store) *Store { s := *st; s.Redundancy = nil; return &s }
		o := redset.Options{Scheme: redset.XOR}
		if err := onNodes(disks, o, false, func(ctx context.Context, c comm.Comm, st *Store) error {
			return story(ctx, c, plain(st), nil, func(int64) {})
		}); err != nil {
			t.Fatal(err)
		}
		list, err := disks[node].ReadDir("d/a")
		if err != nil {
			t.Fatal(err)
		}
		k := slices.IndexFunc(list, func(e fs.DirEntry) bool { return isData(e.Name()) })
		f, err := disks[node].OpenRW("d/a/" + list[k].Name())
		if err != nil {
			t.Fatal(err)
		}
		size, err := f.Size()
		if err := errors.Join(err, f.Truncate(size-1), f.Close()); err != nil {
			t.Fatal(err)
		}
		var fails atomic.Int64
		if err := onNodes(disks, o, false, func(ctx context.Context, c comm.Comm, st *Store) error {
			if _, err := Open(ctx, c, st, "a", nil); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), list[k].Name()) {
				return fmt.Errorf("file of node %d is cut: %w", node, err)
			}
			fails.Add(1)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if fails.Load() != 6 {
			t.Errorf("%d ranks have an error", fails.Load())
		}
	}
}

// A store is not left with more than the record names, and what is dropped takes its redundancy with it.
func TestRedundancyGoes(t *testing.T) {
	disks := nodesOf(t, 3)
	o := redset.Options{Scheme: redset.XOR}
	if err := onNodes(disks, o, false, func(ctx context.Context, c comm.Comm, st *Store) error {
		a, err := Create(ctx, c, st, Spec{Name: "a", Type: Float64, Shape: []int64{4096}, Chunk: 512, Keep: Retention{Last: 2}}, nil)
		if err != nil {
			return err
		}
		for v := range 40 {
			lo := int64(v*997) % 4000 // one chunk or two
			if c.Rank() == v%c.Size() {
				if err := Put(ctx, a, []int64{lo}, []int64{lo + 64}, seq(v, 64, 1)); err != nil {
					return err
				}
			}
			if v == 0 {
				if err := Put(ctx, a, []int64{0}, []int64{4096}, seq(1, 4096, 1)); err != nil {
					return err
				}
			}
			if _, err := a.Inc(ctx, 1, ""); err != nil {
				return err
			}
		}
		if err := a.Drop(ctx, 39); err != nil {
			return err
		}
		return a.Close(ctx)
	}); err != nil {
		t.Fatal(err)
	}
	total := int64(0)
	for i, d := range disks {
		rec, err := readRecord(d, "d/a")
		if err != nil {
			t.Fatal(err)
		}
		list, err := d.ReadDir("d/a")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			if rec.stray(e.Name()) {
				t.Errorf("node %d: %s is left", i, e.Name())
			}
			if info, err := e.Info(); err == nil && isData(e.Name()) {
				total += info.Size()
			}
		}
		if len(rec.Sets) == 0 {
			t.Error("nothing is protected")
		}
	}
	if most := int64(4 * 4096 * 8); total > most { // (k+1) sizes, and tables
		t.Errorf("%d bytes, want at most %d", total, most)
	}
}

// V12 of a protected store: the power is cut before every operation that changes something, and then a node does not come back.
func TestRedundancyCrash(t *testing.T) {
	const nodes = 3
	o := redset.Options{Scheme: redset.XOR}
	var now atomic.Int64
	sc := crashtest.Scenario{Start: nodesOf(t, nodes), Torn: 1, Every: crashtest.Times(9, 1), Mark: now.Load, Run: func(d *crashtest.Disks) error {
		return onFS(d.FS, o, false, func(ctx context.Context, c comm.Comm, st *Store) error { return story(ctx, c, st, nil, now.Store) })
	}}
	for k, cr := range sc.Cuts(t) {
		if cr.Strict != (k/2%2 == 0) { // one of the two states of each cut
			continue
		}
		if lost := k / 2 % (nodes + 1); lost < nodes {
			cr.When += fmt.Sprint(", and node ", lost, " is lost")
			cr.Mem[lost] = nodesOf(t, 1)[0]
		}
		err := onNodes(cr.Mem, o, false, func(ctx context.Context, c comm.Comm, st *Store) error {
			a, err := Open(ctx, c, st, "a", nil)
			if errors.Is(err, ErrMissing) && cr.Mark <= 1 {
				return nil
			}
			if err != nil {
				return err
			}
			if v := a.Newest(); v != cr.Mark && v != cr.Mark-1 {
				return fmt.Errorf("version %d in step %d", v, cr.Mark)
			}
			if err := sameVersions(ctx, a, a.Newest(), false); err != nil {
				return err
			}
			if err := a.Close(ctx); err != nil {
				return err
			}
			return story(ctx, c, st, nil, func(int64) {})
		})
		if err != nil {
			t.Fatalf("%s: %v", cr.When, err)
		}
	}
}

// Every operation of a protected store fails once: an error on every rank, and the same versions after it.
func TestRedundancyFaults(t *testing.T) {
	o := redset.Options{Scheme: redset.XOR}
	var now atomic.Int64
	errs := make([]error, 6)
	sc := crashtest.Scenario{Start: nodesOf(t, 3), Every: crashtest.Times(31, 1), Run: func(d *crashtest.Disks) error {
		now.Store(1)
		return onFS(d.FS, o, false, func(ctx context.Context, c comm.Comm, st *Store) error {
			errs[c.Rank()] = story(ctx, c, st, nil, now.Store)
			return nil
		})
	}}
	for f := range sc.Faults(t, crashtest.Fails(errors.New("injected"))) {
		if f.Err != nil {
			t.Fatalf("%s: %v", f.When, f.Err)
		}
		for r, e := range errs {
			if (e == nil) != (errs[0] == nil) {
				t.Fatalf("%s: rank %d: %v, rank 0: %v", f.When, r, e, errs[0])
			}
		}
		now := now.Load()
		if err := onNodes(f.Mem, o, false, func(ctx context.Context, c comm.Comm, st *Store) error {
			a, err := Open(ctx, c, st, "a", nil)
			if errors.Is(err, ErrMissing) && now <= 1 {
				return nil
			}
			if err != nil {
				return err
			}
			if v := a.Newest(); v != now && v != now-1 {
				return fmt.Errorf("version %d in step %d", v, now)
			}
			return errors.Join(sameVersions(ctx, a, a.Newest(), false), a.Close(ctx))
		}); err != nil {
			t.Fatalf("%s: %v; then: %v", f.When, errs[0], err)
		}
	}
}
