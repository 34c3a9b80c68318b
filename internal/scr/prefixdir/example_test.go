package prefixdir_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"blobio/internal/scr/prefixdir"
)

// The prefix directory of a finished SCR job: which datasets there are, and which rank wrote what.
func Example() {
	d := prefixdir.Open(nil, "../../../testdata/scr/xor_2_restarted_finalized/prefix") // nil: the operating system's files
	x, err := d.Index.Read()
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range x.Entries() {
		fmt.Printf("%d %s complete=%v current=%v\n", e.ID, e.Name, e.Complete, e.Current)
	}

	e, ok := x.Newest(0)
	if !ok {
		log.Fatal("no checkpoint")
	}
	place, err := d.Datasets.Locate(e)
	if err != nil {
		log.Fatal(err)
	}
	m, err := d.Datasets.ReadMap(place)
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range m.Files[1] {
		fmt.Println("rank 1:", f.Path)
	}
	// Output:
	// 6 ckpt.6 complete=true current=true
	// 3 ckpt.3 complete=true current=false
	// rank 1: ckpt.6/rank_1.1.ckpt
	// rank 1: ckpt.6/rank_1.0.ckpt
}

// A program of its own adds a dataset: before its files are written it is in the index as incomplete, and last as
// complete.
func ExampleIndexFile_Update() {
	tmp, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	d := prefixdir.Open(nil, tmp)
	ds := prefixdir.Dataset{ID: 1, Name: "step10", Checkpoint: true, Files: 1, Size: 5}
	add := func(complete bool) error {
		return d.Index.Update(context.Background(), func(x *prefixdir.Index) error { return x.Add(ds, complete) })
	}
	file := prefixdir.File{Path: "step10/rank0", Size: 5, HasSize: true}
	for _, step := range []func() error{
		d.Create,
		func() error { return add(false) },
		func() error { return os.Mkdir(filepath.Join(tmp, "step10"), 0o700) },
		func() error { return os.WriteFile(filepath.Join(tmp, file.Path), []byte("state"), 0o600) },
		func() error { return d.Datasets.Create(ds.ID) },
		func() error {
			return d.Datasets.WriteMap(ds.ID, 1, func(int) ([]prefixdir.File, error) { return []prefixdir.File{file}, nil })
		},
		func() error { return d.Datasets.WriteSummary(ds, true) },
		func() error { return add(true) },
	} {
		if err := step(); err != nil {
			log.Fatal(err)
		}
	}
	x, err := d.Index.Read()
	if err != nil {
		log.Fatal(err)
	}
	e, ok := x.Entry("step10")
	fmt.Println(e.ID, e.Complete, e.Restartable(), ok)
	// Output: 1 true true true
}
