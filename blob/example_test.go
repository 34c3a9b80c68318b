package blob_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/subfile"
)

const lev, ncol = 2, 6

// columns returns the elements of one rank: every c.Size()-th column, on all levels.
func columns(c comm.Comm) (runs []decomp.Req) {
	for k := range int64(lev) {
		for i := int64(c.Rank()); i < ncol; i += int64(c.Size()) {
			runs = append(runs, decomp.Req{Offset: k*ncol + i, Length: 1})
		}
	}
	return runs
}

// writeTemp writes records of the variable T on three ranks. The value of each element is 10 times the record number plus the
// rank.
func writeTemp(name string, records int64, o *blob.Options) error {
	return comm.Run(context.Background(), 3, nil, func(ctx context.Context, c comm.Comm) error {
		s := blob.NewSchema()
		time, z, col := s.Dim("time", blob.Unlimited), s.Dim("lev", lev), s.Dim("ncol", ncol)
		d := s.Decomp(z, col)
		temp := s.Var("T", cdf5.Float, []blob.DimID{time, z, col}, blob.Decomposed(d), blob.Att("units", "K"))

		w, err := blob.Create(ctx, c, name, s, []blob.Part{{Decomp: d, Runs: columns(c)}}, o)
		if err != nil {
			return err
		}
		if err := putTemp(ctx, c, w, temp, d, 0, records); err != nil {
			w.Abort()
			return err
		}
		return w.Close(ctx)
	})
}

// putTemp puts records from first to end-1.
func putTemp(ctx context.Context, c comm.Comm, w *blob.Writer, v blob.VarID, d blob.DecompID, first, end int64) error {
	data := make([]float32, w.Count(d))
	for rec := first; rec < end; rec++ {
		for i := range data {
			data[i] = float32(10*rec) + float32(c.Rank())
		}
		if err := blob.Put(w, v, rec, data); err != nil {
			return err
		}
		if err := w.Flush(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Three ranks write two records of a variable. Each rank puts its own columns, and a reader gets all columns in canonical
// order.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "F_h0.nc")
	ctx := context.Background()

	err = comm.Run(ctx, 3, nil, func(ctx context.Context, c comm.Comm) error {
		s := blob.NewSchema()
		time, z, col := s.Dim("time", blob.Unlimited), s.Dim("lev", lev), s.Dim("ncol", ncol)
		d := s.Decomp(z, col)
		temp := s.Var("T", cdf5.Float, []blob.DimID{time, z, col}, blob.Decomposed(d), blob.Att("units", "K"))

		w, err := blob.Create(ctx, c, name, s, []blob.Part{{Decomp: d, Runs: columns(c)}}, nil)
		if err != nil {
			return err
		}
		data := make([]float32, w.Count(d))
		for rec := range int64(2) {
			for i := range data {
				data[i] = float32(10*rec) + float32(c.Rank())
			}
			if err := blob.Put(w, temp, rec, data); err != nil {
				w.Abort()
				return err
			}
			if err := w.Flush(ctx); err != nil {
				return err
			}
		}
		return w.Close(ctx) // commits
	})
	if err != nil {
		log.Fatal(err)
	}

	r, err := blob.Open(ctx, name, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	row := make([]float32, ncol)
	for rec := range r.Records() {
		if err := r.Read(ctx, "T", []int64{rec, 1, 0}, []int64{1, 1, ncol}, row); err != nil {
			log.Fatal(err)
		}
		fmt.Println("record", rec, "level 1:", row)
	}
	// Output:
	// record 0 level 1: [0 1 2 0 1 2]
	// record 1 level 1: [10 11 12 10 11 12]
}

// A later run with the same ranks and maps adds a record. Append takes the schema from the files.
func ExampleAppend() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "F_h0.nc")
	if err := writeTemp(name, 2, nil); err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	const d = blob.DecompID(1) // D1
	err = comm.Run(ctx, 3, nil, func(ctx context.Context, c comm.Comm) error {
		w, err := blob.Append(ctx, c, name, nil, []blob.Part{{Decomp: d, Runs: columns(c)}}, nil)
		if err != nil {
			return err
		}
		temp, ok := w.Schema().VarID("T")
		if !ok {
			w.Abort()
			return fmt.Errorf("%s has no variable T", name)
		}
		if err := putTemp(ctx, c, w, temp, d, w.Records(), w.Records()+1); err != nil {
			w.Abort()
			return err
		}
		return w.Close(ctx)
	})
	if err != nil {
		log.Fatal(err)
	}

	r, err := blob.Open(ctx, name, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	level := make([]float32, ncol)
	if err := r.Read(ctx, "T", []int64{2, 0, 0}, []int64{1, 1, ncol}, level); err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Records(), "records, the last one:", level)
	// Output: 3 records, the last one: [20 21 22 20 21 22]
}

// The example converts a process-centric dataset to an ordinary netCDF file, and compares both.
func ExampleConvert() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	name, plain := filepath.Join(dir, "F_h0.h5"), filepath.Join(dir, "F_h0.nc")
	if err := writeTemp(name, 2, &blob.Options{Layout: blob.ProcessCentric, Subfiles: 2, Grouping: subfile.Blocks}); err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	r, err := blob.Open(ctx, name, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	if err := blob.Convert(ctx, r, plain, &blob.ConvertOptions{Version: cdf5.CDF2}); err != nil {
		log.Fatal(err)
	}

	p, err := blob.Open(ctx, plain, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
	fmt.Println(r.Form().Layout, "->", p.Form().Layout, p.Form().Version)
	differences := 0
	for f := range blob.Diff(ctx, r, p, nil) {
		fmt.Println(f)
		differences++
	}
	fmt.Println("differences:", differences)
	// Output:
	// process-centric -> canonical CDF-2
	// differences: 0
}

// The example overwrites one byte of a record. Check finds the damage, and a read returns an error.
func ExampleCheck() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "F_h0.nc")
	if err := writeTemp(name, 1, nil); err != nil {
		log.Fatal(err)
	}
	subfile := name + ".0000"
	b, err := os.ReadFile(subfile)
	if err != nil {
		log.Fatal(err)
	}
	b[len(b)-1] ^= 1
	if err := os.WriteFile(subfile, b, 0o666); err != nil {
		log.Fatal(err)
	}

	for f := range blob.Check(context.Background(), name, nil) {
		fmt.Println(f.Severity, filepath.Base(f.File), errors.Is(f.Err, blob.ErrChecksum))
	}
	// Output: error F_h0.nc.0000 true
}

// A program restarts on two ranks. Each rank reads the elements that it needs: half of the columns.
func ExampleReader_ReadRuns() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "F_h0.nc")
	if err := writeTemp(name, 1, nil); err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	err = comm.Run(ctx, 2, nil, func(ctx context.Context, c comm.Comm) error {
		r, err := blob.OpenComm(ctx, c, name, nil)
		if err != nil {
			return err
		}
		defer r.Close()
		half := int64(ncol / c.Size())
		first := int64(c.Rank()) * half
		runs := []decomp.Req{{Offset: first, Length: half}, {Offset: ncol + first, Length: half}}
		data := make([]float64, 2*half) // Read converts the values from float
		if err := comm.Agree(ctx, c, r.ReadRuns(ctx, "T", 0, runs, data)); err != nil {
			return err
		}
		if c.Rank() == 1 {
			fmt.Println("rank 1:", data)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: rank 1: [0 1 2 0 1 2]
}

// The same restart with ranks that share the reads of the files.
func ExampleReader_Collective() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "F_h0.nc")
	if err := writeTemp(name, 1, nil); err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	err = comm.Run(ctx, 2, nil, func(ctx context.Context, c comm.Comm) error {
		r, err := blob.OpenComm(ctx, c, name, nil)
		if err != nil {
			return err
		}
		defer r.Close()
		half := int64(ncol / c.Size())
		first := int64(c.Rank()) * half
		runs := []decomp.Req{{Offset: first, Length: half}, {Offset: ncol + first, Length: half}}
		data := make([]float64, 2*half)       // Read converts the values from float
		restart := r.Collective(c).Plan(runs) // one plan serves any number of variables and records
		if err := restart.Read(ctx, blob.Get{Name: "T", Into: data}); err != nil {
			return err
		}
		if c.Rank() == 1 {
			fmt.Println("rank 1:", data)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: rank 1: [0 1 2 0 1 2]
}
