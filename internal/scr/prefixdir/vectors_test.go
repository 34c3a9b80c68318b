package prefixdir

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"blobio/internal/base/fault"
	"blobio/internal/base/testfiles"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/cadence"
	"blobio/scr/kvtree"
)

var cases = []string{"xor_1_after_crash", "xor_2_restarted_finalized", "partner_1_after_crash"}

func vector(t testing.TB, name string) *Dir {
	return Open(nil, filepath.Join(testfiles.Dir(t, "scr", name), "prefix"))
}

// inMem copies a prefix directory into memory.
func inMem(t testing.TB, from string) *Dir {
	t.Helper()
	m := vfs.NewMem()
	err := filepath.WalkDir(from, func(name string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(from, name)
		to := filepath.Join("p", rel)
		if e.IsDir() {
			return m.MkdirAll(to)
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if err := vfs.WriteFile(m, to, b); err != nil {
			return err
		}
		return vfs.SyncParent(m, to)
	})
	if err != nil {
		t.Fatal(err)
	}
	syncAll(t, m, "/")
	return Open(m, "p")
}

func syncAll(t testing.TB, m *vfs.Mem, dir string) {
	list, err := m.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if e.IsDir() {
			syncAll(t, m, filepath.Join(dir, e.Name()))
		}
	}
	if err := m.SyncDir(dir); err != nil {
		t.Fatal(err)
	}
}

func utc() *time.Location { return time.UTC }

// TestVectors reads each file of the prefix directories that SCR wrote, writes it again, and checks that the copy is
// identical.
func TestVectors(t *testing.T) {
	for _, name := range cases {
		t.Run(name, func(t *testing.T) {
			d := vector(t, name)
			d.Index.location = utc()
			x, err := d.Index.Read()
			if err != nil {
				t.Fatal(err)
			}
			want := []int{3}
			if name == cases[1] {
				want = []int{6, 3}
			}
			var ids []int
			for _, e := range x.Entries() {
				ids = append(ids, e.ID)
				if !e.Complete || !e.Restartable() || e.Flushed.Year() != 2026 || e.Current != (e.ID == want[0]) {
					t.Errorf("%+v", e)
				}
				p, err := d.Datasets.Locate(e)
				if err != nil {
					t.Fatal(err)
				}
				s, err := d.Datasets.ReadSummary(p)
				if err != nil || !s.Complete || s.Dataset.Name != e.Name {
					t.Fatalf("%+v, %v", s, err)
				}
				m, err := d.Datasets.ReadMap(p)
				if err != nil {
					t.Fatal(err)
				}
				if m.Ranks != 4 || m.Listed != 4 {
					t.Errorf("ranks %d, listed %d", m.Ranks, m.Listed)
				}
				if err := m.Check(s.Dataset); err != nil {
					t.Error(err)
				}
				var size int64
				for _, path := range m.Paths() {
					st, err := d.FS.Stat(filepath.Join(p.Data, path))
					if err != nil {
						t.Fatal(err)
					}
					size += st.Size()
				}
				if size != s.Dataset.Size {
					t.Errorf("files of %d bytes, want %d", size, s.Dataset.Size)
				}
			}
			if !slices.Equal(ids, want) {
				t.Errorf("datasets %v, want %v", ids, want)
			}
			f, err := d.Flush.Read()
			if err != nil {
				t.Fatal(err)
			}
			for file, tree := range map[string]*kvtree.Tree{indexName: x.Tree, flushName: f.Tree} {
				got, _ := kvtree.Encode(tree)
				if b, _ := os.ReadFile(d.File(file)); !bytes.Equal(got, b) {
					t.Errorf("%s is not the same when written again", file)
				}
			}
			if n, ok, err := d.Nodes.Read(); n != 4 || !ok || err != nil {
				t.Errorf("nodes %d, %v, %v", n, ok, err)
			}
			h, err := Open(nil, d.Path).Halt.Read(t.Context())
			if want := map[bool]string{true: "SCR_FINALIZE_CALLED"}[name == cases[1]]; err != nil || h.ExitReason != want || h.ExitAfter.Set {
				t.Errorf("%+v, %v", h, err)
			}
			if c, err := d.AppConf.Read(); err != nil || c.Len() != 0 {
				t.Errorf("app.conf: %v, %v", c.Keys(), err)
			}
		})
	}
}

// TestFlushVector checks the locations in a flush file that SCR wrote.
func TestFlushVector(t *testing.T) {
	f, err := vector(t, cases[1]).Flush.Read()
	if err != nil {
		t.Fatal(err)
	}
	if !f.Is(6, Cache|PFS) || f.Is(5, PFS) || !f.Is(5, Cache) || !f.NeedFlush(5) || f.NeedFlush(6) {
		t.Errorf("%+v", f.Entries())
	}
	if e, ok := f.Entry(5); !ok || e.Dataset.Name != "ckpt.5" || !e.Checkpoint || e.Output {
		t.Errorf("%+v", e)
	}
}

// TestMadeAgain writes the files of a prefix directory from their contents, and checks that they equal the files of SCR byte
// for byte.
func TestMadeAgain(t *testing.T) {
	for _, name := range cases {
		t.Run(name, func(t *testing.T) {
			real := vector(t, name)
			x, err := real.Index.Read()
			if err != nil {
				t.Fatal(err)
			}
			d := Open(vfs.NewMem(), "p")
			ctx := t.Context()
			entries := x.Entries()
			slices.Reverse(entries)
			for _, e := range entries {
				must(t, d.Index.Update(ctx, func(x *Index) error { return x.Add(e.Dataset, false) }))
				m, err := real.Datasets.ReadMap(real.Datasets.Place(e.ID))
				must(t, err)
				must(t, d.Datasets.WriteMap(e.ID, m.Ranks, func(rank int) ([]File, error) { return m.Files[rank], nil }))
				must(t, d.Datasets.WriteSummary(e.Dataset, true))
				must(t, d.Index.Update(ctx, func(x *Index) error {
					must(t, x.Add(e.Dataset, true))
					must(t, x.MarkFlushed(e.Name, e.Flushed))
					return x.SetCurrent(e.Name)
				}))
			}
			must(t, d.Nodes.Write(4))
			files := []string{indexName, nodesName}
			for _, e := range entries {
				dir := "scr.dataset." + string(rune('0'+e.ID))
				files = append(files, dir+"/summary.scr", dir+"/rank2file", dir+"/rank2file.0.0")
			}
			for _, file := range files {
				want, err := os.ReadFile(real.File(file))
				must(t, err)
				got, err := vfs.ReadFile(d.FS, d.File(file), 1<<20)
				must(t, err)
				if !bytes.Equal(got, want) {
					t.Errorf("%s differs:\n%x\nwant\n%x", file, got, want)
				}
			}
			// the flush file, in the insertion order as far as it is known
			rf, err := real.Flush.Read()
			must(t, err)
			f, err := d.Flush.Read()
			must(t, err)
			for _, e := range rf.Entries() {
				must(t, f.Put(e.Dataset, e.Location))
			}
			if !f.Tree.Equal(rf.Tree) {
				t.Error("flush.scr: other keys")
			}
		})
	}
}

var must = testfiles.Must

// TestGathers reads maps that the original SCR wrote, with one part and with two parts, with sizes and CRCs.
func TestGathers(t *testing.T) {
	for _, name := range []string{"gather_one", "gather_two"} {
		dir := testfiles.Dir(t, "kvtree", name)
		d := Open(nil, dir)
		m, err := d.Datasets.ReadMap(Place{Meta: dir, Data: dir})
		must(t, err)
		files, size := m.Totals()
		if m.Ranks != 4 || m.Listed != 4 || files != 4 || size != 524294+524295+524296+524297 {
			t.Errorf("%s: %+v", name, m)
		}
		rank, f, ok := m.Owner("ckpt.1/rank_2.ckpt")
		if !ok || rank != 2 || f.CRC != 0x6697d4f1 || !f.HasCRC || f.Size != 524296 {
			t.Errorf("%s: rank %d %+v %v", name, rank, f, ok)
		}
	}
}

// TestDefect2TornIndex leaves only 40 of 773 bytes of the index. The original SCR then restarts from the beginning (defect
// 2). This library must rebuild the index with the same content.
func TestDefect2TornIndex(t *testing.T) {
	real := vector(t, cases[1])
	want, err := real.Index.Read()
	must(t, err)
	d := inMem(t, real.Path)
	f, err := d.FS.OpenRW(d.File(indexName))
	must(t, err)
	must(t, f.Truncate(40))
	must(t, f.Close())
	if _, err := d.Index.Read(); !fault.IsDamage(err) {
		t.Fatalf("torn index: %v", err)
	}
	must(t, d.Index.Update(t.Context(), func(x *Index) error {
		if x.Current() != "ckpt.6" || x.LastID() != 6 {
			t.Errorf("current %q, last %d", x.Current(), x.LastID())
		}
		return nil
	}))
	x, err := d.Index.Read()
	must(t, err)
	for _, e := range want.Entries() { // the times are those of the copied files
		must(t, x.MarkFlushed(e.Name, e.Flushed))
	}
	if !x.Tree.Equal(want.Tree) {
		t.Error("the index made again differs")
	}
	if _, err := d.FS.Stat(d.File(indexName + damagedSuffix)); err != nil {
		t.Errorf("the damaged index was not kept: %v", err)
	}
}

// TestHaltVector changes a halt file that SCR wrote. The changed file must keep a form that SCR can read.
func TestHaltVector(t *testing.T) {
	b, err := os.ReadFile(vector(t, cases[1]).File(haltName))
	must(t, err)
	d := Open(nil, t.TempDir())
	must(t, d.Create())
	must(t, os.WriteFile(d.File(haltName), b, 0o666))
	must(t, d.Halt.Update(t.Context(), func(h *cadence.Halt) error {
		if h.ExitReason != cadence.FinalizeCalled {
			t.Errorf("%+v", h)
		}
		h.ExitReason, h.CheckpointsLeft = "", cadence.Int(7)
		return nil
	}))
	tree, err := kvtree.ReadFile(nil, d.File(haltName), nil)
	must(t, err)
	want := kvtree.New()
	want.Value("CheckpointsLeft").SetInt(7)
	if !tree.Equal(want) {
		t.Errorf("%v", tree.Keys())
	}
}
