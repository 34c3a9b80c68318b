//go:build mpi && cgo

package main

import (
	"context"
	"fmt"
	"os"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/comm/mpi"
	"blobio/decomp"
)

const (
	lat, lon = 90, 180
	records  = 3
)

func main() {
	name := "first.nc"
	if len(os.Args) > 1 {
		name = os.Args[1]
	}
	err := mpi.Run(context.Background(), nil, func(ctx context.Context, c comm.Comm) error {
		if err := write(ctx, c, name); err != nil {
			return err
		}
		return verify(ctx, c, name)
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "first:", err)
		os.Exit(1)
	}
}

// mine returns the rows of this rank. The ranks take rows in turn, as in a load-balanced model.
func mine(c comm.Comm) (runs []decomp.Req) {
	for row := c.Rank(); row < lat; row += c.Size() {
		runs = append(runs, decomp.Req{Offset: int64(row) * lon, Length: lon})
	}
	return runs
}

// value returns element i of a record.
func value(rec int64, i int64) float64 { return float64(rec)*1e6 + float64(i) }

func write(ctx context.Context, c comm.Comm, name string) error {
	s := blob.NewSchema()
	time, y, x := s.Dim("time", blob.Unlimited), s.Dim("lat", lat), s.Dim("lon", lon)
	d := s.Decomp(y, x)
	t := s.Var("T", cdf5.Float, []blob.DimID{time, y, x}, blob.Decomposed(d), blob.Att("units", "K"))

	w, err := blob.Create(ctx, c, name, s, []blob.Part{{Decomp: d, Runs: mine(c)}}, &blob.Options{Force: true, Retain: blob.LendUntilFlush})
	if err != nil {
		return err
	}
	for rec := range int64(records) {
		data := make([]float64, 0, w.Count(d)) // doubles in memory, floats in the file
		for _, r := range mine(c) {
			for i := range r.Length {
				data = append(data, value(rec, r.Offset+i))
			}
		}
		if err := blob.Put(w, t, rec, data); err != nil {
			w.Abort()
			return err
		}
		if err := w.Flush(ctx); err != nil { // after Flush, data may be changed again
			return err
		}
	}
	return w.Close(ctx)
}

// verify reads a record on each rank, in canonical order, and checks the values.
func verify(ctx context.Context, c comm.Comm, name string) error {
	r, err := blob.OpenComm(ctx, c, name, nil)
	if err != nil {
		return err
	}
	defer r.Close()
	for rec := int64(c.Rank()); rec < records; rec += int64(c.Size()) {
		got := make([]float64, lat*lon)
		if err := r.Read(ctx, "T", []int64{rec, 0, 0}, []int64{1, lat, lon}, got); err != nil {
			return err
		}
		for i, x := range got {
			if x != float64(float32(value(rec, int64(i)))) {
				return fmt.Errorf("record %d, element %d is %v", rec, i, x)
			}
		}
	}
	if err := c.Barrier(ctx); err != nil {
		return err
	}
	if n, ranks := r.Subfiles(); c.Rank() == 0 {
		fmt.Printf("%s: %d records by %d processes in %d subfiles, all correct\n", name, r.Records(), ranks, n)
	}
	return nil
}
