package ffformat

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// vectorRun describes the files of one rank in a folder of the vectors, and the parameters of the run that wrote them.
type vectorRun struct {
	layout Layout
	rank   int            // of the data
	diff   int            // block size if the run wrote one file differentially; otherwise 0
	order  []int32        // order of the variables
	files  map[int]string // by checkpoint
}

func vectorRuns(t *testing.T, m map[string]*manifestEntry) map[string]*vectorRun {
	runs := map[string]*vectorRun{}
	for name, e := range m {
		if !strings.HasPrefix(name, "tiny/") || e.Kind == "RSed" || strings.Contains(name, "Pcof") {
			continue
		}
		ckpt, rank := vectorContent(t, name)
		dir := path.Dir(name)
		key := dir + name[strings.LastIndexByte(name, '-'):]
		run := runs[key]
		if run == nil {
			run = &vectorRun{layout: manifestLayouts[e.Layout], rank: rank, order: []int32{1, 2, 3, 4, 5}, files: map[int]string{}}
			if strings.Contains(dir, "icp") {
				run.order = []int32{3, 1, 2, 5, 4}
			}
			switch {
			case strings.Contains(dir, "dcp") && strings.Contains(dir, "16384"):
				run.diff = 16384
			case strings.Contains(dir, "dcp"):
				run.diff = 512
			}
			runs[key] = run
		}
		run.files[ckpt] = name
	}
	return runs
}

// TestWriterVectors writes the scenario of the vectors with each layout and compares every file with FTI's byte for byte.
// Timestamps, pads and the hashes that cover them may differ. If containers are empty, the checksum may differ, too, because FTI
// refuses its own checksum in this case.
func TestWriterVectors(t *testing.T) {
	dir, m := vectors(t)
	files := 0
	for _, run := range vectorRuns(t, m) {
		w, err := NewWriter(&Options{Layout: run.layout, BlockSize: max(run.diff, 512)})
		must(t, err)
		fsys := vfs.NewMem()
		var dst vfs.File
		var prev *Digests
		for cp := 1; cp <= 7; cp++ {
			name := run.files[cp]
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
					vars = append(vars, VarBuf{id, scenarioData(cp, id, run.rank, 100)})
				}
			}
			prev = update(t, w, dst, o, vars).Digests
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
				if f.Severity != fault.Note {
					t.Errorf("%s: ours: %v", name, f)
				}
			}
		}
	}
	if files < 150 {
		t.Errorf("%d files compared", files)
	}
}

// differsFromVector ignores the bytes that may differ, and describes the first other difference.
func differsFromVector(t *testing.T, got, want []byte, f *File) string {
	t.Helper()
	if len(got) != len(want) {
		return fmt.Sprintf("%d bytes, want %d", len(got), len(want))
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
		for _, s := range []span{tab.fb.timestamp, tab.fb.pad, tab.fb.maxFs, tab.fb.ptFs} { // the last two fields belong to levels 2 and 3
			clear(s.bytes(fb))
		}
		for p := range f.all() {
			rec := b[p.offset:]
			clear(tab.vmd.pad.bytes(rec))
			if f.Layout == LayoutB {
				clear(tab.vmd.hasCkpt.bytes(rec)) // FTI has another rule for this field
			}
			if !p.HasContent && f.Layout == LayoutB {
				clear(tab.vmd.hash.bytes(rec)) // FTI leaves garbage in this field
			}
		}
	}
	for i := range got {
		if got[i] != want[i] {
			return fmt.Sprintf("byte %d of %d, data end at %d", i, len(got), f.FB.DataSize)
		}
	}
	return ""
}
