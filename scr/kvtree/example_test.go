package kvtree_test

import (
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"blobio/scr/kvtree"
)

// Write a tree to a file in SCR's format and read it back.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "filemap.scr")

	t := kvtree.New()
	file := t.SetKVInt("RANK", 0).SetKV("FILE", "ckpt.1/rank_0.ckpt")
	file.Value("SIZE").SetUint64(1024)
	file.Value("CRC").SetCRC32(0xcafe)
	if err := kvtree.WriteFile(nil, name, t); err != nil { // nil: the operating system's file system
		log.Fatal(err)
	}

	t, err = kvtree.ReadFile(nil, name, nil)
	if err != nil {
		log.Fatal(err)
	}
	for path, f := range t.At("RANK", "0", "FILE").All() {
		size, err := f.Value("SIZE").Uint64()
		fmt.Println(path, size, err)
	}
	if err := kvtree.Print(t, os.Stdout, 0, true); err != nil {
		log.Fatal(err)
	}
	// Output:
	// ckpt.1/rank_0.ckpt 1024 <nil>
	//   RANK
	//     0
	//       FILE
	//         ckpt.1/rank_0.ckpt
	//           CRC = 0xcafe
	//           SIZE = 1024
}

// The class of an error shows why a getter failed.
func ExampleValue() {
	t := kvtree.New()
	t.Value("SIZE").SetStr("many")
	_, err := t.Value("SIZE").Uint64()
	fmt.Println("no number:", errors.Is(err, kvtree.ErrCorrupt))
	_, err = t.Value("CRC").Uint64()
	fmt.Println("no key:", errors.Is(err, kvtree.ErrMissing))
	// Output:
	// no number: true
	// no key: true
}
