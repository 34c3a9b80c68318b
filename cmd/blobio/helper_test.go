package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"blobio/cdf5"
	"blobio/internal/cdftest"
)

// result of one command line.
type result struct {
	code     int
	out, err string
}

func blobio(t *testing.T, args ...string) result {
	t.Helper()
	return blobioCtx(t.Context(), args...)
}

func blobioCtx(ctx context.Context, args ...string) result {
	var out, errs bytes.Buffer
	code := run(ctx, &env{stdout: &out, stderr: &errs, args: args})
	return result{code: code, out: out.String(), err: errs.String()}
}

// good runs a command that must succeed, and returns what it prints.
func good(t *testing.T, args ...string) string {
	t.Helper()
	r := blobio(t, args...)
	if r.code != exitGood || r.err != "" {
		t.Fatalf("blobio %s: exit code %d\n%s%s", strings.Join(args, " "), r.code, r.out, r.err)
	}
	return r.out
}

// bad runs a command that must end with the code and one line on stderr that holds the words.
func bad(t *testing.T, code int, words string, args ...string) {
	t.Helper()
	r := blobio(t, args...)
	if r.code != code {
		t.Errorf("blobio %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), r.code, code, r.out, r.err)
	}
	if code != exitFailed {
		return
	}
	if !strings.HasPrefix(r.err, "blobio: ") || strings.Count(r.err, "\n") != 1 || !strings.HasSuffix(r.err, "\n") {
		t.Errorf("blobio %s: stderr is not one line of blobio: %q", strings.Join(args, " "), r.err)
	}
	if !strings.Contains(r.err, words) {
		t.Errorf("blobio %s: stderr %q, want %q in it", strings.Join(args, " "), r.err, words)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// toy writes a small ordinary netCDF file with one variable of every kind.
func toy(t *testing.T, dir string) string {
	t.Helper()
	h := &cdf5.Header{Version: cdf5.CDF5, NumRecs: 3,
		Dims: []cdf5.Dim{{Name: "time"}, {Name: "lev", Len: 2}, {Name: "ncol", Len: 6}, {Name: "chars", Len: 8}},
		Atts: []cdf5.Att{{Name: "title", Type: cdf5.Char, Value: "toy"}, {Name: "np", Type: cdf5.Int, Value: []int32{4}}},
		Vars: []cdf5.Var{
			{Name: "lat", Type: cdf5.Double, Dims: []int{2}, Atts: []cdf5.Att{{Name: "units", Type: cdf5.Char, Value: "degrees_north"}, {Name: "long_name", Type: cdf5.Char, Value: "latitude"}}},
			{Name: "P0", Type: cdf5.Double},
			{Name: "T", Type: cdf5.Float, Dims: []int{0, 1, 2}, Atts: []cdf5.Att{{Name: "_FillValue", Type: cdf5.Float, Value: []float32{-1}}}},
			{Name: "time", Type: cdf5.Double, Dims: []int{0}},
			{Name: "date_written", Type: cdf5.Char, Dims: []int{0, 3}},
			{Name: "count", Type: cdf5.Int64, Dims: []int{0, 2}},
		}}
	var (
		x    []float32
		time []float64
		date string
		n    []int64
	)
	for rec := range h.NumRecs {
		for i := range 12 {
			x = append(x, float32(rec*100)+float32(i)+0.5)
		}
		x[rec*12+5] = -1
		for i := range int64(6) {
			n = append(n, 1<<40+rec*10+i)
		}
		time = append(time, float64(rec)/4)
		date += "day 000" + string(rune('0'+rec))
	}
	path := filepath.Join(dir, "toy.nc")
	file := cdftest.Build(t, h, false, []float64{-90, -54, -18, 18, 54, 90}, []float64{100000}, x, time, date, n)
	check(t, os.WriteFile(path, file, 0o666))
	return path
}

// toys writes the toy in all layouts: canonical, variable-centric and
// process-centric for 3 ranks and 2 subfiles.
func toys(t *testing.T) (dir, canon, variable, process string) {
	t.Helper()
	dir = t.TempDir()
	canon = toy(t, dir)
	variable, process = filepath.Join(dir, "v", "toy.nc"), filepath.Join(dir, "p", "toy.h5")
	check(t, os.Mkdir(filepath.Dir(variable), 0o777))
	check(t, os.Mkdir(filepath.Dir(process), 0o777))
	good(t, "convert", "--no-sync", "--to", "variable-centric", "--ranks", "3", "--subfiles", "2", canon, variable)
	good(t, "convert", "--no-sync", "--to", "process-centric", "--ranks", "3", "--subfiles", "2", canon, process)
	return dir, canon, variable, process
}

// names lists a directory.
func names(t *testing.T, dir string) string {
	t.Helper()
	list, err := os.ReadDir(dir)
	check(t, err)
	var out []string
	for _, e := range list {
		out = append(out, e.Name())
	}
	return strings.Join(out, " ")
}

// stopCtx is cancelled after its error was asked for a number of times.
type stopCtx struct {
	context.Context
	left atomic.Int64
	done chan struct{}
}

func (c *stopCtx) Err() error {
	switch n := c.left.Add(-1); {
	case n > 0:
		return nil
	case n == 0:
		close(c.done)
	}
	return context.Canceled
}

// Done and Deadline are those of a context.
func (c *stopCtx) Done() <-chan struct{}       { return c.done }
func (c *stopCtx) Deadline() (time.Time, bool) { return time.Time{}, false }

// there says that a file or directory of this name is there.
func there(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
