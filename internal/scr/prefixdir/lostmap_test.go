package prefixdir

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"blobio/internal/base/vfs"
)

// TestOverwrittenByUnknown damages or removes the map or the summary of the newest dataset. Then an older dataset is not whole if
// the newest dataset may have overwritten its files. If the older map has no checksums, the file times must prove that the files are
// older. If it has checksums, the bytes decide.
func TestOverwrittenByUnknown(t *testing.T) {
	begun := time.Unix(1e9, 0) // creation time of dataset 2
	for _, c := range []struct {
		what            string
		crc             bool
		written         time.Time // time of the file
		summary         time.Time // time of the summary of dataset 1
		gone            string    // removed file of dataset 2
		taken, doubtful bool
		index           bool // the index lists dataset 2
	}{
		{"map, times kept", false, begun.Add(10 * time.Second), begun.Add(-time.Minute), "rank2file", true, false, true},
		{"map, times lost", false, begun.Add(time.Hour), begun.Add(time.Hour), "rank2file", true, true, true},
		{"map, times of whole seconds", false, begun.Add(-time.Second), begun.Add(-time.Minute), "rank2file", true, true, true},
		{"part of the map", false, begun.Add(10 * time.Second), begun.Add(-time.Minute), "rank2file.0.0", true, false, true},
		{"map, file of its own", false, begun.Add(-time.Minute), begun.Add(-time.Minute), "rank2file", false, false, true},
		{"map, checksums", true, begun.Add(10 * time.Second), begun.Add(-time.Minute), "rank2file", false, false, true},
		{"summary", false, begun.Add(-time.Minute), begun.Add(-time.Minute), "summary.scr", true, false, true},
		{"summary and index", false, begun.Add(10 * time.Second), begun.Add(-time.Minute), "summary.scr", true, true, false},
		{"index", false, begun.Add(10 * time.Second), begun.Add(-time.Minute), "", true, false, false},
	} {
		for _, damaged := range []bool{false, true} {
			d := Open(vfs.OS, t.TempDir())
			for id := 1; id <= 2; id++ {
				ds := ckpt(id)
				ds.Created = begun.Add(time.Duration(id-2) * time.Hour)
				must(t, d.Datasets.WriteMap(id, 1, func(int) ([]File, error) {
					return []File{{Path: "state", HasCRC: c.crc}}, nil
				}))
				must(t, d.Datasets.WriteSummary(ds, true))
				if id == 1 || c.index {
					must(t, d.Index.Update(t.Context(), func(x *Index) error { return x.Publish(ds, begun) }))
				}
			}
			file := filepath.Join(d.Path, "state")
			must(t, os.WriteFile(file, []byte("0123456789"), 0o666))
			must(t, os.Chtimes(file, c.written, c.written))
			must(t, os.Chtimes(filepath.Join(d.Datasets.Dir(1), "summary.scr"), c.summary, c.summary))
			if gone := filepath.Join(d.Datasets.Dir(2), c.gone); c.gone == "" {
			} else if damaged {
				b, err := os.ReadFile(gone)
				must(t, err)
				b[len(b)/2] ^= 1
				must(t, os.WriteFile(gone, b, 0o666))
			} else {
				must(t, os.Remove(gone))
			}
			x, err := d.Index.Read()
			must(t, err)
			e, _ := x.Entry(ckpt(1).Name)
			by, err := d.Overwritten(x).Of(e)
			must(t, err)
			if (by != nil) != c.taken || by != nil && (by.Doubtful != c.doubtful || by.By.ID != 2 || by.File != "state") {
				t.Errorf("%s, damaged %v: %v", c.what, damaged, by)
			}
			if !c.index || c.gone == "" {
				continue
			}
			// A user who drops the damaged dataset asserts that it has overwritten no files.
			must(t, d.Drop(t.Context(), ckpt(2).Name))
			x, err = d.Index.Read()
			must(t, err)
			if e, _ = x.Entry(ckpt(1).Name); e.Complete == (c.taken && !c.doubtful) {
				t.Errorf("%s, damaged %v: after the drop complete is %v", c.what, damaged, e.Complete)
			}
			if by, err := d.Overwritten(x).Of(e); c.doubtful && (by != nil || err != nil) {
				t.Errorf("%s, damaged %v: after the drop %v %v", c.what, damaged, by, err)
			}
		}
	}
}

// TestOverwrittenNames checks that older datasets are treated as whole if their file names contain the dataset name, even if their
// files were written shortly before a dataset without a map. SCR lists a dataset before it writes the files in place. Therefore a
// run that was killed leaves a dataset without a map.
func TestOverwrittenNames(t *testing.T) {
	begun := time.Unix(1e9, 123456000)
	for _, c := range []struct {
		file  string
		ago   time.Duration // age of the file when dataset 2 began
		newer string        // the name of dataset 2
		taken bool
	}{
		{"state", 3 * time.Second, "ckpt.2", false},
		{"state", time.Second, "ckpt.2", true},
		{"ckpt.1/state", 0, "ckpt.2", true},
		{"ckpt.1/state", -time.Second, "ckpt.2", true},
		{"ckpt.1/state", time.Millisecond, "ckpt.2", false},
		{"out/all-ckpt.1.h5", time.Millisecond, "ckpt.2", false},
		{"ckpt.10/state", time.Millisecond, "ckpt.2", true},
		{"myckpt.1/state", time.Millisecond, "ckpt.2", true},
		{"ckpt.1/state", time.Millisecond, "", true},
		{"ckpt.1/state", time.Millisecond, "state", true},
	} {
		d, ds := Open(vfs.OS, t.TempDir()), ckpt(1)
		must(t, d.Datasets.WriteMap(1, 1, func(int) ([]File, error) { return []File{{Path: c.file}}, nil }))
		must(t, d.Datasets.WriteSummary(ds, true))
		must(t, d.Index.Update(t.Context(), func(x *Index) error { return x.Publish(ds, begun) }))
		at, written := filepath.Join(d.Path, c.file), begun.Add(-c.ago)
		must(t, os.MkdirAll(filepath.Dir(at), 0o777))
		must(t, os.WriteFile(at, nil, 0o666))
		must(t, os.Chtimes(at, written, written))
		ds = ckpt(2)
		ds.Name, ds.Created = c.newer, begun
		if ds.Name == "" { // the index has lost the dataset, and a part of its map is left with the summary of an older dataset
			must(t, d.Datasets.WriteMap(2, 1, func(int) ([]File, error) { return nil, nil }))
			must(t, os.Remove(filepath.Join(d.Datasets.Dir(2), "rank2file.0.0")))
		} else {
			must(t, d.Index.Update(t.Context(), func(x *Index) error { return x.Add(ds, false) }))
		}
		x, err := d.Index.Read()
		must(t, err)
		e, _ := x.Entry(ckpt(1).Name)
		if by, err := d.Overwritten(x).Of(e); err != nil || (by != nil) != c.taken {
			t.Errorf("%+v: %v, %v", c, by, err)
		}
	}
}

// TestArrivedIsOurs checks that arrived detects when a file with a final name belongs to an older dataset, even if it has the same
// size as the lost file of the new dataset.
func TestArrivedIsOurs(t *testing.T) {
	for _, crc := range []bool{true, false} {
		for _, lost := range []bool{true, false} {
			d, ctx := Open(vfs.OS, t.TempDir()), t.Context()
			a, b := ckpt(1), ckpt(2)
			b.Created = time.Unix(1e9, 0)
			file := filepath.Join(d.Path, "state")
			must(t, os.WriteFile(file, []byte("0123456789"), 0o666))
			must(t, os.Chtimes(file, b.Created.Add(-time.Hour), b.Created.Add(-time.Hour)))
			if !lost {
				must(t, os.WriteFile(Hidden(file), []byte("9876543210"), 0o666))
				must(t, os.Rename(Hidden(file), file))
			}
			must(t, d.Datasets.WriteMap(1, 1, func(int) ([]File, error) { return []File{{Path: "state", Size: 10, HasSize: true}}, nil }))
			must(t, d.Datasets.WriteSummary(a, true))
			must(t, d.Index.Update(ctx, func(x *Index) error { return x.Publish(a, time.Unix(1e9, 0)) }))
			must(t, d.Datasets.WriteMap(2, 1, func(int) ([]File, error) {
				return []File{{Path: "state", Size: 10, HasSize: true, HasCRC: crc, CRC: 0x83ddb0b5}}, nil
			}))
			must(t, d.BeginInstall(b))
			must(t, d.FinishInstalls(ctx))
			x, err := d.Index.Read()
			must(t, err)
			if e, ok := x.Entry(b.Name); (ok && e.Complete) == lost {
				t.Errorf("CRC %v, lost %v: %+v", crc, lost, e)
			}
			if e, _ := x.Entry(a.Name); e.Complete != lost {
				t.Errorf("CRC %v, lost %v: the older one %+v", crc, lost, e)
			}
		}
	}
}
