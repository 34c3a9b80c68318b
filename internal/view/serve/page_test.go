package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"html"
	"image/png"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
)

// places is the number of columns in the dataset of writePlaces.
const places = 200

// writePlaces makes a dataset with coordinates: T(time, lev, ncol), whose values are value(rec, lev, col). Names and attributes
// look like HTML, which the page must escape.
func writePlaces(t testing.TB, name string) {
	t.Helper()
	ok(t, comm.Run(t.Context(), ranks, nil, func(ctx context.Context, c comm.Comm) error {
		s := blob.NewSchema()
		tm, z, col := s.Dim("time", blob.Unlimited), s.Dim("lev", lev), s.Dim("ncol", places)
		d, e := s.Decomp(z, col), s.Decomp(col)
		s.Var("lat", cdf5.Double, []blob.DimID{col}, blob.Decomposed(e), blob.Att("units", "degrees_north"))
		s.Var("lon", cdf5.Double, []blob.DimID{col}, blob.Decomposed(e), blob.Att("units", "degrees_east"))
		s.Var("lev", cdf5.Double, []blob.DimID{z}, blob.Att("units", "hPa"))
		s.Var("time", cdf5.Double, []blob.DimID{tm}, blob.Att("units", "days since 2000-01-01"), blob.Att("calendar", "noleap"))
		s.Var("T", cdf5.Double, []blob.DimID{tm, z, col}, blob.Decomposed(d), blob.Att("units", "K"), blob.Att("long_name", "<script>alert(1)</script>"))
		const n = places / ranks
		own := []decomp.Req{{Offset: int64(c.Rank() * n), Length: n}}
		var runs []decomp.Req
		for k := range lev {
			runs = append(runs, decomp.Req{Offset: int64(k*places + c.Rank()*n), Length: n})
		}
		w, err := blob.Create(ctx, c, name, s, []blob.Part{{Decomp: d, Runs: runs}, {Decomp: e, Runs: own}}, &blob.Options{Durability: blob.DurableNone})
		if err != nil {
			return err
		}
		var lat, lon []float64
		for i := range n {
			k := c.Rank()*n + i
			lat, lon = append(lat, math.Asin(1-2*(float64(k)+0.5)/places)*180/math.Pi), append(lon, math.Mod(float64(k)*137.50776, 360))
		}
		err = errors.Join(blob.Put(w, 0, 0, lat), blob.Put(w, 1, 0, lon), blob.Put(w, 2, 0, []float64{100, 500, 1000}))
		for rec := range records {
			var data []float64
			for k := range lev {
				for i := range n {
					data = append(data, value(rec, k, c.Rank()*n+i))
				}
			}
			err = errors.Join(err, blob.Put(w, 3, int64(rec), []float64{float64(31 * rec)}), blob.Put(w, 4, int64(rec), data), w.Flush(ctx))
		}
		if err != nil {
			w.Abort()
			return err
		}
		return w.Close(ctx)
	}))
}

// TestPage checks that the page lists the contents of a dataset, and escapes all HTML.
func TestPage(t *testing.T) {
	dir := t.TempDir()
	ok(t, os.Mkdir(filepath.Join(dir, "a b"), 0o777))
	writePlaces(t, filepath.Join(dir, "a b", "x.nc"))
	x := start(t, dir, nil)
	body := string(x.get(t, http.StatusOK, "/view/a%20b/x.nc", "Accept: text/html"))
	for _, want := range []string{"variable-centric blobs", "4 ranks into 1 subfile<", "Nothing is wrong", "<code>ncol</code> 200", `src="/plot/a%20b/x.nc?var=T&amp;width=720"`,
		"&lt;script&gt;alert", `href="/files/a%20b/"`, "degrees_north", "dark=1"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(body, "<script>") || strings.Contains(body, " style=") || regexp.MustCompile(`\son\w+=`).MatchString(body) {
		t.Error("the page has a script or a style of its own")
	}
	for _, u := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(body, -1) {
		if u[1] != "data:," && !strings.HasPrefix(u[1], "/") || strings.HasPrefix(u[1], "//") {
			t.Errorf("the page leads to %q", u[1])
		}
	}
	for _, name := range []string{"view.js", "view.css"} {
		x.get(t, http.StatusOK, "/static/"+name)
	}
	if list := string(x.get(t, http.StatusOK, "/files/a%20b/", "Accept: text/html")); !strings.Contains(list, `href="/view/a%20b/x.nc"`) {
		t.Error("the list does not lead to the page")
	}
	if to := x.ask(t, http.MethodGet, "/view/a%20b").Header.Get("Location"); to != "/files/a%20b/" {
		t.Errorf("a folder leads to %q", to)
	}
	x.get(t, http.StatusNotFound, "/view/nosuch.nc")
	if body := string(x.get(t, http.StatusOK, "/view/a%20b/x.nc?var=nosuch")); !strings.Contains(body, `role="alert">`) || !strings.Contains(body, "no variable") {
		t.Error("a variable that is not there is not told")
	}
	// damage must be found
	manifest := filepath.Join(dir, "a b", "x.nc.manifest")
	b, err := os.ReadFile(filepath.Join(dir, "a b", "x.nc.0000"))
	ok(t, err)
	ok(t, os.WriteFile(filepath.Join(dir, "cut.nc.0000"), b[:len(b)-100], 0o666))
	m, err := os.ReadFile(manifest)
	ok(t, err)
	ok(t, os.WriteFile(filepath.Join(dir, "cut.nc.manifest"), bytes.ReplaceAll(m, []byte("x.nc"), []byte("cut.nc")), 0o666))
	if resp := x.ask(t, http.MethodGet, "/view/cut.nc"); resp.StatusCode == http.StatusOK {
		var page bytes.Buffer
		_, _ = page.ReadFrom(resp.Body)
		if !strings.Contains(page.String(), "<b>error</b>") || strings.Contains(page.String(), dir) {
			t.Errorf("a cut subfile: %.200s", page.String())
		}
	}
}

// TestFindingsFollow checks that the page's findings change with a subfile, even if the manifest stays the same. Useless results
// of a check are not cached for long.
func TestFindingsFollow(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "x.nc"))
	x := start(t, dir, nil)
	part := filepath.Join(dir, "x.nc.0001")
	whole, err := os.ReadFile(part)
	ok(t, err)
	says := func(when, want string) {
		t.Helper()
		if body := string(x.get(t, http.StatusOK, "/view/x.nc")); !strings.Contains(body, want) {
			t.Errorf("%s the page lacks %q", when, want)
		}
	}
	const good = "Nothing is wrong"
	says("at first", good)
	ok(t, os.Truncate(part, int64(len(whole))-9))
	says("with a cut subfile", "<b>error</b>: x.nc.0001")
	ok(t, os.WriteFile(part, whole, 0o666))
	says("mended", good)
	ok(t, os.Rename(part, part+"away"))
	says("with a subfile missing", "subfile: missing")
	ok(t, os.Rename(part+"away", part))
	says("with it back", good)

	x.s.checks.mu.Lock()
	old := x.s.checks.done["x.nc"]
	old.how = "Long ago."
	x.s.checks.done["x.nc"] = old
	x.s.checks.mu.Unlock()
	says("kept", old.how)
	old.at = old.at.Add(-checkAge)
	x.s.checks.mu.Lock()
	x.s.checks.done["x.nc"] = old
	x.s.checks.mu.Unlock()
	says("after its time", good)
}

// TestPlot checks the requested picture, and the value of the element at a point.
func TestPlot(t *testing.T) {
	dir := t.TempDir()
	writePlaces(t, filepath.Join(dir, "x.nc"))
	x := start(t, dir, nil)
	resp := x.ask(t, http.MethodGet, "/plot/x.nc?var=T&rec=1&lev=2&width=300")
	img, err := png.Decode(resp.Body)
	ok(t, err)
	if resp.Header.Get("Content-Type") != "image/png" || img.Bounds().Dx() != 600 {
		t.Errorf("%v, %v", resp.Header, img.Bounds())
	}
	tag := resp.Header.Get("ETag")
	if again := x.ask(t, http.MethodGet, "/plot/x.nc?var=T&rec=1&lev=2&width=300", "If-None-Match: "+tag); again.StatusCode != http.StatusNotModified {
		t.Errorf("the same picture: %s", again.Status)
	}
	if b := x.get(t, http.StatusOK, "/plot/x.nc?var=T&format=svg&kind=section"); !bytes.HasPrefix(b, []byte("<?xml")) {
		t.Errorf("%.40s", b)
	}
	seen := 0
	for px := 40; px < 260; px += 30 {
		for py := 60; py < 170; py += 30 {
			var v pointed
			q := url.Values{"var": {"T"}, "rec": {"1"}, "lev": {"1000."}, "width": {"300"}, "px": {itoa(px)}, "py": {itoa(py)}}
			ok(t, json.Unmarshal(x.get(t, http.StatusOK, "/value/x.nc?"+q.Encode()), &v))
			if !v.Inside {
				continue
			}
			seen++
			if n, err := v.Value.Float64(); err != nil || n != value(1, 2, int(v.Index[2].At)) || v.Index[1].At != 2 || !strings.HasSuffix(v.Text, " K") || !strings.Contains(v.Where, "°") {
				t.Errorf("%+v", v)
			}
		}
	}
	if seen < 15 {
		t.Errorf("%d points", seen)
	}
	var s sight
	ok(t, json.Unmarshal(x.get(t, http.StatusOK, "/view/x.nc?var=T&lev=500.", "Accept: application/json"), &s))
	if s.Kind != "map" || len(s.Fixed) != 2 || s.Fixed[0].Texts[1] != "2000-02-01" || s.Fixed[1].At != 1 || s.Width != 720 || s.Range == nil || !(s.Range[0] < s.Range[1]) {
		t.Errorf("%+v", s)
	}
	for path, want := range map[string]string{
		"/plot/x.nc": "name of the variable is missing", "/plot/x.nc?var=T&what=1": "unknown parameter", "/plot/x.nc?var=T&width=99999": "width", "/plot/x.nc?var=T&width=-1": "width", "/plot/x.nc?var=T&rec=9": "0 to 1",
		"/plot/x.nc?var=T&min=1": "are not a range", "/plot/x.nc?var=T&min=NaN&max=1": "are not a range", "/plot/x.nc?var=T&d=lev": "selection", "/plot/x.nc?var=T&d=lev,0,1": "want 1 for a picture",
		"/plot/x.nc?var=lat&rec=1": "no record dimension", "/plot/x.nc?var=T&log=perhaps": "log", "/plot/x.nc?var=T&format=gif": "gif", "/plot/x.nc?var=T&var=lat": "2 times",
		"/value/x.nc?var=T&px=a&py=1": "px", "/value/x.nc?var=T&px=NaN&py=1": "px", "/value/x.nc?var=T": "px", "/view/x.nc?var=T&kind=cake": "kind",
	} {
		if b := string(x.get(t, http.StatusBadRequest, path, "Accept: application/json")); !strings.Contains(b, want) {
			t.Errorf("%s: %q, want %q", path, b, want)
		}
	}
}

// TestPlotDamage checks that a picture of damaged data is an error, and pictures of other data are not.
func TestPlotDamage(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "x.nc")
	writePlaces(t, name)
	b, err := os.ReadFile(name + ".0000")
	ok(t, err)
	var raw [8]byte
	for i := range raw {
		raw[i] = byte(math.Float64bits(value(1, 2, 7)) >> (56 - 8*i))
	}
	at := bytes.Index(b, raw[:])
	if at < 0 {
		t.Fatal("the element is not there")
	}
	b[at+5] ^= 4
	ok(t, os.WriteFile(name+".0000", b, 0o666))
	o := &Options{Verify: blob.VerifyOnce}
	x := start(t, dir, o)
	x.get(t, http.StatusOK, "/plot/x.nc?var=T&rec=0&lev=2&width=300")
	if b := string(x.get(t, http.StatusInternalServerError, "/plot/x.nc?var=T&rec=1&lev=2&width=300")); !strings.Contains(b, "x.nc.0000") || strings.Contains(b, dir) {
		t.Errorf("%q", b)
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

// TestListStates checks the state of each name in the list, and the Python lines for each protocol.
func TestListStates(t *testing.T) {
	dir := t.TempDir()
	writePlaces(t, filepath.Join(dir, "a.nc"))
	write(t, filepath.Join(dir, "gone.nc"))
	ok(t, os.Remove(filepath.Join(dir, "gone.nc.0001")))
	ok(t, os.WriteFile(filepath.Join(dir, "plain.nc"), converted(t, filepath.Join(dir, "a.nc")), 0o666))
	ok(t, os.WriteFile(filepath.Join(dir, "zero.nc"), nil, 0o666))
	x := start(t, dir, nil)
	var l listing
	ok(t, json.Unmarshal(x.get(t, http.StatusOK, "/", "Accept: application/json"), &l))
	states := map[string]string{}
	for _, e := range l.Entries {
		states[e.Name] = e.State()
		if e.Name == "plain.nc" && (e.Records == nil || *e.Records != records) || e.Name == "zero.nc" && e.DAP != "" {
			t.Errorf("%+v", e)
		}
	}
	for name, want := range map[string]string{"a.nc": "committed", "gone.nc": "1 subfile missing", "plain.nc": "ordinary file", "zero.nc": "zero.nc: "} {
		if !strings.HasPrefix(states[name], want) {
			t.Errorf("%s: %q, want %q", name, states[name], want)
		}
	}
	for _, path := range []string{"/", "/view/a.nc"} {
		body := html.UnescapeString(string(x.get(t, http.StatusOK, path, "Accept: text/html")))
		host := strings.TrimPrefix(x.URL, "http://")
		for _, want := range []string{`open_dataset("a.nc")`, `open_dataset("MOUNTPOINT/a.nc")`, `open_dataset("http://` + host + `/dap/a.nc")`, `open_zarr("http://` + host + `/zarr/a.nc")`, `href="/zarr/a.nc/.zmetadata"`} {
			if !strings.Contains(body, want) {
				t.Errorf("%s lacks %s", path, want)
			}
		}
	}
	x.get(t, http.StatusOK, "/zarr/a.nc/.zmetadata")
}
