package salvage

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"blobio/internal/crashtest"
	"blobio/internal/durable"
	"blobio/internal/scr/cachedir"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/testfiles"
	"blobio/internal/vfs"
	"blobio/scr/redset"
)

const (
	prefix  = "/p/lscratchb/user1/simulation123"
	catalog = "/nodelocal/user1/scr.1145655/cindex.scrinfo"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// cluster is a real prefix directory with its nodes, in memory.
type cluster struct{ *vfs.Mem }

func load(t testing.TB, vector string) cluster {
	t.Helper()
	m := vfs.NewMem()
	from := testfiles.Dir(t, "scr", vector)
	must(t, filepath.WalkDir(from, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		to := "/" + filepath.ToSlash(rel)
		if rest, ok := strings.CutPrefix(to, "/prefix"); ok {
			to = prefix + rest
		}
		if e.IsDir() {
			return m.MkdirAll(to)
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return vfs.WriteFile(m, to, data)
	}))
	syncAll(t, m, "/")
	return cluster{m}
}

func syncAll(t testing.TB, m *vfs.Mem, dir string) {
	list, err := m.ReadDir(dir)
	must(t, err)
	for _, e := range list {
		if e.IsDir() {
			syncAll(t, m, path.Join(dir, e.Name()))
		}
	}
	must(t, m.SyncDir(dir))
}

func nodeOn(fsys vfs.FS, i int) Node {
	return Node{Name: fmt.Sprint("node", i), FS: vfs.NewBind(fsys, []vfs.Bind{{At: "/nodelocal", To: fmt.Sprint("/nodes/node", i)}}), Catalog: catalog}
}

func nodesOn(fsys vfs.FS, ids ...int) (all []Node) {
	for _, i := range ids {
		all = append(all, nodeOn(fsys, i))
	}
	return all
}

// content is what the application wrote: rule of the vectors.
func content(rank, step, file int) []byte {
	b := make([]byte, 1000+37*rank)
	x := uint64(rank)<<40 ^ uint64(step)<<20 ^ uint64(file) ^ 0x9e3779b97f4a7c15
	var w [8]byte
	for i := 0; i < len(b); i += 8 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		binary.LittleEndian.PutUint64(w[:], x)
		copy(b[i:], w[:])
	}
	return b
}

// intact says whether all files of a checkpoint are in the prefix directory as they were written.
func intact(fsys vfs.FS, step, files int) error {
	for rank := range 4 {
		for f := range files {
			name := fmt.Sprintf("%s/ckpt.%d/rank_%d.%d.ckpt", prefix, step, rank, f)
			got, err := vfs.ReadFile(fsys, name, 1<<20)
			if err != nil {
				return err
			}
			if string(got) != string(content(rank, step, f)) {
				return fmt.Errorf("%s is not what was written", name)
			}
		}
	}
	return nil
}

func entry(t testing.TB, d *prefixdir.Dir, name string) prefixdir.Entry {
	t.Helper()
	x, _, _, err := d.LoadIndex()
	must(t, err)
	e, _ := x.Entry(name)
	return e
}

var vectors = []struct {
	name  string
	files int
}{{"xor_1_after_crash", 2}, {"partner_1_after_crash", 1}}

var now = func() time.Time { return time.Unix(1.8e9, 0) }

// 3 of 4 nodes are left, whichever: the whole postrun logic.
func TestRunVectors(t *testing.T) {
	for _, v := range vectors {
		for lost := range 4 {
			t.Run(fmt.Sprint(v.name, lost), func(t *testing.T) {
				c := load(t, v.name)
				d := prefixdir.Open(c, prefix)
				ids := slices.DeleteFunc([]int{0, 1, 2, 3}, func(i int) bool { return i == lost })
				rep, err := Run(context.Background(), RunOptions{Prefix: d, Nodes: nodesOn(c, ids...), Now: now})
				must(t, err)
				if rep.Safe != 4 || rep.Current != "ckpt.4" || len(rep.Tried) != 1 || len(rep.Tried[0].Result.Rebuilt) != v.files {
					t.Fatalf("%+v", rep)
				}
				must(t, intact(c, 4, v.files))
				must(t, intact(c, 3, v.files))
				e := entry(t, d, "ckpt.4")
				if !e.Complete || !e.Current || e.Flushed.IsZero() || e.Dataset.Files != int64(4*v.files) {
					t.Fatalf("%+v", e)
				}
				p, err := d.Locate(e)
				must(t, err)
				m, err := d.ReadMap(p)
				must(t, err)
				must(t, m.Check(e.Dataset))
				f, err := d.ReadFlush()
				must(t, err)
				if f.NeedFlush(4) {
					t.Error("still to be flushed")
				}
				rep, err = Run(context.Background(), RunOptions{Prefix: d, Nodes: nodesOn(c, ids...), Now: now})
				must(t, err)
				if rep.Safe != 4 || len(rep.Tried) != 0 {
					t.Fatalf("again: %+v", rep)
				}
			})
		}
	}
}

// Two lost nodes are too many; the older checkpoint is safe already and stays current.
func TestRunLost(t *testing.T) {
	c := load(t, "xor_1_after_crash")
	d := prefixdir.Open(c, prefix)
	rep, err := Run(context.Background(), RunOptions{Prefix: d, Nodes: nodesOn(c, 0, 2)})
	must(t, err)
	if rep.Safe != 3 || rep.Current != "ckpt.3" || len(rep.Tried) != 1 || !errors.Is(rep.Tried[0].Err, ErrMissing) {
		t.Fatalf("%+v", rep)
	}
	if e := entry(t, d, "ckpt.4"); e.Complete {
		t.Fatalf("%+v", e)
	}
	s, err := ScanDataset(context.Background(), ScanOptions{Prefix: d, ID: 4})
	must(t, err)
	if in := s.Inspect(); s.Size != 4 || !slices.Equal(in.Missing, []int{1, 3}) || len(in.Invalid) != 0 || in.OK() {
		t.Fatalf("%+v", in)
	}
	if tree := s.Tree(); tree.At("DLIST", "4", "MISSING").Len() != 2 || tree.At("DLIST", "4", "RANK2FILE", "RANK", "0", "FILE").Len() != 2 {
		t.Error("tree of the scan")
	}
	// A node comes back.
	rep, err = Run(context.Background(), RunOptions{Prefix: d, Nodes: nodesOn(c, 3)})
	must(t, err)
	if rep.Safe != 4 || rep.Current != "ckpt.4" {
		t.Fatalf("with one more: %+v", rep)
	}
	must(t, intact(c, 4, 2))
}

func scavengeAll(ctx context.Context, fsys vfs.FS, ids ...int) error {
	for _, n := range nodesOn(fsys, ids...) {
		if _, err := Scavenge(ctx, ScavengeOptions{Node: n, Prefix: prefixdir.Open(fsys, prefix), ID: 4, Workers: 1}); err != nil {
			return err
		}
	}
	return nil
}

func salvageAll(ctx context.Context, fsys vfs.FS, ids ...int) error {
	if err := scavengeAll(ctx, fsys, ids...); err != nil {
		return err
	}
	_, err := Index(ctx, Options{Prefix: prefixdir.Open(fsys, prefix), ID: 4, Current: true, Now: now})
	return err
}

// A crash before every operation that changes something: whatever is listed as complete is whole, and another attempt
// succeeds.
func TestCrash(t *testing.T) {
	ctx := context.Background()
	for i, v := range vectors {
		start := load(t, v.name)
		every := crashtest.Times(2, 1)
		if testing.Short() {
			every = 8
		}
		sc := crashtest.Scenario{Start: []*vfs.Mem{start.Mem}, Every: every, Seed: int64(i), Only: func(op vfs.Op) bool { return op.Kind.Changes() },
			Run: crashtest.One(func(fsys vfs.FS) error { return salvageAll(ctx, fsys, 0, 1, 3) })}
		for f := range sc.Faults(t, crashtest.Dies(errors.New("dead"))) {
			n := f.N
			o := vfs.CrashOptions{}
			if n/2%2 == 0 {
				o.Rand = rand.New(rand.NewSource(n))
			}
			after := f.Mem[0].CrashClone(o)
			d := prefixdir.Open(after, prefix)
			if e := entry(t, d, "ckpt.4"); e.Complete {
				if err := intact(after, 4, v.files); err != nil {
					t.Fatalf("%s: crash at %d: listed as complete, but %v", v.name, n, err)
				}
			}
			if err := intact(after, 3, v.files); err != nil {
				t.Fatalf("%s: crash at %d: %v", v.name, n, err)
			}
			if err := salvageAll(ctx, after, 0, 1, 3); err != nil {
				t.Fatalf("%s: crash at %d, again: %v", v.name, n, err)
			}
			if err := intact(after, 4, v.files); err != nil {
				t.Fatalf("%s: crash at %d, again: %v", v.name, n, err)
			}
			if e := entry(t, d, "ckpt.4"); !e.Complete || !e.Current {
				t.Fatalf("%s: crash at %d, again: %+v", v.name, n, e)
			}
			for _, name := range append(filesOf(t, after, prefix+"/ckpt.4"), filesOf(t, after, prefix+"/.scr/scr.dataset.4")...) {
				if isLeft(name) {
					t.Fatalf("%s: crash at %d: %s stays", v.name, n, name)
				}
			}
		}
	}
}

// flip changes a byte of a file.
func flip(t testing.TB, fsys vfs.FS, name string, at int64) {
	t.Helper()
	f, err := fsys.OpenRW(name)
	must(t, err)
	size, err := f.Size()
	must(t, err)
	b := []byte{0}
	_, err = f.ReadAt(b, at%size)
	must(t, err)
	b[0] ^= 0x10
	_, err = f.WriteAt(b, at%size)
	must(t, errors.Join(err, f.Close()))
}

// filesOf lists the files below a folder.
func filesOf(t testing.TB, fsys vfs.FS, dir string) (names []string) {
	list, err := fsys.ReadDir(dir)
	must(t, err)
	for _, e := range list {
		if name := path.Join(dir, e.Name()); e.IsDir() {
			names = append(names, filesOf(t, fsys, name)...)
		} else {
			names = append(names, name)
		}
	}
	return names
}

// A flipped byte in anything that was copied is mended, or the dataset is refused; nothing wrong is ever listed.
func TestFlips(t *testing.T) {
	ctx := context.Background()
	for _, v := range vectors {
		for _, nodes := range [][]int{{0, 1, 2, 3}, {0, 1, 3}} {
			start := load(t, v.name)
			must(t, scavengeAll(ctx, start, nodes...))
			syncAll(t, start.Mem, "/")
			names := append(filesOf(t, start, prefix+"/ckpt.4"), filesOf(t, start, prefix+"/.scr/scr.dataset.4")...)
			mended, refused := 0, 0
			for i, name := range names {
				for _, at := range []int64{0, 57, 700} {
					m := start.CrashClone(vfs.CrashOptions{})
					flip(t, m, name, at+int64(i))
					d := prefixdir.Open(m, prefix)
					_, err := Index(ctx, Options{Prefix: d, ID: 4, Current: true})
					e := entry(t, d, "ckpt.4")
					if err != nil {
						refused++
						if e.Complete || !errors.Is(err, ErrMissing) && !errors.Is(err, ErrCorrupt) {
							t.Fatalf("%s %v: %s: %v, %+v", v.name, nodes, name, err, e)
						}
						if len(nodes) == 4 {
							t.Errorf("%s: %s: one byte cannot be mended: %v", v.name, name, err)
						}
						// The nodes still have it.
						must(t, salvageAll(ctx, m, nodes...))
					} else {
						mended++
					}
					if err := intact(m, 4, v.files); err != nil {
						t.Fatalf("%s %v: %s: %v", v.name, nodes, name, err)
					}
				}
			}
			t.Logf("%s, nodes %v: %d mended, %d refused", v.name, nodes, mended, refused)
		}
	}
}

// The cache of a node is damaged: sizes are all that the reference records, what is too short or gone is rebuilt.
func TestDamagedCache(t *testing.T) {
	ctx := context.Background()
	for name, spoil := range map[string]func(t *testing.T, m *vfs.Mem, dir string){
		"file gone":   func(t *testing.T, m *vfs.Mem, dir string) { must(t, m.Remove(dir+"/rank_2.0.ckpt")) },
		"map gone":    func(t *testing.T, m *vfs.Mem, dir string) { must(t, m.Remove(dir+"/.scr/filemap_2")) },
		"map damaged": func(t *testing.T, m *vfs.Mem, dir string) { flip(t, m, dir+"/.scr/filemap_2", 99) },
		"metadata gone": func(t *testing.T, m *vfs.Mem, dir string) {
			for _, n := range filesOf(t, m, dir+"/.scr") {
				must(t, m.Remove(n))
			}
		},
		"parity short": func(t *testing.T, m *vfs.Mem, dir string) {
			for _, n := range filesOf(t, m, dir+"/.scr") {
				if strings.Contains(n, "mem_3_of_4") {
					f, err := m.OpenRW(n)
					must(t, err)
					must(t, errors.Join(f.Truncate(700), f.Close()))
				}
			}
		},
		"folder gone": func(t *testing.T, m *vfs.Mem, dir string) {
			must(t, cachedir.Delete(m, dir))
		},
	} {
		for _, v := range vectors {
			t.Run(name+" "+v.name, func(t *testing.T) {
				c := load(t, v.name)
				spoil(t, c.Mem, "/nodes/node2/user1/scr.1145655/scr.dataset.4")
				must(t, salvageAll(ctx, c, 0, 1, 2, 3))
				must(t, intact(c, 4, v.files))
			})
		}
	}
}

// A byte that changed in the cache before it was copied, of files without checksums: the redundancy tells that something is wrong
// and not what, so nothing is listed. TestFlips is of changes after the copy.
func TestRebuildDoubt(t *testing.T) {
	c := load(t, "xor_1_after_crash")
	flip(t, c, "/nodes/node2/user1/scr.1145655/scr.dataset.4/rank_2.0.ckpt", 57)
	var doubt *redset.DoubtError
	if err := salvageAll(context.Background(), c, 0, 1, 2, 3); !errors.As(err, &doubt) {
		t.Errorf("%v, want a DoubtError", err)
	}
	if e := entry(t, prefixdir.Open(c, prefix), "ckpt.4"); e.Complete {
		t.Errorf("%+v", e)
	}
}

// All files that the maps list are there, but the record of the dataset has more, or more bytes.
func TestRebuildTotals(t *testing.T) {
	ctx := context.Background()
	c := load(t, "xor_1_after_crash")
	d := prefixdir.Open(c, prefix)
	must(t, scavengeAll(ctx, c, 0, 1, 2, 3))
	res, err := Rebuild(ctx, Options{Prefix: d, ID: 4})
	must(t, err)
	for want, change := range map[error]func(ds *prefixdir.Dataset){
		ErrMissing: func(ds *prefixdir.Dataset) { ds.Files++ },
		ErrCorrupt: func(ds *prefixdir.Dataset) { ds.Size++ },
	} {
		ds := res.Dataset
		change(&ds)
		if _, err := Rebuild(ctx, Options{Prefix: d, ID: 4, Dataset: ds}); !errors.Is(err, want) {
			t.Errorf("%d files and %d bytes: %v, want %v", ds.Files, ds.Size, err, want)
		}
	}
}

func TestScavengeRules(t *testing.T) {
	ctx := context.Background()
	c := load(t, "xor_1_after_crash")
	d := prefixdir.Open(c, prefix)
	n := nodeOn(c, 1)
	other := entry(t, d, "ckpt.3").Dataset
	other.ID, other.Name = 4, "ckpt.4"
	other.Created = other.Created.Add(time.Second * 9)
	got, err := Scavenge(ctx, ScavengeOptions{Node: n, Prefix: d, ID: 4, Dataset: other})
	must(t, err)
	if !got.Stale || len(got.Ranks) != 0 {
		t.Errorf("another dataset of the number: %+v", got)
	}
	for _, current := range []string{"ckpt.3", ""} {
		must(t, d.UpdateIndex(ctx, func(x *prefixdir.Index) error { return x.SetCurrent(current) }))
		got, err = Scavenge(ctx, ScavengeOptions{Node: n, Prefix: d, ID: 3})
		must(t, err)
		if !got.Safe || len(got.Ranks) != 0 {
			t.Errorf("complete already, current is %q: %+v", current, got)
		}
	}
	got, err = Scavenge(ctx, ScavengeOptions{Node: n, Prefix: d, ID: 77})
	must(t, err)
	if len(got.Ranks) != 0 {
		t.Errorf("not there: %+v", got)
	}
	got, err = Scavenge(ctx, ScavengeOptions{Node: n, Prefix: d, ID: 4})
	must(t, err)
	if len(got.Ranks) != 1 || got.Ranks[0].Rank != 1 || len(got.Ranks[0].Files) != 2 || len(got.Ranks[0].Lost) != 0 || !got.Ranks[0].Mapped || got.Bytes() < 2*1037 {
		t.Errorf("%+v", got)
	}
	if e := entry(t, d, "ckpt.4"); e.ID != 4 || e.Complete {
		t.Errorf("the index: %+v", e)
	}
	ids, err := Datasets(d)
	if err != nil || !slices.Equal(ids, []int{4}) {
		t.Errorf("datasets %v, %v", ids, err)
	}
	if _, err := Scavenge(ctx, ScavengeOptions{Node: n, Prefix: d, ID: 4, Was: "/elsewhere"}); !errors.Is(err, ErrOutside) {
		t.Errorf("outside of the prefix directory: %v", err)
	}
	if _, err := Scavenge(ctx, ScavengeOptions{Node: n, Prefix: d}); !errors.Is(err, ErrUsage) {
		t.Errorf("no number: %v", err)
	}
	if _, err := Index(ctx, Options{Prefix: d, ID: 4}); !errors.Is(err, ErrMissing) {
		t.Errorf("one rank of four: %v", err)
	}
	if _, err := Rebuild(ctx, Options{Prefix: d, ID: 5}); !errors.Is(err, ErrMissing) {
		t.Errorf("nothing: %v", err)
	}
	done, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := Scavenge(done, ScavengeOptions{Node: n, Prefix: d, ID: 4}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// What Scavenge says it has copied is there after a power cut, before anything else is done with it: the nodes may be gone then.
func TestScavengeDurable(t *testing.T) {
	for _, v := range vectors {
		c := load(t, v.name)
		must(t, scavengeAll(context.Background(), c, 0, 1, 2, 3))
		if err := intact(c.CrashClone(vfs.CrashOptions{}), 4, v.files); err != nil {
			t.Errorf("%s: %v", v.name, err)
		}
	}
}

// A dataset that is being salvaged again has no summary meanwhile: an index that is made anew would list it as complete.
func TestScavengeRemovesSummary(t *testing.T) {
	ctx := context.Background()
	c := load(t, "xor_1_after_crash")
	must(t, salvageAll(ctx, c, 0, 1, 2, 3))
	d := prefixdir.Open(c, prefix)
	must(t, d.UpdateIndex(ctx, func(x *prefixdir.Index) error { return x.SetComplete("ckpt.4", false) }))
	must(t, scavengeAll(ctx, c, 1))
	after := prefixdir.Open(c.CrashClone(vfs.CrashOptions{}), prefix)
	x, _, err := after.Rebuild()
	must(t, err)
	if e, _ := x.Entry("ckpt.4"); e.Complete {
		t.Errorf("made anew, the index has %+v", e)
	}
}

// A file of which the application never said that it is complete is not copied as one that is.
func TestScavengeIncompleteFile(t *testing.T) {
	c := load(t, "xor_1_after_crash")
	n := nodeOn(c, 1)
	name := cachedir.FilemapName("/nodelocal/user1/scr.1145655/scr.dataset.4", 1)
	m, err := cachedir.ReadFilemap(n.FS, name)
	must(t, err)
	f := m.Files()[0]
	f.Meta.Complete = false
	m.Put(f)
	must(t, m.Write(n.FS, name))
	got, err := Scavenge(context.Background(), ScavengeOptions{Node: n, Prefix: prefixdir.Open(c, prefix), ID: 4})
	must(t, err)
	if r := got.Ranks[0]; len(r.Files) != 1 || r.Lost[f.Name] == "" {
		t.Errorf("%+v", r)
	}
	if _, err := c.Stat(path.Join(prefix, "ckpt.4", f.Meta.Name)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s was copied: %v", f.Meta.Name, err)
	}
}

// The prefix directory was moved.
func TestMoved(t *testing.T) {
	ctx := context.Background()
	c := load(t, "xor_1_after_crash")
	must(t, c.MkdirAll("/new"))
	d := prefixdir.Open(c, "/new")
	for _, n := range nodesOn(c, 1, 2, 3) {
		_, err := Scavenge(ctx, ScavengeOptions{Node: n, Prefix: d, ID: 4, Was: prefix})
		must(t, err)
	}
	res, err := Index(ctx, Options{Prefix: d, ID: 4, Was: prefix, Current: true})
	must(t, err)
	files, bytes := res.Totals()
	if files != 8 || bytes != 8444 || res.Ranks != 4 || !slices.Equal(res.Rebuilt, []string{"ckpt.4/rank_0.0.ckpt", "ckpt.4/rank_0.1.ckpt"}) || len(res.Meta) == 0 {
		t.Errorf("%+v", res)
	}
	must(t, c.Rename("/new/ckpt.4/rank_0.0.ckpt", "/x")) // the rest is there
	if _, err := vfs.ReadFile(c, "/new/ckpt.4/rank_0.1.ckpt", 1<<20); err != nil {
		t.Error(err)
	}
}

// Output is saved oldest first, and a checkpoint that is newer than output that is lost is not.
func TestRunOutputs(t *testing.T) {
	c := load(t, "xor_1_after_crash")
	d := prefixdir.Open(c, prefix)
	f, err := d.ReadFlush()
	must(t, err)
	// Dataset 4 is output and on no node.
	e, _ := f.Entry(4)
	ds := e.Dataset
	ds.Output, ds.Checkpoint = true, true
	must(t, f.Put(ds, prefixdir.Cache))
	must(t, d.WriteFlush(f))
	asked := []int{}
	rep, err := Run(context.Background(), RunOptions{Prefix: d, Nodes: nodesOn(c, 0, 1), Scavenge: func(ctx context.Context, o ScavengeOptions) (*Copied, error) {
		if o.Name == "node0" {
			asked = append(asked, o.ID)
			return &Copied{}, nil
		}
		return nil, errors.New("unreachable")
	}})
	must(t, err)
	if !slices.Equal(asked, []int{4}) || rep.Safe != 3 || len(rep.Tried) != 1 || !rep.Tried[0].AsOutput || rep.Tried[0].Nodes["node1"] == nil {
		t.Fatalf("asked for %v: %+v", asked, rep)
	}
	rep, err = Run(context.Background(), RunOptions{Prefix: d, Nodes: nodesOn(c, 0, 1, 2)})
	must(t, err)
	if rep.Safe != 4 || rep.Current != "ckpt.4" || len(rep.Tried) != 1 {
		t.Fatalf("%+v", rep)
	}
	must(t, intact(c, 4, 2))
}

// Redundancy that was being made when the run died is not used.
func TestUnfinishedGroup(t *testing.T) {
	ctx := context.Background()
	for _, lost := range []int{3, 4} {
		c := load(t, "xor_1_after_crash")
		for _, n := range nodesOn(c, 0, 1, 2, 3) {
			must(t, cachedir.WriteState(n.FS, "/nodelocal/user1/scr.1145655/scr.dataset.4", cachedir.DataGroup, cachedir.StateCorrupt))
		}
		ids := []int{0, 1, 2, 3}[:lost]
		err := salvageAll(ctx, c, ids...)
		if lost == 4 { // all files are there
			must(t, err)
			must(t, intact(c, 4, 2))
		} else if !errors.Is(err, ErrMissing) {
			t.Errorf("without node 3: %v", err)
		}
	}
}

// Unfinished files beside those of the dataset are removed if they are as old as an earlier attempt: others may be writing there.
func TestOthersWrite(t *testing.T) {
	c := load(t, "xor_1_after_crash")
	must(t, scavengeAll(context.Background(), c, 0, 1, 2))
	temp := func(owner string, at time.Time) string {
		name := durable.TempName(prefix+"/ckpt.4/x.nc", owner)
		must(t, vfs.WriteFile(c, name, []byte("half")))
		must(t, c.SetFileMeta(name, vfs.Meta{Mtime: at}))
		return name
	}
	old, young := temp("old", time.Now().Add(-time.Hour)), temp("young", time.Now().Add(time.Hour))
	must(t, salvageAll(context.Background(), c, 0, 1, 2))
	if _, err := c.Stat(old); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s: %v", old, err)
	}
	if _, err := c.Stat(young); err != nil {
		t.Error(err)
	}
}

// Deleting a dataset takes with it all that was scavenged.
func TestDelete(t *testing.T) {
	ctx := context.Background()
	c := load(t, "xor_1_after_crash")
	must(t, salvageAll(ctx, c, 0, 1, 2))
	d := prefixdir.Open(c, prefix)
	must(t, d.Delete(ctx, "ckpt.4"))
	for _, dir := range []string{prefix + "/ckpt.4", d.DatasetDir(4)} {
		if _, err := c.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v, left are %v", dir, err, filesOf(t, c, dir))
		}
	}
}

// One operation fails: either that is told, or all is as it should be nevertheless.
func TestFaults(t *testing.T) {
	ctx := context.Background()
	for i, v := range vectors {
		start := load(t, v.name)
		sc := crashtest.Scenario{Start: []*vfs.Mem{start.Mem}, Every: 16, Seed: int64(i), Run: crashtest.One(func(fsys vfs.FS) error { return salvageAll(ctx, fsys, 0, 1, 3) })}
		told := 0
		for f := range sc.Faults(t, crashtest.Fails(errors.New("no luck"))) {
			n, m, err := f.N, f.Mem[0], f.Err
			e := entry(t, prefixdir.Open(m, prefix), "ckpt.4")
			if err == nil && !e.Complete {
				t.Fatalf("%s: operation %d: no error, and not complete", v.name, n)
			}
			if err != nil {
				told++
				must(t, salvageAll(ctx, m, 0, 1, 3))
			}
			if err := intact(m, 4, v.files); err != nil {
				t.Fatalf("%s: operation %d: %v", v.name, n, err)
			}
		}
		t.Logf("%s: %d of the errors tried were told", v.name, told)
	}
}

// What is listed of a salvaged dataset is what SCR itself listed of it.
func TestAsReference(t *testing.T) {
	ctx := context.Background()
	for _, v := range vectors {
		c := load(t, v.name)
		must(t, c.MkdirAll("/new"))
		d, real := prefixdir.Open(c, "/new"), prefixdir.Open(c, prefix)
		for _, n := range nodesOn(c, 0, 1, 2) {
			_, err := Scavenge(ctx, ScavengeOptions{Node: n, Prefix: d, ID: 3, Was: prefix})
			must(t, err)
		}
		_, err := Index(ctx, Options{Prefix: d, ID: 3, Was: prefix, Current: true})
		must(t, err)
		paths := func(d *prefixdir.Dir) (all []string) {
			m, err := d.ReadMap(d.Place(3))
			must(t, err)
			for rank, list := range m.Files {
				for _, f := range list {
					all = append(all, fmt.Sprint(rank, " ", f.Path))
				}
			}
			slices.Sort(all)
			return all
		}
		if got, want := paths(d), paths(real); !slices.Equal(got, want) {
			t.Errorf("%s: map %v, want %v", v.name, got, want)
		}
		ours, err := d.ReadSummary(d.Place(3))
		must(t, err)
		theirs, err := real.ReadSummary(real.Place(3))
		must(t, err)
		if !ours.Tree.Equal(theirs.Tree) {
			t.Errorf("%s: another summary", v.name)
		}
		a, b := entry(t, d, "ckpt.3"), entry(t, real, "ckpt.3")
		if a.ID != b.ID || a.Complete != b.Complete || a.Current != b.Current || !a.Dataset.Tree().Equal(b.Dataset.Tree()) {
			t.Errorf("%s: entry %+v, want %+v", v.name, a, b)
		}
	}
}
