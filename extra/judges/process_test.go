package judges

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"blobio/internal/base/h5"
)

// dataset5 returns the bytes of a dataset, from blobio's reader.
func dataset5(t *testing.T, path, name string) []byte {
	t.Helper()
	f := openFile(t, path)
	hf, err := h5.NewFile(f, f.size, path)
	if err != nil {
		t.Fatal(err)
	}
	d, err := hf.Dataset("/" + name)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, d.Bytes())
	if _, err := d.ReadAt(b, 0); err != nil {
		t.Fatal(err)
	}
	return b
}

var blobNames = []string{"data_blob", "header_blob"}

// TestH5dump: type, space and layout of the two datasets, and their bytes.
func TestH5dump(t *testing.T) {
	need(t, "h5dump")
	each(t, func(t *testing.T, d *dataset) {
		for _, path := range d.files(d.process) {
			head := strings.Join(strings.Fields(run(t, "h5dump", "-H", "-p", path)), " ")
			for _, name := range blobNames {
				want := dataset5(t, path, name)
				for _, s := range []string{
					fmt.Sprintf(`DATASET "%s" { DATATYPE H5T_STD_U8LE DATASPACE SIMPLE { ( %d ) / ( %d ) }`, name, len(want), len(want)),
					fmt.Sprintf("STORAGE_LAYOUT { CONTIGUOUS SIZE %d OFFSET", len(want)),
				} {
					if !strings.Contains(head, s) {
						t.Errorf("h5dump -H does not say %q but %q", s, head)
					}
				}
				raw := filepath.Join(t.TempDir(), name)
				run(t, "h5dump", "-b", "LE", "-o", raw, "-d", "/"+name, path)
				same(t, name, contents(t, raw), want, 1)
			}
		}
	})
}

// TestH5ls: the two datasets, all of their bytes allocated.
func TestH5ls(t *testing.T) {
	need(t, "h5ls")
	each(t, func(t *testing.T, d *dataset) {
		for _, path := range d.files(d.process) {
			short, long := run(t, "h5ls", "-r", path), run(t, "h5ls", "-rv", path)
			if n := len(strings.Split(strings.TrimSpace(short), "\n")); n != 3 {
				t.Errorf("h5ls lists %d objects, want the root and two datasets:\n%s", n, short)
			}
			for _, name := range blobNames {
				n := len(dataset5(t, path, name))
				if !regexp.MustCompile(fmt.Sprintf(`(?m)^/%s +Dataset \{%d\}$`, name, n)).MatchString(short) {
					t.Errorf("h5ls does not list /%s of %d bytes:\n%s", name, n, short)
				}
				if !strings.Contains(long, fmt.Sprintf("%d logical bytes, %d allocated bytes, 100.00%% utilization", n, n)) {
					t.Errorf("h5ls -v: /%s is not allocated as a whole:\n%s", name, long)
				}
			}
		}
	})
}

// TestH5py: the same bytes.
func TestH5py(t *testing.T) {
	py := python(t, "h5py", "numpy")
	each(t, func(t *testing.T, d *dataset) {
		for _, path := range d.files(d.process) {
			a := ask(t, py, "read_h5py.py", path)
			if len(a.Vars) != 2 {
				t.Errorf("h5py finds %d datasets", len(a.Vars))
			}
			for _, name := range blobNames {
				same(t, name, a.raw[name], dataset5(t, path, name), 1)
			}
		}
	})
}

// TestHeaderBlob: the header blob is the header of the variable-centric
// subfile, in the other byte order and without begins. No program but
// rebuild_process.py reads it.
func TestHeaderBlob(t *testing.T) {
	each(t, func(t *testing.T, d *dataset) {
		for i, path := range d.files(d.process) {
			got := dataset5(t, path, "header_blob")
			h := header(t, d.files(d.variable)[i])
			want, err := h.AppendTo(nil, binary.LittleEndian, true)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("subfile %d: header_blob is not the header of the variable-centric subfile", i)
			}
		}
	})
}

// TestRebuildProcessCentric: an independent script rebuilds the canonical arrays from the blobs.
func TestRebuildProcessCentric(t *testing.T) {
	py := python(t, "h5py", "numpy")
	each(t, func(t *testing.T, d *dataset) {
		ask(t, py, "rebuild_process.py", d.files(d.process)...).equals(t, open(t, d.process))
	})
}
