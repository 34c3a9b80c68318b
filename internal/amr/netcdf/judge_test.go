package netcdf

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"blobio/amr/cello"
	"blobio/internal/base/elem"
	"blobio/internal/base/testfiles"
)

// judged writes the netCDF form of a mesh with face-centred fields, ghosts and particles.
func judged(t *testing.T) (k *cello.Checkpoint, name string) {
	t.Helper()
	k = open(t, generated(t)["3d-bricks"], nil)
	name = filepath.Join(t.TempDir(), "mesh.nc")
	out, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if err := form(t, k, nil, 0).WriteTo(t.Context(), out, 0, nil); err != nil {
		t.Fatal(err)
	}
	return k, name
}

// TestNcdump: ncdump recognises the file as CDF-5.
func TestNcdump(t *testing.T) {
	testfiles.Judge(t, "ncdump")
	k, name := judged(t)
	if kind := strings.TrimSpace(testfiles.Run(t, "ncdump", "-k", name)); kind != "cdf5" {
		t.Errorf("ncdump -k says %q", kind)
	}
	out := testfiles.Run(t, "ncdump", "-h", name)
	for _, want := range []string{
		fmt.Sprintf("block = %d ;", len(k.Blocks())),
		"double field_density(block, z_ghost, y_ghost, x_ghost) ;",
		"double field_bfield_x(block, z_ghost, y_ghost, x_face_ghost) ;",
		"int64 particle_trace_id(n_particle_trace) ;",
		"int block_index(block, axis) ;",
		":blobio_amr = 1 ;",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("ncdump -h has no %q:\n%s", want, out)
		}
	}
	if _, err := exec.LookPath("ncvalidator"); err == nil {
		if out := testfiles.Run(t, "ncvalidator", name); !strings.Contains(out, "is a valid NetCDF") {
			t.Errorf("ncvalidator: %s", out)
		}
	}
}

// TestXarray: xarray reads the same fields and data of each block. A script writes a few variables that xarray has read,
// little-endian, block by block.
func TestXarray(t *testing.T) {
	py := testfiles.JudgePython(t, "xarray", "netCDF4")
	if elem.HostBig {
		t.Skip("SKIPPED: the script writes little-endian numbers")
	}
	k, name := judged(t)
	out := filepath.Join(t.TempDir(), "out")
	const script = `
import sys, xarray
d = xarray.open_dataset(sys.argv[1], decode_cf=False)
f = open(sys.argv[2], "wb")
for i in range(d.sizes["block"]):
    f.write(d["block_index"][i].values.astype("<i4").tobytes())
    for v in ("field_density", "field_bfield_x"):
        a = d[v][i].values
        f.write(a.astype(a.dtype.newbyteorder("<")).tobytes())
    n, s = int(d["block_particle_trace_count"][i]), int(d["block_particle_trace_start"][i])
    f.write(d["particle_trace_id"][s:s+n].values.astype("<i8").tobytes())
print(d.attrs["rank"], d.sizes["block"])
`
	if got, want := strings.TrimSpace(testfiles.Run(t, py, "-c", script, name, out)), fmt.Sprintf("3 %d", len(k.Blocks())); got != want {
		t.Errorf("xarray says %q, want %q", got, want)
	}
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var want []byte
	for i := range k.Blocks() {
		b, err := k.Block(t.Context(), i)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, elem.Bytes(b.Index[:])...)
		want = append(append(want, b.Field("density").Data...), b.Field("bfield_x").Data...)
		for _, p := range b.Particles {
			if p.Spec.Name == "trace" {
				want = append(want, p.Data[len(p.Data)-1]...) // id is the last attribute
			}
		}
	}
	if string(got) != string(want) {
		t.Errorf("xarray reads %d bytes, want %d, and others", len(got), len(want))
	}
}
