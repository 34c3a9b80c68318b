package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"

	"blobio/blob"
)

// meanVar is a variable of F h1 with all levels and records.
const (
	meanVar     = "U"
	meanRecords = 10
	meanZarr    = "mean of " + meanVar + ": dask over Zarr"
	meanFile    = "mean of " + meanVar + ": dask over the file"
)

func (s *session) meanJob() Job {
	j, _ := s.fCase("h1", 64)
	if j.Records = meanRecords; s.Quick {
		j.Records = 3
	}
	return j
}

func (s *session) meanData() string {
	j := s.meanJob()
	return meanDataOf(j.Maps.Ne, j.Ranks, j.Records)
}

func meanDataOf(ne, ranks int, records int64) string {
	return fmt.Sprintf("F h1 ne%d, %d ranks, %d records", ne, ranks, records)
}

// means lets dask compute a mean over Zarr, with a server that has nothing open yet, beside the same of the converted file by netCDF4: with the same
// chunks and as many threads. All files are in memory.
func (s *session) means(ctx context.Context, job Job, data string, py *python) error {
	if py == nil {
		return fmt.Errorf("no Python: %w", errSkip)
	}
	if err := py.can("dask", "dask.array", "xarray", "zarr", "fsspec", "aiohttp", "netCDF4"); err != nil {
		return err
	}
	if err := s.canShow(ctx, byServer); err != nil {
		return err
	}
	t, names, err := s.datasets(ctx, job, 0)
	if err != nil {
		return err
	}
	converted := s.path("converted.nc")
	if _, err := (&Work{Op: "convert", Path: names[blob.VariableCentric], To: converted}).convert(ctx); err != nil {
		return err
	}
	want, bytes, err := meanOf(ctx, converted, meanVar)
	if err != nil {
		return err
	}
	var chunks string
	var all []runner
	add := func(what, who string, run func(ctx context.Context) (Took, error)) {
		all = append(all, runner{row: &Row{Data: data, What: what, Who: who, Ranks: job.Ranks, Bytes: bytes}, run: func(ctx context.Context) (Took, error) {
			k, err := run(ctx)
			if err != nil {
				return k, err
			}
			got, err := strconv.ParseFloat(k.Note, 64)
			if err == nil && !(math.Abs(got-want) <= 1e-9*math.Abs(want)) {
				err = pkg.Errorf("the mean is %v, want %v", got, want)
			}
			return k, err
		}})
	}
	for _, l := range layouts {
		add(meanZarr, l.String(), func(ctx context.Context) (k Took, err error) {
			v, err := s.show(ctx, byServer)
			if err != nil {
				return k, err
			}
			k, err = py.mean(ctx, "xarray-zarr", v.at+"zarr/"+filepath.Base(names[l]), meanVar, chunks, cores())
			peak, eerr := v.end()
			k.Memory = peak
			return k, errors.Join(err, eerr)
		})
	}
	add(meanFile, convertedName, func(ctx context.Context) (Took, error) {
		return py.mean(ctx, "xarray", converted, meanVar, chunks, cores())
	})
	if chunks, err = s.chunksOf(ctx, t, names[layouts[0]]); err != nil {
		return err
	}
	for _, r := range all {
		r.row.Tuning = fmt.Sprintf("chunks of %s, %d threads", chunks, cores())
	}
	return s.race(ctx, !s.Quick, all...)
}

// chunksOf asks a server how it cuts the variable, and returns it by dimension, as "time=1,lev=36,ncol=48602".
func (s *session) chunksOf(ctx context.Context, t *task, name string) (string, error) {
	v, err := s.show(ctx, byServer)
	if err != nil {
		return "", err
	}
	a, err := zarrMeta(ctx, v.at+"zarr/"+filepath.Base(name), meanVar)
	_, eerr := v.end()
	if err := errors.Join(err, eerr); err != nil {
		return "", err
	}
	return fmt.Sprintf("time=%d,lev=%d,ncol=%d", a.Chunks[0], a.Chunks[1], a.Chunks[2]), nil
}

// meanOf is the mean of all values of a variable, and their bytes.
func meanOf(ctx context.Context, name, variable string) (mean float64, bytes int64, err error) {
	r, err := blob.Open(ctx, name, nil)
	if err != nil {
		return 0, 0, err
	}
	defer r.Close()
	v, ok := r.Schema().VarID(variable)
	if !ok {
		return 0, 0, pkg.Errorf("%s has no %s", name, variable)
	}
	n := r.Records()
	for _, d := range r.Schema().Shape(v) {
		n *= d
	}
	values := make([]float32, n)
	if err := r.Read(ctx, variable, nil, nil, values); err != nil {
		return 0, 0, err
	}
	sum := 0.0
	for _, x := range values {
		sum += float64(x)
	}
	return sum / float64(n), 4 * n, nil
}
