package ffformat

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"blobio/internal/vfs"
)

// vectorRun is a folder of the vectors and how its files came about.
type vectorRun struct {
	dir    string
	layout Layout
	rank   int // in the name of the file
	r      int // of the data
	diff   int // block size of a differential run in one file; 0: plain files
	order  []int32
}

func vectorRuns(m map[string]*manifestEntry) []vectorRun {
	var runs []vectorRun
	seen := map[string]bool{}
	for name, e := range m {
		dir, file := filepath.Split(name)
		if !strings.HasPrefix(name, "tiny/") || seen[dir+lastPart(file)] {
			continue
		}
		seen[dir+lastPart(file)] = true
		if strings.Contains(file, "Pcof") || strings.Contains(file, "RSed") {
			continue
		}
		run := vectorRun{dir: dir, layout: manifestLayouts[e.Layout], order: []int32{1, 2, 3, 4, 5}}
		if _, err := parseRank(file, &run.rank); err != nil {
			continue
		}
		run.r = run.rank
		if strings.Contains(dir, "withhead") {
			run.r = 0
		}
		if strings.Contains(dir, "icp") {
			run.order = []int32{3, 1, 2, 5, 4}
		}
		if strings.Contains(dir, "dcp") {
			run.diff = 512
			if strings.Contains(dir, "16384") {
				run.diff = 16384
			}
		}
		runs = append(runs, run)
	}
	return runs
}

func lastPart(file string) string { return file[strings.LastIndexByte(file, '-')+1:] }

func parseRank(file string, n *int) (int, error) {
	s := strings.TrimSuffix(strings.TrimPrefix(lastPart(file), "Rank"), ".fti")
	for _, c := range s {
		if c < '0' || c > '9' {
			return 0, ErrUsage
		}
		*n = *n*10 + int(c-'0')
	}
	return 0, nil
}

// TestWriterVectors writes the scenario of the vectors with each layout and compares
// every file with the one of the real program, byte for byte apart from timestamp, pads and the hashes
// that cover them; and apart from the checksum where containers are empty, which there is the
// one that FTI itself refuses.
func TestWriterVectors(t *testing.T) {
	dir, m := vectors(t)
	files := 0
	for _, run := range vectorRuns(m) {
		w, err := NewWriter(&WriterOptions{Layout: run.layout, BlockSize: max(run.diff, 512)})
		must(t, err)
		fsys := vfs.NewMem()
		var dst vfs.File
		var prev *Digests
		for cp := 1; cp <= 7; cp++ {
			name := ""
			for k := range m {
				if d, f := filepath.Split(k); d == run.dir && strings.HasPrefix(f, "cp"+string(rune('0'+cp))) && strings.HasSuffix(f, "Rank"+string(rune('0'+run.rank))+".fti") {
					name = k
				}
			}
			fresh := dst == nil || run.diff == 0
			if fresh {
				if dst, err = fsys.Create("f" + string(rune('0'+cp))); err != nil {
					t.Fatal(err)
				}
				prev = nil
			}
			want := (*File)(nil)
			var b []byte
			if name != "" {
				b = readVector(t, dir, name)
				if want, err = decodeBytes(b, name, nil); err != nil {
					t.Fatal(err)
				}
				w.o.MaxFs, w.o.PtFs = want.FB.MaxFs, want.FB.PtFs
			}
			o := UpdateOptions{CkptID: int32(cp), Timestamp: 1, Prev: prev, Differential: run.diff > 0, Fresh: fresh}
			var vars []VarBuf
			for id := int32(1); id <= 5; id++ {
				if n, ok := scenario[cp][id]; ok {
					o.Vars = append(o.Vars, VarSize{id, int64(n) * 400})
				}
			}
			for _, id := range run.order {
				if _, ok := scenario[cp][id]; ok {
					vars = append(vars, VarBuf{id, scenarioData(cp, id, run.r, 100)})
				}
			}
			u, err := w.Begin(dst, o)
			must(t, err)
			must(t, u.AddAll(context.Background(), vars))
			res, err := u.Finish(context.Background())
			must(t, err)
			prev = res.Digests
			if want == nil {
				continue
			}
			files++
			size, _ := dst.Size()
			got := make([]byte, size)
			dst.ReadAt(got, 0)
			if d := differsFromVector(t, got, b, want); d != "" {
				t.Errorf("%s: %s", name, d)
			}
			for f := range Check(context.Background(), bytes.NewReader(got), size, "ours", nil) {
				if f.Severity != Note {
					t.Errorf("%s: ours: %v", name, f)
				}
			}
		}
	}
	if files < 150 {
		t.Errorf("%d files compared", files)
	}
}

// differsFromVector masks what may differ in both and says where the rest does.
func differsFromVector(t *testing.T, got, want []byte, f *File) string {
	t.Helper()
	if len(got) != len(want) {
		return "size " + itoa(len(got)) + ", want " + itoa(len(want))
	}
	ours, err := decodeBytes(got, "ours", nil)
	if err != nil {
		return err.Error()
	}
	empty := false
	for p := range f.all() {
		empty = empty || !p.HasContent
	}
	if f.Layout != LayoutA && !empty && ours.FB.Checksum != f.FB.Checksum {
		return "checksum"
	}
	got, want = slices.Clone(got), slices.Clone(want)
	tab := f.Layout.table()
	at := int64(0)
	if f.Layout.atEnd() {
		at = int64(len(got)) - f.Layout.fbSize()
	}
	for _, b := range [][]byte{got, want} {
		fb := b[at : at+f.Layout.fbSize()]
		clear(fb[:checksumLen+16])
		clear(tab.fb.timestamp.bytes(fb))
		clear(tab.fb.pad.bytes(fb))
		for p := range f.all() {
			rec := b[p.offset:]
			clear(tab.vmd.pad.bytes(rec))
			if f.Layout == LayoutB {
				clear(tab.vmd.hasCkpt.bytes(rec)) // set there by a rule of its own
			}
			if !p.HasContent && f.Layout == LayoutB {
				clear(tab.vmd.hash.bytes(rec)) // what the real program left in memory
			}
		}
	}
	for i := range got {
		if got[i] != want[i] {
			return "byte " + itoa(i) + " of " + itoa(len(got)) + ", data end at " + itoa(int(f.FB.DataSize))
		}
	}
	return ""
}

func itoa(n int) string { return strconv.Itoa(n) }
