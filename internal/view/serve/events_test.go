package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
)

// TestEvents checks that a waiting client gets each change until the writer has finished. The page shows the writer and requests
// the events. A client with Zarr metadata of one state can read chunks of a later one.
func TestEvents(t *testing.T) {
	dir := t.TempDir()
	s, err := New(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	defer func() {
		s.events.stop()
		h.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	get := func(path, accept string) string {
		t.Helper()
		req, _ := http.NewRequestWithContext(t.Context(), "GET", h.URL+path, nil)
		req.Header.Set("Accept", accept)
		r, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		var b strings.Builder
		_, err = bufio.NewReader(r.Body).WriteTo(&b)
		if err != nil || r.StatusCode != 200 {
			t.Fatalf("%s: %d, %v: %s", path, r.StatusCode, err, b.String())
		}
		return b.String()
	}
	const records = 3
	states := make(chan heard)
	var begun, chunk string
	err = comm.Run(t.Context(), 1, nil, func(ctx context.Context, c comm.Comm) error {
		sch := blob.NewSchema()
		v := sch.Var("level", cdf5.Double, []blob.DimID{sch.Dim("time", blob.Unlimited)})
		w, err := blob.Create(ctx, c, filepath.Join(dir, "d.nc"), sch, nil, nil)
		if err != nil {
			return err
		}
		defer w.Abort()
		for rec := range int64(records) {
			if err := errors.Join(blob.Put(w, v, rec, []float64{float64(rec) + 0.5}), w.Commit(ctx)); err != nil {
				return err
			}
			if rec == 0 {
				go listen(t, h.URL+"/events/d.nc", states)
				begun, chunk = get("/zarr/d.nc/level/.zarray", "*/*"), get("/zarr/d.nc/level/0", "*/*")
				if list := get("/", "application/json"); !strings.Contains(list, `"state": "writing"`) {
					t.Errorf("the list: %s", list)
				}
				if page := get("/view/d.nc", "text/html"); !strings.Contains(page, `data-events="/events/d.nc"`) || !strings.Contains(page, "being written by") {
					t.Error("the page does not follow")
				}
			}
			var e heard
			for e = range states { // until this event arrives
				if e.Records == rec+1 && e.State == "writing" {
					break
				}
			}
			if e.Records != rec+1 || e.State != "writing" {
				return fmt.Errorf("behind %d records the last event is %+v", rec+1, e)
			}
			if now := get("/zarr/d.nc/level/0", "*/*"); len(now) != len(chunk) || now[:8] != chunk[:8] {
				t.Errorf("%d records: a chunk of %d bytes, it had %d", rec+1, len(now), len(chunk))
			}
		}
		return w.Close(ctx)
	})
	if err != nil {
		t.Fatal(err)
	}
	var last heard
	for last = range states {
	}
	if last.State != "finished" || last.Records != records {
		t.Errorf("the last event: %+v", last)
	}
	if now := get("/zarr/d.nc/level/0", "*/*"); len(now) != len(chunk) || now[:8] != chunk[:8] {
		t.Errorf("finished: a chunk of %d bytes, it had %d by %s", len(now), len(chunk), begun)
	}
	var one heard
	if err := json.Unmarshal([]byte(get("/events/d.nc", "application/json")), &one); err != nil || one.State != "finished" || one.ID == "" {
		t.Errorf("as JSON: %+v, %v", one, err)
	}
	if page := get("/view/d.nc", "text/html"); strings.Contains(page, "data-events") {
		t.Error("the page of a finished dataset follows")
	}
}

// heard is an event parsed by a client.
type heard struct {
	ID, Text, State string
	Records         int64
}

// listen sends the received events to a channel, and closes the channel at the end.
func listen(t *testing.T, url string, to chan<- heard) {
	defer close(to)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, "GET", url, nil)
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return
	}
	defer r.Body.Close()
	lines := bufio.NewScanner(r.Body)
	ended := false
	for lines.Scan() {
		if lines.Text() == "event: end" {
			ended = true
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || ended {
			continue
		}
		var e heard
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Errorf("%q: %v", data, err)
		}
		to <- e
	}
	if err := lines.Err(); err != nil || !ended {
		t.Errorf("the stream has ended: %v, %v", ended, err)
	}
}
