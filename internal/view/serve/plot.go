package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"hash/fnv"
	"math"
	"net/http"
	"net/url"
	"strconv"

	"blobio/internal/base/fault"
	"blobio/internal/cli"
	"blobio/internal/draw/fieldplot"
	"blobio/internal/view/tree"
)

// atlasMemory is the memory for cached grids and pictures, in bytes, in addition to Options.Memory.
const atlasMemory = 48 << 20

// drawMemory is the memory needed to draw a picture, in bytes.
const drawMemory = 64 << 20

// drawing holds the resources of a request for a picture.
type drawing struct {
	set    *tree.Dataset
	data   *fieldplot.Data
	o      *fieldplot.Options
	give   []func()
	memory *share
}

// open opens the dataset of a path and parses the query.
func (s *Server) open(ctx context.Context, path string, q url.Values, memory int64) (*drawing, error) {
	d := &drawing{}
	var err error
	if d.memory, err = s.memory.share(ctx, memory); err != nil {
		return nil, err
	}
	give, err := s.work.take(ctx, 1)
	if err != nil {
		d.close()
		return nil, err
	}
	d.give = append(d.give, give)
	if d.set, err = s.dataset(ctx, path); err != nil {
		d.close()
		return nil, err
	}
	d.give = append(d.give, d.set.Release)
	d.data = &fieldplot.Data{Reader: d.set.Reader(), ID: path + "\x00" + d.set.ID()}
	if d.o, err = plotOptions(ctx, d.data, q); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

func (d *drawing) close() { d.made(0) }

// made gives back all memory except for the bytes of the finished answer, because a slow client may hold the answer for a long
// time.
func (d *drawing) made(bytes int) {
	for i := len(d.give) - 1; i >= 0; i-- {
		d.give[i]()
	}
	d.give = nil
	d.memory.shrink(int64(bytes))
}

// plot sends a picture of a variable as PNG, or as SVG with format=svg.
func (s *Server) plot(a *answer, r *http.Request, path string) error {
	q := r.URL.Query()
	d, err := s.open(r.Context(), path, q, drawMemory)
	if err != nil {
		return err
	}
	defer d.close()
	tag := fnv.New64a()
	tag.Write([]byte(d.set.ID() + "\x00" + q.Encode()))
	a.Header().Set("ETag", `"`+strconv.FormatUint(tag.Sum64(), 16)+`"`)
	if r.Header.Get("If-None-Match") == a.Header().Get("ETag") {
		a.WriteHeader(http.StatusNotModified)
		return nil
	}
	pic, err := s.atlas.Draw(r.Context(), d.data, d.o)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	kind := "image/png"
	switch q.Get("format") {
	case "", "png":
		err = pic.PNG(&b)
	case "svg":
		kind = "image/svg+xml"
		err = pic.SVG(&b)
	default:
		err = fault.Usage("format %q, want png or svg", q.Get("format"))
	}
	if err != nil {
		return err
	}
	d.made(b.Len())
	return sendText(a, kind, b.Bytes())
}

// pointed is the answer of /value.
type pointed struct {
	Inside bool              `json:"inside"`            // the point is in the data area
	State  fieldplot.State   `json:"state,omitempty"`   // "value", "fill", "NaN", or "none" if the point shows no element
	Value  json.Number       `json:"value,omitempty"`   // for state value, if finite
	Text   string            `json:"text,omitempty"`    // the value as text, with the unit
	Where  string            `json:"where,omitempty"`   // in words
	Index  []fieldplot.Index `json:"element,omitempty"` // by the dimensions of the variable
	Notes  []string          `json:"notes,omitempty"`   // remarks about the value
}

// value sends the value at the point px, py of the picture that plot draws for the other parameters. The coordinates are points
// from the upper left corner; a PNG has two pixels per point in both directions.
func (s *Server) value(a *answer, r *http.Request, path string) error {
	q := r.URL.Query()
	var at [2]float64
	for i, key := range []string{"px", "py"} {
		var err error
		if at[i], err = strconv.ParseFloat(q.Get(key), 64); err != nil || math.IsNaN(at[i]) {
			return fault.Usage("%s=%q, want a number of points", key, q.Get(key))
		}
	}
	d, err := s.open(r.Context(), path, q, drawMemory)
	if err != nil {
		return err
	}
	defer d.close()
	spot, ok, err := s.atlas.Value(r.Context(), d.data, d.o, at[0], at[1])
	if err != nil {
		return err
	}
	out := pointed{Inside: ok}
	if ok {
		out = pointed{true, spot.State, "", spot.Text, spot.Where, spot.Index, spot.Notes}
		if spot.State == fieldplot.Good {
			out.Value = json.Number(spot.Whole)
			if x := cli.Finite(spot.Value); x != nil && spot.Whole == "" {
				b, _ := json.Marshal(x)
				out.Value = json.Number(b)
			}
		}
	}
	return d.json(a, out)
}

// json sends a value in one line.
func (d *drawing) json(a *answer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	b = append(b, '\n')
	d.made(len(b))
	return sendText(a, "application/json", b)
}
