package bench

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"blobio/blob"
	"blobio/serve"
)

// inplaceRow is a row of a time and, if there are some, bytes.
func inplaceRow(data, what, who string, seconds float64, mib int64) Row {
	return Row{Workload: inplaceName, Data: data, What: what, Who: who, Ranks: 64, Bytes: mib << 20, Seconds: []float64{seconds, seconds, seconds}}
}

// TestInplaceMarks: each aim is compared with what it is about, of the same layout.
func TestInplaceMarks(t *testing.T) {
	w := &ways[3]
	rows := table{
		inplaceRow(ne30Data, firstLevel+w.name, vcName, 0.05, 0),
		inplaceRow(ne30Data, afterConvert+w.beside, vcName, 1, 0),
		inplaceRow(ne30Data, afterConvert+w.beside, pcName, 0.1, 0), // of the other layout
		inplaceRow("F h0 captured", firstLevel+w.name, pcName, 0.001, 0),
		inplaceRow("F h0 ne30, 21600 ranks", coldOpen+library.name, vcName, 0.049, 0),
		inplaceRow("F h0 ne30, 21600 ranks", coldOpen+library.name, pcName, 0.051, 0),
		inplaceRow(ne30Data, wholeMount, vcName, 1, 690),
		inplaceRow(ne30Data, wholePass, convertedName, 1, 1000),
		inplaceRow(ne30Data, wholeReadAt, pcName, 1, 900),
		inplaceRow(ne30Data, wholeConvert, pcName, 1, 1000),
		inplaceRow(meanDataOf(30, 64, meanRecords), meanZarr, pcName, 2, 100),
		inplaceRow(meanDataOf(30, 64, meanRecords), meanFile, convertedName, 1, 100),
		inplaceRow("many", serverLoad, serverWho, 1, 1),
	}
	rows[len(rows)-1].Memory = []int64{100 << 20, 513 << 20, 200 << 20}
	rows[0].Load = []float64{1, 1, 1}
	want := map[string]string{
		"variable-centric: first level by mount, netCDF4":      "1/20.0 (50.00 ms of 1.000 s), load 1.0: true",
		"variable-centric: open by library, 21,600 ranks":      "49.00 ms: true",
		"process-centric: open by library, 21,600 ranks":       "51.00 ms: false",
		"variable-centric: whole file by dd through the mount": "0.69 (690 of 1000 MiB/s): false",
		"process-centric: whole file by ReadAt of 4 MiB":       "0.90 (900 of 1000 MiB/s): true",
		"process-centric: mean by dask over Zarr":              "0.50 (50 of 100 MiB/s): true",
		"blobio serve: memory under greedy requests":           "513 MiB, the most of 3 runs: false",
	}
	for _, m := range rows.marks() {
		if text, ok := want[m.What]; ok && fmt.Sprintf("%s: %v", m.Measured, m.Good) != text {
			t.Errorf("%s: %s: %v, want %s", m.What, m.Measured, m.Good, text)
		} else if !ok && m.Measured != "" {
			t.Errorf("%s was not measured, but is %s", m.What, m.Measured)
		}
		delete(want, m.What)
	}
	if len(want) > 0 {
		t.Errorf("no marks %v", want)
	}
	both := append(rows, inplaceRow(ne30Data, firstLevel+w.name, pcName, 0.02, 0))
	slow := slices.DeleteFunc(slices.Clone(both), func(r Row) bool { return r.Who == pcName })
	p := &page{newest: map[pageKey]*Results{{inplaceName, "tmpfs"}: {Runs: 3, Rows: both}, {inplaceName, "ext4"}: {Runs: 3, Rows: slow}}}
	docs := p.inplaceDocs(p.systems())
	for _, line := range []string{"| mount, netCDF4 | 50 ±0 % | 1000 ±0 % (1/20.0) | 20 ±0 % | 100 ±0 % (1/5.0) | 1.0 |\n", "| what | aim | tmpfs, variable-centric | tmpfs, process-centric | ext4, variable-centric | ext4, process-centric |\n",
		"| open by library, 21,600 ranks | under 50 ms | 49.00 ms | 51.00 ms | 49.00 ms |  |\n"} {
		if !strings.Contains(docs, line) {
			t.Errorf("no %q in\n%s", line, docs)
		}
	}
	b := both.inplaceBars()
	if len(b.Groups) != 3 || b.Groups[0].Bars[0].Limit != 100 || len(b.Groups[0].Bars) != 2 {
		t.Errorf("%+v", b)
	}
	if p.inplaceDocs(nil) != "" || table(nil).inplaceBars() != nil {
		t.Error("something of nothing")
	}
}

// TestLevelClients: all read the level that was written, and say so if it is another one, or none.
func TestLevelClients(t *testing.T) {
	o := Options{Dir: t.TempDir(), Quick: true, Log: func(string) {}, At: func(string, int64, int64) {}}
	s := &session{Options: o, dir: o.Dir, res: newResults(&o)}
	j, _ := s.fCase("h0", 64)
	_, names, err := s.datasets(t.Context(), j, 0)
	if err != nil {
		t.Fatal(err)
	}
	converted := s.path("converted.nc")
	if _, err := (&Work{Op: "convert", Path: names[blob.ProcessCentric], To: converted}).convert(t.Context()); err != nil {
		t.Fatal(err)
	}
	site, err := serve.New(s.dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(site)
	defer func() {
		h.Close()
		if err := site.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, l := range layouts {
		base := filepath.Base(names[l])
		for client, at := range map[string]string{"dataset": names[l], "file": converted, "DAP2": h.URL + "/dap/" + base, "Zarr": h.URL + "/zarr/" + base} {
			for level := range int64(3) {
				k, err := (&Work{Op: opLevel, Phase: client, Path: at, Level: level}).Do(t.Context(), Engine{})
				if err != nil || k.Seconds <= 0 || k.Phases["read"] <= 0 {
					t.Errorf("%v, %s, level %d: %+v, %v", l, client, level, k, err)
				}
			}
			if _, err := (&Work{Op: opLevel, Phase: client, Path: at, Level: 3}).level(t.Context()); err == nil {
				t.Errorf("%s: a level that is not there was read", client)
			}
			if _, err := (&Work{Op: opLevel, Phase: client, Path: at + "x", Level: -1}).level(t.Context()); err == nil {
				t.Errorf("%s: what is not there was opened", client)
			}
			values, _, err := levelClients[client](t.Context(), at, 1)
			if err != nil || sameLevel(values, at, 1) != nil || sameLevel(values, at, 2) == nil || sameLevel(nil, at, 0) == nil {
				t.Errorf("%s: %v, or any level is taken for level 2", client, err)
			}
		}
	}
	if _, err := (&Work{Op: opLevel, Phase: "nobody", Path: converted}).level(t.Context()); err == nil {
		t.Error("no client, and no error")
	}
}

// TestLevelClientsMeetNonsense: what a server says is checked before it is believed.
func TestLevelClientsMeetNonsense(t *testing.T) {
	said := map[string]string{}
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := said[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
		}
		fmt.Fprint(w, text)
	}))
	defer h.Close()
	zarr := func(array string) map[string]string {
		return map[string]string{"/x/.zmetadata": `{"metadata": {"T/.zarray": ` + array + `}}`, "/x/T/0.0.0": "abcd"}
	}
	for _, tc := range []struct {
		client, words string
		said          map[string]string
	}{
		{"DAP2", "404", nil},
		{"DAP2", "does not declare", map[string]string{"/x.dds": "", "/x.das": ""}},
		{"DAP2", "columns", map[string]string{"/x.dds": "Float32 T[time = 1][lev = 2][ncol = 99999999999999999999];", "/x.das": ""}},
		{"DAP2", "want 3 floats", map[string]string{"/x.dds": "Float32 T[time = 1][lev = 2][ncol = 3];", "/x.das": "", "/x.dods": "Data:\n"}},
		{"Zarr", "404", nil},
		{"Zarr", "JSON", map[string]string{"/x/.zmetadata": "{"}},
		{"Zarr", "plain floats", zarr(`{"shape": [1, 2], "chunks": [1, 2], "dtype": "<f4"}`)},
		{"Zarr", "plain floats", zarr(`{"shape": [1, 2, 3], "chunks": [1, 0, 3], "dtype": "<f4"}`)},
		{"Zarr", "plain floats", zarr(`{"shape": [1, 2, 3], "chunks": [1, 2, 3], "dtype": "<f8"}`)},
		{"Zarr", "4 bytes, want 24", zarr(`{"shape": [1, 2, 3], "chunks": [1, 2, 3], "dtype": "<f4"}`)},
	} {
		said = tc.said
		if _, _, err := levelClients[tc.client](t.Context(), h.URL+"/x", 0); err == nil || !strings.Contains(err.Error(), tc.words) {
			t.Errorf("%s of %v: %v, want %q", tc.client, tc.said, err, tc.words)
		}
	}
}

// TestServiceThatEnds: a process that says nothing is an error with what it said instead, and leaves no mount point.
func TestServiceThatEnds(t *testing.T) {
	if either("sh") == "" {
		t.Skip("no sh")
	}
	point := filepath.Join(t.TempDir(), "point")
	if err := os.Mkdir(point, 0o777); err != nil {
		t.Fatal(err)
	}
	s := &session{Options: Options{Self: []string{"sh"}}}
	for text, absent := range map[string]bool{"echo no room >&2; exit 3": false, "echo 'blobio: mount: mounting is not possible here' >&2; exit 2": true} {
		if err := os.MkdirAll(point, 0o777); err != nil {
			t.Fatal(err)
		}
		_, err := s.service(t.Context(), point, "-c", text)
		if err == nil || errors.Is(err, errSkip) != absent {
			t.Errorf("%s: %v", text, err)
		}
		if _, err := os.Stat(point); err == nil {
			t.Error("the mount point stays")
		}
	}
}
