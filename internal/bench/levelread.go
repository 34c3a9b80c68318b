package bench

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"time"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/e3smcases"
	"blobio/internal/mount"
)

const (
	opLevel    = "level"
	opReadAt   = "readat"
	opLoopback = "loopback"

	levelVar = "T" // lev x ncol of one record
)

// A levelClient opens what is at a path or URL and reads one level of T, or nothing if it is -1; opened is when it was open.
type levelClient func(ctx context.Context, at string, level int64) (values []float32, opened time.Time, err error)

// levelClients are what this package reads with. They ask for what the libraries of netCDF and Zarr ask for.
var levelClients = map[string]levelClient{"file": levelOfFile, "dataset": levelOfDataset, "DAP2": levelByDAP, "Zarr": levelByZarr}

// level reads a level by one of the clients, and compares it with what was put.
func (k *Work) level(ctx context.Context) (t Took, err error) {
	client := levelClients[k.Phase]
	if client == nil {
		return t, pkg.Errorf("no client %q", k.Phase)
	}
	cpu, start := cpuTime(), time.Now()
	values, opened, err := client(ctx, k.Path, k.Level)
	end := time.Now()
	if err != nil {
		return t, err
	}
	t.Seconds, t.CPU, t.Memory = end.Sub(start).Seconds(), cpuTime()-cpu, peakMemory()
	t.Phases = map[string]float64{"open": opened.Sub(start).Seconds()}
	if k.Level < 0 {
		return t, nil
	}
	t.Phases["read"] = end.Sub(opened).Seconds()
	return t, sameLevel(values, k.Path, k.Level)
}

// sameLevel compares a level of T, all columns, with what was put.
func sameLevel(values []float32, from string, level int64) error {
	want := make([]float32, len(values))
	if err := e3smcases.FillUnique(want, cdf5.Float, levelVar, 0, e3smcases.Range(level*int64(len(values)), int64(len(values)))); err != nil {
		return err
	}
	if len(values) == 0 || !slices.Equal(values, want) {
		return pkg.Errorf("level %d of %s from %s, %d columns, is not what was written", level, levelVar, from, len(values))
	}
	return nil
}

// levelOfDataset reads blobs. Open is with the header of the canonical file, which a mount, a server and Python show first.
func levelOfDataset(ctx context.Context, name string, level int64) ([]float32, time.Time, error) {
	return levelOf(ctx, name, level, func(r *blob.Reader) error {
		_, err := r.Canonical(nil)
		return err
	})
}

// levelOfFile reads an ordinary netCDF file.
func levelOfFile(ctx context.Context, name string, level int64) ([]float32, time.Time, error) {
	return levelOf(ctx, name, level, func(*blob.Reader) error { return nil })
}

func levelOf(ctx context.Context, name string, level int64, more func(*blob.Reader) error) (values []float32, opened time.Time, err error) {
	r, err := blob.Open(ctx, name, nil)
	if err != nil {
		return nil, opened, err
	}
	defer r.Close()
	if err := more(r); err != nil {
		return nil, opened, err
	}
	opened = time.Now()
	if level < 0 {
		return nil, opened, nil
	}
	v, ok := r.Schema().VarID(levelVar)
	if !ok {
		return nil, opened, pkg.Errorf("%s has no %s", name, levelVar)
	}
	n := r.Schema().Shape(v)[1]
	values = make([]float32, n)
	return values, opened, r.Read(ctx, levelVar, []int64{0, level, 0}, []int64{1, 1, n}, values)
}

// get fetches a URL; at most limit bytes of it.
func get(ctx context.Context, url string, limit int64) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var b []byte
	if n := resp.ContentLength; n >= 0 && n <= limit { // a buffer that grows would be copied again and again
		b = make([]byte, n)
		_, err = io.ReadFull(resp.Body, b)
	} else {
		b, err = io.ReadAll(io.LimitReader(resp.Body, limit+1))
	}
	switch {
	case err != nil:
	case resp.StatusCode != http.StatusOK:
		err = pkg.Errorf("%s: %s: %.200s", url, resp.Status, b)
	case int64(len(b)) > limit:
		err = pkg.Errorf("%s: more than %d bytes", url, limit)
	}
	return b, err
}

// The most that is read of one answer, in bytes.
const (
	maxMeta = 64 << 20
	maxPart = 256 << 20
)

// ddsShape finds the dimensions of T in declarations of DAP2.
var ddsShape = regexp.MustCompile(`Float32 ` + levelVar + `\[time = 1\]\[lev = (\d+)\]\[ncol = (\d+)\];`)

// levelByDAP asks for declarations, attributes and the values.
func levelByDAP(ctx context.Context, url string, level int64) (values []float32, opened time.Time, err error) {
	dds, err := get(ctx, url+".dds", maxMeta)
	if err == nil {
		_, err = get(ctx, url+".das", maxMeta)
	}
	opened = time.Now()
	if err != nil || level < 0 {
		return nil, opened, err
	}
	found := ddsShape.FindSubmatch(dds)
	if found == nil {
		return nil, opened, pkg.Errorf("%s.dds does not declare %s", url, levelVar)
	}
	n, err := strconv.ParseInt(string(found[2]), 10, 64)
	if err != nil || n > maxPart/4 || n < 1 {
		return nil, opened, pkg.Errorf("%s.dds: %s columns", url, found[2])
	}
	b, err := get(ctx, fmt.Sprintf("%s.dods?%s[0][%d][0:%d]", url, levelVar, level, n-1), maxPart)
	if err != nil {
		return nil, opened, err
	}
	if int64(len(b)) < 4*n {
		return nil, opened, pkg.Errorf("%s.dods: %d bytes, want %d floats at the end", url, len(b), n)
	}
	return floats(b[int64(len(b))-4*n:], binary.BigEndian), opened, nil
}

func floats(b []byte, order binary.ByteOrder) []float32 {
	out := make([]float32, len(b)/4)
	for i := range out {
		out[i] = math.Float32frombits(order.Uint32(b[4*i:]))
	}
	return out
}

// zarrArray is what the metadata of Zarr 2 say of an array.
type zarrArray struct {
	Shape  []int64 `json:"shape"`
	Chunks []int64 `json:"chunks"`
	Type   string  `json:"dtype"`
	Filter any     `json:"filters"`
	Pack   any     `json:"compressor"`
}

// zarrMeta fetches what a group of Zarr 2 says of an array of three dimensions.
func zarrMeta(ctx context.Context, url, name string) (a zarrArray, err error) {
	b, err := get(ctx, url+"/.zmetadata", maxMeta)
	if err != nil {
		return a, err
	}
	var all struct {
		Metadata map[string]json.RawMessage `json:"metadata"`
	}
	if err = json.Unmarshal(b, &all); err == nil {
		err = json.Unmarshal(all.Metadata[name+"/.zarray"], &a)
	}
	if err != nil {
		return a, pkg.Errorf("%s/.zmetadata, %s: %w", url, name, err)
	}
	if len(a.Shape) != 3 || len(a.Chunks) != 3 || slices.Min(a.Shape) < 1 || slices.Min(a.Chunks) < 1 || a.Type != "<f4" || a.Filter != nil || a.Pack != nil {
		return a, pkg.Errorf("%s/.zmetadata: %s is %+v, want plain floats of three dimensions", url, name, a)
	}
	return a, nil
}

// levelByZarr asks for the metadata and the chunks that hold the level.
func levelByZarr(ctx context.Context, url string, level int64) (values []float32, opened time.Time, err error) {
	a, err := zarrMeta(ctx, url, levelVar)
	opened = time.Now()
	if err != nil || level < 0 {
		return nil, opened, err
	}
	for c := int64(0); c*a.Chunks[2] < a.Shape[2]; c++ {
		b, err := get(ctx, fmt.Sprintf("%s/%s/0.%d.%d", url, levelVar, level/a.Chunks[1], c), maxPart)
		if err != nil {
			return nil, opened, err
		}
		if want := 4 * a.Chunks[0] * a.Chunks[1] * a.Chunks[2]; int64(len(b)) != want {
			return nil, opened, pkg.Errorf("%s: a chunk of %s has %d bytes, want %d", url, levelVar, len(b), want)
		}
		row := b[4*(level%a.Chunks[1])*a.Chunks[2]:][:4*min(a.Chunks[2], a.Shape[2]-c*a.Chunks[2])]
		values = append(values, floats(row, binary.LittleEndian)...)
	}
	return values, opened, nil
}

// readAtBlock is how much of a canonical file is read at a time.
const readAtBlock = 4 << 20

// readAt reads all of a canonical file, one block after the other.
func (k *Work) readAt(ctx context.Context) (t Took, err error) {
	var g gauge
	g.start()
	start := time.Now()
	r, err := blob.Open(ctx, k.Path, nil)
	if err != nil {
		return t, err
	}
	defer r.Close()
	f, err := r.Canonical(nil)
	if err != nil {
		return t, err
	}
	b := make([]byte, readAtBlock)
	for t.Bytes < f.Size() {
		n, err := f.ReadAt(b, t.Bytes)
		if t.Bytes += int64(n); err != nil && (err != io.EOF || t.Bytes < f.Size()) {
			return t, err
		}
	}
	t.Seconds = time.Since(start).Seconds()
	t.CPU, t.Memory = g.stop()
	return t, nil
}

// loopback shows a directory as it is.
func (k *Work) loopback(ctx context.Context) error {
	return mount.Loopback(ctx, k.Path, k.To, func() {
		if k.Ready != nil {
			k.Ready(k.Path + shownAt + k.To + until)
		}
	})
}
