package blocks

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"blobio/internal/testfiles"
)

// absent skips the test because a tool is not here; where the judges are
// wanted (BLOBIO_JUDGES=1) it fails.
func absent(t *testing.T, format string, args ...any) {
	t.Helper()
	what := fmt.Sprintf(format, args...)
	if v := os.Getenv("BLOBIO_JUDGES"); v != "" && v != "0" {
		t.Fatalf("BLOBIO_JUDGES is set, but %s", what)
	}
	t.Skipf("SKIPPED: %s", what)
}

func tool(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return string(out)
}

// TestNcdump: ncdump takes the canonical file for what it is.
func TestNcdump(t *testing.T) {
	if _, err := exec.LookPath("ncdump"); err != nil {
		absent(t, "ncdump is not installed")
	}
	m, blocks := toy(2, 3)
	name := temp(t)
	writeToy(t, name, m, deal(blocks, 3, 0), nil)
	if kind := strings.TrimSpace(tool(t, "ncdump", "-k", name)); kind != "cdf5" {
		t.Errorf("ncdump -k says %q", kind)
	}
	out := tool(t, "ncdump", "-h", name)
	for _, want := range []string{
		fmt.Sprintf("block = %d ;", len(blocks)),
		"float field_ffloat32(block, z_ghost, y_ghost, x_ghost) ;",
		"double field_velocity_face(block, z_face, y, x) ;",
		"int64 particle_dark_id(n_particle_dark) ;",
		"int block_index(block, axis) ;",
		":blobio_amr = 1 ;",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("ncdump -h has no %q:\n%s", want, out)
		}
	}
	if _, err := exec.LookPath("ncvalidator"); err == nil {
		if out := tool(t, "ncvalidator", name); !strings.Contains(out, "is a valid NetCDF") {
			t.Errorf("ncvalidator: %s", out)
		}
	}
}

// TestXarray: xarray reads the fields of each block, and what belongs to them. It writes what
// it reads of a few variables, little-endian, block by block.
func TestXarray(t *testing.T) {
	py := testfiles.Python("xarray", "netCDF4")
	if py == "" {
		absent(t, "no python3 has the modules xarray and netCDF4")
	}
	if bigHost {
		t.Skip("SKIPPED: the script writes little-endian numbers")
	}
	m, blocks := toy(2, 3)
	name := temp(t)
	writeToy(t, name, m, deal(blocks, 3, 0), nil)
	out := filepath.Join(t.TempDir(), "out")
	const script = `
import sys, xarray
d = xarray.open_dataset(sys.argv[1], decode_cf=False)
f = open(sys.argv[2], "wb")
for i in range(d.sizes["block"]):
    f.write(d["block_index"][i].values.astype("<i4").tobytes())
    for v in ("field_ffloat32", "field_velocity_face", "field_fint8", "field_fint64"):
        a = d[v][i].values
        f.write(a.astype(a.dtype.newbyteorder("<")).tobytes())
    n, s = int(d["block_particle_dark_count"][i]), int(d["block_particle_dark_start"][i])
    f.write(d["particle_dark_id"][s:s+n].values.astype("<i8").tobytes())
print(d.attrs["rank"], d.sizes["block"])
`
	if got, want := strings.TrimSpace(tool(t, py, "-c", script, name, out)), fmt.Sprintf("3 %d", len(blocks)); got != want {
		t.Errorf("xarray says %q, want %q", got, want)
	}
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var want []byte
	for _, b := range blocks {
		for _, w := range b.Index {
			want = native.AppendUint32(want, uint32(w))
		}
		for _, f := range []string{"ffloat32", "velocity_face", "fint8", "fint64"} {
			want = append(want, b.Field(f).Data...)
		}
		want = append(want, b.Particles[0].Data[1]...)
	}
	if string(got) != string(want) {
		t.Errorf("xarray reads %d bytes, want %d, and others", len(got), len(want))
	}
}
