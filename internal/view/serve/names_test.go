package serve

import (
	"context"
	"encoding/binary"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
)

// TestNormalNames checks that variables are found by names in any Unicode form.
func TestNormalNames(t *testing.T) {
	dir := t.TempDir()
	const nfc, nfd = "caf\u00e9", "cafe\u0301"
	ok(t, comm.Run(t.Context(), 1, nil, func(ctx context.Context, c comm.Comm) error {
		s := blob.NewSchema()
		v := s.Var(nfd, cdf5.Double, []blob.DimID{s.Dim("y", 2), s.Dim("x", 3)}, blob.Att("units", "K"))
		w, err := blob.Create(ctx, c, filepath.Join(dir, "a.nc"), s, nil, &blob.Options{Durability: blob.DurableNone})
		if err != nil {
			return err
		}
		if err := blob.Put(w, v, 0, []float64{1, 2, 3, 4, 5, 6}); err != nil {
			return err
		}
		return w.Close(ctx)
	}))
	x := start(t, dir, nil)
	for _, path := range []string{"/dap/a.nc.dds?NAME", "/dap/a.nc.dods?NAME[0:1][0:2]", "/zarr/a.nc/NAME/.zarray", "/zarr/a.nc/NAME/0.0", "/zarr3/a.nc/NAME/zarr.json", "/plot/a.nc?var=NAME&width=240", "/value/a.nc?var=NAME&px=100&py=100&width=240"} {
		var got [2]string
		for i, name := range []string{nfc, nfd} {
			got[i] = string(x.get(t, http.StatusOK, strings.Replace(path, "NAME", url.QueryEscape(name), 1)))
		}
		if got[0] != got[1] || got[0] == "" {
			t.Errorf("%s: %.200q, and in the other form %.200q", path, got[0], got[1])
		}
	}
}

// TestZarrUnsupported checks the status for a dataset that Zarr cannot hold. The status is neither a server error nor "not
// found", because Zarr readers replace chunks that are not found by fill values.
func TestZarrUnsupported(t *testing.T) {
	dir := t.TempDir()
	h := &cdf5.Header{Version: cdf5.CDF5, Dims: []cdf5.Dim{{Name: "n", Len: 2}}, Vars: []cdf5.Var{{Name: "zarr.json", Type: cdf5.Int, Dims: []int{0}}}}
	ok(t, h.Layout(nil))
	b, err := h.AppendTo(nil, binary.BigEndian, false)
	ok(t, err)
	ok(t, os.WriteFile(filepath.Join(dir, "x.nc"), append(b, make([]byte, 8)...), 0o666))
	x := start(t, dir, nil)
	for _, path := range []string{"/zarr3/x.nc/zarr.json", "/zarr/x.nc/.zgroup", "/zarr/x.nc/.zmetadata", "/zarr3/x.nc/T/zarr.json", "/zarr/x.nc/T/0", "/zarr3/x.nc/T/c.0"} {
		if said := string(x.get(t, http.StatusNotImplemented, path)); !strings.Contains(said, "is not a valid name of a Zarr array") {
			t.Errorf("%s: %q", path, said)
		}
	}
}
