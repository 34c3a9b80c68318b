package clitest

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
	"blobio/cmd/blobio/internal/verbs"
	"blobio/internal/cdf5/cdftest"
	"blobio/internal/cli"
)

// Result is the result of one command line.
type Result struct {
	Code     int
	Out, Err string
}

func Blobio(t *testing.T, args ...string) Result {
	t.Helper()
	return BlobioCtx(t.Context(), args...)
}

func BlobioCtx(ctx context.Context, args ...string) Result {
	var out, errs bytes.Buffer
	code := verbs.Run(ctx, &cli.Env{Stdout: &out, Stderr: &errs, Args: args})
	return Result{Code: code, Out: out.String(), Err: errs.String()}
}

// Good runs a command that must succeed, and returns its output.
func Good(t *testing.T, args ...string) string {
	t.Helper()
	r := Blobio(t, args...)
	if r.Code != cli.Good || r.Err != "" {
		t.Fatalf("blobio %s: exit code %d\n%s%s", strings.Join(args, " "), r.Code, r.Out, r.Err)
	}
	return r.Out
}

// Shows runs a command that must succeed and print words.
func Shows(t *testing.T, words string, args ...string) {
	t.Helper()
	Holds(t, Good(t, args...), words)
}

// Holds checks that a text contains all the words.
func Holds(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("no %q in\n%s", w, text)
		}
	}
}

// Bad runs a command that must exit with code and print words. A failure is one line on stderr.
func Bad(t *testing.T, code int, words string, args ...string) {
	t.Helper()
	r := Blobio(t, args...)
	if r.Code != code {
		t.Errorf("blobio %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), r.Code, code, r.Out, r.Err)
	}
	if code != cli.Failed {
		Holds(t, r.Out+r.Err, words)
		return
	}
	if !strings.HasPrefix(r.Err, "blobio: ") || strings.Count(r.Err, "\n") != 1 || !strings.HasSuffix(r.Err, "\n") {
		t.Errorf("blobio %s: stderr is not one line of blobio: %q", strings.Join(args, " "), r.Err)
	}
	if !strings.Contains(r.Err, words) {
		t.Errorf("blobio %s: stderr %q, want %q in it", strings.Join(args, " "), r.Err, words)
	}
}

func Check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Read returns the content of a file.
func Read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	Check(t, err)
	return b
}

// Glob returns the files that match a pattern.
func Glob(t *testing.T, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	Check(t, err)
	return names
}

// Toy writes a small ordinary netCDF file with one variable of every kind.
func Toy(t *testing.T, dir string) string {
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
	Check(t, os.WriteFile(path, file, 0o666))
	return path
}

// Toys writes the toy in all layouts: canonical, variable-centric and
// process-centric for 3 ranks and 2 subfiles.
func Toys(t *testing.T) (dir, canon, variable, process string) {
	t.Helper()
	dir = t.TempDir()
	canon = Toy(t, dir)
	variable, process = filepath.Join(dir, "v", "toy.nc"), filepath.Join(dir, "p", "toy.h5")
	Check(t, os.Mkdir(filepath.Dir(variable), 0o777))
	Check(t, os.Mkdir(filepath.Dir(process), 0o777))
	Good(t, "convert", "--no-sync", "--to", "variable-centric", "--ranks", "3", "--subfiles", "2", canon, variable)
	Good(t, "convert", "--no-sync", "--to", "process-centric", "--ranks", "3", "--subfiles", "2", canon, process)
	return dir, canon, variable, process
}

// Names returns the names in a directory.
func Names(t *testing.T, dir string) string {
	t.Helper()
	list, err := os.ReadDir(dir)
	Check(t, err)
	var out []string
	for _, e := range list {
		out = append(out, e.Name())
	}
	return strings.Join(out, " ")
}

// StopCtx is a context that is cancelled after a number of calls of Err.
type StopCtx struct {
	context.Context
	Left  atomic.Int64
	Ended chan struct{}
}

func (c *StopCtx) Err() error {
	switch n := c.Left.Add(-1); {
	case n > 0:
		return nil
	case n == 0:
		close(c.Ended)
	}
	return context.Canceled
}

// Done and Deadline implement context.Context.
func (c *StopCtx) Done() <-chan struct{}       { return c.Ended }
func (c *StopCtx) Deadline() (time.Time, bool) { return time.Time{}, false }

// There reports whether a file or directory exists.
func There(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
