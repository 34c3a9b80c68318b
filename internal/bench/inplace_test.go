package bench

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/blob"
	"blobio/serve"
)

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
