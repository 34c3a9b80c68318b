package serve

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/amr/cello"
	"blobio/comm"
	"blobio/internal/amr/gen"
	"blobio/internal/amr/netcdf"
	"blobio/versioned"
)

// forms makes a directory with a Cello checkpoint and a store with an array "rho" of 3 versions, whose elements are the version
// numbers. It returns the bytes that the conversions write.
func forms(t *testing.T, dir string) (mesh, rho []byte) {
	t.Helper()
	cases, err := gen.Cases(1)
	ok(t, err)
	check := filepath.Join(dir, "Check-10")
	ok(t, cello.Write(t.Context(), comm.Self(), check, cases[1].Set.Meta, cases[1].Set.All(), &cello.Options{Files: 2, Ghosts: cases[1].Set.Ghosts, NoSync: true}))
	k, err := cello.Open(t.Context(), check, nil)
	ok(t, err)
	defer k.Close()
	form, err := netcdf.New(t.Context(), k, &netcdf.Part{Grids: true}, 0)
	ok(t, err)
	mesh, err = io.ReadAll(io.NewSectionReader(form, 0, form.Size()))
	ok(t, err)

	store := filepath.Join(dir, "store")
	ok(t, os.Mkdir(store, 0o777))
	ok(t, comm.Run(t.Context(), 2, nil, func(ctx context.Context, c comm.Comm) error {
		a, err := versioned.Create(ctx, c, &versioned.Store{Dir: store}, versioned.Spec{Name: "rho", Type: versioned.TypeOf[float64](), Shape: []int64{4, 500}, Chunk: 512}, &versioned.Options{Durability: versioned.DurableNone})
		if err != nil {
			return err
		}
		for n := range 2 {
			if c.Rank() == 1 {
				data := make([]float64, 2000)
				for i := range data {
					data[i] = float64(n + 1)
				}
				err = versioned.Put(ctx, a, []int64{0, 0}, []int64{4, 500}, data)
			}
			if err == nil {
				_, err = a.Inc(ctx, 1, "")
			}
		}
		return errors.Join(err, a.Close(ctx))
	}))
	v, err := versioned.OpenView(filepath.Join(store, "rho"), nil, nil)
	ok(t, err)
	defer v.Close()
	f, err := v.NetCDF(0)
	ok(t, err)
	rho, err = io.ReadAll(io.NewSectionReader(f, 0, f.Size()))
	ok(t, err)
	return mesh, rho
}

// TestForms checks that a Cello checkpoint and an array with versions are datasets in each protocol. Their directories are not
// listed.
func TestForms(t *testing.T) {
	dir := t.TempDir()
	mesh, rho := forms(t, dir)
	x := start(t, dir, nil)
	var l listing
	ok(t, json.Unmarshal(x.get(t, http.StatusOK, "/", "Accept: application/json"), &l))
	if len(l.Entries) != 2 || l.Entries[0].Name != "Check-10.nc" || l.Entries[0].Kind != "dataset" || l.Entries[0].Size != int64(len(mesh)) || l.Entries[1].Name != "store" {
		t.Errorf("%+v", l)
	}
	ok(t, json.Unmarshal(x.get(t, http.StatusOK, "/files/store/", "Accept: application/json"), &l))
	if len(l.Entries) != 1 || l.Entries[0].Name != "rho.nc" || l.Entries[0].Records == nil || *l.Entries[0].Records != 3 {
		t.Errorf("%+v", l)
	}
	if got := x.get(t, http.StatusOK, "/files/Check-10.nc"); !bytes.Equal(got, mesh) {
		t.Errorf("checkpoint: %d bytes that differ from %d", len(got), len(mesh))
	}
	if got := x.get(t, http.StatusPartialContent, "/files/store/rho.nc", "Range: bytes=1000-20999"); !bytes.Equal(got, rho[1000:21000]) {
		t.Error("array: other bytes")
	}
	if got := x.get(t, http.StatusOK, "/dap/store/rho.nc.dds"); !strings.Contains(string(got), "Float64 rho[version = 3][dim_0 = 4][dim_1 = 500];") {
		t.Errorf("%s", got)
	}
	got := x.get(t, http.StatusOK, "/dap/store/rho.nc.dods?rho[2][3][498:499]")
	if n := len(got); n < 16 || math.Float64frombits(binary.BigEndian.Uint64(got[n-8:])) != 2 || math.Float64frombits(binary.BigEndian.Uint64(got[n-16:])) != 2 {
		t.Errorf("%q", got)
	}
	if meta := x.get(t, http.StatusOK, "/zarr/Check-10.nc/.zmetadata"); !strings.Contains(string(meta), `"field_`) {
		t.Errorf("%.300s", meta)
	}
	if chunk := x.get(t, http.StatusOK, "/zarr/store/rho.nc/version/0"); !bytes.HasPrefix(chunk, []byte{0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0}) {
		t.Errorf("%q", chunk)
	}
	if page := x.get(t, http.StatusOK, "/view/Check-10.nc"); !strings.Contains(string(page), "checkpoint of Cello, shown as a netCDF file") {
		t.Errorf("%.2000s", page)
	}
	x.get(t, http.StatusOK, "/view/store/rho.nc")
}
