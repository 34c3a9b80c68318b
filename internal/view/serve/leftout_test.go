package serve

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/internal/base/h5"
)

// TestLeftOut checks that the list and the page show the items of a netCDF-4 file that are not served, and that the log names
// them once.
func TestLeftOut(t *testing.T) {
	b := h5.NewBuilder()
	d := b.Dataset("d", h5.Float32, []int64{3}, nil)
	d.Attr("CLASS", h5.FixedString(len("DIMENSION_SCALE")+1), nil, "DIMENSION_SCALE")
	b.Dataset("g", h5.Int8, []int64{3}, nil)
	l, err := b.Layout()
	ok(t, err)
	file := make([]byte, l.Size)
	for _, p := range l.Pieces {
		copy(file[p.Off:], p.Data)
	}
	dir := t.TempDir()
	ok(t, os.WriteFile(filepath.Join(dir, "group.nc"), file, 0o666))
	x := start(t, dir, nil)
	for _, c := range []struct{ path, accept, want string }{
		{"/dap/group.nc.dds", "", "Float32 d"},
		{"/zarr/group.nc/.zmetadata", "", `"d/.zarray"`},
		{"/", "text/html", "1 member left out"},
		{"/", "application/json", `"left_out": 1`},
		{"/view/group.nc", "text/html", "1 member of the netCDF-4 file"},
		{"/view/group.nc", "text/html", "dimensions of g"},
	} {
		if got := string(x.get(t, 200, c.path, "Accept: "+c.accept)); !strings.Contains(got, c.want) {
			t.Errorf("%s: want %q in\n%s", c.path, c.want, got)
		}
	}
	if log := x.log.String(); strings.Count(log, "- left out: group.nc: dimensions of g") != 1 {
		t.Errorf("log:\n%s", log)
	}
}
