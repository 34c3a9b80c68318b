package salvage

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math/rand"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"blobio/internal/base/crashtest"
	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/cachedir"
	"blobio/internal/scr/prefixdir"
)

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
		must(t, d.Index.Update(ctx, func(x *prefixdir.Index) error { return x.SetCurrent(current) }))
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
	if len(got.Ranks) != 1 || got.Ranks[0].Rank != 1 || len(got.Ranks[0].Files) != 2 || len(got.Ranks[0].Lost) != 0 || !got.Ranks[0].Mapped || got.Ranks[0].Bytes < 2*1037 {
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
	if _, err := Scavenge(ctx, ScavengeOptions{Node: n, Prefix: d}); !errors.Is(err, fault.ErrUsage) {
		t.Errorf("no number: %v", err)
	}
	if _, err := Index(ctx, Options{Prefix: d, ID: 4}); !errors.Is(err, fault.ErrMissing) {
		t.Errorf("one rank of four: %v", err)
	}
	if _, err := Rebuild(ctx, Options{Prefix: d, ID: 5}); !errors.Is(err, fault.ErrMissing) {
		t.Errorf("nothing: %v", err)
	}
	done, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := Scavenge(done, ScavengeOptions{Node: n, Prefix: d, ID: 4}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// Files that Scavenge reports as copied must survive a power loss from that moment on, because the nodes may be lost then.
func TestScavengeDurable(t *testing.T) {
	for _, v := range vectors {
		c := load(t, v.name)
		must(t, scavengeAll(context.Background(), c, 0, 1, 2, 3))
		if err := intact(c.CrashClone(vfs.CrashOptions{}), 4, v.files); err != nil {
			t.Errorf("%s: %v", v.name, err)
		}
	}
}

// A second salvage of a dataset must first remove the summary. Otherwise a rebuilt index would list the dataset as complete.
func TestScavengeRemovesSummary(t *testing.T) {
	ctx := context.Background()
	c := load(t, "xor_1_after_crash")
	must(t, salvageAll(ctx, c, 0, 1, 2, 3))
	d := prefixdir.Open(c, prefix)
	must(t, d.Index.Update(ctx, func(x *prefixdir.Index) error { return x.SetComplete("ckpt.4", false) }))
	must(t, scavengeAll(ctx, c, 1))
	after := prefixdir.Open(c.CrashClone(vfs.CrashOptions{}), prefix)
	x, _, err := after.Index.Rebuild()
	must(t, err)
	if e, _ := x.Entry("ckpt.4"); e.Complete {
		t.Errorf("made anew, the index has %+v", e)
	}
}

// A file that the application never completed must not be copied as complete.
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

// Redundancy that was unfinished when the run died must not be used.
func TestUnfinishedGroup(t *testing.T) {
	ctx := context.Background()
	for _, lost := range []int{3, 4} {
		c := load(t, "xor_1_after_crash")
		for _, n := range nodesOn(c, 0, 1, 2, 3) {
			must(t, cachedir.WriteState(n.FS, "/nodelocal/user1/scr.1145655/scr.dataset.4", cachedir.DataGroup, cachedir.StateCorrupt))
		}
		ids := []int{0, 1, 2, 3}[:lost]
		err := salvageAll(ctx, c, ids...)
		if lost == 4 { // all application files exist
			must(t, err)
			must(t, intact(c, 4, 2))
		} else if !errors.Is(err, fault.ErrMissing) {
			t.Errorf("without node 3: %v", err)
		}
	}
}

// Unfinished files in a dataset's folder are removed only if they were written before this attempt, because other programs may
// write to the folder.
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

// TestScavengeOrder cuts the power to check the order of writes. A checksum record must be written after the redundancy files
// that it names, and a file map after its checksum record. At the end all files must exist.
func TestScavengeOrder(t *testing.T) {
	ctx := context.Background()
	holds := func(fsys vfs.FS, what string) (maps, redundancy int) {
		p, err := newTarget(prefixdir.Open(fsys, prefix), "", 4)
		must(t, err)
		for rank := range 4 {
			_, err := fsys.Stat(p.filemap(rank))
			mapped := err == nil
			s, err := readSums(fsys, p.sums(rank))
			switch {
			case errors.Is(err, fs.ErrNotExist) && !mapped:
				continue
			case err != nil:
				t.Errorf("%s: rank %d: %v", what, rank, err)
			case mapped:
				maps++
			}
			for name, want := range s.meta {
				crc, size, err := vfs.SumFile(ctx, fsys, p.metaFile(name))
				if err == nil {
					err = want.check(name, size, crc)
				}
				if err != nil {
					t.Errorf("%s: rank %d: %v", what, rank, err)
				}
				redundancy++
			}
		}
		return maps, redundancy
	}
	c := load(t, "xor_1_after_crash")
	sc := crashtest.Scenario{Start: []*vfs.Mem{c.CrashClone(vfs.CrashOptions{})}, Every: 1,
		Only: func(op vfs.Op) bool {
			return op.Kind.Changes() && strings.Contains(op.Name+op.New, "/.scr/scr.dataset.4")
		},
		Run: crashtest.One(func(fsys vfs.FS) error { return scavengeAll(ctx, fsys, 0) })}
	for f := range sc.Faults(t, crashtest.Dies(errors.New("dead"))) {
		for seed := range int64(8) {
			holds(f.Mem[0].CrashClone(vfs.CrashOptions{Rand: rand.New(rand.NewSource(seed))}), fmt.Sprintf("operation %d, seed %d", f.N, seed))
		}
	}
	must(t, scavengeAll(ctx, c, 0, 1, 2, 3))
	if maps, redundancy := holds(c.CrashClone(vfs.CrashOptions{}), "at the end"); maps != 4 || redundancy == 0 {
		t.Errorf("at the end: %d file maps, %d redundancy files", maps, redundancy)
	}
}

// A file that has the right size but does not match its checksum in the file map is treated as lost. Scavenge must leave no
// copy of it in the prefix directory.
func TestScavengeChecksum(t *testing.T) {
	ctx := context.Background()
	for _, bad := range []bool{false, true} {
		c := load(t, "xor_1_after_crash")
		dir := "/nodes/node2/user1/scr.1145655/scr.dataset.4"
		m, err := cachedir.ReadFilemap(c, dir+"/.scr/filemap_2")
		must(t, err)
		f := m.Files()[0]
		f.Meta.CRC, f.Meta.HasCRC = crc32.ChecksumIEEE(content(2, 4, 0)), true
		m.Put(f)
		must(t, m.Write(c, dir+"/.scr/filemap_2"))
		if bad {
			flip(t, c, dir+"/rank_2.0.ckpt", 77)
		}
		got, err := Scavenge(ctx, ScavengeOptions{Node: nodeOn(c, 2), Prefix: prefixdir.Open(c, prefix), ID: 4})
		must(t, err)
		_, serr := c.Stat(prefix + "/ckpt.4/rank_2.0.ckpt")
		if r := got.Ranks[0]; (len(r.Lost) == 1) != bad || (len(r.Files) == 1) != bad || errors.Is(serr, fs.ErrNotExist) != bad {
			t.Errorf("damaged %v: %+v, %v", bad, r, serr)
		}
	}
}
