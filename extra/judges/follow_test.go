//go:build linux && !386 && !arm

package judges

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/internal/view/mount"
)

const (
	growWidth   = 700 // elements of a record
	growRecords = 12
)

// grow writes a dataset with a commit for each record. Element i of record r of T is r*growWidth + i.
func grow(ctx context.Context, base string, o blob.Options, f func(committed int64) error) error {
	o.Durability = blob.DurableNone
	return comm.Run(ctx, 1, nil, func(ctx context.Context, c comm.Comm) error {
		s := blob.NewSchema()
		tm, col := s.Dim("time", blob.Unlimited), s.Dim("x", growWidth)
		v := s.Var("T", cdf5.Double, []blob.DimID{tm, col})
		w, err := blob.Create(ctx, c, base, s, nil, &o)
		if err != nil {
			return err
		}
		defer w.Abort()
		data := make([]float64, growWidth)
		for rec := range int64(growRecords) {
			for i := range data {
				data[i] = float64(rec*growWidth + int64(i))
			}
			if err := errors.Join(blob.Put(w, v, rec, data), w.Commit(ctx)); err != nil {
				return err
			}
			if err := f(rec + 1); err != nil {
				return err
			}
		}
		return w.Close(ctx)
	})
}

var timeLine = regexp.MustCompile(`time = UNLIMITED ; // \((\d+) currently\)`)

// dumped compares ncdump's output of T and returns the number of records.
func dumped(path string) (n int64, err error) {
	out, err := command("ncdump", "-v", "T", "-p", "9,17", path).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("ncdump %s: %w\n%s", path, err, tail(string(out)))
	}
	m := timeLine.FindSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("ncdump %s: no length of time:\n%s", path, tail(string(out)))
	}
	fmt.Sscan(string(m[1]), &n)
	_, data, _ := bytes.Cut(out, []byte(" T ="))
	list, _, _ := strings.Cut(string(data), ";")
	numbers := strings.Split(list, ",")
	if int64(len(numbers)) != n*growWidth {
		return n, fmt.Errorf("ncdump %s: %d numbers for %d records", path, len(numbers), n)
	}
	for i, text := range numbers {
		if text = strings.TrimSpace(text); text != fmt.Sprint(i) {
			return n, fmt.Errorf("ncdump %s: %d records, number %d is %s", path, n, i, text)
		}
	}
	return n, nil
}

// TestFollowed: while a dataset is written, netCDF4-python's sync() sees it grow on the mount, ncdump in a loop there, and xarray as Zarr, and
// each time whole records only, never fewer than before. ncdump of the subfile itself, as readers of E3SM-IO's files would, shows exactly what is committed.
func TestFollowed(t *testing.T) {
	need(t, "ncdump")
	py := python(t, "netCDF4", "xarray", "zarr", "fsspec", "aiohttp")
	for _, o := range []blob.Options{{Layout: blob.VariableCentric}, {Layout: blob.ProcessCentric}} {
		t.Run(o.Layout.String(), func(t *testing.T) {
			dir := t.TempDir()
			base := filepath.Join(dir, "d.nc")
			at := mountedFrom(t, dir, &mount.Options{})
			url := served(t, dir, nil) + "zarr/d.nc"
			path := filepath.Join(at, "d.nc")
			follow := command(py, filepath.Join("testdata", "follow.py"), path, url, fmt.Sprint(growRecords))
			var said bytes.Buffer
			follow.Stderr = &said
			out, err := follow.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(out)
			stop, dumping := make(chan struct{}), make(chan error, 1)
			err = grow(t.Context(), base, o, func(committed int64) error {
				if committed == 1 {
					if err := follow.Start(); err != nil {
						return err
					}
					if !lines.Scan() || lines.Text() != "1" {
						return fmt.Errorf("follow.py has opened %q records, want 1", lines.Text())
					}
					go func() {
						for last := int64(0); ; {
							n, err := dumped(path)
							if err == nil && n < last {
								err = fmt.Errorf("ncdump: %d records behind %d", n, last)
							}
							if last = n; err != nil || n == growRecords {
								dumping <- err
								return
							}
							select {
							case <-stop:
								dumping <- nil
								return
							default:
							}
						}
					}()
				}
				if o.Layout == blob.VariableCentric {
					if n, err := dumped(base + ".0000"); err != nil || n != committed {
						return fmt.Errorf("the subfile: %d records of %d: %w", n, committed, err)
					}
				}
				return nil
			})
			if err != nil {
				close(stop)
				if follow.Process != nil {
					_ = follow.Process.Kill()
					_ = follow.Wait()
				}
				t.Fatalf("%v\n%s", err, said.String())
			}
			if err := <-dumping; err != nil {
				t.Error(err)
			}
			for lines.Scan() {
				if want := fmt.Sprintf("1 %d %d", growRecords, growRecords); lines.Text() != want {
					t.Errorf("follow.py says %q, want %q", lines.Text(), want)
				}
			}
			if err := follow.Wait(); err != nil {
				t.Errorf("follow.py: %v\n%s", err, said.String())
			}
		})
	}
}

// TestPageFollows: the page of a dataset that is written shows in a browser each record that is committed, without being loaded again, and at last that the
// writer has finished.
func TestPageFollows(t *testing.T) {
	dir := t.TempDir()
	url := served(t, dir, nil) + "view/d.nc"
	b := newBrowser(t) // ends before the server
	err := grow(t.Context(), filepath.Join(dir, "d.nc"), blob.Options{}, func(committed int64) error {
		if committed == 1 {
			b.visit(url)
			b.until("the page", `document.querySelector("#live") && document.querySelector("#picture").naturalWidth > 0`)
			b.eval(`window.same = true`)
		}
		if committed == 1 || committed == 2 || committed == growRecords {
			b.until("the line of the status", fmt.Sprintf(`document.querySelector("#live").textContent.includes("commit %d,")`, committed))
			b.until("the length of time", fmt.Sprintf(`[...document.querySelectorAll(".dims li")].some((x) => x.textContent.includes("time %d"))`, committed))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	b.until("the end", fmt.Sprintf(`document.querySelector("#live").textContent === "finished, %d records" && window.same`, growRecords))
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.wrong {
		t.Error(w)
	}
}
