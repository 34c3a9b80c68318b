package vfs_test

import (
	"fmt"
	"log"
	"strings"

	"blobio/scr/kvtree"
	"blobio/vfs"
)

// The power is cut during the replacement of a tree. The old tree is whole after a cut at any step.
func Example() {
	disk := vfs.NewMem()
	tree := kvtree.New()
	tree.Value("STEP").SetInt(100)
	if err := kvtree.WriteFile(disk, "/state", tree); err != nil {
		log.Fatal(err)
	}
	tree.Value("STEP").SetInt(200)
	var changes, lost int
	watched := vfs.NewFault(disk, func(op vfs.Op) error {
		if !op.Kind.Changes() {
			return nil
		}
		changes++
		was, err := kvtree.ReadFile(disk.CrashClone(vfs.CrashOptions{}), "/state", nil)
		if step, _ := was.Value("STEP").Int(); err != nil || step != 100 {
			lost++
		}
		return nil
	})
	if err := kvtree.WriteFile(watched, "/state", tree); err != nil {
		log.Fatal(err)
	}
	fmt.Println("power cuts:", changes > 3, "lost:", lost)

	full := vfs.NewFault(disk, func(op vfs.Op) error {
		if op.Kind.String() == "write" {
			return vfs.ErrNoSpace
		}
		return nil
	})
	err := kvtree.WriteFile(full, "/state", tree)
	fmt.Println(strings.Contains(err.Error(), "no space"))
	// Output:
	// power cuts: true lost: 0
	// true
}
